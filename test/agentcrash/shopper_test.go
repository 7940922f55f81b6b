package agentcrash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// shopper is an agent in a process of its own, as its environment describes it.
type shopper struct {
	ServiceURL, MerchantID, APIKey, Mandate string

	Key     string // of the wallet
	Journal string // a file
	Budget  int64
	URLs    map[agent.Method]string
	Orders  int                  // at each gate
	From    map[agent.Method]int // the first order that is not decided
	Most    int                  // orders at each gate before it waits to be killed; 0: all
	Point   string               // the step at which the process ends; empty: none
	After   int64                // how often the step is passed before
}

// point ends the process when it passes a step often enough.
func (s *shopper) point(name string) {
	if s.Point == name && atomic.AddInt64(&s.After, -1) < 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// points are the steps of a purchase.
func points() (all []string) {
	for _, step := range []string{"begun", "sent", "paid", "delivered", "lost", "request"} {
		all = append(all, "before "+step, "after "+step)
	}
	return all
}

// recorder passes the steps of a journal.
type recorder struct {
	agent.Journal
	*shopper
}

func (r recorder) Begin(ctx context.Context, e agent.JournalEntry, limits agent.SpendingLimits) error {
	r.point("before begun")
	defer r.point("after begun")
	return r.Journal.Begin(ctx, e, limits)
}

func (r recorder) Record(ctx context.Context, e agent.JournalEntry, release bool) error {
	r.point("before " + string(e.State))
	defer r.point("after " + string(e.State))
	return r.Journal.Record(ctx, e, release)
}

// sender passes the steps of a paid request.
type sender struct {
	http.RoundTripper
	*shopper
}

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-PAYMENT") == "" && r.Header.Get("PAYMENT-SIGNATURE") == "" && r.Header.Get("X-Service-Mandate") == "" {
		return s.RoundTripper.RoundTrip(r)
	}
	s.point("before request")
	defer s.point("after request")
	return s.RoundTripper.RoundTrip(r)
}

// shop buys every order at every gate, and prints its key and outcome.
func shop(config string) error {
	var s shopper
	if err := json.Unmarshal([]byte(config), &s); err != nil {
		return err
	}
	j, err := journal.OpenFile(s.Journal)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	service, err := client.New(client.Config{BaseURL: s.ServiceURL, MerchantID: s.MerchantID, APIKey: s.APIKey})
	if err != nil {
		return err
	}
	key, err := crypto.HexToECDSA(s.Key)
	if err != nil {
		return err
	}
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: key})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var all sync.WaitGroup
	for _, m := range methods() {
		transport, err := agent.NewTransport(agent.Config{
			Service: service, Mandate: s.Mandate, Wallet: wallet, MaxPriceMicros: 50 * cent, BudgetMicros: s.Budget, Methods: []agent.Method{m},
			Journal: recorder{j, &s}, Base: sender{http.DefaultTransport, &s},
		})
		if err != nil {
			return err
		}
		all.Go(func() {
			for n := s.From[m]; n < s.Orders; n++ {
				if s.Most > 0 && n == s.From[m]+s.Most {
					select {} // until it is killed
				}
				order := fmt.Sprintf("%s/%d", m, n)
				fmt.Println(order, buy(&http.Client{Transport: transport}, s.URLs[m], order))
			}
		})
	}
	all.Wait()
	return nil
}

// buyTries is the number of times that an order is tried.
const buyTries = 100

// buy repeats an order until it is decided, and returns its outcome.
func buy(c *http.Client, url, order string) (outcome string) {
	for range buyTries {
		ctx := agent.WithPurchaseKey(context.Background(), order)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(order))
		if err != nil {
			return err.Error()
		}
		resp, err := c.Do(r)
		var text []byte
		if err == nil {
			text, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		switch {
		case errors.Is(err, agent.ErrPurchased), errors.Is(err, agent.ErrAnswerLost), err == nil && string(text) == "ordered "+order:
			return "paid"
		case errors.Is(err, agent.ErrOutcomeUnknown), errors.Is(err, agent.ErrBudget):
			return err.Error()
		case err != nil:
			outcome = err.Error()
		default:
			outcome = resp.Status + " " + string(text)
		}
		time.Sleep(20 * time.Millisecond) // the gate may still serve the request of the process before
	}
	return outcome
}
