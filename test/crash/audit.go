package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// compare holds the answers and the ledger against the chain and the processor, and
// in a run at points the rail's records as well.
func (d *chainDrill) compare(ctx context.Context, r *chainReport) (err error) {
	store, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	check, err := ledger.Check(ctx, store)
	if err != nil {
		return err
	}
	moved, err := d.readChain(ctx)
	if err != nil {
		return err
	}
	records, err := d.readRecords(ctx)
	if err != nil {
		return err
	}
	cards, err := d.processor.Totals(ctx)
	if err != nil {
		return err
	}
	r.Charges, r.Succeeded, r.Failed, r.Voided, r.Refused = check.Charges, check.Succeeded, check.Failed, check.Voided, d.refused
	r.Undecided = check.Pending + check.Authorized
	r.Faults = append(d.broken[:len(d.broken):len(d.broken)], check.Faults...)
	if cards.Payments > 0 {
		r.faultf("%d charges fell back to a card", cards.Payments)
	}
	reversed, err := reversedCharges(ctx, store)
	if err != nil {
		return err
	}
	failed, err := d.auditAnswers(ctx, store, records, moved, reversed, r)
	if err != nil {
		return err
	}
	tried, err := d.auditDirect(ctx, store, r)
	if err != nil {
		return err
	}
	if check.Failed > failed+tried {
		r.faultf("%d charges failed on a chain that works", check.Failed-failed-tried)
	}
	if _, _, err := d.auditRefunds(ctx, store, &r.report); err != nil {
		return err
	}
	d.auditTransfers(records, moved, r)
	for ref := range moved.charged {
		r.faultf("the chain moved money without a charge: %s", ref)
	}
	if r.Undecided == 0 {
		if err := d.reconcile(ctx, store, reversed, &r.report); err != nil {
			return err
		}
	}
	if d.Points {
		return d.comparePoints(ctx, store, records, moved, r)
	}
	return nil
}

