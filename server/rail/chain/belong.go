package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// belonging is whom the records are of. Those of another relayer would give out
// nonces that the chain never reaches; those of another router hold grants that this
// one does not know.
type belonging struct {
	ChainID uint64         `json:"chainId"`
	Router  common.Address `json:"router"`
	Token   common.Address `json:"token"`
	Relayer common.Address `json:"relayer"`
}

// adopt makes new records this rail's, and refuses those of another one. The watcher
// of new records begins at the newest block: there is no grant yet that could have
// been revoked.
func (r *Rail) adopt(ctx context.Context) error {
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return fmt.Errorf("read newest block: %w", err)
	}
	now := cursor{}
	if deep, ok := r.confirmed(head); ok && r.config.FromBlock == 0 {
		if now, err = r.cursorAt(ctx, deep); err != nil {
			return err
		}
	}
	ours := belonging{ChainID: r.config.ChainID, Router: r.config.Router, Token: r.config.Token.Address, Relayer: r.relayer}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		theirs, found, err := read[belonging](tx, kindCursor, cursorOwner)
		switch {
		case err != nil:
			return err
		case found && theirs != ours:
			return another(theirs, ours)
		case found:
			return nil
		}
		if err := write(tx, kindCursor, cursorOwner, ours); err != nil || now.Block == 0 {
			return err
		}
		return beginWatching(tx, now)
	})
	if err != nil {
		return fmt.Errorf("open records: %w", err)
	}
	return nil
}

// another names the first thing that is another one.
func another(theirs, ours belonging) error {
	const message = "the records are those of %v, not of %v: another one needs records of its own"
	switch {
	case theirs.ChainID != ours.ChainID:
		return contradicted("ChainID", message, theirs.ChainID, ours.ChainID)
	case theirs.Router != ours.Router:
		return contradicted("Router", message, theirs.Router, ours.Router)
	case theirs.Token != ours.Token:
		return contradicted("Token", message, theirs.Token, ours.Token)
	default:
		return contradicted("Relayer", message, theirs.Relayer, ours.Relayer)
	}
}

// beginWatching sets where the watcher begins, where nothing was granted or watched.
func beginWatching(tx Tx, now cursor) error {
	if _, found, err := read[cursor](tx, kindCursor, cursorWatch); err != nil || found {
		return err
	}
	grants, err := tx.List(kindGrant, "", 1)
	if err != nil || len(grants) > 0 {
		return err
	}
	return write(tx, kindCursor, cursorWatch, now)
}
