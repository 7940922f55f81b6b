package client

import "time"

// FurtherLimits are the optional limits of a mandate, in addition to those for one payment
// and for a month. Zero: no such limit. The service enforces them on every rail; the grant
// that a wallet signs for the chain rail has only the limits for one payment and a month.
type FurtherLimits struct {
	// MaxDailySpendCents limits the sum of a day (UTC), in US cents: up to 10,000,000.
	MaxDailySpendCents int64 `json:"maxDailySpendCents,omitzero"`
	// MaxTotalSpendCents limits the sum of all payments, in US cents: up to 250,000,000.
	MaxTotalSpendCents int64 `json:"maxTotalSpendCents,omitzero"`
	// MaxPaymentsPerDay limits the number of payments of a day (UTC): up to 1,000,000.
	MaxPaymentsPerDay int64 `json:"maxPaymentsPerDay,omitzero"`
	// MaxMonthlyPerPayeeCents limits the sum that one payee receives in a calendar month
	// (UTC), in US cents: up to 10,000,000.
	MaxMonthlyPerPayeeCents int64 `json:"maxMonthlyPerPayeeCents,omitzero"`
}

// Limit is a limit of a period, and what is used of it. Amounts used are rounded up to
// cents and remainders down, so that they add up to the limit.
type Limit struct {
	// Kind is the code with which a charge above the limit is refused: [CodeDailyLimit],
	// [CodeMonthlyLimit], [CodeTotalLimit], [CodeVelocityLimit] or [CodePayeeLimit].
	Kind Code `json:"kind"`
	// LimitCents is the limit in US cents. It is nil with CodeVelocityLimit.
	LimitCents *int64 `json:"limitCents,omitempty"`
	// UsedCents is the amount used in this period, in US cents. It is nil with
	// CodeVelocityLimit and with CodePayeeLimit, which has one sum for each payee.
	UsedCents *int64 `json:"usedCents,omitempty"`
	// RemainingCents is the amount left in this period, in US cents. It is nil when
	// UsedCents is.
	RemainingCents *int64 `json:"remainingCents,omitempty"`
	// LimitPayments is the limit as a number of payments. It is set with CodeVelocityLimit.
	LimitPayments *int64 `json:"limitPayments,omitempty"`
	// UsedPayments is the number of payments in this period, set with CodeVelocityLimit.
	UsedPayments *int64 `json:"usedPayments,omitempty"`
	// RemainingPayments is the number of payments left in this period, set with
	// CodeVelocityLimit.
	RemainingPayments *int64 `json:"remainingPayments,omitempty"`
	// RenewsAt is when the next period begins. It is zero with CodeTotalLimit.
	RenewsAt time.Time `json:"renewsAt,omitzero"`
}
