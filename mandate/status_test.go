package mandate_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestStatusList(t *testing.T) {
	t.Parallel()
	l, err := mandate.NewStatusList(9)
	require.NoError(t, err)
	require.EqualValues(t, 16, l.Len())
	c := l.Clone()
	require.NoError(t, l.Revoke(9))
	require.NoError(t, l.Revoke(9))
	for i := range l.Len() {
		revoked, err := l.Revoked(i)
		require.NoError(t, err)
		require.Equal(t, i == 9, revoked)
		revoked, err = c.Revoked(i)
		require.NoError(t, err)
		require.False(t, revoked)
	}
	for _, i := range []int64{-1, 16, 1 << 40} {
		_, err := l.Revoked(i)
		require.ErrorIs(t, err, mandate.ErrStatusIndex)
		require.ErrorIs(t, l.Revoke(i), mandate.ErrStatusIndex)
	}
	for _, size := range []int64{-1, 8*mandate.MaxStatusListBytes + 1} {
		_, err := mandate.NewStatusList(size)
		require.ErrorIs(t, err, mandate.ErrStatusIndex)
	}
}

// statusHouse is a publisher of a list at a server of its own, with a movable clock.
type statusHouse struct {
	*fixture
	*mandate.StatusPublisher
	clock    *clock
	server   *httptest.Server
	requests atomic.Int64
	down     atomic.Bool
	source   *mandate.RemoteStatusSource
}

func statusSetup(t testing.TB, signer mandate.SignerFunc) *statusHouse {
	t.Helper()
	h := &statusHouse{fixture: setup(t), clock: &clock{}}
	if signer == nil {
		signer = mandate.FixedSigner(h.issuerKey)
	}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		if h.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(h.server.Close)
	h.StatusPublisher = &mandate.StatusPublisher{URI: h.server.URL + "/status/1", Signer: signer, Clock: h.clock.now}
	list, err := mandate.NewStatusList(1000)
	require.NoError(t, err)
	require.NoError(t, h.Publish(list))
	h.source = mandate.RemoteStatuses(mandate.StaticKeys(public(t, h.issuerKey)))
	h.source.HTTPClient, h.source.Clock = h.server.Client(), h.clock.now
	return h
}

func (h *statusHouse) revoked(t testing.TB, index int64) (bool, error) {
	t.Helper()
	return h.source.Revoked(t.Context(), mandate.StatusRef{Index: index, URI: h.URI})
}

func TestRevokedMandateIsRefusedOfflineWithinTheTTL(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	h.now = h.clock.now()
	h.issuer.URL = "http://127.0.0.1:1" // so that the list may be at a loopback address
	terms := h.terms(t)
	terms.Status.URI = h.URI
	tok, err := h.issuer.Issue(t.Context(), terms)
	require.NoError(t, err)
	v := h.verifier()
	v.Issuer, v.Clock, v.Statuses = h.issuer.URL, h.clock.now, h.source
	_, err = v.Verify(t.Context(), tok.Reveal())
	require.NoError(t, err)
	require.NoError(t, h.Revoke(terms.Status.Index))
	_, err = v.Verify(t.Context(), tok.Reveal())
	require.NoError(t, err, "the list that is known is still good")
	h.clock.advance(mandate.DefaultStatusTTL)
	_, err = v.Verify(t.Context(), tok.Reveal())
	require.ErrorIs(t, err, mandate.ErrRevoked)
	h.down.Store(true)
	h.clock.advance(mandate.DefaultStatusTTL)
	_, err = v.Verify(t.Context(), tok.Reveal())
	require.ErrorIs(t, err, mandate.ErrUnavailable, "nothing is allowed on a list that is over")
	require.Equal(t, mandate.StatusUnavailable, reasonOf(t, err))
}

