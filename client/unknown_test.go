package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/client"
)

func TestLostAnswerIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &moneyTaker{steps: []step{{execute: true, answer: "hang up"}, {answer: "hang up"}, {answer: "502 page"}, {answer: "429"}}}
		c := setupInMemory(t, s.serve)
		_, err := c.Charge(t.Context(), chargeParams())
		var unknown *client.UnknownOutcomeError
		require.ErrorAs(t, err, &unknown)
		require.ErrorIs(t, err, client.ErrUnknownOutcome)
		require.ErrorIs(t, err, client.ErrUnavailable, "the 502 is the last that left it open")
		require.NotErrorIs(t, err, client.ErrRateLimited, "which would read as: not charged")
		require.ErrorContains(t, err, unknown.IdempotencyKey)

		p := chargeParams()
		p.IdempotencyKey = unknown.IdempotencyKey
		ch, err := c.Charge(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, client.Completed, ch.Status)
		require.True(t, ch.Replayed)
		require.Equal(t, 1, s.charges)
	})
}

// A refusal that the service gives under the key settles what a lost answer left open.
func TestLaterRefusalSettlesTheDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &moneyTaker{steps: []step{{execute: true, refuse: true, answer: "hang up"}}}
		_, err := setupInMemory(t, s.serve).Charge(t.Context(), chargeParams())
		require.ErrorIs(t, err, client.ErrMonthlyLimit)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome)
		require.Zero(t, s.taken())
	})
}

func TestGivenKeyIsTheOneTold(t *testing.T) {
	t.Parallel()
	c := setup(t, hangUp, noRetries)
	p := chargeParams()
	p.IdempotencyKey = "order-7"
	_, err := c.Charge(t.Context(), p)
	var unknown *client.UnknownOutcomeError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "order-7", unknown.IdempotencyKey)
	_, err = c.SettlePaywall(t.Context(), client.PaywallSettlementParams{Mandate: token, IdempotencyKey: "credential-9"})
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "credential-9", unknown.IdempotencyKey)
}

func TestOnlyMoneyHasUnknownOutcomes(t *testing.T) {
	t.Parallel()
	c := setup(t, hangUp, noRetries)
	for name, err := range everyMethod(t.Context(), c) {
		require.Error(t, err)
		require.Equal(t, name == "charge" || name == "settle", errors.Is(err, client.ErrUnknownOutcome), name)
	}
}

// Whatever the service and the network do to a charge, in whatever order: the
// money is taken once at most, an answer is true, an error other than "unknown" means
// that nothing was taken, and the key of an unknown outcome finds it.
func TestNoErrorLiesAboutMoney(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &moneyTaker{steps: rapid.SliceOfN(genStep(), 1, 6).Draw(rt, "steps")}
		retries := rapid.SampledFrom([]int{-1, 1, 3}).Draw(rt, "retries")
		var ch, again client.Charge
		var err, errAgain error
		var taken int
		synctest.Test(t, func(t *testing.T) {
			c := setupInMemory(t, s.serve, func(cfg *client.Config) { cfg.MaxRetries = retries })
			p := chargeParams()
			ch, err = c.Charge(t.Context(), p)
			taken = s.taken()
			var unknown *client.UnknownOutcomeError
			if errors.As(err, &unknown) {
				s.heal()
				p.IdempotencyKey = unknown.IdempotencyKey
				again, errAgain = c.Charge(t.Context(), p)
			}
		})
		require.LessOrEqual(rt, s.taken(), 1)
		switch {
		case err == nil:
			require.Equal(rt, 1, taken)
			require.Equal(rt, "txn_1", ch.TransactionID)
		case errors.Is(err, client.ErrUnknownOutcome) && errors.Is(errAgain, client.ErrMonthlyLimit):
			require.Zero(rt, s.taken())
		case errors.Is(err, client.ErrUnknownOutcome):
			require.NoError(rt, errAgain)
			require.Equal(rt, "txn_1", again.TransactionID)
			require.Equal(rt, 1, s.taken())
		default:
			require.Zero(rt, taken, "%v", err)
		}
	})
}

// step is what happens to one request: is it executed, and what is answered?
type step struct {
	execute bool // charge, or replay, before answering
	refuse  bool // execute as a refusal by the limits, which is kept under the key
	answer  string
}

// genStep draws what a service of the specification, behind a proxy, may do: it
// never refuses what it has not looked up, and what it executes it answers truly, or loses.
func genStep() *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		s := step{answer: rapid.SampledFrom([]string{
			"true", "hang up", "torn", "500", "503", "502 page", "504 page", "403 page", "404 page", "409", "429", "401",
		}).Draw(t, "answer")}
		switch s.answer {
		case "429", "401": // given before the key is looked up
		default:
			s.execute = s.answer == "true" || rapid.Bool().Draw(t, "execute")
			s.refuse = rapid.IntRange(0, 3).Draw(t, "refuse") == 0
		}
		return s
	})
}

// moneyTaker is a service with idempotency keys, whose answers come by a script;
// when that is at its end, truly.
type moneyTaker struct {
	mu      sync.Mutex
	steps   []step
	kept    map[string]string // by key: the answer
	charges int
}

func (s *moneyTaker) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.charges
}

func (s *moneyTaker) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = nil
}

func (s *moneyTaker) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p client.ChargeParams
	if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &p) != nil {
		reply(400, `{"code":"validation_error"}`)(w, r)
		return
	}
	now := step{execute: true, answer: "true"}
	if len(s.steps) > 0 {
		now, s.steps = s.steps[0], s.steps[1:]
	}
	kept, replayed := s.kept[p.IdempotencyKey]
	if now.execute && !replayed {
		kept = s.execute(p.IdempotencyKey, now.refuse)
	}
	s.answer(w, r, now, kept, replayed)
}

func (s *moneyTaker) execute(key string, refuse bool) string {
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	s.kept[key] = monthlyRefusal
	if !refuse {
		s.charges++
		s.kept[key] = chargeAnswer
	}
	return s.kept[key]
}

func (s *moneyTaker) answer(w http.ResponseWriter, r *http.Request, now step, kept string, replayed bool) {
	switch now.answer {
	case "true":
		if replayed {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		reply(map[bool]int{true: 402, false: 200}[kept == monthlyRefusal], kept)(w, r)
	case "hang up":
		hangUp(w, r)
	case "torn":
		reply(200, chargeAnswer[:40])(w, r)
	case "500":
		reply(500, faultRefusal)(w, r)
	case "503":
		reply(503, busyRefusal)(w, r)
	case "409":
		reply(409, runningRefusal)(w, r)
	case "429":
		reply(429, rateRefusal)(w, r)
	case "401":
		reply(401, keyRefusal)(w, r)
	case "502 page":
		reply(502, `<html>`)(w, r)
	case "504 page":
		reply(504, `<html>`)(w, r)
	case "403 page":
		reply(403, `<html>`)(w, r)
	case "404 page":
		reply(404, `<html>`)(w, r)
	default:
		panic("no such answer: " + now.answer)
	}
}
