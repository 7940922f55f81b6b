package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

// eventMicros is the price of one event of a metered stream.
const eventMicros = 12_345

// streamEvents sends events until the client leaves, or as many as the query asks for.
func streamEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	m, most := paywall.MeterFrom(r.Context()), 1<<30
	_, _ = fmt.Sscan(r.URL.Query().Get("events"), &most)
	for i := 0; i < most && r.Context().Err() == nil; i++ {
		if m.AddUnits("event", 1, eventMicros) != nil {
			return
		}
		_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond) // the pace of the stream
	}
}

// readEvents asks for a stream and reads some of its events.
func readEvents(t *testing.T, url, mandate string, events int) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", mandate)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	in := bufio.NewReader(resp.Body)
	for range 2 * events {
		_, err := in.ReadString('\n')
		require.NoError(t, err)
	}
	return resp
}

// TestStreamCutInTheMiddleChargesWhatWasMeteredOnce: over HTTP between client, gate and
// service, on either rail.
func TestStreamCutInTheMiddleChargesWhatWasMeteredOnce(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	for _, instrument := range []string{"wallet", "card_visa"} {
		var mu sync.Mutex
		var paid []paywall.Payment
		gate, err := paywall.New(paywall.Config{
			Price: "4.00", Metered: true, PayTo: c.Chain.PayTo, APIURL: c.URL, TestMode: true, Network: c.Chain.Network, Origin: "http://127.0.0.1:8081",
			Merchant: paywall.Merchant{ID: c.merchant.ID, APIKey: c.merchant.APIKey},
			OnPaid: func(_ *http.Request, p paywall.Payment) {
				mu.Lock()
				defer mu.Unlock()
				paid = append(paid, p)
			},
		})
		require.NoError(t, err)
		shop := httptest.NewServer(gate.Require(http.HandlerFunc(streamEvents)))
		m := c.mandate(t, 500, 5000, instrument)
		stream := readEvents(t, shop.URL+"/events", m, 20)
		require.EqualValues(t, 400, c.spentCents(t, m), "the price is held")
		require.NoError(t, stream.Body.Close()) // the client hangs up
		shop.Close()                            // waits for the handler and the capture
		require.NoError(t, gate.Shutdown(t.Context()))
		gate.CloseIdleConnections()

		require.Len(t, paid, 1)
		p := paid[0]
		require.GreaterOrEqual(t, p.MeteredMicros, int64(20*eventMicros))
		require.Less(t, p.MeteredMicros, int64(4_000_000))
		require.Zero(t, p.MeteredMicros%eventMicros)
		require.Equal(t, p.MeteredMicros/eventMicros, p.Usage.Quantity)
		want := p.MeteredMicros
		if instrument == "card_visa" {
			want -= want % 10_000
		}
		require.Equal(t, want, p.AmountMicros)
		receipt, err := c.Client().Receipt(t.Context(), p.TransactionID)
		require.NoError(t, err)
		require.Equal(t, []any{client.Succeeded, (want + 9999) / 10_000}, []any{receipt.Status, receipt.AmountCents})
		require.Equal(t, (want+9999)/10_000, c.spentCents(t, m), "the rest is given back")
	}
	c.sound(t, 2)
}

// TestUncutStreamNamesItsPriceInTheTrailer: as the client reads it.
func TestUncutStreamNamesItsPriceInTheTrailer(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	g := startGate(t, c)
	m := c.mandate(t, 500, 5000)
	resp := readEvents(t, g.url+"?events=10", m, 10)
	_, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	s, err := x402.DecodeSettlement(resp.Trailer.Get("X-Payment-Response"))
	require.NoError(t, err)
	require.True(t, s.Success, s.ErrorReason)
	require.Equal(t, []int64{4_000_000, 123_450, 120_000}, []int64{s.Metered.AuthorizedMicros, s.Metered.MeteredMicros, s.Metered.CapturedMicros})
	require.Equal(t, &x402.Usage{Unit: "event", Quantity: 10, UnitPriceMicros: eventMicros}, s.Metered.Usage)
	require.EqualValues(t, 12, c.spentCents(t, m))
}

