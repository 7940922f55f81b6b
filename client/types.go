package client

import "time"

// Rail is the wire name of a network that money moves on.
type Rail string

// The rails, and the choice between them in [SessionParams].
const (
	FiatRail  Rail = "fiatrail"
	ChainRail Rail = "chainrail"
	BothRails Rail = "both"
)

// Currency is a currency code, lower case.
type Currency string

// The currencies. USD prefers the card, USDC and USDT prefer the chain; the
// amount is in US cents always, and settlement on chain in USDC.
const (
	USD  Currency = "usd"
	USDC Currency = "usdc"
	USDT Currency = "usdt"
)

// SessionStatus is the state of a setup session.
type SessionStatus string

// The states of a setup session. Completed and failed are final.
const (
	SessionPending   SessionStatus = "pending"
	SessionCompleted SessionStatus = "completed"
	SessionFailed    SessionStatus = "failed"
)

// MandateStatus is the state of a mandate.
type MandateStatus string

// The states of a mandate. Expired is derived from its expiry when it is read.
const (
	MandateActive  MandateStatus = "active"
	MandateRevoked MandateStatus = "revoked"
	MandateExpired MandateStatus = "expired"
)

// Status is the state of a charge. A charge result says completed where
// receipts and lists say succeeded; both mean that the money has moved.
type Status string

// The states of a charge.
const (
	Completed Status = "completed"
	Succeeded Status = "succeeded"
	Pending   Status = "pending"
	Failed    Status = "failed"
)

// RailUsed is the kind of rail in a charge result.
type RailUsed string

// The kinds of rail.
const (
	Fiat   RailUsed = "fiat"
	Crypto RailUsed = "crypto"
)

// FailureReason tells why a charge failed on its rail.
type FailureReason string

// The reasons.
const (
	CardDeclined      FailureReason = "card_declined"
	InsufficientFunds FailureReason = "insufficient_funds"
	ExpiredCard       FailureReason = "expired_card"
	Reverted          FailureReason = "reverted"
	OutOfGas          FailureReason = "out_of_gas"
	AllowanceMissing  FailureReason = "allowance_missing"
	RailUnavailable   FailureReason = "rail_unavailable"
	ProcessorError    FailureReason = "processor_error"
)

