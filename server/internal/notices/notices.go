// Package notices decides what a person is mailed about a mandate: that half, 80 % and all
// of a limit is used, and each payment above an amount.
//
// It follows the merchants' streams of events behind the check of the ledger, so a notice
// is mailed within about a minute, also after a process has died. It is then queued at
// least once.
package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// The kinds of messages. They are stored. The subject of a LimitUsed is that of [Subject], and
// the subject of a PaymentMade the id of the charge.
const (
	LimitUsed   = "limit_used"
	PaymentMade = "payment_made"
)

// MostADay is the number of payments of one mandate that are mailed in a day.
const MostADay = 20

// levels are the percentages of a limit that are mailed, the highest first.
var levels = []int{100, 80, 50}

// Config configures [New]. Every field is required.
type Config struct {
	Store interface {
		store.NoticesStore
		StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error)
	}
	Mandate func(ctx context.Context, id string) (ledger.Mandate, error)
	// Add queues a message.
	Add   func(ctx context.Context, kind, subjectID string) error
	Clock func() time.Time
}

// Follower posts notices.
type Follower struct{ Config }

// New returns a follower.
func New(cfg Config) *Follower { return &Follower{cfg} }

// Follow posts the notices about a part of a merchant's stream. It may be called again with
// the same part, and must be after an error. Its errors are those of the store.
func (f *Follower) Follow(ctx context.Context, merchantID string, after, through int64) error {
	wanted, err := f.Store.NoticesInStream(ctx, merchantID, after, through)
	if err != nil || len(wanted) == 0 {
		return err
	}
	payments, err := f.payments(ctx, wanted, merchantID, after, through)
	if err != nil {
		return err
	}
	for _, n := range wanted {
		m, err := f.Mandate(ctx, n.MandateID)
		if errors.Is(err, ledger.ErrNotFound) || err == nil && m.Email == "" {
			continue
		}
		if err != nil {
			return fmt.Errorf("read mandate %s: %w", n.MandateID, err)
		}
		mailed := n
		day := m.CountingDay(f.Clock())
		if err := errors.Join(f.limits(ctx, &mailed, m, day), f.paid(ctx, &mailed, payments[n.MandateID], day)); err != nil {
			return err
		}
		if mailed == n {
			continue
		}
		if err := f.Store.NoticesMailed(ctx, mailed); err != nil {
			return err
		}
	}
	return nil
}

// payments returns the payments that succeeded in a part of a stream, by mandate, if any notice
// asks for them.
func (f *Follower) payments(ctx context.Context, wanted []store.Notices, merchantID string, after, through int64) (map[string][]webhook.Payment, error) {
	asked := map[string]bool{}
	for _, n := range wanted {
		if n.Above > 0 {
			asked[n.MandateID] = true
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	events, err := f.Store.StreamEvents(ctx, merchantID, after, int(through-after))
	if err != nil {
		return nil, err
	}
	payments := map[string][]webhook.Payment{}
	for _, e := range events {
		var p webhook.Payment
		if e.Type == webhook.PaymentSucceeded && asked[e.MandateID] && json.Unmarshal([]byte(e.Data), &p) == nil {
			payments[e.MandateID] = append(payments[e.MandateID], p)
		}
	}
	return payments, nil
}

// limits posts that more of a limit is used than was mailed.
func (f *Follower) limits(ctx context.Context, n *store.Notices, m ledger.Mandate, day ledger.Day) error {
	if !n.Limits {
		return nil
	}
	var month, total error
	if w, ok := m.Window(ledger.MonthlyLimit, day); ok {
		if n.Month != w.Start {
			n.Month, n.MailedMonth = w.Start, 0
		}
		n.MailedMonth, month = f.limit(ctx, m, w, n.MailedMonth)
	}
	if w, ok := m.Window(ledger.TotalLimit, day); ok {
		n.MailedTotal, total = f.limit(ctx, m, w, n.MailedTotal)
	}
	return errors.Join(month, total)
}

// limit posts that more of one limit is used, and returns the percentage that is mailed.
func (f *Follower) limit(ctx context.Context, m ledger.Mandate, w ledger.Window, mailed int) (int, error) {
	level := reached(w)
	if level <= mailed {
		return mailed, nil
	}
	return level, f.Add(ctx, LimitUsed, Subject(m.ID, w.Kind, level))
}

// reached returns the highest percentage that is mailed and that is used of a limit; zero if
// none is.
func reached(w ledger.Window) int {
	for _, level := range levels {
		if w.UsedPercent() >= level {
			return level
		}
	}
	return 0
}

// paid posts the payments of more than an amount.
func (f *Follower) paid(ctx context.Context, n *store.Notices, payments []webhook.Payment, day ledger.Day) error {
	for _, p := range payments {
		if n.Day != day {
			n.Day, n.Today = day, 0
		}
		if n.Above == 0 || ledger.Micros(p.AmountMicros) <= n.Above || n.Today >= MostADay {
			continue
		}
		if err := f.Add(ctx, PaymentMade, p.TransactionID); err != nil {
			return err
		}
		n.Today++
	}
	return nil
}

// Subject names a limit of a mandate and the percentage of it that is used.
func Subject(mandateID string, kind ledger.WindowKind, level int) string {
	return fmt.Sprintf("%s/%s/%d", mandateID, kind, level)
}

// ParseSubject is the inverse of [Subject].
func ParseSubject(s string) (mandateID string, kind ledger.WindowKind, level int, err error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return "", "", 0, fmt.Errorf("notices: %q is no subject", s)
	}
	if _, err := fmt.Sscanf(parts[2], "%d", &level); err != nil {
		return "", "", 0, fmt.Errorf("notices: %q is no subject: %w", s, err)
	}
	return parts[0], ledger.WindowKind(parts[1]), level, nil
}
