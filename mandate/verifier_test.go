package mandate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// countingKeys is a key source that can be changed, and counts.
type countingKeys struct {
	mu    sync.Mutex
	key   mandate.PublicKey
	err   error
	asked atomic.Int64
}

func (k *countingKeys) Key(_ context.Context, kid string) (mandate.PublicKey, error) {
	k.asked.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil && k.key.ID() != kid {
		return mandate.PublicKey{}, mandate.ErrKeyUnknown
	}
	return k.key, k.err
}

func (k *countingKeys) set(key mandate.PublicKey, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key, k.err = key, err
}

func TestVerifyGivesWhatWasIssued(t *testing.T) {
	t.Parallel()
	f := setup(t)
	terms := f.terms(t)
	m, err := f.verifier().Verify(t.Context(), f.issue(t).Reveal())
	require.NoError(t, err)
	require.Equal(t, terms.ID, m.ID)
	require.Equal(t, issuerURL, m.Issuer)
	require.Equal(t, terms.Limits, m.Limits)
	require.Equal(t, terms.Payees, m.Payees)
	require.Equal(t, terms.Rails, m.Rails)
	require.Equal(t, terms.IssuedAt, m.IssuedAt)
	require.Equal(t, terms.ExpiresAt, m.ExpiresAt)
	require.True(t, m.NotBefore.IsZero())
	require.True(t, terms.SessionKey.Equal(m.SessionKey))
	require.Equal(t, terms.Status, m.Status)
	require.Equal(t, public(t, f.issuerKey).ID(), m.KeyID)
	require.False(t, m.Bound)
}

func TestTimeIsJudgedOnEveryUse(t *testing.T) {
	t.Parallel()
	f := setup(t)
	terms := f.terms(t)
	terms.NotBefore = f.now
	tok, err := f.issuer.Issue(t.Context(), terms)
	require.NoError(t, err)
	start, v := f.now, f.verifier()
	for _, c := range []struct {
		at     time.Time
		reason mandate.Reason
	}{
		{start, ""},
		{start.Add(-60 * time.Second), ""},
		{start.Add(-61 * time.Second), mandate.NotYetValid},
		{terms.IssuedAt.Add(-61 * time.Second), mandate.IatInFuture},
		{terms.ExpiresAt.Add(59 * time.Second), ""},
		{terms.ExpiresAt.Add(60 * time.Second), mandate.Expired},
		{start, ""},
	} {
		f.now = c.at
		for range 2 {
			_, err := v.Verify(t.Context(), tok.Reveal())
			require.Equal(t, c.reason, reasonOf(t, err), "%s", c.at)
		}
		cold := f.verifier()
		_, err := cold.Verify(t.Context(), tok.Reveal())
		require.Equal(t, c.reason, reasonOf(t, err), "the same without the cache")
	}
}

func TestNoSkewMeansNone(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text := f.issue(t).Reveal()
	v := f.verifier()
	v.Skew = -1
	f.now = f.terms(t).ExpiresAt.Add(-30 * 24 * time.Hour) // terms follow the clock
	_, err := v.Verify(t.Context(), text)
	require.NoError(t, err)
	f.now = f.now.Add(30*24*time.Hour - time.Second)
	_, err = v.Verify(t.Context(), text)
	require.NoError(t, err)
	f.now = f.now.Add(time.Second)
	_, err = v.Verify(t.Context(), text)
	require.ErrorIs(t, err, mandate.ErrExpired)
}

func TestTheServiceMayJudgeTimeItself(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text := f.issue(t).Reveal()
	v := f.verifier()
	v.IgnoreTimes = true
	for _, by := range []time.Duration{-48 * time.Hour, 0, 400 * 24 * time.Hour} {
		f.now = f.now.Add(by)
		_, err := v.Verify(t.Context(), text)
		require.NoError(t, err)
	}
	bound := f.present(t, f.issue(t)).Reveal()
	f.now = f.now.Add(301 * time.Second)
	_, err := v.Verify(t.Context(), bound)
	require.Equal(t, mandate.KBStale, reasonOf(t, err), "bindings must be fresh nonetheless")
}

func TestKeyIsJudgedOnEveryUse(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text, v := f.issue(t).Reveal(), f.verifier()
	keys := &countingKeys{key: public(t, f.issuerKey)}
	v.Keys = keys
	verify := func() mandate.Reason {
		_, err := v.Verify(t.Context(), text)
		return reasonOf(t, err)
	}
	require.Empty(t, verify())
	require.Empty(t, verify())
	require.EqualValues(t, 2, keys.asked.Load())
	keys.set(public(t, newKey(t)), nil)
	require.Equal(t, mandate.KidUnknown, verify(), "a key that was revoked ends what it signed, cached or not")
	keys.set(mandate.PublicKey{}, errors.New("no route to host"))
	_, err := v.Verify(t.Context(), text)
	require.ErrorIs(t, err, mandate.ErrUnavailable)
	require.NotErrorIs(t, err, mandate.ErrInvalid)
	require.ErrorContains(t, err, "no route to host")
	keys.set(public(t, f.issuerKey), nil)
	require.Empty(t, verify())
}

