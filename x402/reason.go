package x402

// Reason is why a payment was refused: the wire values of error, errorReason and
// invalidReason.
type Reason string

// The codes of specification v2 §9 and those that the official packages add.
const (
	ReasonInsufficientFunds  Reason = "insufficient_funds"
	ReasonValidAfter         Reason = "invalid_exact_evm_payload_authorization_valid_after"
	ReasonValidBefore        Reason = "invalid_exact_evm_payload_authorization_valid_before"
	ReasonValue              Reason = "invalid_exact_evm_payload_authorization_value"
	ReasonSignature          Reason = "invalid_exact_evm_payload_signature"
	ReasonRecipient          Reason = "invalid_exact_evm_payload_recipient_mismatch"
	ReasonNonceUsed          Reason = "invalid_exact_evm_nonce_already_used"
	ReasonInvalidNetwork     Reason = "invalid_network"
	ReasonInvalidPayload     Reason = "invalid_payload"
	ReasonInvalidRequirement Reason = "invalid_payment_requirements"
	ReasonInvalidScheme      Reason = "invalid_scheme"
	ReasonUnsupportedScheme  Reason = "unsupported_scheme"
	ReasonInvalidVersion     Reason = "invalid_x402_version"
	ReasonTransactionState   Reason = "invalid_transaction_state"
	// ReasonVerifyError and ReasonSettleError say that the facilitator does not
	// know: the outcome is open.
	ReasonVerifyError Reason = "unexpected_verify_error"
	ReasonSettleError Reason = "unexpected_settle_error"
	// ReasonPending is ours: broadcast, and no receipt seen in time. The answer
	// carries the transaction hash; the same payload sent again is reconciled with it.
	ReasonPending Reason = "settlement_pending"
	// ReasonDuplicate refuses to settle an authorization a second time. Only a
	// repeat with the first one's Idempotency-Key gets the first result again.
	ReasonDuplicate Reason = "duplicate_settlement"
)

// undecided reports whether a facilitator that gives the reason leaves open
// whether money moves.
func (r Reason) undecided() bool {
	return r == "" || r == ReasonVerifyError || r == ReasonSettleError
}