// gateProcess is the variable that makes this test's program a gate, for a test that kills it:
// the service's address, the merchant and its key.
const gateProcess = "PAYWARRANT_GATE_PROCESS"

// serveGate is the gate's process. It prints its address and ends with its parent.
func serveGate(service string) error {
	parts := strings.Split(service, " ")
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	gate, err := paywall.New(paywall.Config{
		Price: "4.00", Metered: true, Hold: time.Minute, PayTo: wallet, APIURL: parts[0], TestMode: true, Origin: url,
		Merchant: paywall.Merchant{ID: parts[1], APIKey: parts[2]},
	})
	if err != nil {
		return err
	}
	fmt.Println(url + "/events")
	s := &http.Server{Handler: gate.Require(http.HandlerFunc(streamEvents)), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(listener) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

type gateVictim struct {
	command *exec.Cmd
	url     string
}

func startGate(t *testing.T, c caller) *gateVictim {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0]) // this test itself
	command.Env = append(os.Environ(), gateProcess+"="+strings.Join([]string{c.URL, c.merchant.ID, c.merchant.APIKey}, " "))
	command.Stderr = os.Stderr
	_, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	g := &gateVictim{command: command, url: strings.TrimSpace(url)}
	t.Cleanup(g.kill)
	return g
}

// kill ends the process at once (SIGKILL). Killing it twice changes nothing.
func (g *gateVictim) kill() {
	_ = g.command.Process.Kill()
	_ = g.command.Wait() // the error of the killed process
}

// TestKilledGateCapturesAtMostOnce: what a gate held when it was killed was captured for what
// was metered, or is given back when the hold expires.
func TestKilledGateCapturesAtMostOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	const events = 10
	captured := 0
	mandates := make([]string, 12)
	for i := range mandates { // before the service's clock moves: the gate's does not
		mandates[i] = c.mandate(t, 500, 5000)
	}
	for kill, m := range mandates {
		g := startGate(t, c)
		url := g.url
		if kill > 0 { // the first is killed in the middle of its stream
			url += fmt.Sprintf("?events=%d", events)
		}
		readEvents(t, url, m, events)
		if kill > 0 {
			time.Sleep(time.Duration(rand.IntN(12)) * time.Millisecond) // any moment will do
		}
		g.kill()
		c.Clock.Advance(2 * time.Minute)
		var tx client.Transaction
		require.Eventually(t, func() bool {
			page, err := c.Client().TransactionsPage(t.Context(), client.ListParams{Limit: 2})
			if err != nil || len(page.Data) == 0 {
				return false
			}
			tx = page.Data[0]
			return tx.Status == client.Voided || tx.Status == client.Succeeded
		}, 20*time.Second, 10*time.Millisecond)
		want := int64(0)
		if tx.Status == client.Succeeded {
			captured++
			want = events * eventMicros / 10_000
			require.Equal(t, want, tx.AmountCents)
		}
		require.Equal(t, want, c.spentCents(t, m), tx.Status)
		if kill == 0 {
			require.Equal(t, client.Voided, tx.Status)
		}
	}
	t.Logf("%d of %d were captured", captured, len(mandates))
	c.sound(t, captured)
}

// TestCardHoldsNoMeteredPriceBelowItsMinimum: a tab pays whole prices only.
func TestCardHoldsNoMeteredPriceBelowItsMinimum(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	gate, err := paywall.New(paywall.Config{
		Price: "0.10", Metered: true, PayTo: wallet, APIURL: c.URL, TestMode: true, Resource: "http://127.0.0.1:8081/events",
		Merchant: paywall.Merchant{ID: c.merchant.ID, APIKey: c.merchant.APIKey},
	})
	require.NoError(t, err)
	defer gate.CloseIdleConnections()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", http.NoBody)
	r.Header.Set("X-Service-Mandate", c.mandate(t, 500, 5000))
	rec := httptest.NewRecorder()
	gate.Require(http.HandlerFunc(streamEvents)).ServeHTTP(rec, r)
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Contains(t, rec.Body.String(), "a card holds 0.50 USD or more")
	c.sound(t, 0)
}
