package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

// kill is the drill in which the service is killed while it delivers.
func kill(ctx context.Context, o options) (r report, err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "webhooks-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	p, err := build(ctx, dir)
	if err != nil {
		return r, err
	}
	merchant, err := p.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	to, err := newReceiver(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	e, err := merchant.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "http://" + to.addr})
	if err != nil {
		return r, err
	}
	to.verify = webhook.Verifier{Secrets: []string{e.Secret}}
	charging, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() { sell(ctx, charging, merchant) })
	}
	random := rand.New(rand.NewPCG(o.Seed, 2)) // repeatable
	for range o.Kills {
		time.Sleep(time.Duration(50+random.IntN(250)) * time.Millisecond)
		if err := p.end(); err != nil {
			return r, err
		}
		if _, err := p.start(ctx); err != nil {
			return r, err
		}
	}
	stop()
	all.Wait()
	happened, err := history(ctx, merchant)
	if err != nil {
		return r, err
	}
	err = until(ctx, func() bool { return to.count() >= len(happened) })
	r.Kills, r.Events, r.Requests, r.Took, r.Bad = o.Kills, len(happened), to.requests, time.Since(began), to.invalid
	for id := range happened {
		if !to.taken[id] {
			r.Lost++
		}
	}
	for id := range to.taken {
		if !happened[id] {
			r.Invented++
		}
	}
	return r, err
}

// sell charges until it is to stop; whether it is answered does not matter here.
func sell(ctx, until context.Context, merchant *client.Client) {
	for until.Err() == nil {
		s, err := merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: 100_000})
		if err != nil {
			continue
		}
		m, err := merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{})
		for n := 0; n < perMandate && err == nil && until.Err() == nil; n++ {
			_, err = merchant.Charge(ctx, client.ChargeParams{Mandate: m.IntentMandate, AmountCents: 1, Currency: client.USD, Description: "drill"})
		}
	}
}

// history is all that the service says happened.
func history(ctx context.Context, merchant *client.Client) (map[string]bool, error) {
	all := map[string]bool{}
	for p := (client.EventListParams{Limit: 100}); ; {
		page, err := merchant.EventsPage(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Data {
			all[e.ID] = true
			p.StartingAfter = e.ID
		}
		if !page.HasMore {
			return all, nil
		}
	}
}

// process is the service as a child.
type process struct {
	binary, addr, dir string

	running *exec.Cmd
}

func build(ctx context.Context, dir string) (*process, error) {
	binary := filepath.Join(dir, "paywarrant")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/paywarrant/paywarrant/cmd/paywarrant").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &process{binary: binary, addr: l.Addr().String(), dir: filepath.Join(dir, "data")}, l.Close()
}

// start starts the service and returns a client of its merchant.
func (p *process) start(ctx context.Context) (*client.Client, error) {
	p.running = exec.CommandContext(ctx, p.binary, "dev", "--addr", p.addr, "--data", p.dir)
	p.running.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it never outlives the drill
	out, err := p.running.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.running.Start(); err != nil {
		return nil, err
	}
	text, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the service did not become ready: %w", err)
	}
	var line struct {
		BaseURL  string `json:"baseUrl"`
		Merchant struct {
			ID     string `json:"id"`
			APIKey string `json:"apiKey"`
		} `json:"merchant"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, err
	}
	return newClient(line.BaseURL, line.Merchant.ID, line.Merchant.APIKey)
}

// end ends it as a power switch would.
func (p *process) end() error {
	if err := p.running.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = p.running.Wait() // it was killed, and says so
	return nil
}
