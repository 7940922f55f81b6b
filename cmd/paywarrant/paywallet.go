package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// walletKey names the variable that a wallet's key may be in. A flag would show it
// to everybody who lists the machine's processes.
const walletKey = "SERVICE_WALLET_KEY"

// maxKeyFile is how much of a key's file is read, in bytes.
const maxKeyFile = 1 << 10

// walletOf returns the wallet whose key is in a file, in standard input if that is
// "-", or in the environment; nil if there is none.
func walletOf(file string) (agent.Wallet, error) {
	text := os.Getenv(walletKey)
	if file != "" {
		var err error
		if text, err = keyText(file); err != nil {
			return nil, fmt.Errorf("--wallet: %w", err)
		}
	}
	if text = strings.TrimSpace(text); text == "" && file == "" {
		return nil, nil
	}
	key, err := evm.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("the wallet's key: %w", err)
	}
	return evm.NewWallet(evm.WalletConfig{Key: key})
}

func keyText(file string) (string, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
	return string(text), err
}
