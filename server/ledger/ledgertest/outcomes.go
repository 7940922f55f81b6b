package ledgertest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// conflictingOutcomes: a second outcome that contradicts the first is an error and a
// record, and changes nothing.
func conflictingOutcomes(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	failed := b.settle(t, b.reserve(t, m, 10*cent), declined())
	paid := b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	twice := succeeded()
	twice.Rail, twice.Outcome.TxHash = rail.Chain, "0xabc"
	for range 2 { // a repeated conflict is recorded once
		for _, c := range []struct {
			charge ledger.Charge
			end    ledger.Settlement
		}{{failed, succeeded()}, {paid, declined()}, {paid, twice}} {
			got, err := b.Settle(ctx, c.charge, c.end)
			require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
			require.Equal(t, c.charge, got)
		}
	}
	list, err := b.OutcomeConflicts(ctx, ledger.OutcomeConflict{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 3)
	for _, c := range list {
		require.Equal(t, b.clock.Now(), c.At)
	}
	require.Contains(t, list, ledger.OutcomeConflict{ChargeID: paid.ID, Rail: rail.Chain, Status: rail.Succeeded, TxHash: "0xabc", ProcessorID: "pay_1", At: b.clock.Now()})
	var paged []ledger.OutcomeConflict
	for after := (ledger.OutcomeConflict{}); ; {
		page, err := b.OutcomeConflicts(ctx, after, 1)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0]
		paged = append(paged, after)
	}
	require.Equal(t, list, paged, "pages that end between two conflicts of one charge")
	require.Equal(t, 10*cent, b.spent(t, m))
	b.sound(t)
}

// reversedPayments: a success that the rail took back is a conflict with one event,
// however often it is reported, and changes neither charge nor counters.
func reversedPayments(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	onChain := succeeded()
	onChain.Rail, onChain.Outcome = rail.Chain, rail.Outcome{Status: rail.Succeeded, TxHash: "0xabc"}
	paid := b.settle(t, b.reserve(t, m, 10*cent), onChain)
	reversal := ledger.Settlement{Rail: rail.Chain, Reversed: true, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Reverted, TxHash: "0xabc"}}
	other := reversal
	other.Outcome.TxHash = "0xdef"
	for _, end := range []ledger.Settlement{other, reversal, reversal, reversal} {
		got, err := b.Settle(ctx, paid, end)
		require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
		require.Equal(t, paid, got)
	}
	stream, err := b.store.StreamEvents(ctx, paid.MerchantID, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []webhook.Type{webhook.MandateCreated, webhook.PaymentSucceeded, webhook.PaymentReversed}, typesOf(stream))
	var data webhook.Payment
	require.NoError(t, json.Unmarshal([]byte(stream[2].Data), &data))
	require.Equal(t, webhook.Payment{
		TransactionID: paid.ID, MandateID: m.ID, Source: "mandate", AmountCents: 10, AmountMicros: int64(10 * cent), Rail: string(rail.Chain),
		Status: webhook.StatusReversed, TxHash: "0xabc", FailureReason: string(rail.Reverted),
	}, data)
	require.Equal(t, 10*cent, b.spent(t, m))
	alike := b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	_, err = b.Settle(ctx, alike, declined())
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Minute))
	for range 2 {
		_, err := b.Expire(ctx, b.clock.Now())
		require.NoError(t, err)
	}
	for charge, want := range map[string]bool{paid.ID: true, alike.ID: false, "": false, "txn_none": false} {
		reversed, err := b.Reversed(ctx, charge)
		require.NoError(t, err)
		require.Equal(t, want, reversed, "%q, after the idempotency keys were deleted", charge)
	}
	_, err = b.Settle(ctx, paid, reversal)
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	stored, err := b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.EqualValues(t, 4, stored.EventSeq, "a reversal that is reported again after 31 days has no second event")

	pending := b.reserve(t, m, 10*cent)
	failed, err := b.Settle(ctx, pending, reversal)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeFailed, failed.Status)
	again, err := b.Settle(ctx, pending, reversal)
	require.NoError(t, err, "it is not paid, and that is what is reported")
	require.Equal(t, failed, again)
	b.sound(t)
}