func TestResultBelongsToTheCaller(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text, v := f.issue(t).Reveal(), f.verifier()
	want, err := v.Verify(t.Context(), text)
	require.NoError(t, err)
	for range 3 {
		m, err := v.Verify(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, want, m)
		m.ID, m.Limits.MaxPerTxCents, m.Payees[0].ID, m.Rails[0], m.Status.Index = "del_x", 1<<40, "*", "x", 0
		m.Payees, m.Rails, m.ExpiresAt = append(m.Payees, mandate.AnyPayee()), append(m.Rails, "y"), time.Time{}
		key := m.SessionKey.ECDSA()
		key.Curve = nil
	}
}

func TestCacheHoldsNoMoreThanItsSize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	v := f.verifier()
	v.CacheSize = 4
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = f.issue(t).Reveal() // signatures are random, so that the texts differ
	}
	for range 3 {
		for _, text := range texts {
			m, err := v.Verify(t.Context(), text)
			require.NoError(t, err)
			require.Equal(t, f.terms(t).ID, m.ID)
		}
	}
	require.LessOrEqual(t, mandate.Cached(v), 4)
}

func TestRefusedTokensAreNotKept(t *testing.T) {
	t.Parallel()
	f := setup(t)
	v := f.verifier()
	for range 10 {
		g := f.forge(t)
		g.issuer = newKey(t)
		_, err := v.Verify(t.Context(), g.text(t))
		require.Equal(t, mandate.BadSignature, reasonOf(t, err))
	}
	require.Zero(t, mandate.Cached(v))
}

func TestTextIsNoIdentity(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text, v := f.issue(t).Reveal(), f.verifier()
	ids := map[string]bool{}
	for _, twin := range []string{text, highS(t, text), strings.TrimPrefix(text, mandate.Prefix), f.present(t, f.issue(t)).Reveal()} {
		m, err := v.Verify(t.Context(), twin)
		require.NoError(t, err)
		ids[m.ID] = true
	}
	require.Len(t, ids, 1)
}

func TestIssuerMustBeHTTPSOrLoopback(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for issuer, ok := range map[string]bool{
		"https://pay.example": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost:9": true,
		"http://pay.example": false, "": false, "pay.example": false, "https://": false, "https://u@pay.example": false,
		"https://pay.example/#x": false, "http://127.0.0.1.example": false, "HTTPS://pay.example": false, "ftp://localhost": false,
		"https://pay.example/ x": false, "http://localhost@evil.example": false,
	} {
		iss := mandate.Issuer{URL: issuer, Signer: mandate.FixedSigner(f.issuerKey)}
		terms := f.terms(t)
		terms.Status = nil
		tok, err := iss.Issue(t.Context(), terms)
		require.Equal(t, ok, err == nil, issuer)
		v := mandate.Verifier{Issuer: issuer, Keys: mandate.StaticKeys(public(t, f.issuerKey)), Clock: func() time.Time { return f.now }}
		if ok {
			_, err = v.Verify(t.Context(), tok.Reveal())
			require.NoError(t, err)
			continue
		}
		_, err = v.Verify(t.Context(), f.issue(t).Reveal())
		require.ErrorContains(t, err, "configure mandate verifier")
		require.NotErrorIs(t, err, mandate.ErrInvalid, "no verdict without a configuration")
	}
}

func TestLoopbackIssuerMayHaveALoopbackStatusList(t *testing.T) {
	t.Parallel()
	f := setup(t)
	iss := mandate.Issuer{URL: "http://127.0.0.1:8080", Signer: mandate.FixedSigner(f.issuerKey)}
	for uri, ok := range map[string]bool{
		"http://127.0.0.1:8080/s": true, "http://localhost/s": true, "https://pay.example/s": true, "http://pay.example/s": false,
	} {
		terms := f.terms(t)
		terms.Status = &mandate.StatusRef{Index: 1, URI: uri}
		_, err := iss.Issue(t.Context(), terms)
		require.Equal(t, ok, err == nil, uri)
	}
}

func TestVerifierWithoutKeysSaysSo(t *testing.T) {
	t.Parallel()
	v := mandate.Verifier{Issuer: issuerURL}
	_, err := v.Verify(t.Context(), "x")
	require.ErrorContains(t, err, "no Keys")
}

func TestVerifyFromManyGoroutines(t *testing.T) {
	t.Parallel()
	f := setup(t)
	v := f.verifier()
	v.CacheSize = 2
	texts := []string{f.issue(t).Reveal(), f.issue(t).Reveal(), f.present(t, f.issue(t)).Reveal(), "dtok_nothing"}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				text := texts[(i+j)%len(texts)]
				m, err := v.Verify(context.Background(), text)
				if (err == nil) == (text == "dtok_nothing") || (err == nil && m.Limits.MaxPerTxCents != 500) {
					t.Errorf("unexpected verdict: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
