package agentcrash_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/process"
)

var (
	kills = flag.Int("kills", 12, "how often to kill the agent")
	seed  = flag.Uint64("seed", 1, "of the moments")
)

const shopperEnv = "AGENTCRASH_SHOPPER"

func TestMain(m *testing.M) {
	if config := os.Getenv(shopperEnv); config != "" {
		if err := shop(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// TestKilledAgentPaysEachPurchaseOnce: the budget fits each purchase once, so that one that
// is counted twice fails the last one.
func TestKilledAgentPaysEachPurchaseOnce(t *testing.T) {
	t.Parallel()
	const most = 8 // of a life, so the orders last for all kills
	orders := 20 + most**kills
	s, random := newSellers(t), rand.New(rand.NewPCG(*seed, 0))
	key, err := crypto.GenerateKey()
	require.NoError(t, err)
	dir := t.TempDir()
	config := shopper{
		ServiceURL: s.service.URL, MerchantID: s.service.Merchant.ID, APIKey: s.service.Merchant.APIKey,
		Mandate: s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 50, MaxMonthlySpendCents: 50 * int64(orders), AllowedMerchantIDs: []string{"*"}}),
		Key:     hex.EncodeToString(crypto.FromECDSA(key)), Journal: filepath.Join(dir, "purchases.journal"),
		Budget: 52 * cent * int64(orders), URLs: s.urls, Orders: orders, Most: most, From: map[agent.Method]int{},
	}
	killed, passed := 0, map[string]int{}
	for i := 0; killed < *kills; i++ {
		config.Point, config.After = "", int64(random.IntN(4))
		if i%3 > 0 {
			config.Point = points()[i%len(points())]
		}
		require.True(t, run(t, &config, dir, time.Duration(5+random.IntN(100))*time.Millisecond), "every order is decided")
		killed++
		passed[config.Point]++
	}
	config.Point, config.Most = "", 0
	require.False(t, run(t, &config, dir, 10*time.Minute), "the last one was not killed")
	t.Logf("%d kills: %v; decided %v", killed, passed, config.From)
	audit(t, s, config)
}

// run runs the agent until it ends, or for a time if it does not end at a step, and reports
// whether it was killed.
func run(t *testing.T, config *shopper, dir string, life time.Duration) (killed bool) {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	binary, err := os.Executable()
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	p, err := process.Command{Binary: binary, Log: filepath.Join(dir, "log"), Env: []string{shopperEnv + "=" + string(text)}}.Start(ctx)
	require.NoError(t, err)
	timer := time.AfterFunc(time.Minute, end)
	defer timer.Stop()
	for {
		line, err := p.Line()
		if err != nil {
			break
		}
		order, outcome, decided := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !decided {
			require.Equal(t, "ready", order)
			timer.Reset(life)
			if config.Point != "" {
				timer.Reset(2 * time.Second) // a step that is not passed
			}
			continue
		}
		require.Equal(t, "paid", outcome, order)
		method, number, _ := strings.Cut(order, "/")
		var n int
		_, err = fmt.Sscan(number, &n)
		require.NoError(t, err)
		config.From[agent.Method(method)] = n + 1
	}
	require.NoError(t, p.Kill())
	for _, m := range methods() {
		killed = killed || config.From[m] < config.Orders
	}
	return killed
}

// audit compares what the sellers have with what the agent knows.
func audit(t *testing.T, s *sellers, config shopper) {
	t.Helper()
	stats, err := s.service.Client().Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(config.Orders), stats.TransactionCount, "charges of the mandate")
	require.Len(t, s.moved, 2*config.Orders, "transfers of the wallet")
	require.Len(t, s.served, 3*config.Orders)
	for order, n := range s.served {
		require.Equal(t, 1, n, order)
	}
	j, err := journal.OpenFile(config.Journal)
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	left, err := j.Unfinished(t.Context())
	require.NoError(t, err)
	for _, e := range left {
		require.Equal(t, agent.PurchaseLost, e.State, e.Key)
		require.NotNil(t, e.Receipt, e.Key)
	}
	now := time.Now()
	one := agent.JournalEntry{ID: "one more", State: agent.PurchaseBegun, AmountMicros: 1, At: now, ForgetAfter: now}
	require.ErrorIs(t, j.Begin(t.Context(), one, agent.SpendingLimits{BudgetMicros: config.Budget}), agent.ErrBudget)
	t.Logf("%d purchases, each paid once; the responses of %d were lost", 3*config.Orders, len(left))
}
