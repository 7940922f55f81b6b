package devchain

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// WalletMicros is how much USDC each funded wallet starts with: a million dollars.
const WalletMicros = 1_000_000_000_000

// fundedWallets is how many wallets have USDC.
const fundedWallets = 10

// Wallet is an account of the development chain. Its key is no secret.
type Wallet struct {
	Address common.Address
	key     *ecdsa.PrivateKey
}

// Key is the wallet's private key.
func (w Wallet) Key() *ecdsa.PrivateKey { return w.key }

// PrivateKey is the wallet's private key as wallets import it: "0x" and 64
// hexadecimal digits. Everybody may know it.
func (w Wallet) PrivateKey() string { return hexutil.Encode(crypto.FromECDSA(w.key)) }

// Wallets are the ten with ether and USDC.
func Wallets() []Wallet {
	wallets := make([]Wallet, fundedWallets)
	for i := range wallets {
		wallets[i] = wallet(fmt.Sprintf("wallet %d", i))
	}
	return wallets
}

// EmptyWallet has neither ether nor USDC.
func EmptyWallet() Wallet { return wallet("empty wallet") }

// Relayer has ether, for who relays transactions.
func Relayer() Wallet { return wallet("relayer") }

// Operator has ether, and may revoke grants on the router; so may [Relayer].
func Operator() Wallet { return wallet("operator") }

// Admin has ether, and administers the router.
func Admin() Wallet { return wallet("admin") }

// Payee is a wallet that has nothing and is there to be paid; each n is another one.
func Payee(n int) Wallet { return wallet(fmt.Sprintf("payee %d", n)) }

// wallet has the key that follows from its name.
func wallet(name string) Wallet {
	seed := crypto.Keccak256([]byte("paywarrant development chain: " + name))
	key, err := crypto.ToECDSA(seed)
	if err != nil { // one seed in 2^128
		panic(fmt.Sprintf("devchain: key of %s: %v", name, err))
	}
	return Wallet{Address: crypto.PubkeyToAddress(key.PublicKey), key: key}
}
