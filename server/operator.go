package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// OperatorConfig configures an [Operator].
type OperatorConfig struct {
	// Store is the service's store. Required; the operator does not close it.
	Store store.Store
	// Mode is the service's mode. Required.
	Mode Mode
	// Actor names the person or program that acts, for the audit log. Required.
	Actor string
	// Clock returns the service's current time. Default: time.Now.
	Clock func() time.Time
}

// Operator performs the tasks of those who run the service, directly in its store.
// Instances may be running; they apply each change from their next request on. Each
// change is written to the audit log before it is made. A change that is refused is not.
type Operator struct {
	config   OperatorConfig
	accounts *account.Accounts
}

// Errors of an [Operator]. It also returns [ledger.ErrNotFound] if the merchant, key or
// charge does not exist, and the errors of the store.
var (
	// ErrKeyAmbiguous reports that more than one API key begins with the given id.
	ErrKeyAmbiguous = account.ErrKeyAmbiguous
	// ErrKeyRevoked reports that the API key was revoked before.
	ErrKeyRevoked = account.ErrKeyRevoked
	// ErrDecided reports a charge that has ended: its outcome cannot change.
	ErrDecided = errors.New("the charge is decided")
	// ErrBeingAsked reports a charge whose rail an instance is asking now.
	ErrBeingAsked = errors.New("an instance is asking the rail about the charge now")
)

// NewOperator returns an Operator. It performs no I/O. The returned error names the
// invalid field.
func NewOperator(cfg OperatorConfig) (*Operator, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("operator: Store is required")
	case cfg.Mode != Sandbox && cfg.Mode != Live:
		return nil, fmt.Errorf("operator: Mode must be %q or %q", Sandbox, Live)
	case cfg.Actor == "" || !text.Clean(cfg.Actor):
		return nil, errors.New("operator: Actor is required")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Operator{cfg, account.New(account.Config{Store: cfg.Store, Clock: cfg.Clock, Live: cfg.Mode == Live})}, nil
}

// Limits of the texts in the audit log, in bytes.
const (
	maxReason = 500
	maxDetail = 600 // a label of maxReason with the key's id
)

func (o *Operator) audit(ctx context.Context, action, subject, reason, detail string) error {
	if err := text.Check(reason, maxReason); err != nil {
		return fmt.Errorf("reason: %w", err)
	}
	if err := text.Check(detail, maxDetail); err != nil {
		return fmt.Errorf("detail: %w", err)
	}
	return addAudit(ctx, o.config.Store, o.config.Clock(), store.AuditEntry{
		Actor: o.config.Actor, Action: action, Subject: subject, Reason: reason, Detail: detail,
	})
}

// auditor is the part of the store that addAudit uses.
type auditor interface {
	AddAudit(ctx context.Context, e store.AuditEntry) error
}

// addAudit adds an entry with a new id.
func addAudit(ctx context.Context, db auditor, now time.Time, e store.AuditEntry) error {
	e.ID, e.At = id.New(id.Audit, now), now
	return db.AddAudit(ctx, e)
}

// CreateMerchant creates a merchant account. It returns the errors of
// [Server.CreateMerchant].
func (o *Operator) CreateMerchant(ctx context.Context, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, o.accounts, p, func(merchantID string) error {
		return o.audit(ctx, "merchant.create", merchantID, "", p.Name)
	})
}

// Merchants returns at most limit merchants in the order of their ids, beginning after
// the given id.
func (o *Operator) Merchants(ctx context.Context, after string, limit int) ([]ledger.Merchant, error) {
	return o.config.Store.Merchants(ctx, after, limit)
}

// Merchant returns one merchant.
func (o *Operator) Merchant(ctx context.Context, merchantID string) (ledger.Merchant, error) {
	m, err := o.config.Store.Merchant(ctx, merchantID)
	if err != nil {
		return m, fmt.Errorf("merchant %s: %w", merchantID, err)
	}
	return m, nil
}

// SetActive suspends a merchant or activates it again. The charges, sessions and
// checkouts of a suspended merchant are refused with merchant_inactive; it may still read.
func (o *Operator) SetActive(ctx context.Context, merchantID string, active bool, reason string) error {
	action := "merchant.suspend"
	if active {
		action = "merchant.activate"
	}
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return err
	}
	if err := o.audit(ctx, action, merchantID, reason, ""); err != nil {
		return err
	}
	return o.config.Store.SetMerchantActive(ctx, merchantID, active)
}

