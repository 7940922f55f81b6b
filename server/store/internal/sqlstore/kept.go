package sqlstore

import (
	"context"
	"database/sql"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
)

// keptRows is how many rows of a kind are kept at most; then all are dropped.
const keptRows = 10_000

// kept is what the single writer remembers of the rows that it saved last: mandates,
// tallies and pending charges, so that a charge does not read again what the one before
// it wrote. Only the holder of the writer's turn uses it. It cannot be stale:
//
//   - Rows enter it after a commit that succeeded. Any other end of a transaction
//     empties it.
//   - PRAGMA data_version, read in each transaction, is another number once another
//     connection has committed: an operator's command, or a second program. Then it is
//     emptied before anything is decided.
//   - On this connection, [ledger.Store.FreeChargeLeases] alone writes such rows
//     outside of Update, and empties it.
type kept struct {
	dataVersion *sql.Stmt

	version  int64
	mandates map[string]ledger.Mandate
	charges  map[string]ledger.Charge // pending ones
	tallies  map[ledger.TallyKey]ledger.Tally
}

// begin empties it if another connection has committed since the last transaction. It
// is called within a transaction, which keeps others from committing.
func (k *kept) begin(ctx context.Context) error {
	var version int64
	if err := k.dataVersion.QueryRowContext(ctx).Scan(&version); err != nil {
		return err
	}
	if version != k.version || len(k.mandates) > keptRows || len(k.charges) > keptRows || len(k.tallies) > keptRows {
		k.forget()
	}
	k.version = version
	return nil
}

// end takes over what a transaction has saved, if it was committed.
func (k *kept) end(e ledger.Effects, committed bool) {
	if !committed || k.mandates == nil {
		k.forget()
	}
	if !committed {
		return
	}
	for _, rows := range []ledger.Rows{e.Insert, e.Update} {
		for _, m := range rows.Mandates {
			k.mandates[m.ID] = row.StoredMandate(m)
		}
		for _, t := range rows.Tallies {
			k.tallies[t.TallyKey] = t
		}
		for _, c := range rows.Charges {
			if c.Status == ledger.ChargePending {
				k.charges[c.ID] = row.StoredCharge(c)
			} else {
				delete(k.charges, c.ID)
			}
		}
	}
}

func (k *kept) forget() {
	k.mandates, k.charges, k.tallies = map[string]ledger.Mandate{}, map[string]ledger.Charge{}, map[ledger.TallyKey]ledger.Tally{}
}

// found moves those of the rows that are kept into a state, and returns the keys of the
// others.
func found[K comparable, R any](kept map[K]R, keys []K, state map[K]R) (missing []K) {
	for _, key := range keys {
		if r, ok := kept[key]; ok {
			state[key] = r
		} else {
			missing = append(missing, key)
		}
	}
	return missing
}
