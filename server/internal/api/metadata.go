package api

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// metadata is a merchant's own key-value pairs: strings, numbers or booleans, all stored
// as text.
type metadata map[string]jsontext.Value

const (
	maxMetadataKeys  = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

func (m metadata) check() (map[string]string, error) {
	if len(m) == 0 {
		return nil, nil
	}
	if len(m) > maxMetadataKeys {
		return nil, invalid("metadata", fmt.Sprintf("must have at most %d keys", maxMetadataKeys))
	}
	texts := make(map[string]string, len(m))
	for key, value := range m {
		if key == "" || utf8.RuneCountInString(key) > maxMetadataKey {
			return nil, invalid("metadata", fmt.Sprintf("must have keys of 1 to %d characters", maxMetadataKey))
		}
		var text string
		switch value.Kind() {
		case '"':
			b, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				return nil, invalid("metadata."+key, "is not a valid string")
			}
			text = string(b)
		case '0', 't', 'f':
			text = value.String()
		default:
			return nil, invalid("metadata."+key, "must be a string, a number or a boolean")
		}
		if strings.ContainsRune(key+text, 0) {
			return nil, invalid("metadata", "must not hold the character U+0000")
		}
		if utf8.RuneCountInString(text) > maxMetadataValue {
			return nil, invalid("metadata."+key, fmt.Sprintf("must have at most %d characters", maxMetadataValue))
		}
		texts[key] = text
	}
	return texts, nil
}
