package evm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Chain answers questions about the newest block. A contract that refuses a call
// is an answer, not an error: empty output.
type Chain interface {
	// Call runs a call of to, or code where to is nil, and undoes all that it did.
	Call(ctx context.Context, to *common.Address, data []byte, gas uint64) ([]byte, error)
	// Code is the code at an address, empty where there is none.
	Code(ctx context.Context, at common.Address) ([]byte, error)
}

// Verifier tells whether an account signed. An account with code is asked itself
// (ERC-1271), as tokens do; any other signed with its key, or is a wallet that is
// yet to be deployed (ERC-6492).
type Verifier struct {
	// Chain is asked about accounts with code. Required.
	Chain Chain
	// Gas is the most that one question may use. Zero: 500,000; a question that
	// deploys a wallet may use ten times that.
	Gas uint64
}

// Signer is how an account signed.
type Signer struct {
	// Contract tells that the account is a contract, deployed or yet to be.
	Contract bool
	// Deploy is what deploys it, where it is not there yet. It is taken from the
	// signature: whoever sends it somewhere must trust the factory.
	Deploy *Wrapped
	// Signature is what the account itself, and so the token, understands.
	Signature []byte
}

// magic is what isValidSignature(bytes32,bytes) answers, and its selector.
const magic = "\x16\x26\xba\x7e"

// deployFactor is how much more gas a question may use that deploys a wallet.
const deployFactor = 10

// Verify tells how an account signed a digest. [ErrSignature] or [ErrWrapper]
// where it did not; any other error is the chain's, and then it is unknown.
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

// ask asks a contract whether it signed.
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

// probe deploys a wallet in a call that is undone, and asks it there.
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
