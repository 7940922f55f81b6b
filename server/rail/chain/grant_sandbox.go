package chain

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Sandbox has wallets that sign without a person, for development chains.
type Sandbox struct {
	// Funded are the keys of wallets with dollars. A mandate gets one of them. Default:
	// none, and the sandbox offers no methods but MethodEmpty.
	Funded []*ecdsa.PrivateKey
	// Empty is the key of a wallet without dollars. Default: none.
	Empty *ecdsa.PrivateKey
	// Terms are those of a grant whose connection has no limits. Default: 10,000 dollars
	// a charge, 100,000 a month, for two years, to any payee.
	Terms Terms
}

// The sandbox's methods.
const (
	// MethodWallet is a wallet with dollars.
	MethodWallet = "wallet"
	// MethodEmpty is a wallet without dollars: its charges are refused.
	MethodEmpty = "wallet_empty"
	// MethodNoAllowance is a wallet that granted, but gives the router no allowance.
	MethodNoAllowance = "wallet_no_allowance"
	// MethodRefused is a wallet for which another key signs: it does not connect.
	MethodRefused = "wallet_refused"
)

// Methods returns the sandbox's wallets, for the setup page to offer.
func (r *Rail) Methods() []rail.Method {
	var methods []rail.Method
	if len(r.config.Sandbox.Funded) > 0 {
		methods = append(methods, rail.Method{Name: MethodWallet, Label: "USDC wallet", Summary: "A test wallet with dollars."})
	}
	if r.config.Sandbox.Empty != nil {
		methods = append(methods, rail.Method{Name: MethodEmpty, Label: "Empty wallet", Summary: "Connects; every charge is refused, because it has no money."})
	}
	if len(r.config.Sandbox.Funded) > 0 {
		methods = append(
			methods,
			rail.Method{Name: MethodNoAllowance, Label: "Wallet without allowance", Summary: "Connects; every charge is refused, because the router may move nothing."},
			rail.Method{Name: MethodRefused, Label: "Wrong wallet", Summary: "Is refused when it is connected: another wallet signed."},
		)
	}
	return methods
}

var _ rail.Offerer = (*Rail)(nil)

// sandboxKey returns the key of a sandbox method's wallet, nil if there is none. The
// last funded wallet never gives an allowance; a seed selects one of the others.
func (r *Rail) sandboxKey(method string, seed common.Hash) *ecdsa.PrivateKey {
	funded := r.config.Sandbox.Funded
	switch {
	case method == MethodEmpty:
		return r.config.Sandbox.Empty
	case len(funded) == 0:
		return nil
	case method == MethodNoAllowance:
		return funded[len(funded)-1]
	case method == MethodWallet || method == MethodRefused:
		givers := funded[:max(1, len(funded)-1)]
		return givers[binary.BigEndian.Uint64(seed[:])%uint64(len(givers))]
	default:
		return nil
	}
}

// SandboxConsent signs terms with a sandbox method's wallet, and returns the method to
// connect. It returns [rail.ErrUnknownMethod] if the sandbox has no such method, and
// [ErrTerms] if the router would not take the terms.
func (r *Rail) SandboxConsent(ctx context.Context, method string, terms Terms) (string, error) {
	grantID, err := r.sandboxConsent(ctx, method, terms, crypto.Keccak256Hash([]byte(fmt.Sprint(terms))))
	if err != nil {
		return "", fmt.Errorf("sign in the sandbox: %w", err)
	}
	return methodPrefix + grantID.Hex(), nil
}

func (r *Rail) sandboxConsent(ctx context.Context, method string, terms Terms, seed common.Hash) (common.Hash, error) {
	key := r.sandboxKey(method, seed)
	if key == nil {
		return common.Hash{}, rail.ErrUnknownMethod
	}
	proposal, messages, err := r.prepare(ctx, crypto.PubkeyToAddress(key.PublicKey), terms)
	if err != nil {
		return common.Hash{}, err
	}
	by := key
	if method == MethodRefused {
		by = r.config.Relayer
	}
	c := Consent{}
	if c.Signature, err = evm.Sign(evm.Digest(r.routerDomain, messages.grant), by); err != nil {
		return common.Hash{}, err
	}
	if method != MethodNoAllowance {
		// Without a limit, the order in which several mandates connect does not matter.
		for i := range messages.permit.Value {
			messages.permit.Value[i] = 0xff
		}
		signature, err := evm.Sign(evm.Digest(r.tokenDomain.Separator(), messages.permit), by)
		if err != nil {
			return common.Hash{}, err
		}
		c.Permit = &PermitConsent{Value: messages.permit.Value, Deadline: proposal.PermitDeadline, Signature: signature}
	}
	_, err = r.Consent(ctx, proposal.GrantID, c)
	return proposal.GrantID, err
}

// sandboxTerms returns the terms of Config, or the default by the chain's clock.
func (r *Rail) sandboxTerms(ctx context.Context) (Terms, error) {
	if r.config.Sandbox.Terms.MaxPerCharge > 0 {
		return r.config.Sandbox.Terms, nil
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return Terms{}, err
	}
	return Terms{
		MaxPerCharge: 10_000 * money.MicrosPerDollar, MaxPerMonth: 100_000 * money.MicrosPerDollar, ExpiresAt: eth.Time(header).AddDate(2, 0, 0),
	}, nil
}