// SessionParams asks for a setup session: POST /v1/mandates.
type SessionParams struct {
	// MaxPerTxCents is the cap of one payment in US cents: 1 to MaxMonthlySpendCents.
	MaxPerTxCents int64 `json:"maxPerTxCents"`
	// MaxMonthlySpendCents is the cap of a calendar month (UTC) in US cents: up to 10,000,000.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	// RequestedRail: FiatRail, ChainRail or BothRails. Default: BothRails.
	RequestedRail Rail `json:"requestedRail,omitempty"`
	// AllowedMerchantIDs may be paid by the mandate. Default: you alone; "*" alone: anyone.
	AllowedMerchantIDs []string `json:"allowedMerchantIds,omitempty"`
	// ExpiresAt ends the mandate. Default: in one year; at most in two.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// ReturnURL is where the person goes back to. Default: stays on the page.
	ReturnURL string `json:"returnUrl,omitempty"`
	// Metadata is yours: up to 50 keys of 40 characters with values of 500.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Session is a setup session.
type Session struct {
	// SessionToken identifies the session; only its creator can read it.
	SessionToken string `json:"sessionToken,omitempty"`
	// SetupURL is where to send the person. Only from CreateSession.
	SetupURL string `json:"setupUrl,omitempty"`
	// Status is pending until the person has decided.
	Status SessionStatus `json:"status,omitempty"`
	// IntentMandate is the token, once completed. It is a secret: who has it and
	// merchant credentials can charge.
	IntentMandate string `json:"intentMandate,omitempty"`
	// DelegateID is the mandate's id, once completed.
	DelegateID string `json:"delegateId,omitempty"`
	// FailureReason tells why the session failed: declined, expired or too_many_attempts.
	FailureReason string `json:"failureReason,omitempty"`
	// ExpiresAt is when the session ends: 24 hours after it was created.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Balance is what a mandate allows and what is left of it this month.
// Spent is rounded up and the rest down to cents, so that they add up to the limit.
type Balance struct {
	DelegateID                 string        `json:"delegateId"`
	Status                     MandateStatus `json:"status"`
	MaxPerTxCents              int64         `json:"maxPerTxCents"`
	MaxMonthlySpendCents       int64         `json:"maxMonthlySpendCents"`
	CurrentMonthlySpendCents   int64         `json:"currentMonthlySpendCents"`
	RemainingMonthlySpendCents int64         `json:"remainingMonthlySpendCents"`
	CurrentMonth               string        `json:"currentMonth"` // "2026-11", UTC
	ExpiresAt                  time.Time     `json:"expiresAt"`
	Rails                      []Rail        `json:"rails"`
	AllowedMerchantIDs         []string      `json:"allowedMerchantIds"`
}

// Revocation is the answer to a revocation, the first and every later one.
type Revocation struct {
	Success bool          `json:"success"`
	Status  MandateStatus `json:"status"`
}

// ChargeParams asks for a charge: POST /v1/payments/charge.
type ChargeParams struct {
	// Mandate is the token that the person's setup gave.
	Mandate string `json:"intentMandate"`
	// AmountCents is positive, in US cents.
	AmountCents int64 `json:"amountCents"`
	// Currency: USD, USDC or USDT.
	Currency Currency `json:"currency"`
	// Description is shown on the person's statement: 1 to 500 characters.
	Description string `json:"description"`
	// IdempotencyKey makes a repeat answer what the first call did: 1 to 255
	// printable ASCII characters. Default: a random one, kept over the retries of one call.
	IdempotencyKey string `json:"idempotencyKey"`
	// Metadata is yours: up to 50 keys of 40 characters with values of 500.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Charge is the result of a charge.
type Charge struct {
	TransactionID string   `json:"transactionId"`
	Status        Status   `json:"status"`
	AmountCents   int64    `json:"amountCents"`
	RailUsed      RailUsed `json:"railUsed,omitempty"`
	// TxHash is the transaction on chain. Only where the chain was used.
	TxHash string `json:"txHash,omitempty"`
	// ProcessorPaymentID is the card processor's own id. Only where a card was used.
	ProcessorPaymentID string `json:"processorPaymentId,omitempty"`
	// FeeMicros is the fee accrued against the payee, in millionths of a US dollar.
	FeeMicros int64 `json:"feeMicros"`
	// FailureReason is set where Status is Failed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	CreatedAt     time.Time     `json:"createdAt"`
	// Replayed tells that this answers an earlier call with the same idempotency key.
	Replayed bool `json:"-"`
}

// Receipt is one charge, as its payee may show it.
type Receipt struct {
	ID            string        `json:"id"`
	Status        Status        `json:"status"`
	AmountCents   int64         `json:"amountCents"`
	Currency      Currency      `json:"currency"`
	Rail          Rail          `json:"rail,omitempty"`
	ReceiptURL    string        `json:"receiptUrl,omitempty"`
	Description   string        `json:"description,omitempty"`
	FeeMicros     int64         `json:"feeMicros"`
	TxHash        string        `json:"txHash,omitempty"`
	FailureReason FailureReason `json:"failureReason,omitempty"`
	CreatedAt     time.Time     `json:"createdAt"`
	SettledAt     time.Time     `json:"settledAt,omitzero"`
}

// Stats are a merchant's totals, exact and including every charge already answered.
type Stats struct {
	TotalVolumeCents int64 `json:"totalVolumeCents"`
	ActiveDelegates  int64 `json:"activeDelegates"`
	TransactionCount int64 `json:"transactionCount"`
}

// Transaction is one charge in a list.
type Transaction struct {
	ID          string    `json:"id"`
	DelegateID  string    `json:"delegateId"`
	AmountCents int64     `json:"amountCents"`
	Status      Status    `json:"status"`
	Rail        Rail      `json:"rail,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
}

// ListParams bounds a list, newest first.
type ListParams struct {
	// Limit is the page size: 1 to 100. Default: 10; 100 when ranging over all.
	Limit int
	// StartingAfter is the id of the last transaction already seen. Default: from the newest on.
	StartingAfter string
}

// TransactionPage is one page of a list.
type TransactionPage struct {
	HasMore bool          `json:"hasMore"`
	Data    []Transaction `json:"data"`
}

// PaywallSettlementParams asks the service to take a paywall's price from a
// mandate: POST /v1/paywall/settle. Package paywall sends it.
type PaywallSettlementParams struct {
	// Mandate is a bare mandate or a presentation of one.
	Mandate string `json:"mandate"`
	// Price is the price in dollars, with at most six decimals.
	Price string `json:"price"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo"`
	// Network is the CAIP-2 id of the chain.
	Network string `json:"network"`
	// Resource is the full URL that is paid for.
	Resource string `json:"resource"`
	// ChallengeID is the id of the challenge that is answered.
	ChallengeID string `json:"challengeId,omitempty"`
	// IdempotencyKey makes a repeat answer what the first call did: 1 to 255
	// printable ASCII characters. Default: a random one, kept over the retries of one call.
	IdempotencyKey string `json:"idempotencyKey"`
}

// PaywallSettlement is the answer to [PaywallSettlementParams].
type PaywallSettlement struct {
	Success bool `json:"success"`
	// Transaction is the hash on chain, or the processor's payment id of a card.
	Transaction string `json:"transaction"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network"`
	// Payer is the wallet that paid, or the mandate's id.
	Payer         string `json:"payer"`
	TransactionID string `json:"transactionId"`
	// ErrorReason is set where Success is false.
	ErrorReason string `json:"errorReason,omitempty"`
}

// Merchant is a fresh merchant of the sandbox: POST /v1/test_helpers/merchants.
type Merchant struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	APIKey string `json:"apiKey"`
	PayTo  string `json:"payTo,omitempty"`
}

// Clock is the time of a sandbox: POST /v1/test_helpers/clock/advance.
type Clock struct {
	Now time.Time `json:"now"`
}
