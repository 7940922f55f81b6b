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

// TestKilledProcessorLosesAndDoublesNothing kills the processor's process under
// load, again and again. What it answered before stands, and every charge that it
// did not answer is decided by asking again.
func TestKilledProcessorLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const kills, callers = 15, 8
	path := filepath.Join(t.TempDir(), "card.db")
	v := startVictim(t, path)
	instrument := connect(t, newRail(t, v.gateway), "card_visa")
	answered, unanswered := map[string]rail.Outcome{}, map[string]bool{}
	for kill := range kills {
		var mu sync.Mutex
		var dead atomic.Bool
		var group sync.WaitGroup
		r := newRail(t, v.gateway)
		var once sync.Once
		enough := make(chan struct{})
		after, count := rand.IntN(40), 0 // any moment will do
		for caller := range callers {
			group.Go(func() {
				for i := 0; !dead.Load(); i++ {
					reference := fmt.Sprintf("txn_%d.%d.%d", kill, caller, i)
					outcome, err := r.Charge(t.Context(), charge(reference, instrument))
					mu.Lock()
					if err != nil {
						unanswered[reference] = true
						dead.Store(true)
					} else {
						answered[reference] = outcome
					}
					if count++; count > after || err != nil {
						once.Do(func() { close(enough) })
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		v.kill(t)
		group.Wait()
		v = startVictim(t, path)
	}
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
