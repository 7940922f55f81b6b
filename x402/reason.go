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
	// Codes of the scheme upto.
	ReasonUptoSignature   Reason = "invalid_permit2_signature"
	ReasonUptoSpender     Reason = "invalid_permit2_spender"
	ReasonUptoRecipient   Reason = "invalid_permit2_recipient_mismatch"
	ReasonUptoNonce       Reason = "permit2_invalid_nonce"
	ReasonUptoExpired     Reason = "permit2_deadline_expired"
	ReasonUptoEarly       Reason = "permit2_not_yet_valid"
	ReasonUptoAmount      Reason = "permit2_amount_mismatch"
	ReasonUptoToken       Reason = "permit2_token_mismatch"
	ReasonUptoAllowance   Reason = "permit2_allowance_required"
	ReasonUptoFacilitator Reason = "upto_facilitator_mismatch"
	ReasonUptoExceeds     Reason = "invalid_upto_evm_payload_settlement_exceeds_amount"
	// ReasonUptoMerchant is our own: only the payee may choose what a payment of the scheme
	// upto settles, with the credentials of its merchant.
	ReasonUptoMerchant Reason = "upto_merchant_required"
	// ReasonVerifyError and ReasonSettleError mean that the facilitator does not know
	// the outcome.
	ReasonVerifyError Reason = "unexpected_verify_error"
	ReasonSettleError Reason = "unexpected_settle_error"
	// ReasonPending is our own: the transfer was broadcast and not confirmed in time. The
	// response has the transaction hash, and a repeat of the same payload finds that
	// transaction.
	ReasonPending Reason = "settlement_pending"
	// ReasonGasBudget is our own: the facilitator settles no more of this payer, this payee or
	// this caller for now. The same payment can be settled later, while it is valid.
	ReasonGasBudget Reason = "relayer_gas_budget_exceeded"
	// ReasonDuplicate means that the authorization was settled before. Only a repeat with
	// the same Idempotency-Key gets the first result again.
	ReasonDuplicate Reason = "duplicate_settlement"
)

// undecided reports whether money may have moved although the facilitator gave this
// reason.
func (r Reason) undecided() bool {
	return r == "" || r == ReasonVerifyError || r == ReasonSettleError
}
