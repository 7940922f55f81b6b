package mandate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestPresentationSaysWhatItWasMadeFor(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.binding()
	b.ExpiresAt = f.now.Add(time.Minute)
	tok, err := mandate.Present(f.issue(t), f.sessionKey, b)
	require.NoError(t, err)
	p, err := f.verifier().VerifyPresentation(t.Context(), tok.Reveal(), mandate.Expect{Audience: audience, Nonce: nonce})
	require.NoError(t, err)
	require.True(t, p.Mandate.Bound)
	require.Equal(t, &b.Transaction, p.Transaction)
	require.Equal(t, audience, p.Audience)
	require.Equal(t, nonce, p.Nonce)
	require.Equal(t, b.IssuedAt, p.IssuedAt)
	require.Equal(t, b.ExpiresAt, p.ExpiresAt)
	f.now = f.now.Add(2 * time.Minute)
	_, err = f.verifier().VerifyPresentation(t.Context(), tok.Reveal(), mandate.Expect{Audience: audience, Nonce: nonce})
	require.Equal(t, mandate.KBStale, reasonOf(t, err))
}

func TestPresentationIsRequiredUnlessAllowed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	bare := f.issue(t).Reveal()
	v := f.verifier()
	for range 2 { // the second time from the cache
		_, err := v.VerifyPresentation(t.Context(), bare, mandate.Expect{Audience: audience, Nonce: nonce})
		require.Equal(t, mandate.KBMissing, reasonOf(t, err))
		p, err := v.VerifyPresentation(t.Context(), bare, mandate.Expect{Audience: audience, Nonce: nonce, AllowUnbound: true})
		require.NoError(t, err)
		require.Nil(t, p.Transaction)
		require.False(t, p.Mandate.Bound)
	}
}

func TestPresentationForNobodyIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text := f.present(t, f.issue(t)).Reveal()
	_, err := f.verifier().VerifyPresentation(t.Context(), text, mandate.Expect{Nonce: nonce})
	require.Equal(t, mandate.KBBadAud, reasonOf(t, err), "an expectation that was forgotten allows nothing")
	_, err = f.verifier().VerifyPresentation(t.Context(), text, mandate.Expect{Audience: audience})
	require.Equal(t, mandate.KBBadNonce, reasonOf(t, err))
}

func TestBindingCannotMoveToAnotherMandate(t *testing.T) {
	t.Parallel()
	f := setup(t)
	v := f.verifier()
	first, second := f.present(t, f.issue(t)).Reveal(), f.issue(t).Reveal()
	kb := first[strings.LastIndexByte(first, '~')+1:]
	_, err := v.Verify(t.Context(), second)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), second+kb)
	require.Equal(t, mandate.KBBadSDHash, reasonOf(t, err), "cached or not")
}

func TestPresentRefuses(t *testing.T) {
	t.Parallel()
	f := setup(t)
	tok := f.issue(t)
	_, err := mandate.Present(tok, newKey(t), f.binding())
	require.ErrorIs(t, err, mandate.ErrWrongKey)
	_, err = mandate.Present(tok, nil, f.binding())
	require.ErrorIs(t, err, mandate.ErrWrongKey)
	_, err = mandate.Present(f.present(t, tok), f.sessionKey, f.binding())
	require.ErrorContains(t, err, "already")
	_, err = mandate.Present(mandate.Token{}, f.sessionKey, f.binding())
	require.ErrorIs(t, err, mandate.ErrMalformed)
	for name, spoil := range map[string]func(*mandate.Binding){
		"audience":     func(b *mandate.Binding) { b.Audience = "" },
		"nonce":        func(b *mandate.Binding) { b.Nonce = "" },
		"issued at":    func(b *mandate.Binding) { b.IssuedAt = time.Time{} },
		"end":          func(b *mandate.Binding) { b.ExpiresAt = b.IssuedAt },
		"amount":       func(b *mandate.Binding) { b.Transaction.AmountMicros = 0 },
		"large amount": func(b *mandate.Binding) { b.Transaction.AmountMicros = 1 << 53 },
		"pay to":       func(b *mandate.Binding) { b.Transaction.PayTo = "" },
		"network":      func(b *mandate.Binding) { b.Transaction.Network = "" },
		"resource":     func(b *mandate.Binding) { b.Transaction.Resource = "" },
	} {
		b := f.binding()
		spoil(&b)
		_, err := mandate.Present(tok, f.sessionKey, b)
		require.Error(t, err, name)
	}
	b := f.binding()
	b.Transaction.Resource = strings.Repeat("x", 8000)
	_, err = mandate.Present(tok, f.sessionKey, b)
	require.Equal(t, mandate.TooLarge, reasonOf(t, err))
}

// TestACutOffBindingLeavesNothing: the receiver of a presentation cannot use the mandate
// in it without the binding.
func TestACutOffBindingLeavesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	terms := f.terms(t)
	terms.RequireBinding = true
	tok, err := f.issuer.Issue(t.Context(), terms)
	require.NoError(t, err)
	shown := f.present(t, tok).Reveal()
	bare := shown[:strings.LastIndex(shown, "~")+1]
	v := f.verifier()
	for range 2 { // the second time from the cache
		_, err = v.Verify(t.Context(), bare)
		require.Equal(t, mandate.KBMissing, reasonOf(t, err))
		require.ErrorIs(t, err, mandate.ErrInvalid)
		m, err := v.Verify(t.Context(), shown)
		require.NoError(t, err)
		require.True(t, m.RequiresBinding)
	}
	m, err := v.Verify(t.Context(), f.issue(t).Reveal())
	require.NoError(t, err)
	require.False(t, m.RequiresBinding)
}

// TestStalePresentationIsTakenWhereAsked, and nothing else about it is.
func TestStalePresentationIsTakenWhereAsked(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.binding()
	b.ExpiresAt = f.now.Add(time.Minute)
	tok, err := mandate.Present(f.issue(t), f.sessionKey, b)
	require.NoError(t, err)
	want := mandate.Expect{Audience: audience, Nonce: nonce, AllowStale: true}
	p, err := f.verifier().VerifyPresentation(t.Context(), tok.Reveal(), want)
	require.NoError(t, err)
	require.False(t, p.Stale)
	for _, later := range []time.Duration{time.Minute, time.Hour} { // past its own end, with the skew; past every age
		f.now = f.now.Add(later + mandate.DefaultSkew)
		p, err = f.verifier().VerifyPresentation(t.Context(), tok.Reveal(), want)
		require.NoError(t, err)
		require.True(t, p.Stale)
	}
	want.Nonce = "another"
	_, err = f.verifier().VerifyPresentation(t.Context(), tok.Reveal(), want)
	require.Equal(t, mandate.KBBadNonce, reasonOf(t, err))
}
