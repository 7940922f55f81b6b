package chain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Terms are what a person is asked to grant.
type Terms struct {
	MaxPerCharge money.Micros
	MaxPerMonth  money.Micros
	ExpiresAt    time.Time
	// Payees are the wallets that may be paid; none: any.
	Payees []common.Address
	// Session is the setup session that the proposal is for, and whose proposals are
	// bounded. Empty: none.
	Session string
}

// maxPayees is how many the router takes.
const maxPayees = 32

// ErrTerms tells that terms are none that the router takes.
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

// grantState is how far a grant has come.
type grantState string

const (
	proposed grantState = "proposed" // nobody has signed it yet
	signed   grantState = "signed"   // it may be relayed
	revoked  grantState = "revoked"  // its key is destroyed
)

// grantRecord is a grant with its session key.
type grantRecord struct {
	Grant     evm.Grant  `json:"grant"`
	Sealed    []byte     `json:"sealed,omitempty"` // the session key
	State     grantState `json:"state"`
	Consent   *Consent   `json:"consent,omitempty"`
	Permit    evm.Permit `json:"permit"`              // that goes with it
	Connected string     `json:"connected,omitempty"` // the connection that took it: one alone
	MandateID string     `json:"mandateId,omitempty"` // that first charged it
	Session   string     `json:"session,omitempty"`   // in which it was proposed
}

// serves tells whether a mandate may charge it.
func (g grantRecord) serves(mandateID string) bool {
	return g.State == signed && len(g.Sealed) > 0 && (g.MandateID == "" || g.MandateID == mandateID)
}

func sessionKeyLabel(grantID common.Hash) vault.Label {
	return vault.Label{Purpose: "session-key/secp256k1", Owner: grantID.Hex()}
}

// Proposal is what a wallet is asked to sign, as eth_signTypedData_v4 takes it.
type Proposal struct {
	GrantID common.Hash     `json:"grantId"`
	Grant   json.RawMessage `json:"grant"`
	Permit  json.RawMessage `json:"permit"`
	// The permit's parameters, which go back with its signature.
	PermitValue    evm.Uint256 `json:"-"`
	PermitDeadline uint64      `json:"-"`
}

// Consent is what a wallet signed.
type Consent struct {
	Signature []byte         `json:"signature"` // of the grant
	Permit    *PermitConsent `json:"permit,omitempty"`
}

// PermitConsent is a signed permit for the router.
type PermitConsent struct {
	Value     evm.Uint256 `json:"value"`
	Deadline  uint64      `json:"deadline"`  // Unix seconds
	Signature []byte      `json:"signature"` // of 65 bytes: a key's
}

// permitLifetime is how long a person has to sign.
const permitLifetime = 24 * time.Hour

// Prepare makes a session key and what a wallet must sign for it to be granted.
// [ErrTerms] where the router would not take it; any other error is the store's,
// the vault's or the chain's, and the same call may be made again.
func (r *Rail) Prepare(ctx context.Context, owner common.Address, terms Terms) (Proposal, error) {
	p, _, err := r.prepare(ctx, owner, terms)
	if err != nil {
		return Proposal{}, fmt.Errorf("prepare grant of %s: %w", owner, err)
	}
	return p, nil
}

func (r *Rail) prepare(ctx context.Context, owner common.Address, terms Terms) (Proposal, proposalTerms, error) {
	header, err := r.newest(ctx)
	if err != nil {
		return Proposal{}, proposalTerms{}, err
	}
	now := time.Unix(int64(header.Time), 0)
	if err := terms.validate(now); err != nil {
		return Proposal{}, proposalTerms{}, err
	}
	record, id, err := r.newGrant(ctx, owner, terms)
	if err != nil {
		return Proposal{}, proposalTerms{}, err
	}
	permit, err := r.permitFor(ctx, owner, terms, now)
	if err != nil {
		return Proposal{}, proposalTerms{}, err
	}
	record.Permit, record.Session = permit, terms.Session
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		if err := r.propose(tx, terms.Session, id); err != nil {
			return err
		}
		return write(tx, kindGrant, id.Hex(), record)
	})
	if err != nil {
		return Proposal{}, proposalTerms{}, fmt.Errorf("store grant: %w", err)
	}
	failpoint.Hit(failpoint.GrantProposed)
	return Proposal{
		GrantID: id, Grant: evm.TypedData(r.domain(), record.Grant), Permit: evm.TypedData(r.tokenDomain, permit),
		PermitValue: permit.Value, PermitDeadline: permit.Deadline.Big().Uint64(),
	}, proposalTerms{record.Grant, permit}, nil
}

