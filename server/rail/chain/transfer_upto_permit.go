package chain

import (
	"context"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// uptoGas is the gas that a settlement through Permit2 may use beyond that of a transfer.
const uptoGas = 100_000

// permitWire returns the permit in its x402 form, or zero.
func (t signedTransfer) permitWire() x402.UptoAuthorization {
	if t.permit == nil {
		return x402.UptoAuthorization{}
	}
	return t.permit.Wire()
}

// most returns the largest amount that the payer signed.
func (t signedTransfer) most() *big.Int {
	if t.permit != nil {
		return t.permit.Amount.Big()
	}
	return t.Value.Big()
}

// digest returns what the payer signs.
func (r *Rail) digest(t signedTransfer) common.Hash {
	if t.permit != nil {
		return evm.Digest(evm.Permit2Domain(r.config.ChainID, r.config.Upto.Permit2).Separator(), *t.permit)
	}
	return evm.Digest(r.tokenDomain.Separator(), t.TransferAuthorization)
}

// reason returns the code of a refusal in the scheme of the transfer, from that of exact.
func (t signedTransfer) reason(exact x402.Reason) x402.Reason {
	if t.permit == nil {
		return exact
	}
	switch exact {
	case x402.ReasonSignature:
		return x402.ReasonUptoSignature
	case x402.ReasonRecipient:
		return x402.ReasonUptoRecipient
	case x402.ReasonNonceUsed:
		return x402.ReasonUptoNonce
	case x402.ReasonValidAfter:
		return x402.ReasonUptoEarly
	case x402.ReasonValidBefore:
		return x402.ReasonUptoExpired
	default:
		return exact
	}
}

// checkPermit refuses a permit that this relayer cannot settle, or not for the amount.
func (r *Rail) checkPermit(a authorization) error {
	p := a.permit
	switch {
	case p == nil:
		return nil
	case p.Token != r.config.Token.Address:
		return refuseAuthorization(x402.ReasonUptoToken, "the permit is for another token than %s", r.config.Token.Address)
	case p.Spender != r.config.Upto.Proxy:
		return refuseAuthorization(x402.ReasonUptoSpender, "the permit is for another spender than %s", r.config.Upto.Proxy)
	case p.Facilitator != r.relayer.Address():
		return refuseAuthorization(x402.ReasonUptoFacilitator, "the permit is for another facilitator than %s", r.relayer.Address())
	case a.Value.Big().Cmp(p.Amount.Big()) > 0:
		return refuseAuthorization(x402.ReasonUptoExceeds, "the amount is above what the payer permitted")
	}
	return nil
}

// checkPermit2Allowance refuses a permit if Permit2 may not move the amount for the payer.
func (r *Rail) checkPermit2Allowance(ctx context.Context, a authorization) error {
	if a.permit == nil {
		return nil
	}
	call := r.token.PackAllowance(a.From, r.config.Upto.Permit2)
	allowed, err := eth.View(ctx, r.chain, r.config.Token.Address, call, r.token.UnpackAllowance)
	if err == nil && allowed.Cmp(a.Value.Big()) < 0 {
		err = refuseAuthorization(x402.ReasonUptoAllowance, "the payer lets Permit2 (%s) move less than the amount", r.config.Upto.Permit2)
	}
	return err
}

// isNonceUsed reports whether the permit of a nonce was settled or canceled, as Permit2 says.
func (r *Rail) isNonceUsed(ctx context.Context, payer common.Address, nonce common.Hash) (bool, error) {
	call := r.permit2.PackNonceBitmap(payer, new(big.Int).Rsh(nonce.Big(), 8))
	bits, err := eth.View(ctx, r.chain, r.config.Upto.Permit2, call, r.permit2.UnpackNonceBitmap)
	if err != nil {
		return false, err
	}
	return bits.Bit(int(nonce[len(nonce)-1])) == 1, nil
}

// longestPermit is the longest time for which a permit that is verified is valid, with clocks
// that differ. Its amount is reserved for that time.
const longestPermit = time.Hour + 2*time.Minute

// latestDeadline returns the latest deadline of a permit that is verified now.
func (r *Rail) latestDeadline(head *types.Header) time.Time {
	now := r.config.Clock()
	if at := eth.Time(head); at.After(now) {
		now = at
	}
	return now.Add(longestPermit)
}

// checkDeadline refuses a permit whose amount would be reserved for too long.
func (r *Rail) checkDeadline(a authorization, head *types.Header) error {
	if a.permit != nil && a.wire.ValidBeforeTime().After(r.latestDeadline(head)) {
		return refuseAuthorization(x402.ReasonInvalidPayload, "the deadline is more than %s from now", longestPermit)
	}
	return nil
}

// uptoCall returns the settlement of a permit as the relayer sends it.
func (r *Rail) uptoCall(a authorization, signer evm.Signer) relayer.Job {
	p, gas := a.permit, r.config.Authorizations.KeyGas
	if signer.Contract {
		gas = r.config.Authorizations.WalletGas
	}
	return relayer.Job{To: r.config.Upto.Proxy, Gas: gas + uptoGas, Data: r.uptoProxy.PackSettle(
		contracts.TestPermit2PermitTransferFrom{
			Permitted: contracts.TestPermit2TokenPermissions{Token: p.Token, Amount: p.Amount.Big()},
			Nonce:     p.Nonce.Big(), Deadline: p.Deadline.Big(),
		},
		a.Value.Big(), p.From,
		contracts.TestUptoProxyWitness{To: p.To, Facilitator: p.Facilitator, ValidAfter: p.ValidAfter.Big()},
		signer.Signature,
	)}
}

// madeUpto reports whether the relayer's transaction of a permit settled it: the token's
// event of the amount from payer to payee, and right after it that of the proxy.
func (r *Rail) madeUpto(receipt *types.Receipt, t signedTransfer) bool {
	for i := range len(receipt.Logs) - 1 {
		moved, settled := receipt.Logs[i], receipt.Logs[i+1]
		if moved.Address != r.config.Token.Address || settled.Address != r.config.Upto.Proxy {
			continue
		}
		if _, err := r.uptoProxy.UnpackSettledEvent(settled); err != nil {
			continue
		}
		m, err := r.token.UnpackTransferEvent(moved)
		if err == nil && m.From == t.From && m.To == t.To && m.Value.Cmp(t.Value.Big()) == 0 {
			return true
		}
	}
	return false
}
