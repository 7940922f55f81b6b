package chain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Terms are what a person is asked to grant.
type Terms struct {
	// MaxPerCharge is the most that one charge may move.
	MaxPerCharge money.Micros
	// MaxPerMonth is the most that all charges of a calendar month (UTC) may move.
	MaxPerMonth money.Micros
	// ExpiresAt is when the grant ends.
	ExpiresAt time.Time
	// Payees are the wallets that may be paid, at most 32. Default: any.
	Payees []common.Address
	// Session is the setup session of the proposal. A session has at most five
	// proposals. Default: none.
	Session string
}

// maxPayees is the router's limit.
const maxPayees = 32

// ErrTerms reports terms that the router would not take.
var ErrTerms = errors.New("chain: terms cannot be granted")

func (t Terms) validate(now time.Time) error {
	switch {
	case t.MaxPerCharge <= 0 || t.MaxPerCharge > t.MaxPerMonth:
		return fmt.Errorf("%d micros a charge, %d a month: %w", t.MaxPerCharge, t.MaxPerMonth, ErrTerms)
	case !t.ExpiresAt.After(now):
		return fmt.Errorf("expiry %s: %w", t.ExpiresAt, ErrTerms)
	case len(t.Payees) > maxPayees:
		return fmt.Errorf("%d payees, at most %d: %w", len(t.Payees), maxPayees, ErrTerms)
	}
	return nil
}

// grantState is the state of a grant in the records.
type grantState string

const (
	proposed grantState = "proposed" // not signed yet
	signed   grantState = "signed"   // may be relayed and charged
	revoked  grantState = "revoked"  // its key is destroyed
)

// grantRecord is a grant with its session key.
type grantRecord struct {
	Grant     evm.Grant  `json:"grant"`
	Sealed    []byte     `json:"sealed,omitempty"` // the session key
	State     grantState `json:"state"`
	Consent   *Consent   `json:"consent,omitempty"`
	Permit    evm.Permit `json:"permit"`              // that the wallet signs with the grant
	Connected string     `json:"connected,omitempty"` // the one connection that uses it
	MandateID string     `json:"mandateId,omitempty"` // the one mandate that may charge it
	Session   string     `json:"session,omitempty"`   // in which it was proposed
	// PermitSent reports that the relayer has sent the permit in a transaction of its own.
	PermitSent bool `json:"permitSent,omitempty"`
}

// serves reports whether a mandate may charge the grant.
func (g grantRecord) serves(mandateID string) bool {
	return g.State == signed && len(g.Sealed) > 0 && (g.MandateID == "" || g.MandateID == mandateID)
}

func sessionKeyLabel(grantID common.Hash) vault.Label {
	return vault.Label{Purpose: "session-key/secp256k1", Owner: grantID.Hex()}
}

// Proposal is what a wallet is asked to sign. Its messages are in the form of
// eth_signTypedData_v4.
type Proposal struct {
	// GrantID is the grant's id on the chain.
	GrantID common.Hash `json:"grantId"`
	// Grant is the grant's message.
	Grant json.RawMessage `json:"grant"`
	// Permit is the message of the permit (EIP-2612) for the router.
	Permit json.RawMessage `json:"permit"`
	// PermitValue and PermitDeadline are the permit's parameters, which
	// [PermitConsent] repeats with the signature.
	PermitValue    evm.Uint256 `json:"-"`
	PermitDeadline uint64      `json:"-"` // Unix seconds
}

// Consent is what a wallet signed.
type Consent struct {
	// Signature is the grant's, of at most 8 KB.
	Signature []byte `json:"signature"`
	// Permit gives the router its allowance. Default: none, and every charge is refused.
	Permit *PermitConsent `json:"permit,omitempty"`
}

// PermitConsent is a signed permit for the router.
type PermitConsent struct {
	// Value is the allowance.
	Value evm.Uint256 `json:"value"`
	// Deadline is when the permit expires, in Unix seconds.
	Deadline uint64 `json:"deadline"`
	// Signature is the 65 bytes of a key's signature.
	Signature []byte `json:"signature"`
}

// permitLifetime is how long a person has to sign.
const permitLifetime = 24 * time.Hour

// Prepare creates a session key, and returns what a wallet must sign to grant it. It
// returns [ErrTerms] if the router would not take the terms. After any other error the
// same call may be made again.
func (r *Rail) Prepare(ctx context.Context, owner common.Address, terms Terms) (Proposal, error) {
	p, _, err := r.prepare(ctx, owner, terms)
	if err != nil {
		return Proposal{}, fmt.Errorf("prepare grant of %s: %w", owner, err)
	}
	return p, nil
}

// proposalMessages are a proposal's messages.
type proposalMessages struct {
	grant  evm.Grant
	permit evm.Permit
}

