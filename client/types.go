package client

import "time"

// Rail is the wire name of a rail: a network that money moves on.
type Rail string

// The rails, and the choice between them in [SessionParams].
const (
	CardRail  Rail = "fiatrail"
	ChainRail Rail = "chainrail"
	BothRails Rail = "both"
)

// Currency is a currency code in lower case.
type Currency string

// The currencies. USD prefers the card rail, USDC and USDT prefer the chain rail.
// Amounts are always US cents, and the chain rail always settles in USDC.
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

// The states of a mandate.
const (
	MandateActive  MandateStatus = "active"
	MandateRevoked MandateStatus = "revoked"
	MandateExpired MandateStatus = "expired"
)

// Status is the state of a charge. [Status.Paid] reports whether the money moved.
type Status string

// The states of a charge. On the wire, a charge that moved money is "completed" in
// charge results, and "succeeded" in receipts and lists. A charge is "reversed" in
// receipts and in repeated calls if its rail took the money back after it had succeeded.
const (
	Completed Status = "completed"
	Succeeded Status = "succeeded"
	Pending   Status = "pending"
	Failed    Status = "failed"
	Reversed  Status = "reversed"
	// Authorized is a charge whose amount is held; see [Client.Authorize].
	Authorized Status = "authorized"
	// Voided is an authorized charge that was given back.
	Voided Status = "voided"
	// WrittenOff is a payment from a tab that the operator has paid; see [Client.CloseTab].
	WrittenOff Status = "written_off"
)

// Paid reports whether the money moved: the status is [Completed] or [Succeeded].
func (s Status) Paid() bool { return s == Completed || s == Succeeded }

// RailUsed is the rail that a charge result names.
type RailUsed string

// The rails in a charge result.
const (
	CardUsed  RailUsed = "fiat"
	ChainUsed RailUsed = "crypto"
)

// FailureReason is the reason why a charge failed on its rail.
type FailureReason string

// The reasons for a failed charge.
const (
	CardDeclined      FailureReason = "card_declined"
	InsufficientFunds FailureReason = "insufficient_funds"
	ExpiredCard       FailureReason = "expired_card"
	Reverted          FailureReason = "reverted"
	OutOfGas          FailureReason = "out_of_gas"
	AllowanceMissing  FailureReason = "allowance_missing"
	WalletBlocked     FailureReason = "wallet_blocked" // by the token's issuer: the payer's or the payee's
	RailUnavailable   FailureReason = "rail_unavailable"
	ProcessorError    FailureReason = "processor_error"
	Expired           FailureReason = "expired" // of a refund that the payee did not sign in time, or a purchase that the seller did not settle in time
)

