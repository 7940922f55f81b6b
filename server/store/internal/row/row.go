// Package row turns the ledger's rows into their stored form and back: micros and
// milliseconds as integers, lists and maps as JSON, no NULL anywhere.
package row

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/webhook"
)

// Millis is the stored form of a time; 0 is the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// stored is a time as it is read once it has been stored.
func stored(t time.Time) time.Time { return at(Millis(t)) }

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// text is the stored form of a list or a map; those of the ledger always encode.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("row: encode %T: %v", v, err))
	}
	return string(b)
}

// parsed reads a stored text, and keeps the first error.
func parsed[T any](s string, err *error) (v T) {
	if e := json.Unmarshal([]byte(s), &v); e != nil && *err == nil {
		*err = fmt.Errorf("decode stored %T: %w", v, e)
	}
	return v
}

// list reads a stored list of strings. Those without an escape, which nearly all are,
// are cut at their quotes.
func list[T ~string](s string, err *error) []T {
	inner, isList := strings.CutPrefix(s, `["`)
	inner, closed := strings.CutSuffix(inner, `"]`)
	between := strings.Count(inner, `","`)
	if !isList || !closed || strings.Contains(inner, `\`) || strings.Count(inner, `"`) != 2*between {
		return parsed[[]T](s, err)
	}
	all := make([]T, 0, between+1)
	for one := range strings.SplitSeq(inner, `","`) {
		all = append(all, T(one))
	}
	return all
}

// pairs reads a stored map of strings.
func pairs(s string, err *error) map[string]string {
	if s == "null" {
		return nil
	}
	return parsed[map[string]string](s, err)
}

// Merchant reads a stored row.
func Merchant(r db.Merchant) (ledger.Merchant, error) {
	return ledger.Merchant{
		ID: r.ID, Name: r.Name, Website: r.Website, Email: r.Email, Active: r.Active == 1,
		MaxCharge: ledger.Micros(r.MaxChargeMicros), OwnMaxCharge: ledger.Micros(r.OwnMaxChargeMicros), PayTo: r.PayTo,
		CreatedAt: at(r.CreatedMs),
	}, nil
}

// PutMerchant is what a statement of that name takes.
func PutMerchant(m ledger.Merchant) db.PutMerchantParams {
	return db.PutMerchantParams{
		ID: m.ID, Name: m.Name, Website: m.Website, Email: m.Email, Active: flag(m.Active),
		MaxChargeMicros: int64(m.MaxCharge), PayTo: m.PayTo, CreatedMs: Millis(m.CreatedAt), OwnMaxChargeMicros: int64(m.OwnMaxCharge),
	}
}

// APIKey reads a stored row.
func APIKey(r db.ApiKey) (store.APIKey, error) {
	return store.APIKey{
		Hash: r.Hash, MerchantID: r.MerchantID, Hint: r.Hint, Label: r.Label, Scopes: strings.Fields(r.Scopes), CreatedAt: at(r.CreatedMs), RevokedAt: at(r.RevokedMs),
	}, nil
}

// AccessToken reads a stored row.
func AccessToken(r db.AccessToken) (store.AccessToken, error) {
	return store.AccessToken{
		Hash: r.Hash, ID: r.ID, MerchantID: r.MerchantID, MandateID: r.MandateID, Name: r.Name, Hint: r.Hint, Scopes: strings.Fields(r.Scopes),
		CreatedAt: at(r.CreatedMs), ExpiresAt: at(r.ExpiresMs), UsedAt: at(r.UsedMs), RevokedAt: at(r.RevokedMs),
		GrantID: r.GrantID, Resource: r.Resource,
	}, nil
}

// SealedKey reads a stored row.
func SealedKey(r db.SealedKey) (store.SealedKey, error) {
	return store.SealedKey{
		Name: r.Name, State: r.State, Public: r.Public, Sealed: r.Sealed,
		CreatedAt: at(r.CreatedMs), ChangedAt: at(r.ChangedMs),
	}, nil
}

