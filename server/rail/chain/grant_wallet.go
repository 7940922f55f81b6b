package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402/evm"
)

var _ rail.Wallets = (*Rail)(nil)

// Propose returns a grant within the limits, and its permit, for the owner's wallet to
// sign. The wallet must be one of a key, since tokens take no permits of contracts.
func (r *Rail) Propose(ctx context.Context, owner string, l rail.Limits) (rail.WalletProposal, error) {
	from, err := address(owner)
	if err != nil {
		return rail.WalletProposal{}, fmt.Errorf("propose to %q: %w", owner, rail.ErrUnknownMethod)
	}
	terms, err := r.termsOf(ctx, l)
	if err != nil {
		return rail.WalletProposal{}, err
	}
	balance, err := r.balance(ctx, from)
	if err != nil {
		return rail.WalletProposal{}, err
	}
	if balance.Cmp(big.NewInt(int64(terms.MaxPerCharge))) < 0 {
		return rail.WalletProposal{}, &rail.RefusedError{Reason: rail.InsufficientFunds}
	}
	p, err := r.Prepare(ctx, from, terms)
	if errors.Is(err, ErrTerms) {
		return rail.WalletProposal{}, &rail.RefusedError{Reason: rail.Unavailable}
	}
	if err != nil {
		return rail.WalletProposal{}, err
	}
	return rail.WalletProposal{ID: p.GrantID.Hex(), Messages: []json.RawMessage{p.Grant, p.Permit}}, nil
}

// Accept verifies and stores the signatures of a proposal's grant and permit, and
// returns the method to connect.
func (r *Rail) Accept(ctx context.Context, id string, l rail.Limits, signatures []string) (string, error) {
	grantID, ok := parseHash(id)
	if !ok || len(signatures) != 2 {
		return "", rail.ErrNoProposal
	}
	record, found, err := records.Load[grantRecord](ctx, r.config.Store, kindGrant, grantID.Hex())
	if err != nil {
		return "", err
	}
	terms, err := r.termsOf(ctx, l)
	if err != nil {
		return "", err
	}
	if !found || !record.hasTerms(terms) {
		return "", rail.ErrNoProposal
	}
	owner := record.Grant.Owner
	grant, err := signedBy(owner, evm.Digest(r.routerDomain, record.Grant), signatures[0])
	if err != nil {
		return "", fmt.Errorf("grant of %s: %w", owner, err)
	}
	permit, err := signedBy(owner, evm.Digest(r.tokenDomain.Separator(), record.Permit), signatures[1])
	if err != nil {
		return "", fmt.Errorf("permit of %s: %w", owner, err)
	}
	if c := record.Consent; record.State == signed && c != nil && c.Permit != nil && bytes.Equal(c.Signature, grant) && bytes.Equal(c.Permit.Signature, permit) {
		return methodPrefix + grantID.Hex(), nil
	}
	return r.Consent(ctx, grantID, Consent{Signature: grant, Permit: &PermitConsent{
		Value: record.Permit.Value, Deadline: record.Permit.Deadline.Big().Uint64(), Signature: permit,
	}})
}

// hasTerms reports whether a grant has exactly these terms.
func (g grantRecord) hasTerms(t Terms) bool {
	return g.Session == t.Session && g.Grant.MaxPerCharge == uint64(t.MaxPerCharge) && g.Grant.MaxPerMonth == uint64(t.MaxPerMonth) &&
		g.Grant.ExpiresAt == uint64(t.ExpiresAt.Unix()) && slices.Equal(g.Grant.Payees, t.Payees)
}

// signedBy decodes a wallet's signature and verifies it. Some wallets write v as 0 and 1.
func signedBy(owner common.Address, digest common.Hash, text string) ([]byte, error) {
	signature, err := hexutil.Decode(text)
	if err != nil || len(signature) != evm.SignatureSize {
		return nil, rail.ErrSignature
	}
	if signature[64] < 2 {
		signature[64] += 27
	}
	if by, err := evm.Recover(digest, signature); err != nil || by != owner {
		return nil, rail.ErrSignature
	}
	return signature, nil
}

// RevokeCall returns the call by which an owner revokes an instrument's grant on the
// router, and reports whether the instrument has one.
func (r *Rail) RevokeCall(in rail.Instrument) (rail.WalletCall, bool) {
	id, ok := parseHash(in.Method)
	if !ok || in.Rail != rail.Chain {
		return rail.WalletCall{}, false
	}
	return rail.WalletCall{From: in.Customer, To: r.config.Router.Hex(), Data: hexutil.Encode(r.router.PackRevoke(id))}, true
}
