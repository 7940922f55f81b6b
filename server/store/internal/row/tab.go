package row

import (
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Tab reads a stored row. A capture that was rounded up has a column of its own, of which earlier
// programs know nothing: they void such a tab.
func Tab(r db.Tab) (ledger.Tab, error) {
	if r.Outcome != string(ledger.TabVoided) {
		r.CaptureMicros += r.RoundedMicros
	}
	return ledger.Tab{
		ID: r.ID, MandateID: r.MandateID, MerchantID: r.MerchantID, Card: r.Card, State: ledger.TabState(r.State), Outcome: ledger.TabOutcome(r.Outcome),
		Reason: ledger.TabReason(r.Reason), FailureReason: rail.Reason(r.FailureReason), Block: ledger.Micros(r.BlockMicros),
		Owed: ledger.Micros(r.OwedMicros), Drawn: ledger.Micros(r.DrawnMicros), Draws: r.Draws, Capture: ledger.Micros(r.CaptureMicros),
		ProcessorID: r.ProcessorID, LeaseOwner: r.LeaseOwner, LeaseUntil: at(r.LeaseMs), CreatedAt: at(r.CreatedMs),
		ClosesAt: at(r.ClosesMs), ClosedAt: at(r.ClosedMs), Counted: ledger.Micros(r.CountedMicros),
	}, nil
}

// captures returns what a tab captures of its sum, or rounded up.
func captures(t ledger.Tab) (capture, rounded int64) {
	if t.Capture > t.Owed+t.Drawn {
		return 0, int64(t.Capture)
	}
	return int64(t.Capture), 0
}

// InsertTab is what a statement of that name takes.
func InsertTab(t ledger.Tab) db.InsertTabParams {
	capture, rounded := captures(t)
	return db.InsertTabParams{
		ID: t.ID, MandateID: t.MandateID, MerchantID: t.MerchantID, Card: t.Card, State: string(t.State), Outcome: string(t.Outcome),
		Reason: string(t.Reason), FailureReason: string(t.FailureReason), BlockMicros: int64(t.Block), OwedMicros: int64(t.Owed),
		DrawnMicros: int64(t.Drawn), Draws: t.Draws, CaptureMicros: capture, RoundedMicros: rounded, ProcessorID: t.ProcessorID, LeaseOwner: t.LeaseOwner,
		LeaseMs: Millis(t.LeaseUntil), CreatedMs: Millis(t.CreatedAt), ClosesMs: Millis(t.ClosesAt), ClosedMs: Millis(t.ClosedAt),
		CountedMicros: int64(t.Counted),
	}
}

// UpdateTab is what a statement of that name takes.
func UpdateTab(t ledger.Tab) db.UpdateTabParams {
	capture, rounded := captures(t)
	return db.UpdateTabParams{
		ID: t.ID, State: string(t.State), Outcome: string(t.Outcome), Reason: string(t.Reason), FailureReason: string(t.FailureReason),
		DrawnMicros: int64(t.Drawn), Draws: t.Draws, CaptureMicros: capture, RoundedMicros: rounded, ProcessorID: t.ProcessorID, LeaseOwner: t.LeaseOwner,
		LeaseMs: Millis(t.LeaseUntil), ClosedMs: Millis(t.ClosedAt), OwedMicros: int64(t.Owed), CountedMicros: int64(t.Counted),
	}
}

// drawsUntilMs is the stored end of a draw's authorization, the end of the year 9999. A draw
// has no such end, and programs from before tabs void authorizations whose end has passed.
// Migration 24 has the same number.
const drawsUntilMs = 253_402_300_799_000

// authorizedUntil reads the end of an authorization; zero for a draw.
func authorizedUntil(r db.Charge) time.Time {
	if r.TabID != "" {
		return time.Time{}
	}
	return at(r.AuthorizedUntilMs)
}

func authorizedUntilMs(c ledger.Charge) int64 {
	if c.TabID != "" {
		return drawsUntilMs
	}
	return Millis(c.AuthorizedUntil)
}

// ChargeStatus reads a stored status. A draw that was written off is stored as succeeded: its
// payee was paid.
func ChargeStatus(stored string, writtenOff int64) ledger.ChargeStatus {
	if writtenOff == 1 {
		return ledger.ChargeWrittenOff
	}
	return ledger.ChargeStatus(stored)
}

func storedStatus(s ledger.ChargeStatus) string {
	if s == ledger.ChargeWrittenOff {
		s = ledger.ChargeSucceeded
	}
	return string(s)
}

// UpdateWrittenOff is what a statement of that name takes.
func UpdateWrittenOff(c ledger.Charge) db.UpdateWrittenOffParams {
	return db.UpdateWrittenOffParams{ID: c.ID, WrittenOff: 1}
}

// WrittenOff returns those of the charges that are written off.
func WrittenOff(charges []ledger.Charge) (all []ledger.Charge) {
	for _, c := range charges {
		if c.Status == ledger.ChargeWrittenOff {
			all = append(all, c)
		}
	}
	return all
}