// PutSealedKey is what a statement of that name takes.
func PutSealedKey(k store.SealedKey) db.PutSealedKeyParams {
	return db.PutSealedKeyParams{
		Name: k.Name, State: k.State, Public: append([]byte{}, k.Public...), Sealed: k.Sealed,
		CreatedMs: Millis(k.CreatedAt), ChangedMs: Millis(k.ChangedAt),
	}
}

// Session reads a stored row.
func Session(r db.Session) (s ledger.Session, err error) {
	return ledger.Session{
		Hash: r.Hash, MerchantID: r.MerchantID, Status: ledger.SessionStatus(r.Status), FailureReason: r.FailureReason,
		Terms: ledger.Terms{
			MaxPerTx: ledger.Micros(r.MaxPerTxMicros), MaxMonthly: ledger.Micros(r.MaxMonthlyMicros),
			Rails: list[rail.Name](r.Rails, &err), Payees: list[string](r.Payees, &err),
			Limits: limits(r.Limits, &err), ExpiresAt: at(r.MandateExpiresMs),
		},
		ReturnURL: r.ReturnUrl, Metadata: pairs(r.Metadata, &err), Attempts: int(r.Attempts),
		MandateID: r.MandateID, SealedToken: r.SealedToken, CreatedAt: at(r.CreatedMs), ExpiresAt: at(r.ExpiresMs),
	}, err
}

// InsertSession is what a statement of that name takes.
func InsertSession(s ledger.Session) db.InsertSessionParams {
	return db.InsertSessionParams{
		Hash: s.Hash, MerchantID: s.MerchantID, Status: string(s.Status), FailureReason: s.FailureReason,
		MaxPerTxMicros: int64(s.Terms.MaxPerTx), MaxMonthlyMicros: int64(s.Terms.MaxMonthly),
		Rails: text(s.Terms.Rails), Payees: text(s.Terms.Payees), MandateExpiresMs: Millis(s.Terms.ExpiresAt),
		ReturnUrl: s.ReturnURL, Metadata: text(s.Metadata), Attempts: int64(s.Attempts), MandateID: s.MandateID,
		SealedToken: append([]byte{}, s.SealedToken...), CreatedMs: Millis(s.CreatedAt), ExpiresMs: Millis(s.ExpiresAt),
		Limits: text(s.Terms.Limits),
	}
}

// UpdateSession is what a statement of that name takes.
func UpdateSession(s ledger.Session) db.UpdateSessionParams {
	return db.UpdateSessionParams{
		Hash: s.Hash, Status: string(s.Status), FailureReason: s.FailureReason, Attempts: int64(s.Attempts),
		MandateID: s.MandateID, SealedToken: append([]byte{}, s.SealedToken...),
	}
}

// StoredMandate returns a row as it is read once it has been stored.
func StoredMandate(m ledger.Mandate) ledger.Mandate {
	m.RevokedAt, m.Terms.ExpiresAt, m.CreatedAt = stored(m.RevokedAt), stored(m.Terms.ExpiresAt), stored(m.CreatedAt)
	return m
}

// StoredCharge returns a row as it is read once it has been stored.
func StoredCharge(c ledger.Charge) ledger.Charge {
	c.LeaseUntil, c.CreatedAt, c.SettledAt = stored(c.LeaseUntil), stored(c.CreatedAt), stored(c.SettledAt)
	c.AuthorizedUntil = stored(c.AuthorizedUntil)
	return c
}

// Mandate reads a stored row. Its windows have rows of their own.
func Mandate(r db.Mandate) (m ledger.Mandate, err error) {
	return ledger.Mandate{
		ID: r.ID, MerchantID: r.MerchantID, Status: ledger.MandateStatus(r.Status),
		RevokedBy: ledger.Revoker(r.RevokedBy), RevokedAt: at(r.RevokedMs), PausedAt: at(r.PausedMs),
		Terms: ledger.Terms{
			MaxPerTx: ledger.Micros(r.MaxPerTxMicros), MaxMonthly: ledger.Micros(r.MaxMonthlyMicros),
			Rails: list[rail.Name](r.Rails, &err), Payees: list[string](r.Payees, &err), Limits: limits(r.Limits, &err), ExpiresAt: at(r.ExpiresMs),
		},
		Card: r.Card, Email: r.Email, EventSeq: r.EventSeq,
		CreatedAt: at(r.CreatedMs),
	}, err
}

