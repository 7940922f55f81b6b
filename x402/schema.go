package x402

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"unicode/utf8"
)

// maxSchemaDepth is the deepest nesting of schemas and values.
const maxSchemaDepth = 32

// checkSchema returns an error if a value does not fit a JSON Schema 2020-12.
//
// It supports the keywords that endpoint descriptions use: type, const, enum,
// properties, required, additionalProperties, items, prefixItems, the bounds of
// numbers, strings, arrays and objects, pattern, allOf, anyOf, oneOf and not.
// References are rejected, because a schema that is embedded in another cannot refer to
// itself. Other keywords are ignored.
func checkSchema(schema, value any, path string, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s: nested deeper than %d", path, maxSchemaDepth)
	}
	switch s := schema.(type) {
	case bool:
		if !s {
			return fmt.Errorf("%s: nothing is allowed here", path)
		}
		return nil
	case map[string]any:
		return checkKeywords(s, value, path, depth)
	}
	return fmt.Errorf("%s: schema is neither object nor boolean", path)
}

func checkKeywords(s map[string]any, value any, path string, depth int) error {
	for _, name := range []string{"$ref", "$dynamicRef"} {
		if _, ok := s[name]; ok {
			return fmt.Errorf("%s: schema has %s: write out what it refers to", path, name)
		}
	}
	if err := checkType(s["type"], value, path); err != nil {
		return err
	}
	if want, ok := s["const"]; ok && !reflect.DeepEqual(want, value) {
		return fmt.Errorf("%s: is not the constant of its schema", path)
	}
	if list, ok := s["enum"].([]any); ok && !containsValue(list, value) {
		return fmt.Errorf("%s: is not in the enum of its schema", path)
	}
	if err := checkCombined(s, value, path, depth); err != nil {
		return err
	}
	switch v := value.(type) {
	case map[string]any:
		return checkObject(s, v, path, depth)
	case []any:
		return checkArray(s, v, path, depth)
	case string:
		return checkString(s, v, path)
	case float64:
		return checkNumber(s, v, path)
	}
	return nil
}

func containsValue(list []any, value any) bool {
	for _, each := range list {
		if reflect.DeepEqual(each, value) {
			return true
		}
	}
	return false
}

func checkType(declared, value any, path string) error {
	var names []any
	switch d := declared.(type) {
	case nil:
		return nil
	case string:
		names = []any{d}
	case []any:
		names = d
	default:
		return fmt.Errorf("%s: type is neither string nor array", path)
	}
	for _, name := range names {
		if isType(name, value) {
			return nil
		}
	}
	return fmt.Errorf("%s: want type %v", path, declared)
}

func isType(name, value any) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || (name == "integer" && v == math.Trunc(v))
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func checkCombined(s map[string]any, value any, path string, depth int) error {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := s[keyword].([]any)
		if !ok {
			continue
		}
		fits := 0
		for _, sub := range list {
			if checkSchema(sub, value, path, depth+1) == nil {
				fits++
			}
		}
		if (keyword == "allOf" && fits != len(list)) || (keyword == "anyOf" && fits == 0) || (keyword == "oneOf" && fits != 1) {
			return fmt.Errorf("%s: fits %d of %d in %s", path, fits, len(list), keyword)
		}
	}
	if sub, ok := s["not"]; ok && checkSchema(sub, value, path, depth+1) == nil {
		return fmt.Errorf("%s: fits what its schema excludes", path)
	}
	return nil
}

func checkObject(s, v map[string]any, path string, depth int) error {
	if err := bounds(s, "minProperties", "maxProperties", float64(len(v)), path); err != nil {
		return err
	}
	if required, ok := s["required"].([]any); ok {
		for _, name := range required {
			text, _ := name.(string)
			if _, ok := v[text]; !ok {
				return fmt.Errorf("%s.%s: missing", path, text)
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	_, patterns := s["patternProperties"]
	for name, member := range v {
		sub, known := properties[name]
		if !known {
			var limited bool
			if sub, limited = s["additionalProperties"]; !limited || patterns {
				continue
			}
		}
		if err := checkSchema(sub, member, path+"."+name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkArray(s map[string]any, v []any, path string, depth int) error {
	if err := bounds(s, "minItems", "maxItems", float64(len(v)), path); err != nil {
		return err
	}
	first, _ := s["prefixItems"].([]any)
	rest, limited := s["items"]
	for i, item := range v {
		sub := rest
		if i < len(first) {
			sub = first[i]
		} else if !limited {
			break
		}
		if err := checkSchema(sub, item, fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkString(s map[string]any, v, path string) error {
	if err := bounds(s, "minLength", "maxLength", float64(utf8.RuneCountInString(v)), path); err != nil {
		return err
	}
	pattern, ok := s["pattern"].(string)
	if !ok {
		return nil
	}
	// ECMAScript has patterns that Go cannot compile; these are not checked.
	if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(v) {
		return fmt.Errorf("%s: does not match %q", path, pattern)
	}
	return nil
}

func checkNumber(s map[string]any, v float64, path string) error {
	if err := bounds(s, "minimum", "maximum", v, path); err != nil {
		return err
	}
	if low, ok := s["exclusiveMinimum"].(float64); ok && v <= low {
		return fmt.Errorf("%s: is not above %v", path, low)
	}
	if high, ok := s["exclusiveMaximum"].(float64); ok && v >= high {
		return fmt.Errorf("%s: is not below %v", path, high)
	}
	return nil
}

func bounds(s map[string]any, low, high string, n float64, path string) error {
	if least, ok := s[low].(float64); ok && n < least {
		return fmt.Errorf("%s: is below its %s of %v", path, low, least)
	}
	if most, ok := s[high].(float64); ok && n > most {
		return fmt.Errorf("%s: is above its %s of %v", path, high, most)
	}
	return nil
}

var errNoSample = errors.New("no example can be generated")

// sample generates a value for a schema: its example, default or constant, or a minimal
// value of its type. The value need not fit the schema.
func sample(schema any, depth int) (any, error) {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return nil, errNoSample
	}
	for _, keyword := range []string{"const", "example", "default"} {
		if v, ok := s[keyword]; ok {
			return v, nil
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if list, ok := s[keyword].([]any); ok && len(list) > 0 {
			return list[0], nil
		}
	}
	switch s["type"] {
	case "object":
		return sampleObject(s, depth)
	case "string":
		return "example", nil
	case "integer", "number":
		if least, ok := s["minimum"].(float64); ok {
			return least, nil
		}
		return float64(1), nil
	case "boolean":
		return true, nil
	case "array":
		return []any{}, nil
	case "null":
		return nil, nil
	}
	return nil, errNoSample
}

func sampleObject(s map[string]any, depth int) (any, error) {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		text, _ := name.(string)
		v, err := sample(properties[text], depth+1)
		if err != nil {
			return nil, err
		}
		out[text] = v
	}
	return out, nil
}

// plain returns a value in the types that package json decodes to.
func plain(v any) (out any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}
