package x402_test

import (
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
)

type m = map[string]any

var answer = m{"type": "object", "properties": m{"hits": m{"type": "array"}}, "required": []string{"hits"}}

// fits asks an independent validator.
func fits(t *testing.T, e x402.Extension) error {
	t.Helper()
	var schema, info any
	require.NoError(t, json.Unmarshal(e.Schema, &schema))
	require.NoError(t, json.Unmarshal(e.Info, &info))
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", schema))
	compiled, err := c.Compile("schema.json")
	require.NoError(t, err)
	return compiled.Validate(info)
}

func TestDeclarationsFitTheirOwnSchema(t *testing.T) {
	t.Parallel()
	query := m{"properties": m{"city": m{"type": "string"}}, "required": []string{"city"}}
	for name, d := range map[string]x402.Declaration{
		"output alone":      {OutputSchema: answer},
		"query":             {InputSchema: query, OutputSchema: answer},
		"query, example":    {InputSchema: query, InputExample: m{"city": "Kiel"}, OutputSchema: answer, OutputExample: m{"hits": []any{}}},
		"body":              {BodyType: "json", InputSchema: query, OutputSchema: answer},
		"body, no schema":   {BodyType: "json", OutputSchema: answer},
		"text body":         {BodyType: "text", OutputSchema: answer},
		"put":               {Method: "PUT", BodyType: "form-data", InputExample: m{}, OutputSchema: answer},
		"query, no example": {InputSchema: m{"properties": m{"a": m{"type": "string", "minLength": 99}}, "required": []string{"a"}}, OutputSchema: answer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := d.Extension()
			require.NoError(t, err)
			require.NoError(t, fits(t, e))
			require.Contains(t, string(e.Schema), `"hits"`, "the output schema must be inside")
			one, err := d.OutputSchemaV1()
			require.NoError(t, err)
			require.Contains(t, string(one), `"hits"`)
		})
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		d    x402.Declaration
		want string
	}{
		"no output schema":      {x402.Declaration{OutputExample: m{"a": 1}}, "Output.Schema"},
		"output schema of text": {x402.Declaration{OutputSchema: "x"}, "Output.Schema"},
		"body with GET":         {x402.Declaration{Method: "GET", BodyType: "json", OutputSchema: answer}, "Method"},
		"POST without body":     {x402.Declaration{Method: "POST", OutputSchema: answer}, "Method"},
		"body type":             {x402.Declaration{BodyType: "xml", OutputSchema: answer}, "BodyType"},
		"example of output":     {x402.Declaration{OutputSchema: answer, OutputExample: m{"a": 1}}, "info.output.example.hits"},
		"example of input": {x402.Declaration{
			InputSchema: m{"properties": m{"n": m{"type": "integer"}}}, InputExample: m{"n": "x"}, OutputSchema: answer,
		}, "info.input.queryParams.n"},
		"body that cannot be made up": {x402.Declaration{
			BodyType: "json", InputSchema: m{"properties": m{"a": m{"type": "string", "minLength": 99}}, "required": []string{"a"}}, OutputSchema: answer,
		}, "InputExample: is required"},
		"reference":    {x402.Declaration{OutputSchema: m{"$ref": "#/x"}, OutputExample: m{}}, "$ref"},
		"not encoding": {x402.Declaration{OutputSchema: answer, InputExample: make(chan int)}, "InputExample"},
	} {
		_, err := tc.d.Extension()
		require.ErrorContains(t, err, tc.want, name)
	}
}

// What is checked here must not refuse what a full validator takes, nor take
// what it refuses, for the keywords that are known.
func TestSchemaCheckAgreesWithAFullValidator(t *testing.T) {
	t.Parallel()
	values := []string{
		`null`, `true`, `0`, `1`, `2.5`, `-3`, `""`, `"ab"`, `"abcdef"`, `[]`, `[1]`, `[1,"x"]`, `{}`, `{"a":1}`, `{"a":"x","b":2}`,
	}
	schemas := []string{
		`true`, `false`, `{}`, `{"type":"integer"}`, `{"type":["string","null"]}`, `{"const":1}`, `{"enum":["ab",null,{"a":1}]}`,
		`{"minimum":1}`, `{"maximum":1}`, `{"exclusiveMinimum":1}`, `{"exclusiveMaximum":1}`, `{"minLength":1,"maxLength":3}`, `{"pattern":"^a"}`,
		`{"minItems":1}`, `{"maxItems":1}`, `{"items":{"type":"number"}}`, `{"prefixItems":[{"type":"number"}],"items":false}`,
		`{"required":["a"]}`, `{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":true},"additionalProperties":false}`,
		`{"additionalProperties":{"type":"number"}}`, `{"minProperties":1,"maxProperties":1}`, `{"not":{"type":"string"}}`,
		`{"anyOf":[{"type":"string"},{"minimum":2}]}`, `{"oneOf":[{"type":"number"},{"minimum":2}]}`, `{"allOf":[{"type":"number"},{"minimum":2}]}`,
	}
	for _, s := range schemas {
		for _, v := range values {
			e := x402.Extension{Info: json.RawMessage(v), Schema: json.RawMessage(s)}
			require.Equal(t, fits(t, e) == nil, e.Validate() == nil, "schema %s, value %s", s, v)
		}
	}
}

func TestIdentifier(t *testing.T) {
	t.Parallel()
	with := func(info string) x402.Payload {
		return x402.Payload{Extensions: map[string]x402.Extension{x402.ExtensionIdentifier: {Info: json.RawMessage(info)}}}
	}
	id, err := with(`{"id":"pay_7d5d747be160e280504c099d984bcfe0"}`).Identifier()
	require.NoError(t, err)
	require.Equal(t, "pay_7d5d747be160e280504c099d984bcfe0", id)
	for _, none := range []x402.Payload{{}, with(`{}`), with(`{"id":null}`)} {
		id, err := none.Identifier()
		require.NoError(t, err)
		require.Empty(t, id)
	}
	for _, bad := range []string{`{"id":"short"}`, `{"id":5}`, `[]`, `{"id":"has space in the middle"}`} {
		_, err := with(bad).Identifier()
		require.Error(t, err, bad)
	}
	require.NoError(t, x402.IdentifierExtension().Validate())
}

// Official clients add an id only if info.required is a boolean.
func TestIdentifierIsOfferedAsOfficialClientsTakeIt(t *testing.T) {
	t.Parallel()
	e := x402.IdentifierExtension()
	require.JSONEq(t, `{"required":false}`, string(e.Info))
	require.JSONEq(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"required":{"type":"boolean"},
		"id":{"type":"string","minLength":16,"maxLength":128,"pattern":"^[a-zA-Z0-9_-]+$"}},"required":["required"]}`, string(e.Schema))
	for info, good := range map[string]bool{
		`{"required":false,"id":"pay_7d5d747be160e280504c099d984bcfe0"}`: true,
		`{"required":false,"id":"short"}`:                                false, `{"required":false,"id":"pay_7d5d747be160 280504c099d984bcfe0"}`: false, `{}`: false,
	} {
		require.Equal(t, good, x402.Extension{Info: json.RawMessage(info), Schema: e.Schema}.Validate() == nil, info)
	}
}