func typesOf(events []ledger.Event) []webhook.Type {
	types := make([]webhook.Type, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

// nextRails: a rail is asked for the first time only under an active mandate, and
// again whatever became of the mandate.
func nextRails(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	may := func(c ledger.Charge, n int) bool {
		t.Helper()
		allowed, err := b.NextRail(ctx, c, n)
		require.NoError(t, err)
		return allowed
	}
	asked, waits := b.reserve(t, m, cent), b.reserve(t, m, cent)
	require.Equal(t, 1, asked.Attempt)
	require.True(t, may(asked, 2))
	ended := b.settle(t, b.reserve(t, m, cent), declined())
	require.False(t, may(ended, 2), "a decided charge asks no rail")
	stored, err := b.Charge(ctx, asked.ID)
	require.NoError(t, err)
	require.Equal(t, 2, stored.Attempt)

	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	require.True(t, may(waits, 1), "the first was decided with the reservation")
	require.False(t, may(waits, 2), "none begins after the revocation")
	require.True(t, may(asked, 2), "one that began before is asked again")

	expiring := b.mandate(t, b.terms(100*cent, 1000*cent))
	held := b.reserve(t, expiring, cent)
	b.clock.set(expiring.Terms.ExpiresAt)
	require.False(t, may(held, 2), "none begins after the expiry")
	_, err = b.NextRail(ctx, ledger.Charge{ID: "txn_none", MandateID: m.ID}, 2)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	b.sound(t)
}

// keyKinds: one text is another key in each kind.
func keyKinds(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, cent)
	r.IdempotencyKey = "k"
	for _, kind := range []ledger.KeyKind{ledger.ChargeKey, ledger.PaywallKey, ledger.PresentationKey} {
		r.Kind, r.ChargeID = kind, id.New(id.Charge, b.clock.Now())
		made, err := b.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.False(t, made.Replayed, kind)
	}
	key := ledger.IdempotencyKey{MerchantID: b.merchant.ID, Kind: ledger.ReceiptKey, Key: "k"}
	require.NoError(t, b.Redeem(t.Context(), key, "req_1"))
	fresh := key
	fresh.Key = "fresh"
	var spent *ledger.Refusal
	require.ErrorAs(t, b.Redeem(t.Context(), fresh, "req_2", key), &spent, "spent under its former name")
	require.Equal(t, ledger.ReceiptRedeemed, spent.Code)
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Minute))
	for range 2 {
		_, err := b.Expire(t.Context(), b.clock.Now())
		require.NoError(t, err)
	}
	require.NoError(t, b.Redeem(t.Context(), key, "req_3"))
}

// chargesOfTransaction finds those of a paywall alone, whatever the case of a hash.
func chargesOfTransaction(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, cent)
	r.Resource = "https://api.example.com/weather"
	made, err := b.Reserve(t.Context(), r)
	require.NoError(t, err)
	onChain := succeeded()
	onChain.Rail, onChain.Outcome = rail.Chain, rail.Outcome{Status: rail.Succeeded, TxHash: "0xabc"}
	paid := b.settle(t, made.Charge, onChain)
	require.Equal(t, r.Resource, paid.Resource)
	b.settle(t, b.reserve(t, m, cent), onChain) // of no paywall
	for _, hash := range []string{"0xabc", "0xABC"} {
		list, err := b.ChargesOfTransaction(t.Context(), hash, 10)
		require.NoError(t, err)
		require.Equal(t, []ledger.Charge{paid}, list)
	}
	r = b.request(m, cent)
	r.Resource = "https://api.example.com/weather"
	made, err = b.Reserve(t.Context(), r)
	require.NoError(t, err)
	byCard := b.settle(t, made.Charge, succeeded())
	list, err := b.ChargesOfTransaction(t.Context(), "pay_1", 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.Charge{byCard}, list)
	for _, other := range []string{"", "PAY_1", "0xab"} {
		list, err := b.ChargesOfTransaction(t.Context(), other, 10)
		require.NoError(t, err)
		require.Empty(t, list)
	}
}
