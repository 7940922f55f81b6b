// Package contracts has the contracts of mandates on the chain: Solidity sources in
// src/, their artifacts in artifacts/, and Go bindings.
//
// [MandateRouter] stores what a person granted (a session key, a cap for each charge, a
// cap for each calendar month, payees, an expiry) and moves tokens within it. [TestUSDC]
// is a dollar token for development chains. [TestPermit2] and [TestUptoProxy] stand in for
// Permit2 and the proxy of x402's scheme upto there; their bindings also call the real ones.
// The bindings pack and unpack calls; they do no I/O:
//
//	router := contracts.NewMandateRouter()
//	call := router.PackCharge(grantID, payee, amount, ref, deadline, signature)
//
// After a change in src/, run `npm run compile` in this folder and then
// `go run ./contracts/gen`. `npm run check` and `go run ./contracts/gen -check` only
// compare.
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

//go:embed artifacts/TestPermit2.json
var testPermit2 []byte

//go:embed artifacts/TestUptoProxy.json
var testUptoProxy []byte

//go:embed artifacts/IssuedUSDC.json
var issuedUSDC []byte

//go:embed artifacts/IssuedUSDCProxy.json
var issuedUSDCProxy []byte

// Name and version of the router's signing domain (EIP-712).
const (
	RouterDomainName    = "MandateRouter"
	RouterDomainVersion = "1"
)

// States of a grant in MandateRouter.
const (
	StateNone uint8 = iota
	StateActive
	StateRevoked
)

// artifact is the part of an artifact that a genesis needs.
type artifact struct {
	Runtime hexutil.Bytes `json:"runtime"`
	Storage []struct {
		Label string      `json:"label"`
		Slot  json.Number `json:"slot"`
	} `json:"storage"`
}

// slots returns the storage slots of the contract's variables.
func (a artifact) slots() (map[string]common.Hash, error) {
	slots := map[string]common.Hash{}
	for _, s := range a.Storage {
		n, err := s.Slot.Int64()
		if err != nil {
			return nil, fmt.Errorf("read artifact: slot of %s: %w", s.Label, err)
		}
		slots[s.Label] = common.BigToHash(big.NewInt(n))
	}
	return slots, nil
}

func readArtifact(text []byte) (a artifact, err error) {
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("read artifact: %w", err)
	}
	return a, nil
}

// Genesis returns the code and the storage that put a [TestUSDC] into a genesis
// block, with the balances. It returns an error if name or version is longer than
// 31 bytes.
func Genesis(name, version string, balances map[common.Address]*big.Int) (code []byte, storage map[common.Hash]common.Hash, err error) {
	a, err := readArtifact(testUSDC)
	if err != nil {
		return nil, nil, err
	}
	slots, err := a.slots()
	if err != nil {
		return nil, nil, err
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
	return a.Runtime, storage, nil
}

// UptoGenesis returns the code of [TestPermit2] and [TestUptoProxy], which a genesis block has
// at the addresses of Permit2 and of the proxy. They have no storage at first.
func UptoGenesis() (permit2, proxy []byte, err error) {
	a, err := readArtifact(testPermit2)
	if err != nil {
		return nil, nil, err
	}
	b, err := readArtifact(testUptoProxy)
	return a.Runtime, b.Runtime, err
}

// implementationSlot is the storage slot of the address of a proxy's code (ERC-1967).
var implementationSlot = common.HexToHash("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")

// IssuedGenesis is like [Genesis] for the form that behaves like the deployed USDC: an
// issuer can pause it and block accounts, reverts have texts, and its code is behind a
// proxy. It returns the proxy's code and storage, and the code for the address
// implementation.
func IssuedGenesis(name, version string, balances map[common.Address]*big.Int, implementation common.Address) (proxy []byte, storage map[common.Hash]common.Hash, code []byte, err error) {
	_, storage, err = Genesis(name, version, balances)
	if err != nil {
		return nil, nil, nil, err
	}
	storage[implementationSlot] = common.BytesToHash(implementation[:])
	front, err := readArtifact(issuedUSDCProxy)
	if err != nil {
		return nil, nil, nil, err
	}
	behind, err := readArtifact(issuedUSDC)
	return front.Runtime, storage, behind.Runtime, err
}

// shortString returns the slot of a string of at most 31 bytes, as Solidity stores it:
// the text first, and twice its length in the last byte.
func shortString(text string) (slot common.Hash, err error) {
	if len(text) > 31 {
		return slot, fmt.Errorf("%q is longer than 31 bytes", text)
	}
	copy(slot[:], text)
	slot[31] = byte(2 * len(text))
	return slot, nil
}
