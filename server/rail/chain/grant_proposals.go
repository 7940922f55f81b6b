package chain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

const (
	// maxProposals bounds the proposals of a setup session. Another one replaces the
	// oldest that no connection uses.
	maxProposals = 5
	// forgetEvery is how often expired proposals are deleted, forgetPage the number of
	// sessions in a transaction.
	forgetEvery, forgetPage = time.Hour, 100
)

// proposalEntry is a proposal of a session.
type proposalEntry struct {
	GrantID common.Hash `json:"grantId"`
	At      time.Time   `json:"at"`
}

// addProposal adds a proposal to a session, and deletes the oldest unused ones beyond
// the limit, with their keys.
func (r *Rail) addProposal(tx Tx, session string, id common.Hash) error {
	if session == "" {
		return nil
	}
	list, _, err := records.Get[[]proposalEntry](tx, kindProposals, session)
	if err != nil {
		return err
	}
	kept, excess := []proposalEntry{}, len(list)+1-maxProposals
	for _, p := range list {
		gone := false
		if excess > 0 {
			if gone, err = deleteUnused(tx, p.GrantID); err != nil {
				return err
			}
		}
		if gone {
			excess--
			continue
		}
		kept = append(kept, p)
	}
	return records.Put(tx, kindProposals, session, append(kept, proposalEntry{GrantID: id, At: r.config.Clock()}))
}

// deleteUnused deletes a grant that no connection uses, with its sealed key, and
// reports whether it is gone.
func deleteUnused(tx Tx, id common.Hash) (bool, error) {
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
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

// forgetProposals deletes the proposals that can no longer be signed and connected,
// with their keys. It keeps the grants that a connection uses.
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
			return fmt.Errorf("delete expired proposals: %w", err)
		}
		if len(page) < forgetPage {
			return nil
		}
		from = page[len(page)-1].Key
	}
}

// forgetExpired deletes the proposals of a session that are older than a time.
func forgetExpired(tx Tx, session string, before time.Time) error {
	list, _, err := records.Get[[]proposalEntry](tx, kindProposals, session)
	if err != nil {
		return err
	}
	left := slices.Clone(list)
	for _, p := range list {
		if !p.At.Before(before) {
			continue
		}
		if _, err := deleteUnused(tx, p.GrantID); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(other proposalEntry) bool { return other == p })
	}
	switch {
	case len(left) == 0:
		return tx.Delete(kindProposals, session)
	case len(left) < len(list):
		return records.Put(tx, kindProposals, session, left)
	}
	return nil
}