// SetMaxCharge limits the amount of each charge of a merchant. Zero removes the limit.
func (o *Operator) SetMaxCharge(ctx context.Context, merchantID string, most ledger.Micros, reason string) error {
	if most < 0 {
		return errors.New("the limit must not be negative")
	}
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return err
	}
	limit := "none"
	if most > 0 {
		limit = most.Decimal()
	}
	if err := o.audit(ctx, "merchant.set-limit", merchantID, reason, limit); err != nil {
		return err
	}
	return o.config.Store.SetMerchantLimit(ctx, merchantID, most)
}

// SetEmail connects a merchant with an email address: who proves the address may sign in to
// its dashboard. An empty address ends that. It returns a [*ParamError] if email is not an address.
func (o *Operator) SetEmail(ctx context.Context, merchantID, email, reason string) error {
	if err := checkEmail(email); err != nil {
		return err
	}
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return err
	}
	if err := o.audit(ctx, "merchant.set-email", merchantID, reason, ""); err != nil {
		return err
	}
	if err := o.config.Store.SetMerchantEmail(ctx, merchantID, email); err != nil {
		return err
	}
	return o.config.Store.DeleteWebSessions(ctx, string(signin.Merchant), merchantID) // the previous address is signed out
}

// APIKeys returns a merchant's API keys including revoked ones, oldest first.
func (o *Operator) APIKeys(ctx context.Context, merchantID string) ([]store.APIKey, error) {
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return nil, err
	}
	return o.config.Store.APIKeys(ctx, merchantID)
}

// CreateAPIKey creates another API key for a merchant, with scopes of [client.KeyScopes];
// default: all. Only its hash is stored: plain cannot be read again.
func (o *Operator) CreateAPIKey(ctx context.Context, merchantID, label string, scopes ...client.Scope) (plain string, key store.APIKey, err error) {
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return "", store.APIKey{}, err
	}
	if err := text.Check(label, maxReason); err != nil {
		return "", store.APIKey{}, fmt.Errorf("label: %w", err)
	}
	names, err := account.KeyScopes(scopes)
	if err != nil {
		return "", store.APIKey{}, fmt.Errorf("scope: %w", err)
	}
	plain, key = o.accounts.NewKey(merchantID, label, names)
	detail := key.ID() + " " + strings.Join(key.Scopes, ",") + " " + label
	if err := o.audit(ctx, "api-key.create", merchantID, "", strings.TrimSpace(detail)); err != nil {
		return "", store.APIKey{}, err
	}
	if err := o.accounts.AddKey(ctx, key); err != nil {
		return "", store.APIKey{}, err
	}
	return plain, key, nil
}

// RevokeAPIKey revokes the API key whose id is, or begins with, keyID.
func (o *Operator) RevokeAPIKey(ctx context.Context, keyID, reason string) (store.APIKey, error) {
	key, err := o.accounts.Key(ctx, keyID)
	if err != nil {
		return key, err
	}
	if !key.RevokedAt.IsZero() {
		return key, fmt.Errorf("revoke API key %s: %w", key.ID(), ErrKeyRevoked)
	}
	if err := o.audit(ctx, "api-key.revoke", key.MerchantID, reason, key.ID()); err != nil {
		return key, err
	}
	return o.accounts.RevokeKey(ctx, keyID)
}

// Charge returns a charge and its entries in the audit log, latest first.
func (o *Operator) Charge(ctx context.Context, transactionID string) (ledger.Charge, []store.AuditEntry, error) {
	c, err := o.config.Store.Charge(ctx, transactionID)
	if err != nil {
		return c, nil, fmt.Errorf("charge %s: %w", transactionID, err)
	}
	log, err := o.config.Store.AuditOf(ctx, transactionID, 100)
	return c, log, err
}

// PendingCharges lists up to limit charges whose outcome is not known, of all merchants:
// first those that were due earliest to be asked about again.
func (o *Operator) PendingCharges(ctx context.Context, limit int) ([]ledger.Charge, error) {
	const allLeases = 100 * 365 * 24 * time.Hour
	return o.config.Store.Lapsed(ctx, o.config.Clock().Add(allLeases), nil, limit)
}

// Charges lists a merchant's charges, newest first, that are older than the charge before.
// If before is empty, the list begins with the newest.
func (o *Operator) Charges(ctx context.Context, merchantID, before string, limit int) ([]ledger.Charge, error) {
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return nil, err
	}
	return o.config.Store.Charges(ctx, merchantID, before, limit)
}

// Refunds lists the refunds of a charge, oldest first, beginning after the refund with the
// number after ([ledger.Refund.N]).
func (o *Operator) Refunds(ctx context.Context, transactionID string, after, limit int) ([]ledger.Refund, error) {
	if _, err := o.config.Store.Charge(ctx, transactionID); err != nil {
		return nil, fmt.Errorf("charge %s: %w", transactionID, err)
	}
	return o.config.Store.RefundsOf(ctx, transactionID, after, limit)
}

