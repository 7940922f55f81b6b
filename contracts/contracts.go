// Package contracts holds the chain side of mandates: the Solidity sources under
// src/, what they compile to under artifacts/, and Go bindings of that.
//
// [MandateRouter] keeps what a person granted (a session key, a cap for each
// charge, a cap for each calendar month, payees, an end) and moves tokens within
// it. [TestUSDC] is a dollar token for development chains. The bindings pack and
// unpack calls; they do no I/O:
//
//	router := contracts.NewMandateRouter()
//	call := router.PackCharge(grantID, payee, amount, ref, deadline, signature)
//
// After a change in src/: `npm run compile` in this folder, then
// `go run ./contracts/gen`. Both have a form that only compares: `npm run check`
// and `go run ./contracts/gen -check`.
package contracts

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

//go:embed artifacts/TestUSDC.json
var testUSDC []byte

// Names and versions in the signing domains (EIP-712).
const (
	RouterDomainName    = "MandateRouter"
	RouterDomainVersion = "1"
)

// State of a grant, as MandateRouter has it.
const (
	StateNone uint8 = iota
	StateActive
	StateRevoked
)

// Genesis returns the code and the storage that put a [TestUSDC] into a genesis
// block, with a name and a version of at most 31 bytes each and the balances. An
// error where one of the texts is longer.
func Genesis(name, version string, balances map[common.Address]*big.Int) (code []byte, storage map[common.Hash]common.Hash, err error) {
	var artifact struct {
		Runtime hexutil.Bytes `json:"runtime"`
		Storage []struct {
			Label string      `json:"label"`
			Slot  json.Number `json:"slot"`
		} `json:"storage"`
	}
	if err := json.Unmarshal(testUSDC, &artifact); err != nil {
		return nil, nil, fmt.Errorf("read artifact: %w", err)
	}
	slots := map[string]common.Hash{}
	for _, s := range artifact.Storage {
		n, err := s.Slot.Int64()
		if err != nil {
			return nil, nil, fmt.Errorf("read artifact: slot of %s: %w", s.Label, err)
		}
		slots[s.Label] = common.BigToHash(big.NewInt(n))
	}
	storage = map[common.Hash]common.Hash{}
	for label, text := range map[string]string{"_name": name, "_symbol": "USDC", "version": version} {
		if storage[slots[label]], err = shortString(text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", label, err)
		}
	}
	supply := new(big.Int)
	table := slots["_balances"]
	for owner, balance := range balances {
		supply.Add(supply, balance)
		key := crypto.Keccak256Hash(common.LeftPadBytes(owner[:], 32), table[:])
		storage[key] = common.BigToHash(balance)
	}
	storage[slots["_totalSupply"]] = common.BigToHash(supply)
	return artifact.Runtime, storage, nil
}

// shortString is how Solidity keeps a string of at most 31 bytes: the text first,
// twice its length in the last byte.
func shortString(text string) (slot common.Hash, err error) {
	if len(text) > 31 {
		return slot, fmt.Errorf("%q is longer than 31 bytes", text)
	}
	copy(slot[:], text)
	slot[31] = byte(2 * len(text))
	return slot, nil
}