// proposalTerms are a proposal's messages.
type proposalTerms struct {
	grant  evm.Grant
	permit evm.Permit
}

// newGrant makes a session key, sealed, and a grant to it.
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

// permitFor asks for an allowance of all that the grant can ever move, on top of
// the one there is: other grants of the owner live from that.
func (r *Rail) permitFor(ctx context.Context, owner common.Address, terms Terms, now time.Time) (evm.Permit, error) {
	nonce, err := viewOf(ctx, r, r.config.Token.Address, r.token.PackNonces(owner), r.token.UnpackNonces)
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

// ErrNoProposal tells that there is no proposal of that id, or that it was signed
// already: [rail.ErrNoProposal].
var ErrNoProposal = rail.ErrNoProposal

// methodPrefix begins the names of methods that Consent returns.
const methodPrefix = "wallet:"

// maxSignature is the longest signature kept; those of contract wallets can be long.
const maxSignature = 8 << 10

// Consent keeps what a wallet signed for a proposal, and returns the method to
// connect: [Rail.Connect] relays it. Nothing is verified yet; the router does.
// [ErrNoProposal] where there is no proposal that waits.
func (r *Rail) Consent(ctx context.Context, grantID common.Hash, c Consent) (method string, err error) {
	if len(c.Signature) > maxSignature || (c.Permit != nil && len(c.Permit.Signature) != evm.SignatureSize) {
		return "", fmt.Errorf("consent to %s: %w", grantID, evm.ErrSignature)
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := read[grantRecord](tx, kindGrant, grantID.Hex())
		if err != nil {
			return err
		}
		if !found || record.State != proposed {
			return ErrNoProposal
		}
		record.State, record.Consent = signed, &c
		return write(tx, kindGrant, grantID.Hex(), record)
	})
	if err != nil {
		return "", fmt.Errorf("consent to %s: %w", grantID, err)
	}
	failpoint.Hit(failpoint.GrantSigned)
	return methodPrefix + grantID.Hex(), nil
}

// relayCall is the call that brings a signed grant to the router.
func (r *Rail) relayCall(record grantRecord) []byte {
	g, c := record.Grant, record.Consent
	packed := contracts.MandateRouterGrant{
		Owner: g.Owner, Token: g.Token, SessionKey: g.SessionKey, MaxPerCharge: new(big.Int).SetUint64(g.MaxPerCharge),
		MaxPerMonth: new(big.Int).SetUint64(g.MaxPerMonth), ExpiresAt: g.ExpiresAt, AnyPayee: g.AnyPayee(), Payees: g.Payees, Salt: g.Salt,
	}
	if c.Permit == nil {
		return r.router.PackGrantWithSignature(packed, c.Signature)
	}
	s := c.Permit.Signature
	return r.router.PackGrantWithPermit(packed, c.Signature, contracts.MandateRouterPermit{
		Value: c.Permit.Value.Big(), Deadline: new(big.Int).SetUint64(min(c.Permit.Deadline, math.MaxInt64)),
		V: s[64], R: [32]byte(s[:32]), S: [32]byte(s[32:64]),
	})
}

// parseHash reads "0x" and 64 digits, as the rail writes them.
func parseHash(s string) (h common.Hash, ok bool) {
	if len(s) != 2+2*len(h) || s[:2] != "0x" {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s[2:]))
	return h, err == nil
}
