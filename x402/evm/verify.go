package evm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Chain reads the latest block of a chain.
type Chain interface {
	// Call executes a call of to with data, or runs data as creation code if to is nil,
	// and discards all changes. It returns the output, which is empty if the call reverts.
	// An error means that the chain could not be asked.
	Call(ctx context.Context, to *common.Address, data []byte, gas uint64) ([]byte, error)
	// Code returns the code at an address, or nothing if the account has none.
	Code(ctx context.Context, at common.Address) ([]byte, error)
}

// Verifier verifies signatures of accounts. It calls an account with code (ERC-1271), as
// tokens do. Any other account signs with its key, or is a wallet that is not deployed
// yet (ERC-6492).
type Verifier struct {
	// Chain calls accounts with code. Required.
	Chain Chain
	// Gas limits one call. A call that deploys a wallet may use ten times as much.
	// Default: 500,000.
	Gas uint64
}

// Signer describes how an account signed.
type Signer struct {
	// Contract reports whether the account is a contract, deployed or not.
	Contract bool
	// Deploy deploys the account. It is nil if the account is deployed. It comes from the
	// signature, so it must not be sent to a factory that is not trusted.
	Deploy *Wrapped
	// Signature is the signature that the account, and so the token, accepts.
	Signature []byte
}

// magic is the selector of isValidSignature(bytes32,bytes), and what it returns for a
// valid signature.
const magic = "\x16\x26\xba\x7e"

// deployFactor is how much more gas a call that deploys a wallet may use.
const deployFactor = 10

// Verify returns how an account signed a digest. It returns [ErrSignature] or
// [ErrWrapper] if the account did not sign. With any other error, which is the chain's,
// the signature may be valid.
func (v Verifier) Verify(ctx context.Context, account common.Address, digest common.Hash, signature []byte) (Signer, error) {
	signer := Signer{Signature: signature}
	if IsWrapped(signature) {
		w, err := Unwrap(signature)
		if err != nil {
			return Signer{}, err
		}
		signer.Deploy, signer.Signature = &w, w.Signature
	}
	code, err := v.Chain.Code(ctx, account)
	if err != nil {
		return Signer{}, fmt.Errorf("read code of %s: %w", account, err)
	}
	switch {
	case len(code) > 0:
		signer.Contract, signer.Deploy = true, nil
		err = v.ask(ctx, account, digest, signer.Signature)
	case signer.Deploy != nil:
		signer.Contract = true
		err = v.probe(ctx, account, digest, *signer.Deploy)
	default:
		var by common.Address
		if by, err = Recover(digest, signature); err == nil && by != account {
			err = ErrSignature
		}
	}
	if err != nil {
		return Signer{}, err
	}
	return signer, nil
}

// ask calls a contract to verify its signature.
func (v Verifier) ask(ctx context.Context, account common.Address, digest common.Hash, signature []byte) error {
	data := append([]byte(magic), digest[:]...)
	data = append(data, make([]byte, word)...)
	number(data[len(magic)+word:], 2*word)
	answer, err := v.Chain.Call(ctx, &account, append(data, tail(signature)...), v.gas())
	if err != nil {
		return fmt.Errorf("ask %s for its signature: %w", account, err)
	}
	if len(answer) != word || string(answer[:len(magic)]) != magic || !zero(answer[len(magic):]) {
		return ErrSignature
	}
	return nil
}

var errProbe = errors.New("evm: probe code is not hexadecimal")

// probe deploys a wallet within a call, calls it there, and discards both.
func (v Verifier) probe(ctx context.Context, account common.Address, digest common.Hash, w Wrapped) error {
	code, err := hex.DecodeString(probeCode)
	if err != nil {
		return errProbe
	}
	var head [5 * word]byte
	address(head[:], account)
	copy(head[1*word:], digest[:])
	address(head[2*word:], w.Factory)
	call := tail(w.FactoryCall)
	number(head[3*word:], uint64(len(head)))
	number(head[4*word:], uint64(len(head)+len(call)))
	code = append(code, head[:]...)
	code = append(code, call...)
	answer, err := v.Chain.Call(ctx, nil, append(code, tail(w.Signature)...), deployFactor*v.gas())
	if err != nil {
		return fmt.Errorf("ask %s, not deployed, for its signature: %w", account, err)
	}
	if len(answer) != 1 || answer[0] != 1 {
		return ErrSignature
	}
	return nil
}

func (v Verifier) gas() uint64 {
	if v.Gas == 0 {
		return 500_000
	}
	return v.Gas
}
