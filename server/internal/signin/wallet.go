package signin

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"time"
)

// WalletText is the text with which a wallet signs in: a message of Sign-In with Ethereum
// (ERC-4361). It is valid in the browser that asked for it.
type WalletText struct {
	// Address is the wallet's, with its checksum (EIP-55).
	Address string
	ChainID uint64
	// Browser is a secret of the browser.
	Browser string
	// At is the time of the text, as in [time.RFC3339].
	At string
}

// WalletLifetime is the time in which a wallet must sign.
const WalletLifetime = 10 * time.Minute

// Text returns what the wallet signs. It contains no secret: the nonce is derived from the
// browser's.
func (s *Service) Text(w WalletText) string {
	host := s.BaseURL
	if u, err := url.Parse(s.BaseURL); err == nil {
		host = u.Host
	}
	nonce := hex.EncodeToString(s.mac("wallet", w.Browser, w.Address, w.At)[:16])
	return fmt.Sprintf(`%s wants you to sign in with your Ethereum account:
%s

See and stop the payments that agents make for you. Signing moves no money.

URI: %s
Version: 1
Chain ID: %d
Nonce: %s
Issued At: %s`, host, w.Address, s.BaseURL+"/me", w.ChainID, nonce, w.At)
}

// Current reports whether a text of a time may still be signed.
func (s *Service) Current(at string) bool {
	t, err := time.Parse(time.RFC3339, at)
	age := s.Clock().Sub(t)
	return err == nil && age < WalletLifetime && age > -time.Minute
}
