package card_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// victimFile is the environment variable that makes this binary a processor over
// the file it names.
const victimFile = "PAYWARRANT_CARD_VICTIM"

// victimLimit is the one that says how many bytes its files may have.
const victimLimit = "PAYWARRANT_CARD_VICTIM_LIMIT"

// serveVictim is the child: it serves, prints its address, and ends when it is killed or
// its parent is gone.
func serveVictim(path string) int {
	if limit, err := strconv.ParseUint(os.Getenv(victimLimit), 10, 64); err == nil {
		if err := limitFiles(limit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	processor, err := card.OpenProcessor(context.Background(), card.ProcessorConfig{Path: path})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{Handler: processor.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
	return 0
}

// victim is a processor in a process of its own.
type victim struct {
	command *exec.Cmd
	gateway *card.HTTP
}

func startVictim(t *testing.T, path string, environment ...string) *victim {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0]) // this test itself
	command.Env = append(os.Environ(), victimFile+"="+path)
	command.Env = append(command.Env, environment...)
	command.Stderr = os.Stderr
	_, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: strings.TrimSpace(url)})
	require.NoError(t, err)
	return &victim{command: command, gateway: gateway}
}

// kill ends the process without a word.
func (v *victim) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, v.command.Process.Kill())
	_ = v.command.Wait() // the error of the killed process
	require.NoError(t, v.gateway.Close())
}

// killUnderLoad kills the processor's process again and again while callers work, each with
// its own names, until a call is not answered. It returns the last process.
func killUnderLoad(t *testing.T, kills int, connect func(*card.Rail), work func(r *card.Rail, name string) error) *victim {
	t.Helper()
	const callers = 8
	path := filepath.Join(t.TempDir(), "card.db")
	v := startVictim(t, path)
	connect(newRail(t, v.gateway))
	for kill := range kills {
		var dead atomic.Bool
		var done atomic.Int64
		var group sync.WaitGroup
		var once sync.Once
		r := newRail(t, v.gateway)
		enough := make(chan struct{})
		after := rand.Int64N(40) // any moment will do
		for caller := range callers {
			group.Go(func() {
				for i := 0; !dead.Load(); i++ {
					err := work(r, fmt.Sprintf("txn_%d.%d.%d", kill, caller, i))
					if err != nil {
						dead.Store(true)
					}
					if done.Add(1) > after || err != nil {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		<-enough
		v.kill(t)
		group.Wait()
		v = startVictim(t, path)
	}
	return v
}

// TestKilledProcessorLosesAndDoublesNothing kills the processor's process under load. What it
// answered before stands, and every charge that it did not answer is decided by repeating it.
func TestKilledProcessorLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var instrument rail.Instrument
	answered, unanswered := map[string]rail.Outcome{}, map[string]bool{}
	v := killUnderLoad(t, 15, func(r *card.Rail) { instrument = connect(t, r, "card_visa") }, func(r *card.Rail, name string) error {
		outcome, err := r.Charge(t.Context(), charge(name, instrument))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			unanswered[name] = true
		} else {
			answered[name] = outcome
		}
		return err
	})
	r := newRail(t, v.gateway)
	for reference, outcome := range answered {
		require.Equal(t, rail.Succeeded, outcome.Status)
		found, err := r.Lookup(t.Context(), reference)
		require.NoError(t, err)
		require.Equal(t, outcome, found, "an answer was lost")
	}
	require.NotEmpty(t, unanswered)
	for reference := range unanswered {
		outcome, err := r.Charge(t.Context(), charge(reference, instrument))
		require.NoError(t, err)
		require.Equal(t, rail.Succeeded, outcome.Status)
	}
	totals, err := v.gateway.Totals(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(answered)+len(unanswered), totals.Payments)
	require.EqualValues(t, 100*totals.Payments, totals.CapturedCents)
	v.kill(t)
}

// purchase is a hold that is captured to three quarters, of which a half is refunded twice:
// the second refund must be refused. It has the outcomes of the calls that were answered.
type purchase struct {
	name     string
	outcomes []rail.Outcome
}

// proceed makes the calls that were not answered yet.
func (p *purchase) proceed(ctx context.Context, r *card.Rail, instrument rail.Instrument) error {
	c := charge(p.name, instrument)
	part := c
	part.Amount = dollar * 3 / 4
	for _, call := range []func() (rail.Outcome, error){
		func() (rail.Outcome, error) { return r.Authorize(ctx, c) },
		func() (rail.Outcome, error) { return r.Capture(ctx, part) },
		func() (rail.Outcome, error) { return r.Refund(ctx, refund(p.name+".1", p.name)) },
		func() (rail.Outcome, error) { return r.Refund(ctx, refund(p.name+".2", p.name)) },
	}[len(p.outcomes):] {
		outcome, err := call()
		if err != nil {
			return err
		}
		p.outcomes = append(p.outcomes, outcome)
	}
	return nil
}

// TestKilledProcessorLosesNoHoldAndNoRefund kills the processor's process while amounts are
// held, captured and refunded. Repeating what was not answered finishes every purchase.
func TestKilledProcessorLosesNoHoldAndNoRefund(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var instrument rail.Instrument
	var purchases []*purchase
	v := killUnderLoad(t, 10, func(r *card.Rail) { instrument = connect(t, r, "card_visa") }, func(r *card.Rail, name string) error {
		p := &purchase{name: name}
		mu.Lock()
		purchases = append(purchases, p)
		mu.Unlock()
		return p.proceed(t.Context(), r, instrument)
	})
	r := newRail(t, v.gateway)
	for _, p := range purchases {
		require.NoError(t, p.proceed(t.Context(), r, instrument))
		for i, status := range []rail.Status{rail.Held, rail.Succeeded, rail.Succeeded, rail.Refused} {
			require.Equal(t, status, p.outcomes[i].Status, "call %d of %s", i, p.name)
		}
		found, err := r.Lookup(t.Context(), p.name)
		require.NoError(t, err)
		require.Equal(t, p.outcomes[1], found, "the answer to a capture was lost")
		for i, reference := range []string{p.name + ".1", p.name + ".2"} {
			found, err := r.LookupRefund(t.Context(), reference)
			require.NoError(t, err)
			require.Equal(t, p.outcomes[2+i], found, "the answer to a refund was lost")
		}
	}
	n := int64(len(purchases))
	totals, err := v.gateway.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, card.Totals{
		Payments: n, CapturedCents: money.Cents(75 * n), Refunds: n, RefundedCents: money.Cents(50 * n),
	}, totals)
	v.kill(t)
}
