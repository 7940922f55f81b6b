package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// serviceRows measure the cost of the whole service.
func serviceRows(ctx context.Context) ([]row, error) {
	rows, err := processRows(ctx)
	if err != nil {
		return nil, err
	}
	charges, err := chargeRow(ctx)
	return append(rows, charges...), err
}

// callers charge at once.
const callers = 32

// chargeRow compares a whole charge over HTTP, by the sandbox card, with the
// ledger's Reserve alone.
func chargeRow(ctx context.Context) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	reserve, closeLedger, err := reserver(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer closeLedger()
	var ratio, steps, draws float64
	var started time.Duration
	result := testing.Benchmark(func(b *testing.B) {
		began := time.Now()
		srv := servertest.Start(b, nil)
		started = time.Since(began)
		mandates := make([]string, callers)
		for i := range mandates {
			mandates[i] = srv.Mandate(b, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 10_000_000})
		}
		charge := func(i int) error {
			_, err := srv.Client().Charge(ctx, client.ChargeParams{Mandate: mandates[i], AmountCents: 1, Currency: client.USD, Description: "bench"})
			return err
		}
		twoSteps := func(i int) error {
			c, err := srv.Client().Authorize(ctx, client.AuthorizeParams{ChargeParams: client.ChargeParams{
				Mandate: mandates[i], AmountCents: 2, Currency: client.USD, Description: "bench",
			}})
			if err == nil {
				_, err = srv.Client().Capture(ctx, c.TransactionID, client.CaptureParams{AmountCents: 1})
			}
			return err
		}
		draw := func(i int) error {
			_, err := srv.Client().Charge(ctx, client.ChargeParams{Mandate: mandates[i], AmountCents: 1, Currency: client.USD, Description: "bench", Tab: true})
			return err
		}
		for i := range mandates { // the first draw waits for the card
			if err := draw(i); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			ratio, err = pair(together(reserve), together(charge))
			if err == nil {
				steps, err = pair(together(charge), together(twoSteps))
			}
			if err == nil {
				draws, err = pair(median(charge), median(draw))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	if err != nil || result.N == 0 {
		return nil, errors.Join(err, errors.New("charges were not measured"))
	}
	return []row{
		atLeast("charge over HTTP, 32 callers", "Reserve alone", ratio, 0.4),
		atMost("authorize and capture over HTTP, 32 callers", "charge over HTTP", 1/steps, 1.6),
		atMost("draw from a tab over HTTP, 32 callers, p50", "charge over HTTP, p50", 1/draws, 1.5),
		{"servertest.Start", "–", started.Round(time.Millisecond).String(), "≤ 300 ms", started <= 300*time.Millisecond},
	}, nil
}

// median measures the time of the call in the middle when all callers make them at once.
func median(call func(i int) error) func() (time.Duration, error) {
	const calls = 40
	return func() (time.Duration, error) {
		var all sync.WaitGroup
		var failed atomic.Value
		took := make([]time.Duration, callers*calls)
		for i := range callers {
			all.Go(func() {
				for n := range calls {
					began := time.Now()
					if err := call(i); err != nil {
						failed.Store(err)
						return
					}
					took[i*calls+n] = time.Since(began)
				}
			})
		}
		all.Wait()
		if err, ok := failed.Load().(error); ok {
			return 0, err
		}
		slices.Sort(took)
		return took[len(took)/2], nil
	}
}

// together measures the time of a call when all callers make them at once.
func together(call func(i int) error) func() (time.Duration, error) {
	const calls = 40
	return func() (time.Duration, error) {
		var all sync.WaitGroup
		var failed atomic.Value
		began := time.Now()
		for i := range callers {
			all.Go(func() {
				if _, err := each(calls, func() error { return call(i) }); err != nil {
					failed.Store(err)
				}
			})
		}
		all.Wait()
		took := time.Since(began) / (callers * calls)
		if err, ok := failed.Load().(error); ok {
			return 0, err
		}
		return took, nil
	}
}

// reserver reserves on a ledger of its own, under as many mandates as callers.
func reserver(ctx context.Context, dir string) (reserve func(i int) error, closeLedger func(), err error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "pay.db"))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now().Truncate(time.Second)
	l, err := ledger.New(ledger.Config{Store: store, Clock: time.Now})
	if err != nil {
		return nil, nil, err
	}
	m := ledger.Merchant{ID: id.New(id.Merchant, now), Name: "Bench", Active: true, CreatedAt: now}
	terms := ledger.Terms{MaxPerTx: 1e6, MaxMonthly: 1e11, Rails: []rail.Name{rail.Card}, Payees: []string{m.ID}, ExpiresAt: now.Add(time.Hour)}
	mandates := make([]string, callers)
	for i := range mandates {
		mandates[i] = id.New(id.Mandate, now)
		hash := id.Hash(mandates[i])
		err := l.CreateSession(ctx, ledger.Session{Hash: hash, MerchantID: m.ID, Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)})
		if err == nil {
			_, err = l.CompleteSession(ctx, ledger.Completion{
				SessionHash: hash, MandateID: mandates[i], Terms: terms, SealedToken: []byte{1},
			})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return func(i int) error {
			_, err := l.Reserve(ctx, ledger.Reserve{
				ChargeID: id.New(id.Charge, time.Now()), MandateID: mandates[i], TokenValid: true, Payee: m, Amount: 10_000, Currency: "usd",
				Description: "bench", Rails: []rail.Name{rail.Card}, IdempotencyKey: id.NewCapability("k"), Fingerprint: "f", Lease: time.Minute,
			})
			return err
		}, func() {
			l.Close()
			_ = store.Close() // a folder that is thrown away
		}, nil
}

// processRows start the binary as a user would.
func processRows(ctx context.Context) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "paywarrant")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/paywarrant")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	dev := exec.CommandContext(ctx, binary, "dev", "--addr", "127.0.0.1:0")
	out, err := dev.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := dev.Start(); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	started := time.Since(began)
	if err != nil {
		return nil, fmt.Errorf("dev did not become ready: %w", err)
	}
	resident, err := residentMB(dev.Process.Pid)
	if err := errors.Join(err, dev.Process.Signal(syscall.SIGTERM), dev.Wait()); err != nil {
		return nil, err
	}
	size := float64(info.Size()) / 1e6
	return []row{
		{"dev ready", "–", started.Round(time.Millisecond).String(), "≤ 1 s", started <= time.Second},
		{"dev idle, resident", "–", fmt.Sprintf("%.0f MB", resident), "≤ 120 MB", resident <= 120},
		{"binary", "–", fmt.Sprintf("%.0f MB", size), "≤ 60 MB", size <= 60},
	}, nil
}

// residentMB is how much memory a process has, on Linux.
func residentMB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1000, nil
		}
	}
	return 0, errors.New("no VmRSS")
}
