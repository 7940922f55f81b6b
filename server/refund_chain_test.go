package server_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	chainrail "github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/webhook"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// payeeWallet is the wallet that payments on the chain go to.
func payeeWallet(t *testing.T) *evm.Wallet {
	t.Helper()
	w, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Payee(0).Key(), Assets: map[int64]x402.Asset{
		devchain.ChainID: {Address: devchain.USDC().Hex(), Name: devchain.USDCName, Version: devchain.USDCVersion, Decimals: 6},
	}})
	require.NoError(t, err)
	return w
}

// signRefund signs a refund as the payee, whatever the sandbox's clock shows.
func signRefund(t *testing.T, r client.Refund) (string, error) {
	t.Helper()
	return payeeWallet(t).SignRefund(t.Context(), r.Signature.TypedData, evm.RefundTerms{MaxCents: r.AmountCents, Until: r.Signature.ExpiresAt})
}

// unsignedRefund requests a refund on the chain, which waits for the payee's signature.
func (c caller) unsignedRefund(t *testing.T, paid client.Charge, cents int64, key string) client.Refund {
	t.Helper()
	r, err := c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: cents, IdempotencyKey: key})
	require.NoError(t, err)
	require.Equal(t, client.RefundPending, r.Status)
	require.NotNil(t, r.Signature)
	require.Equal(t, payeeWallet(t).Address(), r.Signature.Signer)
	return r
}

// TestRefundOnTheChainDoesNotFreeTheMonth: the router contract counts what it has moved in a
// month, so the balance promises nothing that it would refuse.
func TestRefundOnTheChainDoesNotFreeTheMonth(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	hook := c.Webhook(t, webhook.PaymentRefunded)
	m := c.mandate(t, 500, 500, "wallet")
	paid := c.chargeIn(t, m, 500, client.USDC)
	r := c.unsignedRefund(t, paid, 200, "refund 1")
	require.EqualValues(t, 500, c.spentCents(t, m), "nothing has moved yet")
	again, err := c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 200, IdempotencyKey: "refund 1"})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, r.Signature, again.Signature)
	_, err = c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 301})
	require.ErrorIs(t, err, client.ErrValidation, "what waits cannot be given back again")

	signature, err := signRefund(t, r)
	require.NoError(t, err)
	done, err := c.Client().SignRefund(t.Context(), paid.TransactionID, r.ID, signature)
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, done.Status)
	require.Regexp(t, "^0x[0-9a-f]{64}$", done.TxHash)
	require.Nil(t, done.Signature)
	require.EqualValues(t, 500, c.spentCents(t, m))
	e := hook.Next(t)
	require.Contains(t, string(e.Data), done.TxHash)
	list, err := c.Client().RefundsPage(t.Context(), paid.TransactionID, client.ListParams{})
	require.NoError(t, err)
	require.Equal(t, []client.Refund{done}, list.Data)
	repeated, err := c.Client().SignRefund(t.Context(), paid.TransactionID, r.ID, signature)
	require.NoError(t, err)
	require.Equal(t, done, repeated)
	_, err = c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USDC, Description: "again"})
	require.ErrorIs(t, err, client.ErrMonthlyLimit)
	c.sound(t, 1)
}

func TestSignaturesThatRefundNothing(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 500, 500, "wallet", "card_visa")
	paid := c.chargeIn(t, m, 200, client.USDC)
	r := c.unsignedRefund(t, paid, 100, "refund 1")
	path := "/v1/payments/" + paid.TransactionID + "/refunds/" + r.ID + "/signature"
	forged, err := evm.Sign([32]byte{1}, devchain.Payee(0).Key())
	require.NoError(t, err)
	for _, body := range []string{`{}`, `{"signature":"0x12"}`, `{"signature":"zz"}`, `{"signature":"` + hexutil.Encode(forged) + `"}`} {
		require.Equal(t, "signature", c.do(t, "POST", path, body).refused(t, 400, "validation_error").str("param"), body)
	}
	c.do(t, "POST", "/v1/payments/"+paid.TransactionID+"/refunds/rfd_01ARZ3NDEKTSV4RRFFQ69G5FAV/signature", `{"signature":"0x12"}`).refused(t, 404, "not_found")
	byCard := c.chargeIn(t, m, 100, client.USD)
	refunded, err := c.Client().Refund(t.Context(), byCard.TransactionID, client.RefundParams{})
	require.NoError(t, err)
	_, err = c.Client().SignRefund(t.Context(), byCard.TransactionID, refunded.ID, "0x12")
	require.ErrorIs(t, err, client.ErrRefundRefused)
	c.sound(t, 2)
}