func (r *Rail) prepare(ctx context.Context, owner common.Address, terms Terms) (Proposal, proposalMessages, error) {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return Proposal{}, proposalMessages{}, err
	}
	now := eth.Time(header)
	if err := terms.validate(now); err != nil {
		return Proposal{}, proposalMessages{}, err
	}
	record, id, err := r.newGrant(ctx, owner, terms)
	if err != nil {
		return Proposal{}, proposalMessages{}, err
	}
	permit, err := r.permitFor(ctx, owner, terms, now)
	if err != nil {
		return Proposal{}, proposalMessages{}, err
	}
	record.Permit, record.Session = permit, terms.Session
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		if err := r.addProposal(tx, terms.Session, id); err != nil {
			return err
		}
		return records.Put(tx, kindGrant, id.Hex(), record)
	})
	if err != nil {
		return Proposal{}, proposalMessages{}, fmt.Errorf("store grant: %w", err)
	}
	failpoint.Hit(failpoint.GrantProposed)
	return Proposal{
		GrantID: id, Grant: evm.TypedData(r.domain(), record.Grant), Permit: evm.TypedData(r.tokenDomain, permit),
		PermitValue: permit.Value, PermitDeadline: permit.Deadline.Big().Uint64(),
	}, proposalMessages{record.Grant, permit}, nil
}

// newGrant creates a sealed session key and a grant for it.
func (r *Rail) newGrant(ctx context.Context, owner common.Address, terms Terms) (grantRecord, common.Hash, error) {
	key, err := crypto.GenerateKey()
	if err != nil {
		return grantRecord{}, common.Hash{}, fmt.Errorf("make session key: %w", err)
	}
	g := evm.Grant{
		Owner: owner, Token: r.config.Token.Address, SessionKey: crypto.PubkeyToAddress(key.PublicKey),
		MaxPerCharge: uint64(terms.MaxPerCharge), MaxPerMonth: uint64(terms.MaxPerMonth),
		ExpiresAt: uint64(terms.ExpiresAt.Unix()), Payees: terms.Payees,
	}
	_, _ = rand.Read(g.Salt[:]) // never fails
	id := g.ID(r.config.ChainID, r.config.Router)
	secret := crypto.FromECDSA(key)
	defer clear(secret)
	sealed, err := r.config.Vault.Seal(ctx, sessionKeyLabel(id), secret)
	if err != nil {
		return grantRecord{}, common.Hash{}, err
	}
	return grantRecord{Grant: g, Sealed: sealed, State: proposed}, id, nil
}

// permitFor returns a permit for all that the grant can ever move, added to the present
// allowance, which other grants of the owner use.
func (r *Rail) permitFor(ctx context.Context, owner common.Address, terms Terms, now time.Time) (evm.Permit, error) {
	nonce, err := eth.View(ctx, r.chain, r.config.Token.Address, r.token.PackNonces(owner), r.token.UnpackNonces)
	if err != nil {
		return evm.Permit{}, err
	}
	allowance, err := r.allowance(ctx, owner)
	if err != nil {
		return evm.Permit{}, err
	}
	now, end := now.UTC(), terms.ExpiresAt.UTC()
	months := int64((end.Year()-now.Year())*12 + int(end.Month()-now.Month()) + 1)
	value := new(big.Int).Mul(big.NewInt(int64(terms.MaxPerMonth)), big.NewInt(months))
	value.Add(value, allowance)
	if limit := new(big.Int).Sub(new(big.Int).Lsh(common.Big1, 256), common.Big1); value.Cmp(limit) > 0 {
		value = limit
	}
	p := evm.Permit{Owner: owner, Spender: r.config.Router, Deadline: evm.Uint64(uint64(now.Add(permitLifetime).Unix()))}
	if p.Value, err = evm.FromBig(value); err != nil {
		return evm.Permit{}, err
	}
	if p.Nonce, err = evm.FromBig(nonce); err != nil {
		return evm.Permit{}, err
	}
	return p, nil
}

// ErrNoProposal reports an id that no unsigned proposal has: [rail.ErrNoProposal].
var ErrNoProposal = rail.ErrNoProposal

// methodPrefix begins the methods that Consent returns.
const methodPrefix = "wallet:"

// maxSignature bounds the stored signatures. Those of contract wallets can be long.
const maxSignature = 8 << 10

// Consent stores what a wallet signed for a proposal, and returns the method to
// connect: [Rail.Connect] relays the grant. It verifies nothing; the router does. It
// returns [ErrNoProposal] if no unsigned proposal has the id.
func (r *Rail) Consent(ctx context.Context, grantID common.Hash, c Consent) (method string, err error) {
	if len(c.Signature) > maxSignature || (c.Permit != nil && len(c.Permit.Signature) != evm.SignatureSize) {
		return "", fmt.Errorf("consent to %s: %w", grantID, evm.ErrSignature)
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := records.Get[grantRecord](tx, kindGrant, grantID.Hex())
		if err != nil {
			return err
		}
		if !found || record.State != proposed {
			return ErrNoProposal
		}
		record.State, record.Consent = signed, &c
		return records.Put(tx, kindGrant, grantID.Hex(), record)
	})
	if err != nil {
		return "", fmt.Errorf("consent to %s: %w", grantID, err)
	}
	failpoint.Hit(failpoint.GrantSigned)
	return methodPrefix + grantID.Hex(), nil
}
