package evm_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

var _ agent.Wallet = (*evm.Wallet)(nil)

func newWallet(t *testing.T) (*evm.Wallet, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := crypto.GenerateKey()
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	return w, key
}

func transferOf(w *evm.Wallet) x402.Authorization {
	return x402.Authorization{
		From: w.Address(), To: addressOf(2).Hex(), Value: "10000", ValidAfter: "0", ValidBefore: "1900000000", Nonce: common.Hash{7}.Hex(),
	}
}

// What a wallet signs is what a general encoder hashes for the token's domain on
// that chain, by the wallet's own key.
func TestWalletSigns(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	for _, chainID := range []int64{8453, 84532} {
		asset, ok := w.Asset(chainID)
		require.True(t, ok)
		a := transferOf(w)
		text, err := w.SignTransfer(t.Context(), chainID, asset, a)
		require.NoError(t, err)
		signature, err := hexutil.Decode(text)
		require.NoError(t, err)

		parsed, err := evm.ParseAuthorization(a)
		require.NoError(t, err)
		var general apitypes.TypedData
		require.NoError(t, json.Unmarshal(evm.TypedData(evm.Domain{
			Name: asset.Name, Version: asset.Version, ChainID: uint64(chainID), Contract: common.HexToAddress(asset.Address),
		}, parsed), &general))
		digest, _, err := apitypes.TypedDataAndHash(general)
		require.NoError(t, err)
		signer, err := evm.Recover(common.BytesToHash(digest), signature)
		require.NoError(t, err)
		require.Equal(t, w.Address(), signer.Hex())
	}
}

// A seller names the token in its challenge; a wallet signs for its own alone.
func TestWalletSignsNothingElse(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	other, _ := newWallet(t)
	usdc, _ := w.Asset(84532)
	changed := func(change func(*x402.Asset)) x402.Asset {
		a := usdc
		change(&a)
		return a
	}
	for name, tc := range map[string]struct {
		chainID int64
		asset   x402.Asset
		payer   *evm.Wallet
	}{
		"another's money":    {84532, usdc, other},
		"another token":      {84532, changed(func(a *x402.Asset) { a.Address = addressOf(9).Hex() }), w},
		"another name":       {84532, changed(func(a *x402.Asset) { a.Name = "USD Coin" }), w},
		"another version":    {84532, changed(func(a *x402.Asset) { a.Version = "1" }), w},
		"a token of another": {8453, usdc, w},
		"an unknown chain":   {1, usdc, w},
	} {
		_, err := w.SignTransfer(t.Context(), tc.chainID, tc.asset, transferOf(tc.payer))
		require.ErrorIs(t, err, evm.ErrNotMine, name)
	}
	a := transferOf(w)
	a.Value = "-1"
	_, err := w.SignTransfer(t.Context(), 84532, usdc, a)
	require.ErrorIs(t, err, evm.ErrNumber)
}

func TestWalletWithItsOwnTokens(t *testing.T) {
	t.Parallel()
	asset := x402.Asset{Address: addressOf(9).Hex(), Name: "Dollar", Version: "1", Decimals: 18}
	w, err := evm.NewWallet(evm.WalletConfig{Key: keyOf(1), Assets: map[int64]x402.Asset{10: asset}})
	require.NoError(t, err)
	got, ok := w.Asset(10)
	require.True(t, ok)
	require.Equal(t, asset, got)
	_, ok = w.Asset(84532)
	require.False(t, ok)
	_, err = w.SignTransfer(t.Context(), 10, asset, transferOf(w))
	require.NoError(t, err)
}

func TestNewWalletRefuses(t *testing.T) {
	t.Parallel()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	good := x402.Asset{Address: addressOf(9).Hex(), Name: "Dollar", Version: "1", Decimals: 6}
	for name, c := range map[string]evm.WalletConfig{
		"no key":         {},
		"another curve":  {Key: p256},
		"no address":     {Key: keyOf(1), Assets: map[int64]x402.Asset{1: {Name: "x", Decimals: 6}}},
		"no chain":       {Key: keyOf(1), Assets: map[int64]x402.Asset{0: good}},
		"many decimals":  {Key: keyOf(1), Assets: map[int64]x402.Asset{1: {Address: good.Address, Decimals: 99}}},
		"fewer than one": {Key: keyOf(1), Assets: map[int64]x402.Asset{1: {Address: good.Address, Decimals: -1}}},
	} {
		_, err := evm.NewWallet(c)
		require.Error(t, err, name)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	text := hexutil.Encode(crypto.FromECDSA(keyOf(5)))
	for _, form := range []string{text, text[2:]} {
		key, err := evm.ParseKey(form)
		require.NoError(t, err)
		require.True(t, key.Equal(keyOf(5)))
	}
	for _, bad := range []string{"", "0x", text[:60], text + "00", strings.Repeat("0", 64), strings.Repeat("f", 64), "0x" + text} {
		_, err := evm.ParseKey(bad)
		require.Error(t, err, bad)
		if len(bad) > 4 {
			require.NotContains(t, err.Error(), bad)
		}
	}
}

func TestWalletNeverShowsItsKey(t *testing.T) {
	t.Parallel()
	w, key := newWallet(t)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).InfoContext(t.Context(), "paid", slog.Any("wallet", w), slog.Any("in", struct{ W *evm.Wallet }{w}))
	encoded, err := json.Marshal(map[string]any{"wallet": w})
	require.NoError(t, err)
	shown := logged.String() + string(encoded) + fmt.Sprintf("%v %+v %#v %s %x %d", w, w, w, w, w, struct{ W *evm.Wallet }{w})
	require.Contains(t, shown, w.Address())
	secret := crypto.FromECDSA(key)
	for _, form := range []string{new(big.Int).SetBytes(secret).String(), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret)} {
		require.NotContains(t, shown, form)
	}
}
