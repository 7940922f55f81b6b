package chain

import (
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// SignedByKey reports whether the payer's own key signed an authorization. It asks no
// node, so that requests that nobody signed cost none.
func (r *Rail) SignedByKey(e x402.Exact) bool {
	o, err := r.readOrder(e, "")
	if err != nil || len(o.signature) != evm.SignatureSize {
		return false
	}
	by, err := evm.Recover(evm.Digest(r.tokenDomain.Separator(), o.TransferAuthorization), o.signature)
	return err == nil && by == o.From
}
