package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/BurntSushi/toml"
)

// readTOML reads a file strictly: an unknown key is an error. The returned error names the
// file, and the line or the key.
func readTOML(path string, v any) (toml.MetaData, error) {
	meta, err := toml.DecodeFile(path, v)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return meta, fmt.Errorf("%s: line %d: %s", path, syntax.Position.Line, syntax.Message)
	case err != nil:
		return meta, fmt.Errorf("%s: %w", path, inWords(err))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return meta, fmt.Errorf("%s: unknown key %s", path, unknown[0])
	}
	return meta, nil
}

// wrongType matches the library's errors for a value of another type: line, key and type.
var wrongType = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]+)"\): (?:incompatible types: .* destination has type (\S+)|type mismatch for \S+: expected (\S+) but found \S+)$`)

// tomlTypes are what a value must be, by the library's names of types.
var tomlTypes = map[string]string{
	"string": `a text in quotes, such as "0.60"`, "integer": "a whole number", "float": "a number", "boolean": "true or false",
	"slice": "an array", "map": "a section", "table": "a section",
}

// inWords says what a value of another type must be.
func inWords(err error) error {
	found := wrongType.FindStringSubmatch(err.Error())
	if found == nil || tomlTypes[found[3]+found[4]] == "" {
		return err
	}
	return fmt.Errorf("line %s: %s must be %s", found[1], found[2], tomlTypes[found[3]+found[4]])
}
