package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// OperatorConfig configures an [Operator]. Store, Mode and Actor are required.
type OperatorConfig struct {
	Store ledger.Store
	Mode  Mode
	// Actor is who acts; the audit log keeps it.
	Actor string
	// Clock is the service's clock. Default: the system's.
	Clock Clock
}

// Operator does what those who run the service may do, in its store, beside running
// instances. Each change is written to the audit log before it is made, and all
// instances go by it from the next request on. The caller closes the store.
type Operator struct {
	config   OperatorConfig
	accounts *account.Accounts
}

// Errors of an [Operator] besides the store's; [ledger.ErrNotFound] if there is no
// merchant, key or charge of that name.
var (
	ErrKeyAmbiguous = account.ErrKeyAmbiguous
	ErrKeyRevoked   = account.ErrKeyRevoked
	// ErrDecided reports a charge that has ended: its outcome does not change.
	ErrDecided = errors.New("the charge is decided")
	// ErrBeingAsked reports a charge of which an instance is asking the rail now.
	ErrBeingAsked = errors.New("an instance is asking the rail about the charge now")
)

// NewOperator returns an operator. The error names the field that is missing.
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
		cfg.Clock = clock.System{}
	}
	return &Operator{cfg, account.New(account.Config{Store: cfg.Store, Clock: cfg.Clock, Live: cfg.Mode == Live})}, nil
}

// maxReason is how long a reason or a label may be.
const maxReason = 500

func (o *Operator) audit(ctx context.Context, action, subject, reason, detail string) error {
	if err := text.Check(reason, maxReason); err != nil {
		return fmt.Errorf("reason: %w", err)
	}
	if err := text.Check(detail, maxReason); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	now := o.config.Clock.Now()
	return o.config.Store.AddAudit(ctx, ledger.AuditEntry{
		ID: id.New(id.Audit, now), At: now, Actor: o.config.Actor, Action: action, Subject: subject, Reason: reason, Detail: detail,
	})
}

// Merchants lists merchants by id, those after one.
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

// SetActive suspends a merchant or makes it active again. A suspended one is refused
// charges, sessions and checkouts with merchant_inactive; it may still read.
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

// SetMaxCharge limits what a merchant may charge at once. Zero: no limit of its own.
func (o *Operator) SetMaxCharge(ctx context.Context, merchantID string, most ledger.Micros, reason string) error {
	if most < 0 {
		return errors.New("the limit must not be negative")
	}
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return err
	}
	if err := o.audit(ctx, "merchant.set-limit", merchantID, reason, most.Decimal()); err != nil {
		return err
	}
	return o.config.Store.SetMerchantLimit(ctx, merchantID, most)
}

// APIKeys lists a merchant's API keys, revoked ones too, oldest first.
func (o *Operator) APIKeys(ctx context.Context, merchantID string) ([]ledger.APIKey, error) {
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return nil, err
	}
	return o.config.Store.APIKeys(ctx, merchantID)
}

// CreateAPIKey makes one more API key. It cannot be read again.
func (o *Operator) CreateAPIKey(ctx context.Context, merchantID, label string) (plain string, key ledger.APIKey, err error) {
	if _, err := o.Merchant(ctx, merchantID); err != nil {
		return "", ledger.APIKey{}, err
	}
	if err := o.audit(ctx, "api-key.create", merchantID, "", label); err != nil {
		return "", ledger.APIKey{}, err
	}
	return o.accounts.IssueKey(ctx, merchantID, label)
}

// RevokeAPIKey ends an API key, which is named by its id or the beginning of it.
func (o *Operator) RevokeAPIKey(ctx context.Context, keyID, reason string) (ledger.APIKey, error) {
	key, err := o.accounts.Key(ctx, keyID)
	if err != nil {
		return key, err
	}
	if err := o.audit(ctx, "api-key.revoke", key.MerchantID, reason, key.ID()); err != nil {
		return key, err
	}
	return o.accounts.RevokeKey(ctx, keyID)
}

// Charge returns a charge with what operators did to it, the latest first.
func (o *Operator) Charge(ctx context.Context, transactionID string) (ledger.Charge, []ledger.AuditEntry, error) {
	c, err := o.config.Store.Charge(ctx, transactionID)
	if err != nil {
		return c, nil, fmt.Errorf("charge %s: %w", transactionID, err)
	}
	log, err := o.config.Store.AuditOf(ctx, transactionID, 100)
	return c, log, err
}

// Resolution is the outcome of a charge of which its rail gives none. Whoever sets it
// knows from the processor or the chain whether money has moved.
type Resolution struct {
	// Succeeded says that money has moved; ProcessorID or TxHash then names the movement.
	Succeeded           bool
	ProcessorID, TxHash string
	// SettledAt is when it moved. Default: now.
	SettledAt time.Time
	// FailureReason is why it has not moved. Default: rail.ProcessorError.
	FailureReason rail.Reason
	// Rail it was. Default: the one that the charge waits for.
	Rail rail.Name
	// Reason is why an operator decides. Required.
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
	case r.Succeeded && r.Rail == rail.Fiat && r.ProcessorID == "":
		return errors.New("processor id: required for a charge that succeeded by card")
	case r.Succeeded && r.Rail == "":
		return errors.New("rail: required for a charge that succeeded")
	}
	if !r.Succeeded && r.FailureReason == "" {
		r.FailureReason = rail.ProcessorError
	}
	return nil
}

// ResolveCharge decides a pending charge: it is captured with its postings, or released.
// It returns [ErrDecided] or [ErrBeingAsked]; the other errors name what is missing. If
// the rail reports another outcome later, that is an alarm, as for every charge.
func (o *Operator) ResolveCharge(ctx context.Context, transactionID string, r Resolution) (ledger.Charge, error) {
	c, _, err := o.Charge(ctx, transactionID)
	switch {
	case err != nil:
		return c, err
	case c.Status != ledger.ChargePending:
		return c, fmt.Errorf("charge %s: %w: %s", c.ID, ErrDecided, c.Status)
	case c.LeaseOwner != "" && o.config.Clock.Now().Before(c.LeaseUntil):
		return c, fmt.Errorf("charge %s: %w; try again after %s", c.ID, ErrBeingAsked, c.LeaseUntil.UTC().Format(time.RFC3339))
	}
	if err := r.validate(c); err != nil {
		return c, err
	}
	end := ledger.Settlement{Rail: r.Rail, Outcome: rail.Outcome{Status: rail.Refused, Reason: r.FailureReason}}
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
