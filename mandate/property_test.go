package mandate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/mandate"
)

func drawTerms(r *rapid.T, f *fixture, session mandate.PublicKey) mandate.Terms {
	text := rapid.StringOfN(rapid.RuneFrom([]rune(`aZ9 "\/<>&'é€😀`+"\u2028\u0000\n")), 1, 20, -1)
	monthly := rapid.Int64Range(1, 1<<53-1).Draw(r, "monthly")
	terms := mandate.Terms{
		ID:         "del_" + rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(r, "id"),
		Limits:     mandate.Limits{MaxPerTxCents: rapid.Int64Range(1, monthly).Draw(r, "per tx"), MaxMonthlyCents: monthly},
		Rails:      rapid.SampledFrom([][]mandate.Rail{{mandate.CardRail}, {mandate.ChainRail}, {mandate.ChainRail, mandate.CardRail}}).Draw(r, "rails"),
		IssuedAt:   f.now.Add(-time.Duration(rapid.Int64Range(0, 1e6).Draw(r, "age")) * time.Second),
		ExpiresAt:  f.now.Add(time.Duration(rapid.Int64Range(1, 6e7).Draw(r, "rest")) * time.Second),
		SessionKey: session,
	}
	for _, limit := range []*int64{
		&terms.Limits.MaxDailyCents, &terms.Limits.MaxTotalCents, &terms.Limits.MaxPaymentsPerDay, &terms.Limits.MaxMonthlyPerPayeeCents,
	} {
		if rapid.Bool().Draw(r, "has further limit") {
			*limit = rapid.Int64Range(1, 1<<53-1).Draw(r, "further limit")
		}
	}
	terms.Limits.RoundUpRest = rapid.Bool().Draw(r, "rest rounded up")
	for range rapid.IntRange(1, 8).Draw(r, "payees") {
		p := mandate.Payee{ID: text.Draw(r, "payee"), Name: text.Draw(r, "name")}
		if rapid.Bool().Draw(r, "has website") {
			p.Website = text.Draw(r, "website")
		}
		terms.Payees = append(terms.Payees, p)
	}
	if rapid.Bool().Draw(r, "has nbf") {
		terms.NotBefore = terms.IssuedAt
	}
	if rapid.Bool().Draw(r, "has status") {
		terms.Status = &mandate.StatusRef{Index: rapid.Int64Range(0, 1<<31-1).Draw(r, "index"), URI: issuerURL + "/s"}
	}
	return terms
}

func TestWhatIsIssuedIsVerified(t *testing.T) {
	t.Parallel()
	f := setup(t)
	session := public(t, f.sessionKey)
	rapid.Check(t, func(r *rapid.T) {
		terms := drawTerms(r, f, session)
		tok, err := f.issuer.Issue(t.Context(), terms)
		require.NoError(r, err)
		m, err := f.verifier().Verify(t.Context(), tok.Reveal())
		require.NoError(r, err)
		got := mandate.Terms{
			ID: m.ID, Limits: m.Limits, Payees: m.Payees, Rails: m.Rails, IssuedAt: m.IssuedAt, ExpiresAt: m.ExpiresAt,
			NotBefore: m.NotBefore, SessionKey: terms.SessionKey, Status: m.Status,
		}
		require.Equal(r, terms, got)
		require.True(r, m.SessionKey.Equal(session))
	})
}

func TestAFlippedByteIsRefusedOrChangesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	v := f.verifier()
	bare, bound := f.issue(t), f.present(t, f.issue(t))
	want, err := v.Verify(t.Context(), bare.Reveal())
	require.NoError(t, err)
	rapid.Check(t, func(r *rapid.T) {
		text := []byte(rapid.SampledFrom([]mandate.Token{bare, bound}).Draw(r, "token").Reveal())
		i := rapid.IntRange(0, len(text)-1).Draw(r, "position")
		text[i] ^= byte(rapid.IntRange(1, 255).Draw(r, "flip"))
		m, err := v.Verify(t.Context(), string(text))
		if err != nil {
			var e *mandate.Error
			require.ErrorAs(r, err, &e)
			return
		}
		m.Bound = false
		require.Equal(r, want, m)
	})
}