// Conflicts lists outcomes that differ from the one that decided their charge, by charge
// id. The list begins after the conflict after, or with the first if after is zero.
func (o *Operator) Conflicts(ctx context.Context, after ledger.OutcomeConflict, limit int) ([]ledger.OutcomeConflict, error) {
	return o.config.Store.OutcomeConflicts(ctx, after, limit)
}

// AuditLog lists what operators, merchants and persons did, the latest first, before the entry
// with an id; empty: from the latest on. actor selects the entries of one actor
// ("merchant:mer_…") or of a kind of actors ("merchant"); empty: of all.
func (o *Operator) AuditLog(ctx context.Context, actor, before string, limit int) ([]store.AuditEntry, error) {
	return o.config.Store.AuditLog(ctx, actor, before, limit)
}

// Resolution is the outcome of a charge whose rail reports none. The operator knows it
// from the card processor or the chain.
type Resolution struct {
	// Succeeded reports whether money moved. If so, ProcessorID or TxHash names the movement.
	Succeeded bool
	// ProcessorID is the card processor's id of the payment.
	ProcessorID string
	// TxHash is the hash of the transaction on the chain.
	TxHash string
	// SettledAt is the time at which the money moved. Default: now.
	SettledAt time.Time
	// FailureReason is the reason why no money moved. Default: rail.ProcessorError.
	FailureReason rail.Reason
	// Rail moved the money. Default: the rail that the charge waits for.
	Rail rail.Name
	// Reason is the operator's reason, for the audit log. Required.
	Reason string
}

func (r *Resolution) validate(c ledger.Charge) error {
	if r.Rail == "" {
		r.Rail = c.Waiting()
	}
	switch {
	case r.Reason == "":
		return errors.New("reason: required")
	case r.Succeeded && r.FailureReason != "":
		return errors.New("failure reason: only for a charge that failed")
	case !r.Succeeded && (r.ProcessorID != "" || r.TxHash != ""):
		return errors.New("transaction: only for a charge that succeeded")
	case r.Succeeded && r.Rail == rail.Chain && r.TxHash == "":
		return errors.New("transaction hash: required for a charge that succeeded on the chain")
	case r.Succeeded && r.Rail == rail.Card && r.ProcessorID == "":
		return errors.New("processor id: required for a charge that succeeded by card")
	case r.Succeeded && c.Step == ledger.StepAuthorize:
		return errors.New("outcome: an authorization is not captured yet; resolve it as failed")
	case r.Succeeded && r.Rail == "":
		return errors.New("rail: required for a charge that succeeded")
	}
	if !r.Succeeded && r.FailureReason == "" {
		r.FailureReason = rail.ProcessorError
	}
	return nil
}

// ResolveCharge decides a pending charge: it captures the charge with its postings, or
// releases it. It returns [ErrDecided] or [ErrBeingAsked]; other errors name the invalid
// field. If the rail later reports a different outcome, the service records an
// outcome conflict, as for every charge.
func (o *Operator) ResolveCharge(ctx context.Context, transactionID string, r Resolution) (ledger.Charge, error) {
	c, _, err := o.Charge(ctx, transactionID)
	switch {
	case err != nil:
		return c, err
	case c.Status != ledger.ChargePending:
		return c, fmt.Errorf("charge %s: %w: %s", c.ID, ErrDecided, c.Status)
	case c.LeaseOwner != "" && o.config.Clock().Before(c.LeaseUntil):
		return c, fmt.Errorf("charge %s: %w; try again after %s", c.ID, ErrBeingAsked, c.LeaseUntil.UTC().Format(time.RFC3339))
	}
	if err := r.validate(c); err != nil {
		return c, err
	}
	end := ledger.Settlement{Rail: r.Rail, Step: c.Step, Outcome: rail.Outcome{Status: rail.Refused, Reason: r.FailureReason}}
	detail := "failed " + string(r.FailureReason)
	if r.Succeeded {
		end.Outcome = rail.Outcome{Status: rail.Succeeded, ProcessorID: r.ProcessorID, TxHash: r.TxHash, SettledAt: r.SettledAt}
		detail = "succeeded " + string(r.Rail) + " " + r.ProcessorID + r.TxHash
	}
	if err := o.audit(ctx, "charge.resolve", c.ID, r.Reason, detail); err != nil {
		return c, err
	}
	l, err := ledger.New(ledger.Config{Store: o.config.Store, Clock: o.config.Clock})
	if err != nil {
		return c, err
	}
	defer l.Close()
	return l.Settle(ctx, c, end)
}
