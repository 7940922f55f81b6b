package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/node"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// records opens where the chain rail keeps what it did.
type records func(ctx context.Context) (chain.Store, error)

// chainMaker makes the chain rail of a service.
type chainMaker func(ctx context.Context, open records, v *vault.Vault, log *slog.Logger) (*chain.Rail, error)

// reached is a chain whose node says what the configuration says.
type reached struct {
	config chain.Config // without store and vault
	node   *node.Client
}

// reach reads the relayer's key and asks the node whether the configuration is true:
// nothing is opened or made yet. An error names the key.
func (c chainConfig) reach(ctx context.Context, live bool) (*reached, error) {
	cfg, err := c.parse(live)
	if err != nil {
		return nil, err
	}
	if cfg.Relayer, err = relayerKey(c.RelayerKeyFile); err != nil {
		return nil, fmt.Errorf("chain.relayer_key_file: %w", err)
	}
	n, err := node.New(node.Config{URL: c.RPCURL})
	if err != nil {
		return nil, fmt.Errorf("chain.rpc_url: %w", err)
	}
	cfg.RPC = n
	if err := chain.Check(ctx, cfg); err != nil {
		n.Close()
		return nil, inFile(err)
	}
	return &reached{config: cfg, node: n}, nil
}

// inFile names the key of the file that the chain or the records contradict.
func inFile(err error) error {
	var contradicted *chain.ConfigError
	if !errors.As(err, &contradicted) {
		return fmt.Errorf("chain.rpc_url: the node does not answer correctly: %w", err)
	}
	key := map[string]string{"ChainID": "chain_id", "Router": "router", "Token": "token", "Relayer": "relayer_key_file"}[contradicted.Field]
	return fmt.Errorf("chain.%s: %s", key, contradicted.Problem)
}

// relayerKey reads a key of 64 hexadecimal digits from a file that no other user can
// read.
func relayerKey(path string) (*ecdsa.PrivateKey, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	text, err := keyText(path)
	if err != nil {
		return nil, err
	}
	key, err := evm.ParseKey(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// private refuses a file of secrets that others may read, or its group change.
func private(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o027 != 0:
		return fmt.Errorf("%s has the mode %#o, so that others can read or change it: chmod 600 it", path, info.Mode().Perm())
	}
	return nil
}

// privateIfThere is [private] of a file that may be missing.
func privateIfThere(path string) error {
	if err := private(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rail puts the rail together, which takes over its records.
func (r *reached) rail(ctx context.Context, open records, v *vault.Vault, log *slog.Logger) (*chain.Rail, error) {
	kept, err := open(ctx)
	if err != nil {
		return nil, err
	}
	cfg := r.config
	cfg.Store, cfg.Vault, cfg.Logger = kept, v, log
	rail, err := chain.New(cfg)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return rail, nil
}