func (r *chainReport) faultf(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// reversedCharges returns the charges of which the ledger records that their payment was taken back.
func reversedCharges(ctx context.Context, store store.Store) (map[string]bool, error) {
	all, err := store.OutcomeConflicts(ctx, ledger.OutcomeConflict{}, 1000)
	if err != nil {
		return nil, fmt.Errorf("read conflicts: %w", err)
	}
	reversed := map[string]bool{}
	for _, one := range all {
		reversed[one.ChargeID] = reversed[one.ChargeID] || one.Status == ledger.Reversed
	}
	return reversed, nil
}

// chargeRef returns the reference of a charge on the chain.
func chargeRef(c ledger.Charge) common.Hash {
	return crypto.Keccak256Hash([]byte(rail.Reference(c.ID, rail.Chain)))
}

// audit holds one charge against what the chain moved for it.
func (d *chainDrill) audit(c ledger.Charge, moved map[common.Hash][]transfer, k kept, r *chainReport) {
	ref := chargeRef(c)
	r.hold(k, moved[ref], transfer{hash: common.HexToHash(c.TxHash), to: common.HexToAddress(c.PayTo), micros: int64(c.Amount)})
	delete(moved, ref)
}

// hold compares the reported transfers with those of the chain: once, to the same payee, the same amount.
// What came undone on the chain may have landed again with higher fees, so by another
// transaction of the same nonce.
func (r *chainReport) hold(k kept, moved []transfer, reported transfer) {
	switch {
	case len(moved) > 1:
		r.Doubled++
		r.faultf("doubled: %v", moved)
		return
	case len(moved) == 0:
		r.Lost++
		r.faultf("lost: %v", reported)
		return
	}
	if r.Hit == nil && moved[0].hash != reported.hash && k.sameNonce(moved[0].hash, reported.hash) {
		r.Renamed++
		reported.hash = moved[0].hash
	}
	if moved[0] != reported {
		r.faultf("reported %v, moved %v", reported, moved[0])
	}
}

// auditAnswers compares each charge that was answered with the ledger and the chain. It
// returns the number of those that failed as they must.
func (d *chainDrill) auditAnswers(
	ctx context.Context, store store.Store, records kept, moved *onChain, reversed map[string]bool, r *chainReport,
) (failed int, err error) {
	for id, answer := range d.answers {
		c, err := store.Charge(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("read charge %s: %w", id, err)
		}
		if answer.Status == client.Failed && c.MandateID == d.empty.MandateID && c.Status == ledger.ChargeFailed {
			failed++ // as it must
			continue
		}
		if answer.Status == client.Voided && c.Status == ledger.ChargeVoided {
			continue // a transfer for it remains in moved
		}
		if c.Status != ledger.ChargeSucceeded || answer.Status != client.Completed || c.TxHash != answer.TxHash ||
			int64(c.Amount.CentsDown()) != answer.AmountCents {
			r.Lost++
			r.faultf("charge %s of mandate %s is %s (%s), its rail %q; the answer was %s", c.ID, c.MandateID, c.Status, c.FailureReason, c.Rail, answer.Status)
		}
		if reversed[c.ID] && len(moved.charged[chargeRef(c)]) == 0 && r.Reversed < len(d.stolen) {
			r.Reversed++
			continue
		}
		d.audit(c, moved.charged, records, r)
	}
	return failed, nil
}

// comparePoints holds what runs beside charges against the chain: mandates, signed
// transfers, and the relayer's nonces.
func (d *chainDrill) comparePoints(ctx context.Context, store store.Store, records kept, c *onChain, r *chainReport) error {
	if err := d.readRelayer(ctx, c); err != nil {
		return err
	}
	r.Grants, r.Transfers, r.Nonces = len(c.granted), len(c.authorized), len(c.relayed)
	d.auditNonces(records, c, r)
	return d.auditGrants(ctx, store, records, c, r)
}

// auditTransfers: each signed transfer and each refund has moved its money once, by the
// transaction that the service reported.
func (d *chainDrill) auditTransfers(k kept, c *onChain, r *chainReport) {
	for _, s := range d.signed {
		if s.upto {
			r.Upto++
		}
		r.hold(k, c.authorized[s.nonce], s.transfer)
	}
	for _, one := range d.refunds {
		a := one.authorization
		r.hold(k, c.authorized[common.HexToHash(a.Nonce)], transfer{
			hash: common.HexToHash(one.TxHash), to: common.HexToAddress(a.To), micros: one.AmountCents * 10_000,
		})
	}
	if all := len(d.signed) + r.Refunds; len(c.authorized) != all {
		r.faultf("%d signed transfers and refunds, of which the chain has made %d", all, len(c.authorized))
	}
}

// auditNonces: the chain has used every nonce that was given out, for what the
// records say, or for what the drill took it for.
func (d *chainDrill) auditNonces(k kept, c *onChain, r *chainReport) {
	used := uint64(len(c.relayed))
	if used != k.next {
		r.faultf("the records have given out %d nonces, the chain has used %d", k.next, used)
		r.Undecided++
	}
	for nonce, hash := range c.relayed {
		s, ok := k.slots[uint64(nonce)]
		known := slices.Contains(s.Broadcasts, keptBroadcast{Hash: hash})
		if !ok || !known && !d.stolen[hash] {
			r.faultf("nonce %d: the records do not know transaction %s", nonce, hash)
		}
	}
}

// auditDirect: the ledger has one charge that succeeded for each signed transfer. It returns the
// number of those that failed: a transfer that was cut off before it was sent begins another one.
func (d *chainDrill) auditDirect(ctx context.Context, s store.Store, r *chainReport) (failed int, err error) {
	succeeded := 0
	err = s.Audit(ctx, func(a ledger.Audit) error {
		return a.Selected(ctx, ledger.Selection{}, func(c ledger.Charge) error {
			switch {
			case !c.Direct():
			case c.Status == ledger.ChargeSucceeded:
				succeeded++
			case c.Status == ledger.ChargeFailed && c.TxHash == "":
				failed++
			}
			return nil
		})
	})
	if err == nil && succeeded != len(d.signed) {
		r.faultf("%d signed transfers, of which the ledger has %d", len(d.signed), succeeded)
	}
	return failed, err
}

// auditGrants: every connection is decided, the chain has just the grants of those
// that are connected, and where a mandate ended everybody says so.
func (d *chainDrill) auditGrants(ctx context.Context, store store.Store, k kept, c *onChain, r *chainReport) error {
	connected := 0
	for key, one := range k.connections {
		switch _, there := c.granted[one.GrantID]; {
		case !one.Relayed && one.Refused == "":
			r.faultf("connection %s is undecided", key)
			r.Undecided++
		case one.Relayed != there:
			r.faultf("connection %s: relayed %t, on the chain %t", key, one.Relayed, there)
		case there:
			connected++
		}
	}
	if connected != len(c.granted) {
		r.faultf("the chain has %d grants, connected are %d", len(c.granted), connected)
	}
	for _, l := range d.lives {
		if err := d.auditLife(ctx, store, l, k, c, r); err != nil {
			return err
		}
	}
	if want := len(d.lives) + len(d.mandates) + 1; connected != want {
		r.faultf("%d mandates were made, connected are %d", want, connected)
	}
	return nil
}

func (d *chainDrill) auditLife(ctx context.Context, store store.Store, l life, k kept, c *onChain, r *chainReport) error {
	m, err := store.Mandate(ctx, l.mandate)
	if err != nil {
		return fmt.Errorf("read mandate %s: %w", l.mandate, err)
	}
	instruments, err := store.InstrumentsOfMandate(ctx, l.mandate)
	if err != nil {
		return fmt.Errorf("read instruments of %s: %w", l.mandate, err)
	}
	g, err := c.grantOf(l)
	if err != nil {
		r.faultf("mandate %s: %v", l.mandate, err)
		return nil
	}
	r.Revoked++
	switch {
	case len(instruments) != 1 || instruments[0].Method != common.Hash(g.GrantId).Hex():
		r.faultf("mandate %s: its grant on the chain is another one", l.mandate)
	case m.Status != ledger.MandateRevoked || m.RevokedBy != l.ended:
		r.faultf("mandate %s: ended by %s, the ledger says %s by %s", l.mandate, l.ended, m.Status, m.RevokedBy)
	case !c.revoked[g.GrantId] && l.ended == ledger.RevokedByContract: // it came undone, and the wallet says it again
		r.Undecided++
		r.faultf("mandate %s: ended by its owner, not on the chain", l.mandate)
		return d.revokeOnChain(ctx, l)
	case instruments[0].State != ledger.Disconnected: // the service has not finished the revocation yet
		r.Undecided++
		r.faultf("mandate %s: ended by %s, its instrument is %s", l.mandate, l.ended, instruments[0].State)
	case !c.revoked[g.GrantId]:
		r.faultf("mandate %s: ended by %s, not on the chain", l.mandate, l.ended)
	case len(k.grants[g.GrantId].Sealed) > 0:
		r.faultf("mandate %s: ended, and its session key is still there", l.mandate)
	}
	return nil
}