// InsertMandate is what a statement of that name takes.
func InsertMandate(m ledger.Mandate) db.InsertMandateParams {
	return db.InsertMandateParams{
		ID: m.ID, MerchantID: m.MerchantID, Status: string(m.Status), RevokedBy: string(m.RevokedBy), RevokedMs: Millis(m.RevokedAt),
		MaxPerTxMicros: int64(m.Terms.MaxPerTx), MaxMonthlyMicros: int64(m.Terms.MaxMonthly),
		Rails: text(m.Terms.Rails), Payees: text(m.Terms.Payees), ExpiresMs: Millis(m.Terms.ExpiresAt),
		Email: m.Email, EventSeq: m.EventSeq, CreatedMs: Millis(m.CreatedAt), Limits: text(m.Terms.Limits),
	}
}

// UpdateMandate is what a statement of that name takes.
func UpdateMandate(m ledger.Mandate) db.UpdateMandateParams {
	return db.UpdateMandateParams{
		ID: m.ID, Status: string(m.Status), RevokedBy: string(m.RevokedBy), RevokedMs: Millis(m.RevokedAt),
		EventSeq: m.EventSeq,
	}
}

// UpdateEventSeq is what a statement of that name takes.
func UpdateEventSeq(m ledger.Mandate) db.UpdateEventSeqParams {
	return db.UpdateEventSeqParams{ID: m.ID, EventSeq: m.EventSeq}
}

// Charge reads a stored row.
func Charge(r db.Charge) (c ledger.Charge, err error) {
	return ledger.Charge{
		ID: r.ID, MandateID: r.MandateID, Source: ledger.Source(r.Source), MerchantID: r.MerchantID, PayTo: r.PayTo,
		Amount: ledger.Micros(r.AmountMicros), Fee: ledger.Micros(r.FeeMicros), Currency: r.Currency,
		Description: r.Description, Metadata: pairs(r.Metadata, &err),
		Rails: list[rail.Name](r.Rails, &err), Card: r.Card, Day: ledger.Day(r.Day), Status: ChargeStatus(r.Status, r.WrittenOff), TabID: r.TabID,
		Rail: rail.Name(r.Rail), TxHash: r.TxHash, ProcessorID: r.ProcessorID, FailureReason: rail.Reason(r.FailureReason),
		LeaseOwner: r.LeaseOwner, LeaseUntil: at(r.LeaseMs), Asked: int(r.Asked), Attempt: int(r.Attempt), Resource: r.Resource,
		CreatedAt: at(r.CreatedMs), SettledAt: at(r.SettledMs),
		Step: ledger.ChargeStep(r.Step), Authorized: ledger.Micros(r.AuthorizedMicros), AuthorizedUntil: authorizedUntil(r),
		Usage: usage(r.Usage, &err), Refunded: ledger.Micros(r.RefundedMicros), Refunding: ledger.Micros(r.RefundingMicros), Refunds: int(r.Refunds),
	}, err
}

// InsertCharge is what a statement of that name takes.
func InsertCharge(c ledger.Charge) db.InsertChargeParams {
	return db.InsertChargeParams{
		ID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, PayTo: c.PayTo, AmountMicros: int64(c.Amount),
		FeeMicros: int64(c.Fee), Currency: c.Currency, Description: c.Description, Metadata: text(c.Metadata),
		Rails: text(c.Rails), Card: c.Card, Day: int64(c.Day), Status: storedStatus(c.Status), Rail: string(c.Rail), TxHash: c.TxHash, TabID: c.TabID,
		ProcessorID: c.ProcessorID, FailureReason: string(c.FailureReason), LeaseMs: Millis(c.LeaseUntil),
		Asked: int64(c.Asked), CreatedMs: Millis(c.CreatedAt), SettledMs: Millis(c.SettledAt), LeaseOwner: c.LeaseOwner,
		Attempt: int64(c.Attempt), Resource: c.Resource, Step: string(c.Step), AuthorizedMicros: int64(c.Authorized),
		AuthorizedUntilMs: authorizedUntilMs(c), Usage: usageText(c.Usage), Source: string(c.Source),
	}
}

