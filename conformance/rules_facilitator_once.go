package conformance

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

func conformOnce(ctx context.Context, b *bench) verdict {
	t, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	b.signed += testMicros
	replies := make([]reply, concurrent)
	var sent sync.WaitGroup
	for i := range replies {
		sent.Go(func() { replies[i] = b.settle(ctx, t) })
	}
	sent.Wait()
	settled := 0
	for _, r := range replies {
		if r.ok {
			settled++
		}
	}
	if settled != 1 {
		return fail("%d of %d concurrent settlements of one authorization succeeded", settled, concurrent)
	}
	b.settled += testMicros
	if again := b.settle(ctx, t); again.ok {
		return fail("a repeated settlement succeeded")
	}
	return b.conformKey(ctx)
}

// conformKey settles a payment with an idempotency key, and repeats it with the same, with
// another, and without one.
func (b *bench) conformKey(ctx context.Context) verdict {
	t, err := b.payment(ctx, b.cfg.Wallet, func(t *test) { t.key = "conform-" + randomHex(8) })
	if err != nil {
		return skip("sign: %v", err)
	}
	b.signed += testMicros
	first := b.settle(ctx, t)
	if !first.ok {
		return fail("a payment with an Idempotency-Key was not settled: %s", first)
	}
	b.settled += testMicros
	again := b.settle(ctx, t)
	other := t
	other.key = "conform-" + randomHex(8)
	switch {
	case b.settle(ctx, other).ok:
		return fail("a repeat with another Idempotency-Key succeeded")
	case !again.ok:
		return warn("a repeat with the same Idempotency-Key does not return the first result, so a lost answer costs the payment")
	case !strings.EqualFold(again.transaction, first.transaction):
		return fail("a repeat with the same Idempotency-Key names another transaction")
	}
	return pass("")
}

const (
	// flood is how many requests must not all be answered within ten seconds.
	flood = 5_000
	// batch is how many of them are sent at once.
	batch = 200
)

// conformLimits sends payments without a signature that name an honest payer and payee, each
// request with another X-Forwarded-For. They must be limited in the end, and a payment of
// that payer to that payee from another address must not be.
func conformLimits(ctx context.Context, b *bench) verdict {
	honest, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	if r := b.verify(ctx, honest); !r.ok {
		return skip("an honest payment is not valid: %s", r)
	}
	fake := honest
	unsigned(&fake.exact)
	limited, sent, policy := b.flood(ctx, fake)
	switch {
	case limited == 0 && policy == "":
		return fail("%d payments without a signature were not limited", sent)
	case limited == 0:
		return pass("the facilitator declares the limit %s, which the flood did not reach", quote(policy))
	}
	client := b.elsewhere()
	if client == nil {
		return pass("limited after %d requests; whether another address is limited too was not checked", sent-limited)
	}
	defer client.CloseIdleConnections()
	if r := b.postOnce(ctx, client, "/verify", honest); !r.ok {
		return fail("after the flood, an honest payment from another address is refused: %s", r)
	}
	return pass("limited after %d requests", sent-limited)
}

// flood sends a payment many times, and returns how many requests were limited and sent, and
// the limit that the answers declare. It ends early once some are limited.
func (b *bench) flood(ctx context.Context, t test) (limited, sent int, policy string) {
	deadline := time.Now().Add(10 * time.Second)
	for sent < flood && limited == 0 && time.Now().Before(deadline) && ctx.Err() == nil {
		replies := make([]reply, batch)
		var done sync.WaitGroup
		for i := range replies {
			own := t
			address := net.IPv4(10, byte(sent>>8), byte(sent), byte(i)).String()
			own.header = http.Header{"X-Forwarded-For": {address}, "X-Real-Ip": {address}, "Forwarded": {"for=" + address}}
			done.Go(func() { replies[i] = b.postOnce(ctx, b.client, "/verify", own) })
		}
		done.Wait()
		sent += batch
		for _, r := range replies {
			if r.status == http.StatusTooManyRequests {
				limited++
			}
			policy = cmp.Or(r.policy, policy)
		}
	}
	return limited, sent, policy
}

// elsewhere returns a client with another address, which the loopback interface allows, or
// nil.
func (b *bench) elsewhere() *http.Client {
	host := b.host.Hostname()
	if !loopback.Host(host) || strings.Contains(host, ":") || b.cfg.Transport != nil {
		return nil
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: b.cfg.Timeout}
	probe, err := dialer.Dial("tcp", b.host.Host)
	if err != nil {
		return nil // not every system has more than one loopback address
	}
	_ = probe.Close()
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}
