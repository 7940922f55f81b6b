package evm

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/x402"
)

// ErrNotMine reports a request to sign for another payer, or for a token that the wallet
// does not pay with.
var ErrNotMine = errors.New("evm: not this wallet's to sign")

// WalletConfig configures a [Wallet].
type WalletConfig struct {
	// Key is the secp256k1 key that signs; [ParseKey] parses one. Required.
	Key *ecdsa.PrivateKey
	// Assets are the dollar tokens that the wallet pays with, by chain id. Default: USDC
	// on Base and Base Sepolia.
	Assets map[int64]x402.Asset
}

// Wallet signs transfer authorizations (EIP-3009) with a key in memory. It implements
// agent.Wallet. Printed or logged, it shows its address and never its key. It is safe for
// concurrent use.
type Wallet struct {
	key     *ecdsa.PrivateKey
	address string
	assets  map[int64]x402.Asset
}

// NewWallet returns a Wallet. The returned error names the invalid field.
func NewWallet(c WalletConfig) (*Wallet, error) {
	if c.Key == nil || c.Key.Curve != crypto.S256() {
		return nil, errors.New("evm: Key is required, on secp256k1")
	}
	for chainID, a := range c.Assets {
		if _, err := x402.ParseAddress(a.Address); err != nil {
			return nil, fmt.Errorf("evm: Assets[%d].Address: %w", chainID, err)
		}
		if chainID <= 0 || a.Decimals < 0 || a.Decimals > maxDecimals {
			return nil, fmt.Errorf("evm: Assets[%d]: a positive chain id and at most %d decimals", chainID, maxDecimals)
		}
	}
	return &Wallet{key: c.Key, address: crypto.PubkeyToAddress(c.Key.PublicKey).Hex(), assets: maps.Clone(c.Assets)}, nil
}

// maxDecimals is the largest number of decimals that is accepted.
const maxDecimals = 36

// ParseKey parses a secp256k1 key of 64 hexadecimal digits, with or without "0x". Its
// error does not contain the text.
func ParseKey(text string) (*ecdsa.PrivateKey, error) {
	key, err := crypto.HexToECDSA(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("evm: a key is 64 hexadecimal digits of a number below the curve's order")
	}
	return key, nil
}

// Address returns the account that pays, with its EIP-55 checksum.
func (w *Wallet) Address() string { return w.address }

// Asset returns the dollar token that the wallet pays with on a chain. It reports false if
// there is none.
func (w *Wallet) Asset(chainID int64) (x402.Asset, bool) {
	if w.assets == nil {
		return x402.USDC(chainID)
	}
	a, ok := w.assets[chainID]
	return a, ok
}

// SignTransfer signs an authorization and returns the signature as "0x" and hexadecimal.
// It returns [ErrNotMine] if the payer is another account or the token is not that of
// [Wallet.Asset], and the errors of [ParseAuthorization] if the authorization is
// malformed.
func (w *Wallet) SignTransfer(_ context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error) {
	if own, ok := w.Asset(chainID); !ok || own != asset || !x402.SameAddress(a.From, w.address) {
		return "", ErrNotMine
	}
	transfer, err := ParseAuthorization(a)
	if err != nil {
		return "", err
	}
	domain := Domain{Name: asset.Name, Version: asset.Version, ChainID: uint64(chainID), Contract: common.HexToAddress(asset.Address)}
	signature, err := Sign(Digest(domain.Separator(), transfer), w.key)
	if err != nil {
		return "", err
	}
	return "0x" + hex.EncodeToString(signature), nil
}

// String returns the wallet's address.
func (w *Wallet) String() string { return w.address }

// Format prints the wallet's address for every verb.
func (w *Wallet) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(w.address)) }

// LogValue returns the wallet's address.
func (w *Wallet) LogValue() slog.Value { return slog.StringValue(w.address) }

// MarshalText returns the wallet's address.
func (w *Wallet) MarshalText() ([]byte, error) { return []byte(w.address), nil }
