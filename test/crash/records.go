package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/postgres"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

// kept is what the chain rail's records say, as far as the drill holds them against
// the chain.
type kept struct {
	next        uint64 // nonce
	slots       map[uint64]keptSlot
	connections map[string]keptConnection
	grants      map[common.Hash]keptGrant
}

// sameNonce reports whether two transactions have one nonce.
func (k kept) sameNonce(a, b common.Hash) bool {
	for _, s := range k.slots {
		if slices.Contains(s.Broadcasts, keptBroadcast{a}) {
			return slices.Contains(s.Broadcasts, keptBroadcast{b})
		}
	}
	return false
}

type keptSlot struct {
	Nonce      uint64          `json:"nonce"`
	Task       string          `json:"task"`
	Broadcasts []keptBroadcast `json:"broadcasts"`
}

type keptBroadcast struct {
	Hash common.Hash `json:"hash"`
}

type keptConnection struct {
	GrantID common.Hash `json:"grantId"`
	Relayed bool        `json:"relayed"`
	Refused string      `json:"refused"`
}

type keptGrant struct {
	Sealed []byte `json:"sealed"`
}

// openRecords opens the chain rail's records of a service that does not run.
func (d *chainDrill) openRecords(ctx context.Context) (chain.Store, error) {
	if d.Postgres {
		return postgres.OpenConfig(ctx, postgres.Config{URL: d.store, MustExist: true})
	}
	return sqlite.Open(ctx, filepath.Join(filepath.Dir(d.store), "pay-chain.db"))
}

// readRecords reads them.
func (d *chainDrill) readRecords(ctx context.Context) (k kept, err error) {
	store, err := d.openRecords(ctx)
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	k = kept{slots: map[uint64]keptSlot{}, connections: map[string]keptConnection{}, grants: map[common.Hash]keptGrant{}}
	err = store.View(ctx, func(tx chain.Tx) error {
		text, found, err := tx.Get("cursor", "nonce")
		if err == nil && found {
			err = json.Unmarshal(text, &k.next)
		}
		return errors.Join(
			err,
			each(tx, "slot", func(_ string, s keptSlot) { k.slots[s.Nonce] = s }),
			each(tx, "connection", func(key string, c keptConnection) { k.connections[key] = c }),
			each(tx, "grant", func(key string, g keptGrant) { k.grants[common.HexToHash(key)] = g }),
		)
	})
	if err != nil {
		return k, fmt.Errorf("read the rail's records: %w", err)
	}
	return k, nil
}

// each reads all records of a kind.
func each[T any](tx chain.Tx, kind string, take func(key string, value T)) error {
	for after := ""; ; {
		page, err := tx.List(kind, after, 500)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			var value T
			if err := json.Unmarshal(r.Value, &value); err != nil {
				return fmt.Errorf("%s %s: %w", kind, r.Key, err)
			}
			take(r.Key, value)
			after = r.Key
		}
	}
}
