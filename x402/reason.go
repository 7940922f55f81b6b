package x402

// Reason is the code of a refusal: the value of error, errorReason and invalidReason on
// the wire.
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
	// ReasonVerifyError and ReasonSettleError mean that the facilitator does not know
	// the outcome.
	ReasonVerifyError Reason = "unexpected_verify_error"
	ReasonSettleError Reason = "unexpected_settle_error"
	// ReasonPending is our own: the transfer was broadcast and not confirmed in time. The
	// response has the transaction hash, and a repeat of the same payload finds that
	// transaction.
	ReasonPending Reason = "settlement_pending"
	// ReasonDuplicate means that the authorization was settled before. Only a repeat with
	// the same Idempotency-Key gets the first result again.
	ReasonDuplicate Reason = "duplicate_settlement"
)

// undecided reports whether money may have moved although the facilitator gave this
// reason.
func (r Reason) undecided() bool {
	return r == "" || r == ReasonVerifyError || r == ReasonSettleError
}
