package paywall

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402"
)

// errRefundData reports a refund that is not that of its payment. The gate does not have it
// signed: a false service could otherwise empty the merchant's wallet.
var errRefundData = errors.New("the service asks for a signature of another transfer than the payment's refund")

// signable reports why a refund is not that of the payment: of this transaction, of what was
// paid at most, to the wallet that paid.
func (h *hold) signable(p Payment, r client.Refund) error {
	var typed struct {
		PrimaryType string `json:"primaryType"`
		Domain      struct {
			VerifyingContract string `json:"verifyingContract"`
		} `json:"domain"`
		Message x402.Authorization `json:"message"`
	}
	if err := json.Unmarshal(r.Signature.TypedData, &typed); err != nil {
		return fmt.Errorf("%w: typed data: %w", errRefundData, err)
	}
	asset := h.offer.accepts[0].asset
	value, ok := new(big.Int).SetString(typed.Message.Value, 10)
	most, _ := new(big.Int).SetString(baseUnits(min(p.AmountMicros, r.AmountCents*microsPerCent), asset), 10)
	paidCents := (p.AmountMicros + microsPerCent - 1) / microsPerCent
	switch {
	case r.TransactionID != p.TransactionID:
		return fmt.Errorf("%w: transaction %s", errRefundData, r.TransactionID)
	case r.AmountCents <= 0 || r.AmountCents > paidCents:
		return fmt.Errorf("%w: %d cents", errRefundData, r.AmountCents)
	case typed.PrimaryType != "TransferWithAuthorization" || !x402.SameAddress(typed.Domain.VerifyingContract, asset.Address):
		return fmt.Errorf("%w: %s of %s", errRefundData, typed.PrimaryType, typed.Domain.VerifyingContract)
	case !x402.SameAddress(typed.Message.To, p.Payer):
		return fmt.Errorf("%w: to %s", errRefundData, typed.Message.To)
	case !ok || value.Sign() <= 0 || value.Cmp(most) > 0:
		return fmt.Errorf("%w: value %s", errRefundData, typed.Message.Value)
	}
	return nil
}
