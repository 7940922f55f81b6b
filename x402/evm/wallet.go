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

// ErrNotMine tells that a wallet was asked to sign for another payer, or for a
// token that it does not pay with.
var ErrNotMine = errors.New("evm: not this wallet's to sign")

// WalletConfig says what a wallet signs with and for.
type WalletConfig struct {
	// Key signs; [ParseKey] reads one. Required.
	Key *ecdsa.PrivateKey
	// Assets are the dollar tokens that it pays with, by chain id. Default: USDC on
	// Base and Base Sepolia.
	Assets map[int64]x402.Asset
}

// Wallet signs transfer authorizations (EIP-3009) with a key in memory. It is an
// agent.Wallet, and safe for concurrent use. However it is printed or logged, it
// shows its address and never its key.
type Wallet struct {
	key     *ecdsa.PrivateKey
	address string
	assets  map[int64]x402.Asset
}

// NewWallet makes a wallet. An error where the key is missing or not secp256k1's,
// or an asset's address or decimals are not valid.
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

// maxDecimals is how many decimals a token has at most.
const maxDecimals = 36

// ParseKey reads a secp256k1 key of 64 hexadecimal digits, with or without "0x".
// The error does not repeat the text.
func ParseKey(text string) (*ecdsa.PrivateKey, error) {
	key, err := crypto.HexToECDSA(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("evm: a key is 64 hexadecimal digits of a number below the curve's order")
	}
	return key, nil
}

// Address is the account that pays, EIP-55 checksummed.
func (w *Wallet) Address() string { return w.address }

// Asset is the dollar token that the wallet pays with on a chain; false where it
// has none there.
func (w *Wallet) Asset(chainID int64) (x402.Asset, bool) {
	if w.assets == nil {
		return x402.USDC(chainID)
	}
	a, ok := w.assets[chainID]
	return a, ok
}

// SignTransfer signs an authorization and returns the signature as "0x" and
// hexadecimal. [ErrNotMine] where somebody else pays or the token is not the one of
// Asset, [ErrNumber] or an error that names the field where the authorization is
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

// String is the wallet's address.
func (w *Wallet) String() string { return w.address }

// Format prints the address, whatever the verb.
func (w *Wallet) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(w.address)) }

// LogValue is the wallet's address.
func (w *Wallet) LogValue() slog.Value { return slog.StringValue(w.address) }

// MarshalText is the wallet's address.
func (w *Wallet) MarshalText() ([]byte, error) { return []byte(w.address), nil }
