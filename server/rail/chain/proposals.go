package chain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

const (
	// maxProposals is how many proposals of one setup session there are at a time. One
	// more takes the place of the oldest that nobody has signed.
	maxProposals = 5
	// forgetEvery is how often proposals are looked through that have expired,
	// forgetPage how many sessions in a transaction.
	forgetEvery, forgetPage = time.Hour, 100
)

// proposalEntry is a proposal of a session.
type proposalEntry struct {
	GrantID common.Hash `json:"grantId"`
	At      time.Time   `json:"at"`
}

// propose notes a proposal of a session, and destroys the oldest ones beyond the limit
// with their keys.
func (r *Rail) propose(tx Tx, session string, id common.Hash) error {
	if session == "" {
		return nil
	}
	list, _, err := read[[]proposalEntry](tx, kindProposals, session)
	if err != nil {
		return err
	}
	kept, excess := []proposalEntry{}, len(list)+1-maxProposals
	for _, p := range list {
		gone := false
		if excess > 0 {
			if gone, err = destroyUnused(tx, p.GrantID); err != nil {
				return err
			}
		}
		if gone {
			excess--
			continue
		}
		kept = append(kept, p)
	}
	return write(tx, kindProposals, session, append(kept, proposalEntry{GrantID: id, At: r.config.Clock()}))
}

// destroyUnused destroys a grant that no connection took, with its sealed key, and
// reports whether it is gone.
func destroyUnused(tx Tx, id common.Hash) (bool, error) {
	grant, found, err := read[grantRecord](tx, kindGrant, id.Hex())
	switch {
	case err != nil:
		return false, err
	case !found:
		return true, nil
	case grant.Connected != "" || grant.State == revoked:
		return false, nil
	}
	return true, tx.Delete(kindGrant, id.Hex())
}

// forgetProposals destroys the proposals that can no longer be signed and connected,
// with their keys. Those that were connected are left to their connections.
func (r *Rail) forgetProposals(ctx context.Context) error {
	from, before := "", r.config.Clock().Add(-permitLifetime)
	for {
		var page []Record
		err := r.config.Store.Update(ctx, func(tx Tx) (err error) {
			if page, err = tx.List(kindProposals, from, forgetPage); err != nil {
				return err
			}
			for _, record := range page {
				if err := forgetExpired(tx, record.Key, before); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("forget proposals: %w", err)
		}
		if len(page) < forgetPage {
			return nil
		}
		from = page[len(page)-1].Key
	}
}

// forgetExpired destroys the proposals of a session that are from before a time.
func forgetExpired(tx Tx, session string, before time.Time) error {
	list, _, err := read[[]proposalEntry](tx, kindProposals, session)
	if err != nil {
		return err
	}
	left := slices.Clone(list)
	for _, p := range list {
		if !p.At.Before(before) {
			continue
		}
		if _, err := destroyUnused(tx, p.GrantID); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(other proposalEntry) bool { return other == p })
	}
	switch {
	case len(left) == 0:
		return tx.Delete(kindProposals, session)
	case len(left) < len(list):
		return write(tx, kindProposals, session, left)
	}
	return nil
}