// TestRefundOfAnEmptyWalletIsRefused: the refund waits on, and the signature stays good.
func TestRefundOfAnEmptyWalletIsRefused(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 500, 500, "wallet")
	paid := c.chargeIn(t, m, 200, client.USDC)
	first, second := c.unsignedRefund(t, paid, 100, "refund 1"), c.unsignedRefund(t, paid, 100, "refund 2")
	sign := func(r client.Refund) (client.Refund, error) {
		signature, err := signRefund(t, r)
		require.NoError(t, err)
		return c.Client().SignRefund(t.Context(), paid.TransactionID, r.ID, signature)
	}
	c.spendPayee(t, 1_500_000)
	_, err := sign(first)
	require.ErrorIs(t, err, client.ErrRefundRefused)
	require.ErrorContains(t, err, "holds less")
	require.EqualValues(t, 200, c.spentCents(t, m))
	c.chargeIn(t, m, 100, client.USDC) // fills the wallet
	done, err := sign(second)
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, done.Status)
	require.EqualValues(t, 300, c.spentCents(t, m))
	c.sound(t, 2)
}

// TestUnsignedRefundFailsAfterADay: the amount can be refunded again.
func TestUnsignedRefundFailsAfterADay(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	hook := c.Webhook(t, webhook.PaymentRefundFailed)
	m := c.mandate(t, 500, 500, "wallet")
	paid := c.chargeIn(t, m, 200, client.USDC)
	r := c.unsignedRefund(t, paid, 200, "refund 1")
	c.Clock.Advance(25 * time.Hour)
	require.Contains(t, string(hook.Next(t).Data), `"failureReason":"expired"`)
	signature, err := signRefund(t, r)
	require.NoError(t, err)
	late, err := c.Client().SignRefund(t.Context(), paid.TransactionID, r.ID, signature)
	require.NoError(t, err)
	require.Equal(t, client.RefundFailed, late.Status)
	require.Equal(t, client.Expired, late.FailureReason)
	c.unsignedRefund(t, paid, 200, "refund 2")
	c.sound(t, 1)
}

// spendPayee moves an amount out of the payee's wallet.
func (c caller) spendPayee(t *testing.T, micros uint64) {
	t.Helper()
	a := x402.Authorization{
		From: payeeWallet(t).Address(), To: devchain.Payee(1).Address.Hex(), Value: strconv.FormatUint(micros, 10),
		ValidAfter: "0", ValidBefore: "4102444800", Nonce: common.Hash{1}.Hex(),
	}
	usdc, _ := payeeWallet(t).Asset(devchain.ChainID)
	signature, err := payeeWallet(t).SignTransfer(t.Context(), devchain.ChainID, usdc, a)
	require.NoError(t, err)
	settler, ok := c.Chain.Rail.(*chainrail.Rail)
	require.True(t, ok)
	s, err := settler.SettleAuthorization(t.Context(), x402.Exact{Signature: signature, Authorization: a}, "")
	require.NoError(t, err)
	require.True(t, s.Success, s.ErrorMessage)
}

// TestPaymentSignedByAWalletIsRefunded: what the facilitator settled for the merchant goes back
// to the wallet that signed it.
func TestPaymentSignedByAWalletIsRefunded(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	f.payee = f.Merchant.PayTo
	f.ask(t, "settle", f.requestOf(2, f.sign(t, f.authorize(20_000)), "20000"))
	page, err := f.Client().TransactionsPage(t.Context(), client.ListParams{Limit: 1})
	require.NoError(t, err)
	id := page.Data[0].ID
	c := caller{Server: f.Server, merchant: f.Merchant}
	r := c.unsignedRefund(t, client.Charge{TransactionID: id}, 1, "refund 1")
	require.Contains(t, strings.ToLower(string(r.Signature.TypedData)), strings.ToLower(f.payer.Address.Hex()))
	signature, err := signRefund(t, r)
	require.NoError(t, err)
	done, err := f.Client().SignRefund(t.Context(), id, r.ID, signature)
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, done.Status)
	receipt, err := f.Client().Receipt(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, 1, receipt.RefundedCents)
	c.sound(t, 1)
}
