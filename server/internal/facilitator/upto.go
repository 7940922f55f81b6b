package facilitator

import (
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

// checkPayee refuses a payment of the scheme upto unless the payee itself sent it, with the
// credentials of its merchant. The caller chooses the amount: the payer could otherwise settle
// its own payment for next to nothing before the payee does.
func (f *Facilitator) checkPayee(r *http.Request, who caller, payee string) *refusal {
	if who.merchant != "" && f.config.Payee != nil {
		merchantID, err := f.config.Payee(r.Context(), payee)
		if err != nil {
			return f.unknown(r, "find the payee", err)
		}
		if merchantID == who.merchant {
			return nil
		}
	}
	return refuse(x402.ReasonUptoMerchant, "Only the merchant whose wallet payTo is may verify and settle the scheme upto, with its API key.")
}

// matchUpto compares a payment of the scheme upto with what is required, whose amount may be
// less if it is to be settled.
func (f *Facilitator) matchUpto(payload x402.Payload, asked x402.Requirements) *refusal {
	a := payload.Upto.Authorization
	most := asked
	most.Amount = payload.Accepted.Amount
	switch {
	case asked.Network != f.network.CAIP2:
		return refuse(x402.ReasonInvalidNetwork, "Only the network "+f.network.CAIP2+" is settled.")
	case !payload.Accepted.Equal(most):
		return refuse(x402.ReasonInvalidRequirement, "What the payer accepted is not what is required.")
	case a.Permitted.Amount != most.Amount:
		return refuse(x402.ReasonUptoAmount, "The permit is for another amount than the payer accepted.")
	case x402.CompareAmounts(asked.Amount, most.Amount) > 0:
		return refuse(x402.ReasonUptoExceeds, "The amount is above what the payer accepted.")
	}
	for _, address := range []string{asked.Asset, asked.PayTo} {
		if _, err := x402.ParseAddress(address); err != nil {
			return refuse(x402.ReasonInvalidRequirement, "An address is not one: "+err.Error()+".")
		}
	}
	switch {
	case !x402.SameAddress(asked.Asset, f.asset.Address):
		return refuse(x402.ReasonInvalidRequirement, "Only the token "+f.asset.Address+" is settled.")
	case !x402.SameAddress(asked.Asset, a.Permitted.Token):
		return refuse(x402.ReasonUptoToken, "The permit is for another token than asset.")
	case !x402.SameAddress(asked.PayTo, a.Witness.To):
		return refuse(x402.ReasonUptoRecipient, "The permit pays somebody else than payTo.")
	}
	if method, declared := asked.Extra[x402.ExtraTransferMethod]; declared && method != x402.TransferPermit2 {
		return refuse(x402.ReasonInvalidRequirement, "extra.assetTransferMethod: only permit2 is settled with the scheme upto.")
	}
	if by, declared := asked.Extra[x402.ExtraFacilitator]; declared {
		if text, ok := by.(string); !ok || !x402.SameAddress(text, a.Witness.Facilitator) {
			return refuse(x402.ReasonUptoFacilitator, "The permit is for another facilitator than extra.facilitatorAddress.")
		}
	}
	return f.matchDomain(asked.Extra)
}

// current reports whether the window of a payment is open.
func (p payment) current(now time.Time) bool {
	if p.upto != nil {
		return p.upto.Authorization.CheckWindow(now) == ""
	}
	return p.exact.Authorization.CheckWindow(now) == ""
}

// signed reports whether the payer's own key signed a payment, whose window is open.
func (f *Facilitator) signed(p payment) bool {
	switch {
	case !p.current(f.config.Clock()):
		return false
	case p.upto != nil:
		return f.config.Settler.UptoSignedByKey(*p.upto)
	}
	return f.config.Settler.SignedByKey(p.exact)
}
