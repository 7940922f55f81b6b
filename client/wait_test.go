package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

const (
	pendingSession   = `{"status":"pending"}`
	completedSession = `{"status":"completed","intentMandate":"` + token + `","delegateId":"del_1"}`
)

func TestWaitForMandate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		handler, calls := inTurn(reply(200, pendingSession), reply(200, pendingSession), reply(200, completedSession))
		c := setupInMemory(t, handler)
		m, err := c.WaitForMandate(t.Context(), sessToken)
		require.NoError(t, err)
		require.Equal(t, token, m)
		require.Equal(t, 3, calls())
		require.Less(t, time.Since(start), 1250*time.Millisecond)

		s, err := c.WaitForSetup(t.Context(), sessToken)
		require.NoError(t, err)
		require.Equal(t, client.Session{Status: client.SessionCompleted, Mandate: token, MandateID: "del_1"}, s)
	})
}

func TestWaitTellsWhySetupFailed(t *testing.T) {
	t.Parallel()
	c := setup(t, reply(200, `{"status":"failed","failureReason":"declined"}`))
	m, err := c.WaitForMandate(t.Context(), sessToken)
	require.Empty(t, m)
	require.ErrorIs(t, err, client.ErrSetupFailed)
	var failed *client.SetupFailedError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "declined", failed.Reason)
}

func TestWaitGetsSlower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		c := setupInMemory(t, func(w http.ResponseWriter, r *http.Request) {
			at = append(at, time.Now())
			reply(200, pendingSession)(w, r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.WaitForSetup(ctx, sessToken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Minute, time.Since(start))
		require.Less(t, at[1].Sub(at[0]), 500*time.Millisecond)
		require.InDelta(t, 160, len(at), 40, "about every four seconds")
		for i, last := range at[8 : len(at)-1] {
			pause := at[8+i+1].Sub(last)
			require.GreaterOrEqual(t, pause, 2500*time.Millisecond)
			require.Less(t, pause, 5*time.Second)
		}
	})
}

func TestWaitOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, broken := range []http.HandlerFunc{
			hangUp, reply(503, busyRefusal), reply(502, `<html>`), reply(500, faultRefusal), reply(429, rateRefusal), reply(200, `<html>`),
		} {
			handler, calls := inTurn(reply(200, pendingSession), broken, broken, broken, broken, broken, broken, broken, broken, broken, reply(200, completedSession))
			m, err := setupInMemory(t, handler, noRetries).WaitForMandate(t.Context(), sessToken)
			require.NoError(t, err)
			require.Equal(t, token, m)
			require.Equal(t, 11, calls())
		}
	})
}

// Two outages with a good read between them are not one long outage.
func TestWaitForgetsAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outage := []http.HandlerFunc{hangUp, hangUp, hangUp, hangUp, hangUp, hangUp, hangUp, hangUp, hangUp}
		script := append([]http.HandlerFunc(nil), outage...)
		script = append(append(script, reply(200, pendingSession)), append(outage, reply(200, completedSession))...)
		handler, calls := inTurn(script...)
		_, err := setupInMemory(t, handler, noRetries).WaitForMandate(t.Context(), sessToken)
		require.NoError(t, err)
		require.Equal(t, 20, calls())
	})
}

func TestWaitGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			answer http.HandlerFunc
			want   error
			calls  int
		}{
			{reply(503, busyRefusal), client.ErrUnavailable, 10},
			{reply(401, keyRefusal), client.ErrUnauthorized, 1},
			{reply(404, `{"code":"not_found"}`), client.ErrNotFound, 1},
			{reply(403, `<html>`), client.ErrUnexpectedAnswer, 1},
			{reply(302, ``), client.ErrUnexpectedAnswer, 1},
		} {
			handler, calls := inTurn(tc.answer)
			_, err := setupInMemory(t, handler, noRetries).WaitForMandate(t.Context(), sessToken)
			require.ErrorIs(t, err, tc.want)
			require.Equal(t, tc.calls, calls())
		}
		_, err := setupInMemory(t, hangUp).WaitForMandate(t.Context(), "")
		require.ErrorIs(t, err, client.ErrValidation)
		_, err = setupInMemory(t, reply(200, `{"status":"completed"}`)).WaitForMandate(t.Context(), sessToken)
		require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
	})
}

func TestWaitHeedsRetryAfterAndCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler, calls := inTurn(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			reply(429, rateRefusal)(w, r)
		})
		c := setupInMemory(t, handler)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer time.AfterFunc(70*time.Second, func() { cancel(errors.New("the shop closes")) }).Stop()
		start := time.Now()
		_, err := c.WaitForSetup(ctx, sessToken)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, client.ErrRateLimited)
		require.Equal(t, 70*time.Second, time.Since(start))
		require.Equal(t, 3, calls(), "every thirty seconds at most")
	})
}