// UpdateCharge is what a statement of that name takes.
func UpdateCharge(c ledger.Charge) db.UpdateChargeParams {
	return db.UpdateChargeParams{
		ID: c.ID, FeeMicros: int64(c.Fee), Status: storedStatus(c.Status), Rail: string(c.Rail), TxHash: c.TxHash,
		ProcessorID: c.ProcessorID, FailureReason: string(c.FailureReason), LeaseMs: Millis(c.LeaseUntil),
		Asked: int64(c.Asked), SettledMs: Millis(c.SettledAt), LeaseOwner: c.LeaseOwner, Attempt: int64(c.Attempt),
	}
}

// UpdateChargeStep is what a statement of that name takes.
func UpdateChargeStep(c ledger.Charge) db.UpdateChargeStepParams {
	return db.UpdateChargeStepParams{
		ID: c.ID, AmountMicros: int64(c.Amount), Rails: text(c.Rails), Step: string(c.Step), Usage: usageText(c.Usage),
	}
}

// InSteps returns those of the charges that are made in two steps.
func InSteps(charges []ledger.Charge) (all []ledger.Charge) {
	for _, c := range charges {
		if c.Step != "" {
			all = append(all, c)
		}
	}
	return all
}

// usage reads the stored usage of a charge. Most have none.
func usage(s string, err *error) *ledger.Usage {
	if s == "" {
		return nil
	}
	return parsed[*ledger.Usage](s, err)
}

func usageText(u *ledger.Usage) string {
	if u == nil {
		return ""
	}
	return text(u)
}

// Tally reads a stored row.
func Tally(r db.Tally) (ledger.Tally, error) {
	return ledger.Tally{
		TallyKey: ledger.TallyKey{MandateID: r.MandateID, MerchantID: r.MerchantID},
		Count:    r.Count, Volume: ledger.Micros(r.VolumeMicros), Month: ledger.Day(r.StartDay), Used: ledger.Micros(r.UsedMicros),
		Refunded: ledger.Micros(r.RefundedMicros), Owed: ledger.Micros(r.OwedMicros),
	}, nil
}

// InsertTally is what a statement of that name takes.
func InsertTally(t ledger.Tally) db.InsertTallyParams {
	return db.InsertTallyParams{
		MerchantID: t.MerchantID, MandateID: t.MandateID, Count: t.Count, VolumeMicros: int64(t.Volume),
		StartDay: int64(t.Month), UsedMicros: int64(t.Used), RefundedMicros: int64(t.Refunded), OwedMicros: int64(t.Owed),
	}
}

// UpdateTally is what a statement of that name takes.
func UpdateTally(t ledger.Tally) db.UpdateTallyParams { return db.UpdateTallyParams(InsertTally(t)) }

// IdempotencyKey is what a statement that finds one takes.
func IdempotencyKey(k ledger.IdempotencyKey) db.IdempotencyParams {
	return db.IdempotencyParams{MerchantID: k.MerchantID, Kind: string(k.Kind), Key: k.Key}
}

// Idempotency reads a stored row.
func Idempotency(r db.Idempotency) (i ledger.Idempotency, err error) {
	i = ledger.Idempotency{
		IdempotencyKey: ledger.IdempotencyKey{MerchantID: r.MerchantID, Kind: ledger.KeyKind(r.Kind), Key: r.Key},
		Fingerprint:    r.Fingerprint, ChargeID: r.ChargeID, CreatedAt: at(r.CreatedMs),
	}
	if r.Refusal != "" {
		i.Refusal = parsed[*ledger.Refusal](r.Refusal, &err)
	}
	return i, err
}