func TestStatusListIsKeptForItsTTL(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	ask := func() {
		revoked, err := h.revoked(t, 3)
		require.NoError(t, err)
		require.False(t, revoked)
	}
	for range 5 {
		ask()
	}
	require.EqualValues(t, 1, h.requests.Load())
	h.clock.advance(mandate.DefaultStatusTTL*4/5 - 1)
	ask()
	require.EqualValues(t, 1, h.requests.Load())
	h.down.Store(true)
	h.clock.advance(1)
	ask()
	ask()
	require.EqualValues(t, 2, h.requests.Load(), "a failure ahead of need is no harm, and not repeated at once")
	h.down.Store(false)
	h.clock.advance(mandate.DefaultStatusRetry)
	ask()
	require.EqualValues(t, 3, h.requests.Load())
	_, err := h.revoked(t, 1000)
	require.ErrorIs(t, err, mandate.ErrStatusIndex)
}

func TestStatusPublisher(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	first, err := h.Token(t.Context())
	require.NoError(t, err)
	second, err := h.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second, "signed once")
	require.NoError(t, h.Revoke(1))
	changed, err := h.Token(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, changed)
	h.clock.advance(mandate.DefaultStatusTTL)
	renewed, err := h.Token(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, changed, renewed)
	parts := strings.Split(renewed, ".")
	require.JSONEq(t, `{"alg":"ES256","typ":"statuslist+jwt","kid":"`+public(t, h.issuerKey).ID()+`"}`, decode64(t, parts[0]))
	require.Regexp(t, `^{"sub":"http://127.0.0.1:\d+/status/1","iat":1800000300,"exp":1800001200,"ttl":300,"status_list":{"bits":1,"lst":"[A-Za-z0-9_-]+"}}$`, decode64(t, parts[1]))
	w := get(t, h.StatusPublisher, http.MethodGet)
	require.Equal(t, "application/statuslist+jwt", w.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
	require.Equal(t, renewed, w.Body.String())
	require.Equal(t, http.StatusNotModified, get(t, h.StatusPublisher, http.MethodGet, "If-None-Match", w.Header().Get("ETag")).Code)
	require.ErrorIs(t, h.Revoke(1000), mandate.ErrStatusIndex)

	empty := &mandate.StatusPublisher{URI: "https://pay.example/s", Signer: mandate.FixedSigner(h.issuerKey)}
	require.Equal(t, http.StatusServiceUnavailable, get(t, empty, http.MethodGet).Code)
	require.ErrorIs(t, empty.Revoke(0), mandate.ErrStatusIndex)
	require.Error(t, empty.Publish(nil))
	sealed := statusSetup(t, func(context.Context) (crypto.Signer, error) { return nil, errors.New("sealed") })
	require.Equal(t, http.StatusServiceUnavailable, get(t, sealed.StatusPublisher, http.MethodGet).Code)
}

// lst compresses as a publisher would.
func lst(t testing.TB, bits []byte, tail string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write(bits)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b64.EncodeToString(append(b.Bytes(), tail...))
}

func TestStatusTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	good := lst(t, make([]byte, 8), "")
	const head = `{"alg":"ES256","typ":"statuslist+jwt","kid":"#kid"}`
	body := func(list string) string {
		return `{"sub":"#uri","iat":1800000000,"status_list":{"bits":1,"lst":"` + list + `"}}`
	}
	for name, c := range map[string]struct{ header, payload string }{
		"":                   {head, body(good)},
		"typ":                {strings.Replace(head, "statuslist+jwt", "JWT", 1), body(good)},
		"alg":                {strings.Replace(head, "ES256", "none", 1), body(good)},
		"jwk":                {strings.Replace(head, `"alg"`, `"jwk":{},"alg"`, 1), body(good)},
		"other key":          {strings.Replace(head, "#kid", "x", 1), body(good)},
		"other address":      {head, strings.Replace(body(good), "#uri", "https://pay.example/2", 1)},
		"no address":         {head, strings.Replace(body(good), "sub", "sup", 1)},
		"future":             {head, strings.Replace(body(good), "1800000000", "1800000061", 1)},
		"no iat":             {head, strings.Replace(body(good), "iat", "ita", 1)},
		"expired":            {head, strings.Replace(body(good), `"iat"`, `"exp":1799999940,"iat"`, 1)},
		"exp is a string":    {head, strings.Replace(body(good), `"iat"`, `"exp":"2000000000","iat"`, 1)},
		"ttl zero":           {head, strings.Replace(body(good), `"iat"`, `"ttl":0,"iat"`, 1)},
		"two bits":           {head, strings.Replace(body(good), `"bits":1`, `"bits":2`, 1)},
		"no list":            {head, `{"sub":"#uri","iat":1800000000}`},
		"name twice":         {head, strings.Replace(body(good), `"iat"`, `"sub":"#uri","iat"`, 1)},
		"no base64url":       {head, body("x=")},
		"no zlib":            {head, body("AAAA")},
		"cut":                {head, body(good[:len(good)-4])},
		"data behind":        {head, body(lst(t, make([]byte, 8), "x"))},
		"decompression bomb": {head, body(lst(t, make([]byte, mandate.MaxStatusListBytes+1), ""))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := statusSetup(t, nil)
			fill := strings.NewReplacer("#kid", public(t, h.issuerKey).ID(), "#uri", h.URI)
			text := signJWT(t, fill.Replace(c.header), fill.Replace(c.payload), h.issuerKey)
			h.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, text) })
			revoked, err := h.revoked(t, 3)
			require.False(t, revoked)
			require.Equal(t, name == "", err == nil, "%v", err)
		})
	}
	h := statusSetup(t, func(context.Context) (crypto.Signer, error) { return newKey(t), nil })
	_, err := h.revoked(t, 3)
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	h = statusSetup(t, nil)
	h.source.Keys = nil
	_, err = h.revoked(t, 3)
	require.ErrorContains(t, err, "no Keys")
	h = statusSetup(t, nil)
	h.source.MaxBytes = 10
	_, err = h.revoked(t, 3)
	require.ErrorContains(t, err, "longer than")
}

func TestAnOldStatusListBringsNobodyBack(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	old, err := h.Token(t.Context())
	require.NoError(t, err)
	h.clock.advance(time.Second)
	require.NoError(t, h.Revoke(3))
	revoked, err := h.revoked(t, 3)
	require.NoError(t, err)
	require.True(t, revoked)
	h.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, old) })
	h.clock.advance(mandate.DefaultStatusTTL)
	_, err = h.revoked(t, 3)
	require.ErrorIs(t, err, mandate.ErrStatusList)
}

func TestStatusWaitsNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	tr := stalled{make(chan struct{}, 1)}
	h.source.HTTPClient = &http.Client{Transport: tr}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.source.Revoked(ctx, mandate.StatusRef{URI: h.URI})
		done <- err
	}()
	<-tr.asked
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err := h.source.Revoked(given, mandate.StatusRef{URI: h.URI})
	require.ErrorIs(t, err, context.Canceled, "one who waits for another's turn")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestStatusListsSurviveTheWire(t *testing.T) {
	t.Parallel()
	h := statusSetup(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.Int64Range(1, 5000).Draw(r, "size")
		want := map[int64]bool{}
		list, err := mandate.NewStatusList(size)
		require.NoError(r, err)
		for _, i := range rapid.SliceOf(rapid.Int64Range(0, size-1)).Draw(r, "revoked") {
			want[i] = true
			require.NoError(r, list.Revoke(i))
		}
		require.NoError(r, h.Publish(list))
		h.clock.advance(mandate.DefaultStatusTTL)
		for i := range list.Len() {
			revoked, err := h.revoked(t, i)
			require.NoError(r, err)
			require.Equal(r, want[i], revoked)
		}
	})
}

func TestStatusListOfTheDraft(t *testing.T) {
	t.Parallel()
	list, err := mandate.ReadLst("eNrbuRgAAhcBXQ") // section 4.2: bits 1, statuses of 16 tokens
	require.NoError(t, err)
	want := []bool{true, false, false, true, true, true, false, true, true, true, false, false, false, true, false, true}
	require.EqualValues(t, len(want), list.Len())
	for i, w := range want {
		got, err := list.Revoked(int64(i))
		require.NoError(t, err)
		require.Equal(t, w, got, "index %d", i)
	}
}
