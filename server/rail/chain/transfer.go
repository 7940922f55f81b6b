package chain

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Transfer authorizations (EIP-3009) and permits of the scheme upto are signed outside the
// service. The rail verifies them, submits each once through its relayer, and reports the
// outcome.

const authorizationPrefix = "authorization/"

func authorizationTask(key string) string { return authorizationPrefix + key }

// authorizationRecord is an authorization that was submitted, or found on the chain. It
// is written with its first broadcast, never before.
type authorizationRecord struct {
	Authorization x402.Authorization `json:"authorization"`
	// Permit is what the payer signed if the scheme is upto. Then Authorization.Value is what
	// is settled of it.
	Permit     x402.UptoAuthorization `json:"permit,omitzero"`
	Signature  string                 `json:"signature"`
	Resource   string                 `json:"resource"` // hash of what it pays for
	Since      uint64                 `json:"since"`    // the newest block while it was unused
	Settled    common.Hash            `json:"settled"`  // the final transaction that moved the money
	Failed     x402.Reason            `json:"failed,omitempty"`
	FailedHash common.Hash            `json:"failedHash"`
	Answered   bool                   `json:"told"`             // a caller got the answer that it is settled
	Undone     bool                   `json:"undone,omitempty"` // it was settled, and a reorganization took it back for good
	Waived     bool                   `json:"waived,omitempty"` // a permit that was settled for nothing, without a transaction
	// Caller is the hash of the idempotency key under which the settlement was first
	// requested, or, without one, first answered. Empty: that request had no key.
	Caller string `json:"caller,omitempty"`
	// Charge is the reference of the ledger's record. Empty if no ledger has one.
	Charge string `json:"charge,omitempty"`
}

// transfer returns what the record authorizes.
func (r authorizationRecord) transfer() (signedTransfer, error) {
	t, err := evm.ParseAuthorization(r.Authorization)
	if err != nil || r.Permit == (x402.UptoAuthorization{}) {
		return signedTransfer{TransferAuthorization: t}, err
	}
	p, err := evm.ParseUpto(r.Permit)
	return signedTransfer{t, &p}, err
}

func (r authorizationRecord) decided() bool {
	return r.Settled != common.Hash{} || r.Failed != "" || r.Waived
}

// failure returns why an authorization moved nothing.
func (r authorizationRecord) failure() (x402.Reason, string) {
	if r.Undone {
		return x402.ReasonTransactionState, "a reorganization of the chain has taken the transfer back"
	}
	return r.Failed, "the transaction did not move the money"
}

// checkSame refuses an authorization unless the record is of the same one, for the same
// resource.
func (r authorizationRecord) checkSame(a authorization) error {
	switch {
	case r.Authorization != a.wire || r.Permit != a.permitWire():
		return refuseAuthorization(a.reason(x402.ReasonNonceUsed), "another authorization of the same nonce was submitted, or for another amount")
	case r.Resource != a.resource:
		return refuseAuthorization(a.reason(x402.ReasonNonceUsed), "the authorization was submitted for another resource")
	}
	return nil
}

// signedTransfer is a transfer that its payer authorized: by exactly this authorization
// (EIP-3009), or as a part of a permit.
type signedTransfer struct {
	evm.TransferAuthorization

	permit *evm.UptoPermit // of the scheme upto; nil otherwise
}

// authorization is a transfer authorization as a request presents it.
type authorization struct {
	signedTransfer

	wire      x402.Authorization
	signature []byte
	resource  string              // hash
	key       string              // in the store
	caller    string              // hash of the caller's idempotency key; empty if it sent none
	verify    bool                // it is only verified
	from      string              // caller whose budget the gas counts against; may be empty
	ledger    rail.TransferLedger // may be nil
}

func parseAuthorization(e x402.Exact, resource string) (authorization, error) {
	if err := e.Validate(); err != nil {
		return authorization{}, err
	}
	t, err := evm.ParseAuthorization(e.Authorization)
	if err != nil {
		return authorization{}, err
	}
	if bytes.HasPrefix(t.Nonce[:], []byte(evm.RefundNonce)) {
		return authorization{}, errors.New("nonce: the authorization is a refund, and pays for nothing")
	}
	signature, err := hex.DecodeString(strings.TrimPrefix(e.Signature, "0x"))
	if err != nil {
		return authorization{}, fmt.Errorf("signature: %w", err)
	}
	return authorization{
		signedTransfer: signedTransfer{TransferAuthorization: t}, wire: t.Wire(), signature: signature, resource: fingerprint(resource),
		key: authorizationKey(t.From, t.Nonce),
	}, nil
}