// InsertIdempotency is what a statement of that name takes.
func InsertIdempotency(i ledger.Idempotency) db.InsertIdempotencyParams {
	p := db.InsertIdempotencyParams{
		MerchantID: i.MerchantID, Kind: string(i.Kind), Key: i.Key, Fingerprint: i.Fingerprint, ChargeID: i.ChargeID, CreatedMs: Millis(i.CreatedAt),
	}
	if i.Refusal != nil {
		p.Refusal = text(i.Refusal)
	}
	return p
}

// OutcomeConflict reads a stored row.
func OutcomeConflict(r db.OutcomeConflict) (ledger.OutcomeConflict, error) {
	return ledger.OutcomeConflict{
		ChargeID: r.ChargeID, Rail: rail.Name(r.Rail), Status: rail.Status(r.Status), Reason: rail.Reason(r.Reason),
		TxHash: r.TxHash, ProcessorID: r.ProcessorID, At: at(r.AtMs),
	}, nil
}

// InsertOutcomeConflict is what a statement of that name takes.
func InsertOutcomeConflict(c ledger.OutcomeConflict) db.InsertOutcomeConflictParams {
	return db.InsertOutcomeConflictParams{
		ChargeID: c.ChargeID, Rail: string(c.Rail), Status: string(c.Status), Reason: string(c.Reason),
		TxHash: c.TxHash, ProcessorID: c.ProcessorID, AtMs: Millis(c.At),
	}
}

// Posting reads a stored row.
func Posting(r db.Posting) (ledger.Posting, error) {
	return ledger.Posting{
		ChargeID: r.ChargeID, N: int(r.N), MandateID: r.MandateID, From: r.FromAccount, To: r.ToAccount,
		Amount: ledger.Micros(r.AmountMicros), At: at(r.AtMs),
	}, nil
}

// InsertPosting is what a statement of that name takes.
func InsertPosting(p ledger.Posting) db.InsertPostingParams {
	return db.InsertPostingParams{
		ChargeID: p.ChargeID, N: int64(p.N), MandateID: p.MandateID, FromAccount: p.From, ToAccount: p.To,
		AmountMicros: int64(p.Amount), AtMs: Millis(p.At),
	}
}

// Event reads a stored row.
func Event(r db.Event) (ledger.Event, error) {
	return ledger.Event{
		ID: r.ID, MandateID: r.MandateID, Seq: r.Seq, MerchantID: r.MerchantID, Type: webhook.Type(r.Type),
		Data: r.Data, CreatedAt: at(r.CreatedMs), StreamOffset: r.Place,
	}, nil
}

// StreamEvent reads a stored row of a merchant's stream.
func StreamEvent(merchantID string) func(db.StreamEventsRow) (ledger.Event, error) {
	return func(r db.StreamEventsRow) (ledger.Event, error) {
		return Event(db.Event{
			ID: r.ID, MandateID: r.MandateID, Seq: r.Seq, MerchantID: merchantID, Type: r.Type, Data: r.Data, CreatedMs: r.CreatedMs, Place: r.Place,
		})
	}
}

// InsertEvent is what a statement of that name takes.
func InsertEvent(e ledger.Event) db.InsertEventParams {
	return db.InsertEventParams{
		ID: e.ID, MandateID: e.MandateID, Seq: e.Seq, MerchantID: e.MerchantID, Type: string(e.Type),
		Data: e.Data, CreatedMs: Millis(e.CreatedAt), Place: e.StreamOffset,
	}
}

// NumberEvents sets the StreamOffset of each to its number among its merchant's, from 1, and
// returns how many they are.
func NumberEvents(events []ledger.Event) map[string]int64 {
	count := map[string]int64{}
	for i := range events {
		e := &events[i]
		count[e.MerchantID]++
		e.StreamOffset = count[e.MerchantID]
	}
	return count
}
