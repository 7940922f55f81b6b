package evm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// refundOf returns the typed data of a refund of 25 cents out of the wallet of key 1.
func refundOf() (evm.Domain, evm.TransferAuthorization) {
	usdc, _ := x402.USDC(84532)
	return evm.Domain{Name: usdc.Name, Version: usdc.Version, ChainID: 84532, Contract: common.HexToAddress(usdc.Address)},
		evm.TransferAuthorization{
			From: addressOf(1), To: addressOf(2), Value: evm.Uint64(250_000), ValidBefore: evm.Uint64(uint64(time.Now().Add(24 * time.Hour).Unix())),
			Nonce: common.Hash([]byte(evm.RefundNonce + strings.Repeat("n", 24))),
		}
}

func TestWalletSignsRefunds(t *testing.T) {
	t.Parallel()
	w, err := evm.NewWallet(evm.WalletConfig{Key: keyOf(1)})
	require.NoError(t, err)
	domain, refund := refundOf()
	text, err := w.SignRefund(t.Context(), evm.TypedData(domain, refund), evm.RefundTerms{MaxCents: 25, To: addressOf(2).Hex()})
	require.NoError(t, err)
	signer, err := evm.Recover(evm.Digest(domain.Separator(), refund), common.FromHex(text))
	require.NoError(t, err)
	require.Equal(t, addressOf(1), signer)
}

func TestWalletSignsNoOtherRefund(t *testing.T) {
	t.Parallel()
	w, err := evm.NewWallet(evm.WalletConfig{Key: keyOf(1)})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		cents  int64
		change func(*evm.Domain, *evm.TransferAuthorization)
		want   error
	}{
		"more than allowed": {24, func(*evm.Domain, *evm.TransferAuthorization) {}, evm.ErrRefundAmount},
		"to another wallet": {25, func(_ *evm.Domain, t *evm.TransferAuthorization) { t.To = addressOf(3) }, evm.ErrRefundTo},
		"a payment":         {25, func(_ *evm.Domain, t *evm.TransferAuthorization) { t.Nonce = common.Hash{1} }, evm.ErrRefundNonce},
		"for a week": {25, func(_ *evm.Domain, t *evm.TransferAuthorization) {
			t.ValidBefore = evm.Uint64(uint64(time.Now().Add(7 * 24 * time.Hour).Unix()))
		}, evm.ErrRefundExpiry},
		"of another wallet":   {25, func(_ *evm.Domain, t *evm.TransferAuthorization) { t.From = addressOf(3) }, evm.ErrNotMine},
		"of another token":    {25, func(d *evm.Domain, _ *evm.TransferAuthorization) { d.Contract = addressOf(4) }, evm.ErrNotMine},
		"on an unknown chain": {25, func(d *evm.Domain, _ *evm.TransferAuthorization) { d.ChainID = 7 }, evm.ErrNotMine},
	} {
		domain, refund := refundOf()
		c.change(&domain, &refund)
		_, err := w.SignRefund(t.Context(), evm.TypedData(domain, refund), evm.RefundTerms{MaxCents: c.cents, To: addressOf(2).Hex()})
		require.ErrorIs(t, err, c.want, name)
	}
	domain, refund := refundOf()
	for name, text := range map[string]string{
		"no JSON": "{", "no chain": `{}`,
		"no address": strings.Replace(string(evm.TypedData(domain, refund)), strings.ToLower(addressOf(2).Hex()[2:]), "", 1),
	} {
		_, err := w.SignRefund(t.Context(), []byte(text), evm.RefundTerms{MaxCents: 25})
		require.Error(t, err, name)
	}
	permit := evm.TypedData(domain, evm.Permit{Owner: addressOf(1), Spender: addressOf(2), Value: evm.Uint64(1)})
	_, err = w.SignRefund(t.Context(), permit, evm.RefundTerms{MaxCents: 25})
	require.ErrorIs(t, err, evm.ErrNotMine)
}