// authorizationKey returns the key of an authorization's records.
func authorizationKey(signer common.Address, nonce common.Hash) string {
	return hex.EncodeToString(crypto.Keccak256(signer[:], nonce[:]))
}

// refusedError reports an authorization that is not settled, and why.
type refusedError struct {
	reason  x402.Reason
	message string
}

func (e *refusedError) Error() string { return string(e.reason) + ": " + e.message }

func refuseAuthorization(reason x402.Reason, format string, args ...any) error {
	return &refusedError{reason, fmt.Sprintf(format, args...)}
}

// Dollar returns the network and the token of the authorizations that the rail settles.
func (r *Rail) Dollar() (x402.Network, x402.Asset) {
	t := r.config.Token
	return x402.NetworkOf(int64(r.config.ChainID)), // chain ids are below 2⁶³
		x402.Asset{Address: t.Address.Hex(), Name: t.Name, Version: t.Version, Decimals: decimals}
}

// Signer returns the address that submits authorizations.
func (r *Rail) Signer() string { return r.relayer.Address().Hex() }

// SignedByKey reports whether the payer's own key signed an authorization. It calls no
// node, so a request without a valid signature costs no call.
func (r *Rail) SignedByKey(e x402.Exact) bool {
	a, err := parseAuthorization(e, "")
	if err != nil || len(a.signature) != evm.SignatureSize {
		return false
	}
	by, err := evm.Recover(evm.Digest(r.tokenDomain.Separator(), a.TransferAuthorization), a.signature)
	return err == nil && by == a.From
}

// VerifyAuthorization reports whether an authorization would be settled now, and moves
// nothing. It returns an error if the chain or the store does not answer.
func (r *Rail) VerifyAuthorization(ctx context.Context, e x402.Exact, resource string) (x402.Verification, error) {
	a, err := parseAuthorization(e, resource)
	return r.verification(ctx, e.Authorization.From, a, err)
}

// verification verifies an authorization. malformed is the error of parsing it.
func (r *Rail) verification(ctx context.Context, payer string, a authorization, malformed error) (x402.Verification, error) {
	v := x402.Verification{Payer: payer}
	if malformed != nil {
		v.InvalidReason, v.InvalidMessage = x402.ReasonInvalidPayload, malformed.Error()
		return v, nil //nolint:nilerr // a refusal is an answer
	}
	err := r.verifyAuthorization(ctx, a)
	var no *refusedError
	if errors.As(err, &no) {
		v.InvalidReason, v.InvalidMessage = no.reason, no.message
		return v, nil
	}
	if err != nil {
		return x402.Verification{}, fmt.Errorf("verify authorization: %w", err)
	}
	v.IsValid = true
	return v, nil
}

func (r *Rail) verifyAuthorization(ctx context.Context, a authorization) error {
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, a.key)
	switch {
	case err != nil:
		return err
	case found && record.Answered:
		return refuseAuthorization(a.reason(x402.ReasonNonceUsed), "the authorization was settled before")
	case found && (record.Failed != "" || record.Undone):
		reason, message := record.failure()
		return &refusedError{reason, message}
	case found:
		return record.checkSame(a)
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return err
	}
	if err := r.checkDeadline(a, header); err != nil {
		return err
	}
	checked, err := r.checkAuthorization(ctx, a)
	if errors.Is(err, errUsed) {
		_, err = r.findSighted(ctx, a)
		return err
	}
	var undeployed *undeployedError
	if errors.As(err, &undeployed) { // settling deploys the wallet
		err = nil
	}
	if err == nil && a.permit != nil { // only the relayer can settle a permit
		return r.reserveVerified(ctx, a, checked.reserve)
	}
	if err == nil {
		return r.recordSighting(ctx, a, header.Number.Uint64())
	}
	return err
}
