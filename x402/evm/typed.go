package evm

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// field is one member of a message. The value of a struct is its fields.
type field struct {
	name, kind string
	value      any
}

// typeMember is a member of a type.
type typeMember struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// TypedData returns a message in the JSON form that wallets show and sign
// (eth_signTypedData_v4): types, primaryType, domain and message, with numbers as decimal
// strings.
func TypedData(d Domain, m Message) json.RawMessage {
	types := map[string][]typeMember{"EIP712Domain": {{"name", "string"}, {"version", "string"}, {"chainId", "uint256"}, {"verifyingContract", "address"}}}
	domain := map[string]any{"name": d.Name, "version": d.Version, "chainId": decimal(d.ChainID), "verifyingContract": d.Contract}
	if d.Version == "" {
		types["EIP712Domain"] = slices.Delete(types["EIP712Domain"], 1, 2)
		delete(domain, "version")
	}
	name, fields := m.typed()
	text, err := json.Marshal(map[string]any{
		"types": types, "primaryType": name, "domain": domain, "message": object(types, name, fields),
	})
	if err != nil {
		panic(fmt.Sprintf("evm: encode strings and addresses: %v", err))
	}
	return text
}

// object returns the value of a struct, and adds its type and those of its members to types.
func object(types map[string][]typeMember, name string, fields []field) map[string]any {
	values, members := map[string]any{}, make([]typeMember, len(fields))
	for i, f := range fields {
		members[i], values[f.name] = typeMember{f.name, f.kind}, f.value
		if inner, ok := f.value.([]field); ok {
			values[f.name] = object(types, f.kind, inner)
		}
	}
	types[name] = members
	return values
}

// errHex reports a text that is not "0x" and the expected number of digits.
var errHex = errors.New("evm: not hexadecimal of the right length")

// parseHex decodes "0x" and hexadecimal digits, which must fill to.
func parseHex(to []byte, s string) error {
	if len(s) != 2+2*len(to) || s[:2] != "0x" {
		return errHex
	}
	if _, err := hex.Decode(to, []byte(s[2:])); err != nil {
		return errHex
	}
	return nil
}
