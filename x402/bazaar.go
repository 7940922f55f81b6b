package x402

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Names of the extensions that this package knows.
const (
	ExtensionBazaar     = "bazaar"             // describes an endpoint to directories
	ExtensionIdentifier = "payment-identifier" // makes repeated payments idempotent
	ExtensionMethods    = "payment-methods"    // lists payment methods beyond x402
)

const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// Declaration describes an HTTP endpoint for directories: the extension bazaar.
// Examples are any value that package json encodes. Schemas are JSON Schema 2020-12
// without references.
type Declaration struct {
	// Method is the HTTP method. Default: GET, or POST with BodyType.
	Method string
	// BodyType is the type of the request body: "json", "form-data" or "text".
	// Default: the request has no body.
	BodyType string
	// InputSchema describes the body, or the query parameters of a request without a
	// body. Default: not described.
	InputSchema any
	// InputExample is an example that fits InputSchema. Default: generated from it.
	InputExample any
	// OutputSchema describes the response. Required: directories reject an entry that
	// has only an example.
	OutputSchema any
	// OutputExample is an example response. Default: none.
	OutputExample any
}

// normalize sets the defaults and converts the values to plain JSON types.
func (d Declaration) normalize() (Declaration, error) {
	if d.Method == "" {
		d.Method = "GET"
		if d.BodyType != "" {
			d.Method = "POST"
		}
	}
	methods := d.methods()
	if !slices.Contains(methods, d.Method) {
		return d, fmt.Errorf("Method: %q is not among %v", d.Method, methods)
	}
	if d.BodyType != "" && !slices.Contains(bodyTypes, d.BodyType) {
		return d, fmt.Errorf("BodyType: %q is not among %v", d.BodyType, bodyTypes)
	}
	for _, f := range []struct {
		name   string
		value  *any
		schema bool
	}{
		{"InputSchema", &d.InputSchema, true},
		{"InputExample", &d.InputExample, false},
		{"Output.Schema", &d.OutputSchema, true},
		{"Output.Example", &d.OutputExample, false},
	} {
		if *f.value == nil {
			continue
		}
		v, err := plain(*f.value)
		if err != nil {
			return d, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, ok := v.(map[string]any); f.schema && !ok {
			return d, fmt.Errorf("%s: not an object", f.name)
		}
		*f.value = v
	}
	if d.OutputSchema == nil {
		return d, errors.New("Output.Schema: is required: directories reject an entry without it")
	}
	return d, nil
}

var bodyTypes = []string{"json", "form-data", "text"}

func (d Declaration) methods() []string {
	if d.BodyType != "" {
		return []string{"POST", "PUT", "PATCH"}
	}
	return []string{"GET", "HEAD", "DELETE"}
}

// Extension returns the declaration as an extension of version 2. The returned error
// names the field that is invalid or does not fit its schema.
func (d Declaration) Extension() (Extension, error) {
	d, err := d.normalize()
	if err != nil {
		return Extension{}, err
	}
	schema := d.schema()
	input := map[string]any{"type": "http", "method": d.Method}
	if d.BodyType != "" {
		input["bodyType"] = d.BodyType
	}
	if err := d.addInput(input); err != nil {
		return Extension{}, err
	}
	output := map[string]any{"type": "json"}
	if d.OutputExample != nil {
		output["example"] = d.OutputExample
	}
	return newExtension(map[string]any{"input": input, "output": output}, schema)
}

// addInput sets the example of the request. Query parameters are optional, a body is
// not.
func (d Declaration) addInput(input map[string]any) error {
	name := "queryParams"
	if d.BodyType != "" {
		name = "body"
	}
	example := d.InputExample
	if example == nil {
		made, err := d.sampleInput(name)
		switch {
		case err != nil && d.BodyType != "":
			return fmt.Errorf("InputExample: is required: no example that fits InputSchema can be generated (%w)", err)
		case err != nil, d.BodyType == "" && d.InputSchema == nil:
			example = nil // query parameters are optional
		default:
			example = made
		}
	}
	if example == nil {
		return nil
	}
	input[name] = example
	return nil
}

// sampleInput generates an example.
func (d Declaration) sampleInput(name string) (any, error) {
	made, err := sample(d.inputSchema(), 0)
	if err != nil {
		return nil, err
	}
	return made, checkSchema(d.inputSchema(), made, name, 0)
}

// inputSchema returns InputSchema with its type set, or a schema for any input.
func (d Declaration) inputSchema() map[string]any {
	s := map[string]any{"type": "object"}
	if d.BodyType == "text" {
		s["type"] = "string"
	}
	declared, _ := d.InputSchema.(map[string]any)
	for k, v := range declared {
		s[k] = v
	}
	return s
}

func (d Declaration) schema() map[string]any {
	input := map[string]any{
		"type":   map[string]any{"type": "string", "const": "http"},
		"method": map[string]any{"type": "string", "enum": toAny(d.methods())},
	}
	required := []any{"type", "method"}
	if d.BodyType == "" {
		input["queryParams"] = d.inputSchema()
	} else {
		input["bodyType"] = map[string]any{"type": "string", "enum": toAny(bodyTypes)}
		input["body"] = d.inputSchema()
		required = append(required, "bodyType", "body")
	}
	return map[string]any{
		"$schema": schemaDialect,
		"type":    "object",
		"properties": map[string]any{
			"input": map[string]any{
				"type": "object", "properties": input, "required": required, "additionalProperties": false,
			},
			"output": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"type":    map[string]any{"type": "string"},
					"example": d.OutputSchema,
				},
				"required": []any{"type"},
			},
		},
		"required": []any{"input"},
	}
}

func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// OutputSchemaV1 returns the declaration as the outputSchema of version 1. Its errors
// are those of [Declaration.Extension].
func (d Declaration) OutputSchemaV1() (json.RawMessage, error) {
	d, err := d.normalize()
	if err != nil {
		return nil, err
	}
	input := map[string]any{"type": "http", "method": d.Method, "discoverable": true}
	properties, _ := d.inputSchema()["properties"].(map[string]any)
	switch {
	case d.BodyType != "":
		input["bodyType"] = d.BodyType
		if properties != nil {
			input["bodyFields"] = properties
		}
	case properties != nil:
		input["queryParams"] = properties
	}
	return json.Marshal(map[string]any{"input": input, "output": d.OutputSchema})
}

// newExtension encodes an extension and checks that info fits the schema.
func newExtension(info, schema map[string]any) (Extension, error) {
	var e Extension
	var err error
	if e.Info, err = json.Marshal(info); err != nil {
		return e, fmt.Errorf("encode info: %w", err)
	}
	if e.Schema, err = json.Marshal(schema); err != nil {
		return e, fmt.Errorf("encode schema: %w", err)
	}
	return e, e.Validate()
}

// Validate returns an error if info does not fit schema. It checks the common keywords
// and rejects references. A directory that accepts schemas from others needs a full
// validator.
func (e Extension) Validate() error {
	var info, schema any
	if err := json.Unmarshal(e.Info, &info); err != nil {
		return fmt.Errorf("info is not JSON: %w", err)
	}
	if err := json.Unmarshal(e.Schema, &schema); err != nil {
		return fmt.Errorf("schema is not JSON: %w", err)
	}
	return checkSchema(schema, info, "info", 0)
}
