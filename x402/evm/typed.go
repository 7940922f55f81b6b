package evm

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// field is one member of a message.
type field struct {
	name, kind string
	value      any
}

// TypedData returns a message in the JSON form that wallets show and sign
// (eth_signTypedData_v4): types, primaryType, domain and message, with numbers as decimal
// strings.
func TypedData(d Domain, m Message) json.RawMessage {
	type member struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	name, fields := m.typed()
	members, message := make([]member, len(fields)), map[string]any{}
	for i, f := range fields {
		members[i], message[f.name] = member{f.name, f.kind}, f.value
	}
	text, err := json.Marshal(map[string]any{
		"types": map[string][]member{
			"EIP712Domain": {{"name", "string"}, {"version", "string"}, {"chainId", "uint256"}, {"verifyingContract", "address"}},
			name:           members,
		},
		"primaryType": name,
		"domain":      map[string]any{"name": d.Name, "version": d.Version, "chainId": decimal(d.ChainID), "verifyingContract": d.Contract},
		"message":     message,
	})
	if err != nil {
		panic(fmt.Sprintf("evm: encode strings and addresses: %v", err))
	}
	return text
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
