package chain

import (
	"encoding/hex"
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
)

// errAddress reports a text that is not the address of an account.
var errAddress = errors.New("chain: not an address")

// address parses a wallet's address. The zero address is an error.
func address(s string) (a common.Address, err error) {
	if !common.IsHexAddress(s) || len(s) != 2+2*len(a) {
		return a, errAddress
	}
	if a = common.HexToAddress(s); a == (common.Address{}) {
		return a, errAddress
	}
	return a, nil
}

// ParseAddress parses an address that a person wrote. It verifies the checksum if the
// letters are of both cases. The zero address is an error.
func ParseAddress(s string) (common.Address, error) {
	text, err := x402.ParseAddress(s)
	if err != nil {
		return common.Address{}, err
	}
	if a := common.HexToAddress(text); a != (common.Address{}) {
		return a, nil
	}
	return common.Address{}, errors.New("the zero address belongs to no account")
}

// parseHash parses "0x" and 64 digits, as the rail writes them.
func parseHash(s string) (h common.Hash, ok bool) {
	if len(s) != 2+2*len(h) || s[:2] != "0x" {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s[2:]))
	return h, err == nil
}