// SessionParams are the parameters of [Client.CreateSession].
type SessionParams struct {
	// MaxPerTxCents limits one payment, in US cents: 1 to MaxMonthlySpendCents. Required.
	MaxPerTxCents int64 `json:"maxPerTxCents"`
	// MaxMonthlySpendCents limits the sum of a calendar month (UTC), in US cents: up
	// to 10,000,000. Required.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	// FurtherLimits are further limits. Default: none.
	FurtherLimits
	// RequestedRail is CardRail, ChainRail or BothRails. Default: BothRails.
	RequestedRail Rail `json:"requestedRail,omitempty"`
	// AllowedMerchantIDs lists the merchants that the mandate may pay. Default: only
	// you. The single entry "*" allows any merchant.
	AllowedMerchantIDs []string `json:"allowedMerchantIds,omitempty"`
	// ExpiresAt is when the mandate expires, at most two years ahead. Default: in one year.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// ReturnURL is where the setup page sends the person afterwards. Default: the
	// person stays on the page.
	ReturnURL string `json:"returnUrl,omitempty"`
	// Metadata is for your own use: up to 50 keys of 40 characters, with values of up
	// to 500 characters.
	Metadata map[string]string `json:"metadata,omitempty"`
	// IdempotencyKey identifies the session: a repeated call with the same key returns
	// the same session. 1 to 255 printable ASCII characters. Default: a random key that
	// is kept over the retries of one call.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// Session is a setup session. Printed or logged, it hides its tokens and SetupURL.
type Session struct {
	// SessionToken identifies the session. Only the merchant that created the session can read it.
	SessionToken string `json:"sessionToken,omitempty"`
	// SetupURL is the page to send the person to. Only CreateSession returns it.
	SetupURL string `json:"setupUrl,omitempty"`
	// Status is pending until the person has decided.
	Status SessionStatus `json:"status,omitempty"`
	// Mandate is the mandate's token, set once the session is completed. It is a
	// secret: together with merchant credentials it can be charged.
	Mandate string `json:"intentMandate,omitempty"`
	// MandateID is the mandate's id (del_…), set once the session is completed.
	MandateID string `json:"delegateId,omitempty"`
	// FailureReason is declined, expired or too_many_attempts, set if the session failed.
	FailureReason string `json:"failureReason,omitempty"`
	// ExpiresAt is when the session expires: 24 hours after it was created.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Balance is what a mandate allows and what is left of it this month. The amount
// spent is rounded up to cents and the remainder down, so that they add up to the limit.
type Balance struct {
	// MandateID is the mandate's id (del_…).
	MandateID string `json:"delegateId"`
	// Status is active, revoked or expired.
	Status MandateStatus `json:"status"`
	// MaxPerTxCents is the limit per payment, in US cents.
	MaxPerTxCents int64 `json:"maxPerTxCents"`
	// MaxMonthlySpendCents is the limit per calendar month, in US cents.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	// FurtherLimits are the mandate's further limits, if any.
	FurtherLimits
	// Limits lists the limits of periods with what is used of them, in the order in which
	// charges are checked against them. An older service does not send it.
	Limits []Limit `json:"limits,omitempty"`
	// RoundUpRest reports whether a tab below 50 cents costs the card 50 cents when the mandate
	// ends. The person agreed to that on the setup page.
	RoundUpRest bool `json:"roundUpRest,omitzero"`
	// Paused reports whether the person has paused the mandate: charges fail with
	// [ErrMandatePaused] until the person resumes it.
	Paused bool `json:"paused,omitzero"`
	// CurrentMonthlySpendCents is the amount spent in CurrentMonth, in US cents.
	CurrentMonthlySpendCents int64 `json:"currentMonthlySpendCents"`
	// RemainingMonthlySpendCents is the amount left in CurrentMonth, in US cents.
	RemainingMonthlySpendCents int64 `json:"remainingMonthlySpendCents"`
	// CurrentMonth is the calendar month in UTC, such as "2026-11".
	CurrentMonth string `json:"currentMonth"`
	// ExpiresAt is when the mandate expires.
	ExpiresAt time.Time `json:"expiresAt"`
	// Rails lists the rails that the mandate can pay on.
	Rails []Rail `json:"rails"`
	// AllowedMerchantIDs lists the merchants that the mandate may pay; "*" allows any.
	AllowedMerchantIDs []string `json:"allowedMerchantIds"`
}

// Revocation is the result of [Client.Revoke].
type Revocation struct {
	// Success is always true.
	Success bool `json:"success"`
	// Status is always revoked.
	Status MandateStatus `json:"status"`
}

// ChargeParams are the parameters of [Client.Charge]. Printed or logged, they hide
// the mandate.
type ChargeParams struct {
	// Mandate is the token that the person's setup returned. With an access token, it may be
	// the id (del_…) of a mandate that the merchant created. Required.
	Mandate string `json:"intentMandate"`
	// AmountCents is the amount in US cents, at least 1. Required.
	AmountCents int64 `json:"amountCents"`
	// Currency is USD, USDC or USDT. Required.
	Currency Currency `json:"currency"`
	// Description appears on the person's statement: 1 to 500 characters. Required.
	Description string `json:"description"`
	// IdempotencyKey identifies the charge: a repeated call with the same key returns
	// the result of the first. 1 to 255 printable ASCII characters. Default: a random
	// key that is kept over the retries of one call.
	IdempotencyKey string `json:"idempotencyKey"`
	// Metadata is for your own use: up to 50 keys of 40 characters, with values of up
	// to 500 characters.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Tab lets a card pay less than 50 cents, if the mandate has no other rail: the amount is
	// drawn from a [Tab] and captured with others later. [Charge].Status is then Authorized, and
	// the payment is guaranteed: serve what was paid for. Other charges ignore it. Only for
	// [Client.Charge].
	Tab bool `json:"tab,omitzero"`
	// Recipient is the payee: a merchant's id (mer_…), or a wallet address that the mandate
	// allows. Only with an access token, and only for [Client.Charge]. Default: the merchant.
	Recipient string `json:"recipient,omitempty"`
}

// Charge is the result of a charge.
type Charge struct {
	// TransactionID is the charge's id (txn_…).
	TransactionID string `json:"transactionId"`
	// Status is Completed, Pending or Failed, or Reversed if Replayed is true. With
	// [Client.Authorize] it may be Authorized or Voided, and for a draw from a [Tab] WrittenOff.
	Status Status `json:"status"`
	// AmountCents is the amount charged, in US cents. While Status is Authorized, it is
	// the most that can be captured.
	AmountCents int64 `json:"amountCents"`
	// AuthorizedCents is the amount that was authorized. It is zero for a charge that was
	// not authorized first.
	AuthorizedCents int64 `json:"authorizedCents,omitzero"`
	// AuthorizedUntil is when the authorization ends. It is nil for a charge that was not
	// authorized first.
	AuthorizedUntil *time.Time `json:"authorizedUntil,omitempty"`
	// RailUsed is the rail that was charged. It is empty if no rail took the charge.
	RailUsed RailUsed `json:"railUsed,omitempty"`
	// TxHash is the hash of the transaction on chain, set if the chain rail was used.
	TxHash string `json:"txHash,omitempty"`
	// ProcessorPaymentID is the card processor's id of the payment, set if the card
	// rail was used.
	ProcessorPaymentID string `json:"processorPaymentId,omitempty"`
	// FeeMicros is the fee that the payee owes, in millionths of a US dollar.
	FeeMicros int64 `json:"feeMicros"`
	// FailureReason is set if Status is Failed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	// CreatedAt is when the charge was made.
	CreatedAt time.Time `json:"createdAt"`
	// TabID is the tab (tab_…) that the payment is drawn from. Empty for other payments.
	TabID string `json:"tabId,omitempty"`
	// Replayed reports whether this is the stored result of an earlier call with the
	// same idempotency key.
	Replayed bool `json:"-"`
}

// Receipt is one charge in the form that its payee may show to others.
type Receipt struct {
	// ID is the charge's id (txn_…).
	ID string `json:"id"`
	// Status is Succeeded, Pending, Failed, Reversed, Authorized, Voided or WrittenOff.
	Status Status `json:"status"`
	// AmountCents is the amount charged, in US cents, rounded up.
	AmountCents int64 `json:"amountCents"`
	// AmountMicros is the amount charged, in millionths of a US dollar. Services of earlier
	// versions send none.
	AmountMicros int64 `json:"amountMicros,omitzero"`
	// AuthorizedCents is the amount that was authorized, in US cents, rounded up. Zero for a
	// payment that was charged in one step.
	AuthorizedCents int64 `json:"authorizedCents,omitzero"`
	// Usage is what the captured amount was charged for. Nil if the capture named none.
	Usage *Usage `json:"usage,omitempty"`
	// RefundedCents is what was given back of it, in US cents.
	RefundedCents int64 `json:"refundedCents,omitzero"`
	// Source is the protocol of the payment. Services of earlier versions send none.
	Source Source `json:"source,omitempty"`
	// Payer is the address of the wallet that signed the payment itself. It is empty for a
	// payment under a mandate.
	Payer string `json:"payer,omitempty"`
	// Currency is the currency that the charge asked for.
	Currency Currency `json:"currency"`
	// Rail is the rail that was charged. It is empty if no rail took the charge.
	Rail Rail `json:"rail,omitempty"`
	// ReceiptURL is the address of the hosted receipt. Anyone who has it can open it.
	ReceiptURL string `json:"receiptUrl,omitempty"`
	// Description is the charge's description.
	Description string `json:"description,omitempty"`
	// FeeMicros is the fee that the payee owes, in millionths of a US dollar.
	FeeMicros int64 `json:"feeMicros"`
	// TxHash is the hash of the transaction on chain, set if the chain rail was used.
	TxHash string `json:"txHash,omitempty"`
	// FailureReason is set if Status is Failed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	// CreatedAt is when the charge was made.
	CreatedAt time.Time `json:"createdAt"`
	// TabID is the tab (tab_…) that the payment is drawn from. Empty for other payments.
	TabID string `json:"tabId,omitempty"`
	// SettledAt is when the charge succeeded or failed. It is zero while the charge is pending.
	SettledAt time.Time `json:"settledAt,omitzero"`
}

// Source is the protocol by which a payment was made.
type Source string

// The sources.
const (
	// SourceMandate is a charge of a mandate.
	SourceMandate Source = "mandate"
	// SourceX402 is a transfer that a wallet signed, paid by x402.
	SourceX402 Source = "x402"
	// SourceMPP is a transfer that a wallet signed, paid by the Payment scheme.
	SourceMPP Source = "mpp"
	// SourceTab is a payment of a mandate that is drawn from a [Tab].
	SourceTab Source = "tab"
	// SourceSeller is a purchase from a seller outside of the service.
	SourceSeller Source = "seller"
)

// Stats are a merchant's totals. They are exact and include every charge that was
// already answered.
type Stats struct {
	// TotalVolumeCents is the sum of all succeeded charges, in US cents.
	TotalVolumeCents int64 `json:"totalVolumeCents"`
	// RefundedCents is what was given back of it, in US cents.
	RefundedCents int64 `json:"refundedCents"`
	// ActiveMandates is the number of active mandates that allow the merchant.
	ActiveMandates int64 `json:"activeDelegates"`
	// TransactionCount is the number of succeeded charges.
	TransactionCount int64 `json:"transactionCount"`
}

// Transaction is one charge in a list.
type Transaction struct {
	// ID is the charge's id (txn_…).
	ID string `json:"id"`
	// MandateID is the id of the charged mandate (del_…). It is empty if a wallet signed the
	// payment itself.
	MandateID string `json:"delegateId"`
	// Source is the protocol of the payment. Services of earlier versions send none.
	Source Source `json:"source,omitempty"`
	// Payer is the address of the wallet that signed the payment itself. It is empty for a
	// payment under a mandate.
	Payer string `json:"payer,omitempty"`
	// AmountCents is the amount charged, in US cents.
	AmountCents int64 `json:"amountCents"`
	// RefundedCents is what was given back of it, in US cents.
	RefundedCents int64 `json:"refundedCents,omitzero"`
	// Status is Succeeded, Pending, Failed, Authorized, Voided or WrittenOff.
	Status Status `json:"status"`
	// Rail is the rail that was charged. It is empty if no rail took the charge.
	Rail Rail `json:"rail,omitempty"`
	// CreatedAt is when the charge was made.
	CreatedAt time.Time `json:"createdAt"`
	// TabID is the tab (tab_…) that the payment is drawn from. Empty for other payments.
	TabID string `json:"tabId,omitempty"`
}

// ListParams select a part of a list, newest first.
type ListParams struct {
	// Limit is the page size: 1 to 100. Default: 10 for one page, 100 for an iterator.
	Limit int
	// StartingAfter is the id of the last transaction already seen. Default: the list
	// starts with the newest.
	StartingAfter string
}

// TransactionPage is one page of a list of transactions.
type TransactionPage struct {
	// HasMore reports whether older transactions follow.
	HasMore bool `json:"hasMore"`
	// Data holds the transactions, newest first.
	Data []Transaction `json:"data"`
}

// PaywallSettlementParams are the parameters of [Client.SettlePaywall]. Printed or
// logged, they hide the mandate.
type PaywallSettlementParams struct {
	// Mandate is a bare mandate or a presentation of one. Required.
	Mandate string `json:"mandate"`
	// Price is the price in dollars, with at most six decimals. Required.
	Price string `json:"price"`
	// PayTo is the wallet address of the payee. Required.
	PayTo string `json:"payTo"`
	// Network is the CAIP-2 id of the chain. Required.
	Network string `json:"network"`
	// Resource is the absolute URL that is paid for. Required.
	Resource string `json:"resource"`
	// ChallengeID is the id of the challenge that the payment answers. Default: none.
	ChallengeID string `json:"challengeId,omitempty"`
	// IdempotencyKey identifies the settlement: a repeated call with the same key
	// returns the result of the first. 1 to 255 printable ASCII characters. Default: a
	// random key that is kept over the retries of one call.
	IdempotencyKey string `json:"idempotencyKey"`
	// Metered holds the price, to be captured for what was used ([Client.Capture]) or voided
	// ([Client.Void]), instead of charging it. It requires the credentials of the payee.
	// Default: false.
	Metered bool `json:"metered,omitzero"`
	// ExpiresInSeconds is the time after which a held price is given back unless it was
	// captured, as in [AuthorizeParams]. Only with Metered. Default: 3600.
	ExpiresInSeconds int64 `json:"expiresInSeconds,omitzero"`
}

// PaywallSettlement is the result of [Client.SettlePaywall].
type PaywallSettlement struct {
	// Success reports whether the payment was made, or its price is held.
	Success bool `json:"success"`
	// Transaction is the transaction hash on chain, or the card processor's payment id. It is
	// empty while the price is held on the chain.
	Transaction string `json:"transaction"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network"`
	// Payer is the wallet that paid, or the mandate's id.
	Payer string `json:"payer"`
	// TransactionID is the id of the charge (txn_…).
	TransactionID string `json:"transactionId"`
	// AuthorizedUntil is when a price that is held will be given back unless it was captured.
	// It is nil if the price was charged.
	AuthorizedUntil *time.Time `json:"authorizedUntil,omitempty"`
	// ErrorReason is set if Success is false: settlement_pending; for the payment of an
	// earlier call, reversed if the rail took it back, refunded if the payee gave all of it
	// back, or authorization_ended if its held price was captured or given back; or the
	// rail's reason.
	ErrorReason string `json:"errorReason,omitempty"`
}

// Merchant is a new merchant of the sandbox, as [Client.CreateTestMerchant] returns
// it. Printed or logged, it hides its API key.
type Merchant struct {
	// ID is the merchant's id (mer_…).
	ID string `json:"id"`
	// Name is the name that payers see.
	Name string `json:"name"`
	// APIKey is the secret for [Config].APIKey.
	APIKey string `json:"apiKey"`
	// PayTo is the merchant's wallet address. It is empty if the sandbox has no chain rail.
	PayTo string `json:"payTo,omitempty"`
}

// Clock is the time of a sandbox, as [Client.AdvanceTestClock] returns it.
type Clock struct {
	// Now is the sandbox's time after the call.
	Now time.Time `json:"now"`
}
