package toolkit

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
)

// SetupIn asks for a mandate.
type SetupIn struct {
	// MaxAmountPerTxCents limits one payment, in US cents. Required.
	MaxAmountPerTxCents int64 `json:"maxAmountPerTxCents" jsonschema:"Most for one payment in US cents"`
	// MaxMonthlySpendCents limits the payments of a calendar month, in US cents.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents" jsonschema:"Most in a calendar month in US cents"`
	// RailPreference is fiatrail, chainrail or both. Default: both.
	RailPreference string `json:"railPreference,omitempty" jsonschema:"fiatrail (card), chainrail (USDC) or both; default both"`
}

// SetupOut is a setup that waits for a person.
type SetupOut struct {
	// SetupURL is the link for the person.
	SetupURL string `json:"setupUrl" jsonschema:"Give this link to the person"`
	// SessionToken identifies the setup.
	SessionToken string `json:"sessionToken" jsonschema:"For poll_setup_session"`
	// ExpiresAt is when the setup expires.
	ExpiresAt time.Time `json:"expiresAt"`
}

// Setup asks a person for a mandate and returns the link where they confirm it.
func (k *Kit) Setup(ctx context.Context, in SetupIn) (SetupOut, error) {
	s, err := k.service.CreateSession(ctx, client.SessionParams{
		MaxPerTxCents: in.MaxAmountPerTxCents, MaxMonthlySpendCents: in.MaxMonthlySpendCents, RequestedRail: client.Rail(in.RailPreference),
	})
	if err != nil {
		return SetupOut{}, k.explain(err)
	}
	return SetupOut{SetupURL: s.SetupURL, SessionToken: s.SessionToken, ExpiresAt: s.ExpiresAt}, nil
}

// PollIn names a setup.
type PollIn struct {
	// SessionToken identifies the setup.
	SessionToken string `json:"sessionToken" jsonschema:"From setup_spending_mandate"`
}

// PollOut is the state of a setup.
type PollOut struct {
	// Status is pending, completed or failed.
	Status string `json:"status" jsonschema:"pending, completed or failed"`
	// MandateID is the id of the mandate, once the setup is completed.
	MandateID string `json:"mandateId,omitempty" jsonschema:"Once completed"`
	// IntentMandate is the mandate's token. It is not shown to a model.
	IntentMandate string `json:"-"`
	// FailureReason is the reason of a failure.
	FailureReason string `json:"failureReason,omitempty"`
}

const (
	pollFor   = 20 * time.Second
	pollPause = 2 * time.Second
)

// Progress is called while a call waits: with the number of steps so far and what it waits
// for. Nil: it is not called.
type Progress func(step int, message string)

func (p Progress) report(step int, message string) {
	if p != nil {
		p(step, message)
	}
}

// PollSetup returns the state of a setup. While the person has not decided, it waits for up to
// 20 s.
func (k *Kit) PollSetup(ctx context.Context, in PollIn, progress Progress) (PollOut, error) {
	deadline := time.Now().Add(pollFor)
	for step := 1; ; step++ {
		s, err := k.service.Session(ctx, in.SessionToken)
		if err != nil {
			return PollOut{}, k.explain(err, in.SessionToken)
		}
		if s.Status != client.SessionPending || !time.Now().Add(pollPause).Before(deadline) {
			return PollOut{Status: string(s.Status), MandateID: s.MandateID, IntentMandate: s.Mandate, FailureReason: s.FailureReason}, nil
		}
		progress.report(step, "waiting for the person to confirm the mandate")
		if err := sleep.For(ctx, pollPause); err != nil {
			return PollOut{}, k.explain(err)
		}
	}
}

// MandateIn names a mandate.
type MandateIn struct {
	// MandateID is the id of the mandate (del_…). Default: Config.Mandate.
	MandateID string `json:"mandateId,omitempty" jsonschema:"del_…; default: the configured mandate"`
}

// BalanceOut is what a mandate allows and what is left.
type BalanceOut struct {
	// MandateID is the id of the mandate.
	MandateID string `json:"mandateId"`
	// Status is active, revoked or expired.
	Status string `json:"status" jsonschema:"active, revoked or expired"`
	// MaxPerTxCents limits one payment, in US cents.
	MaxPerTxCents int64 `json:"maxPerTxCents"`
	// MaxMonthlySpendCents limits the payments of a calendar month, in US cents.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	// CurrentMonthlySpendCents is what was spent this month, in US cents.
	CurrentMonthlySpendCents int64 `json:"currentMonthlySpendCents"`
	// RemainingMonthlySpendCents is what is left of this month, in US cents.
	RemainingMonthlySpendCents int64 `json:"remainingMonthlySpendCents"`
	// ExpiresAt is when the mandate expires.
	ExpiresAt time.Time `json:"expiresAt"`
}

// Balance returns the balance of a mandate.
func (k *Kit) Balance(ctx context.Context, in MandateIn) (BalanceOut, error) {
	m := k.mandate(in.MandateID)
	if m == "" {
		return BalanceOut{}, invalid("mandateId", "is required: no mandate is configured")
	}
	b, err := k.service.Balance(ctx, m)
	if err != nil {
		return BalanceOut{}, k.explain(err, m)
	}
	return BalanceOut{
		MandateID: b.MandateID, Status: string(b.Status), MaxPerTxCents: b.MaxPerTxCents, MaxMonthlySpendCents: b.MaxMonthlySpendCents,
		CurrentMonthlySpendCents: b.CurrentMonthlySpendCents, RemainingMonthlySpendCents: b.RemainingMonthlySpendCents, ExpiresAt: b.ExpiresAt,
	}, nil
}

// RevokeIn names the mandate to revoke. It has no default, since revoking is final.
type RevokeIn struct {
	// MandateID is the id of the mandate (del_…). Required.
	MandateID string `json:"mandateId" jsonschema:"del_…"`
}

// RevokeOut is the result of a revocation.
type RevokeOut struct {
	// Success reports whether the mandate is revoked.
	Success bool `json:"success"`
	// Status is revoked.
	Status string `json:"status"`
}

// Revoke ends a mandate for good.
func (k *Kit) Revoke(ctx context.Context, in RevokeIn) (RevokeOut, error) {
	r, err := k.service.Revoke(ctx, in.MandateID)
	if err != nil {
		return RevokeOut{}, k.explain(err, in.MandateID)
	}
	return RevokeOut{Success: r.Success, Status: string(r.Status)}, nil
}
