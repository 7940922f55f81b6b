package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// recordOwner is the chain, router, token and relayer that the records belong to.
// Those of another relayer would assign nonces that the chain never reaches; those of
// another router hold grants that this one does not know.
type recordOwner struct {
	ChainID uint64         `json:"chainId"`
	Router  common.Address `json:"router"`
	Token   common.Address `json:"token"`
	Relayer common.Address `json:"relayer"`
}

// claimRecords makes the rail the owner of new records, and refuses records of another
// owner. With new records the watcher begins at the newest block: no grant is older.
func (r *Rail) claimRecords(ctx context.Context) error {
	head, err := r.chain.Head(ctx)
	if err != nil {
		return err
	}
	now := cursor{}
	if final, ok := r.chain.Final(head); ok && r.config.FromBlock == 0 {
		if now, err = r.cursorAt(ctx, final); err != nil {
			return err
		}
	}
	ours := recordOwner{ChainID: r.config.ChainID, Router: r.config.Router, Token: r.config.Token.Address, Relayer: r.relayer.Address()}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		owner, found, err := records.Get[recordOwner](tx, kindCursor, cursorOwner)
		switch {
		case err != nil:
			return err
		case found && owner != ours:
			return ownerMismatch(owner, ours)
		case found:
			return nil
		}
		if err := records.Put(tx, kindCursor, cursorOwner, ours); err != nil || now.Block == 0 {
			return err
		}
		return beginWatching(tx, now)
	})
	if err != nil {
		return fmt.Errorf("open records: %w", err)
	}
	return nil
}

// ownerMismatch returns a [*ConfigError] for the first field in which two owners differ.
func ownerMismatch(owner, ours recordOwner) error {
	const message = "the records belong to %v, not to %v: use a new store for it"
	switch {
	case owner.ChainID != ours.ChainID:
		return contradicted("ChainID", message, owner.ChainID, ours.ChainID)
	case owner.Router != ours.Router:
		return contradicted("Router", message, owner.Router, ours.Router)
	case owner.Token != ours.Token:
		return contradicted("Token", message, owner.Token, ours.Token)
	default:
		return contradicted("Relayer", message, owner.Relayer, ours.Relayer)
	}
}

// beginWatching sets the block at which the watcher begins, unless there are grants or
// it has begun.
func beginWatching(tx Tx, now cursor) error {
	if _, found, err := records.Get[cursor](tx, kindCursor, cursorWatch); err != nil || found {
		return err
	}
	grants, err := tx.List(kindGrant, "", 1)
	if err != nil || len(grants) > 0 {
		return err
	}
	return records.Put(tx, kindCursor, cursorWatch, now)
}
