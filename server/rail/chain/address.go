package chain

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
)

// errAddress tells that a text is no address.
var errAddress = errors.New("chain: not an address")

// address reads a wallet; the zero address is none.
func address(s string) (a common.Address, err error) {
	if !common.IsHexAddress(s) || len(s) != 2+2*len(a) {
		return a, errAddress
	}
	if a = common.HexToAddress(s); a == (common.Address{}) {
		return a, errAddress
	}
	return a, nil
}

// ParseAddress reads an address that a person wrote, with its checksum where the
// letters are of both cases. An error where it is none, or the zero address.
func ParseAddress(s string) (common.Address, error) {
	text, err := x402.ParseAddress(s)
	if err != nil {
		return common.Address{}, err
	}
	if a := common.HexToAddress(text); a != (common.Address{}) {
		return a, nil
	}
	return common.Address{}, errors.New("the zero address is nobody's")
}
