package x402

import "encoding/json"

// Limits on the length of a payment identifier.
const (
	minIdentifier = 16
	maxIdentifier = 128
)

// IdentifierExtension returns the extension payment-identifier as a server offers it.
// A client may add an id to info, and keeps the id when it signs the same payment again.
func IdentifierExtension() Extension {
	return Extension{
		Info: json.RawMessage(`{"required":false}`), // clients add no id without this member
		Schema: json.RawMessage(`{"$schema":"` + schemaDialect + `","type":"object","properties":{"required":{"type":"boolean"},` +
			`"id":{"type":"string","minLength":16,"maxLength":128,"pattern":"^[a-zA-Z0-9_-]+$"}},"required":["required"]}`),
	}
}

// Identifier returns the id of the extension payment-identifier, or "" if the
// client sent none. It returns a [*DecodeError] if the id is not 16 to 128 letters,
// digits, hyphens and underscores.
func (p Payload) Identifier() (string, error) {
	e, ok := p.Extensions[ExtensionIdentifier]
	if !ok || len(e.Info) == 0 {
		return "", nil
	}
	const path = "extensions." + ExtensionIdentifier + ".info"
	o, err := parseObject(e.Info)
	if err != nil {
		return "", malformed(path, "not an object")
	}
	o.parent, o.name = &object{}, path
	id, err := o.optionalText("id")
	if err != nil || id == "" {
		return "", err
	}
	if len(id) < minIdentifier || len(id) > maxIdentifier {
		return "", malformed(o.at("id"), "want %d to %d characters", minIdentifier, maxIdentifier)
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return "", malformed(o.at("id"), "want letters, digits, hyphens and underscores")
		}
	}
	return id, nil
}
