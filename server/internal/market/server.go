package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// MaxServers is how many servers a merchant can register.
	MaxServers = 20
	// refreshEvery is the pause between two reads of a server, and the longest after a failure.
	refreshEvery = 6 * time.Hour
	// retryServer is the pause after the first failure.
	retryServer = 10 * time.Minute
	// readAgain is the shortest pause between two reads of a server that its merchant asks for.
	readAgain = 10 * time.Second
	// dueServers is how many servers are read in a round.
	dueServers = 20
	// maxLooks is how many servers are read at the same time because merchants ask for it.
	maxLooks = 4
)

// serverError reports a server that cannot be registered. Its text fits after the name of the
// field.
type serverError struct{ text string }

func (e *serverError) Error() string { return e.text }

// ServerProblem marks the error as one whose text is for the merchant.
func (*serverError) ServerProblem() {}

// looks are the reads of servers that merchants wait for. Each merchant has one at a time, so that
// slow servers of one merchant do not take the places of the others.
type looks struct {
	places chan struct{}
	mu     sync.Mutex
	of     map[string]bool // by merchant
}

// begin waits for a place. The caller must call done.
func (l *looks) begin(ctx context.Context, merchantID string) (done func(), err error) {
	l.mu.Lock()
	taken := l.of[merchantID]
	l.of[merchantID] = true
	l.mu.Unlock()
	if taken {
		return nil, &serverError{"cannot be read while another server of this account is being read; try again in a moment"}
	}
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.of, merchantID)
	}
	select {
	case l.places <- struct{}{}:
		return func() { <-l.places; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Register reads a merchant's server and lists its endpoints. It returns a serverError
// if the server cannot be registered, and [store.ErrTooManyServers].
func (m *Market) Register(ctx context.Context, owner ledger.Merchant, baseURL string) (client.MarketServer, error) {
	u, ok := endpoint(baseURL, m.AllowPrivate)
	if !ok || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return client.MarketServer{}, &serverError{`must be the public origin of a server, such as "https://api.example.com"`}
	}
	now, base := m.Clock(), u.Scheme+"://"+u.Host
	own, err := m.Store.MarketServers(ctx, owner.ID, MaxServers)
	if err != nil {
		return client.MarketServer{}, err
	}
	known := false
	for _, s := range own {
		known = known || s.BaseURL == base
		if s.BaseURL == base && now.Sub(s.CheckedAt) < readAgain {
			return view(s), nil
		}
	}
	if !known && len(own) >= MaxServers {
		return client.MarketServer{}, store.ErrTooManyServers
	}
	done, err := m.looks.begin(ctx, owner.ID)
	if err != nil {
		return client.MarketServer{}, err
	}
	defer done()
	found, report, err := m.inspect(ctx, owner, base)
	if err != nil {
		return client.MarketServer{}, &serverError{"is not described: " + err.Error()}
	}
	s, err := m.Store.AddMarketServer(ctx, store.MarketServer{
		ID: id.New(id.MarketServer, now), MerchantID: owner.ID, BaseURL: base, CreatedAt: now, DueAt: now.Add(refreshEvery),
	}, MaxServers)
	if err != nil {
		return client.MarketServer{}, err
	}
	s, err = m.keep(ctx, s, found, report, now)
	return view(s), err
}

// Servers returns the servers of a merchant.
func (m *Market) Servers(ctx context.Context, merchantID string) (client.MarketServerList, error) {
	own, err := m.Store.MarketServers(ctx, merchantID, MaxServers)
	list := client.MarketServerList{Data: make([]client.MarketServer, 0, len(own))}
	for _, s := range own {
		list.Data = append(list.Data, view(s))
	}
	return list, err
}

// DeleteServer removes a merchant's server and its listings. It returns [ledger.ErrNotFound].
func (m *Market) DeleteServer(ctx context.Context, merchantID, serverID string) error {
	return m.Store.DeleteMarketServer(ctx, merchantID, serverID)
}

// report is what is stored of a read.
type report struct {
	Lines    []client.MarketLine `json:"lines"`
	Verified bool                `json:"verified"`
}

func view(s store.MarketServer) client.MarketServer {
	v := client.MarketServer{ID: s.ID, BaseURL: s.BaseURL, CreatedAt: s.CreatedAt, CheckedAt: s.CheckedAt, Report: []client.MarketLine{}}
	var r report
	if json.Unmarshal([]byte(s.Report), &r) == nil && r.Lines != nil {
		v.Report, v.Verified = r.Lines, r.Verified
	}
	for _, l := range v.Report {
		if l.Listed {
			v.Listed++
		}
	}
	return v
}

// keep stores what was found at a server. What is no longer there becomes stale.
func (m *Market) keep(ctx context.Context, s store.MarketServer, found []store.Listing, lines []client.MarketLine, now time.Time) (store.MarketServer, error) {
	r := report{Lines: lines, Verified: len(found) > 0}
	for _, l := range found {
		r.Verified = r.Verified && l.Verified
	}
	data, err := json.Marshal(r)
	if err != nil {
		return s, err
	}
	if err := m.save(ctx, found); err != nil {
		return s, err
	}
	if err := m.stale(ctx, scope(s), now); err != nil {
		return s, err
	}
	s.CheckedAt, s.DueAt, s.Failures, s.Report = now, now.Add(refreshEvery), 0, string(data)
	return s, m.Store.SaveMarketServer(ctx, s)
}

func scope(s store.MarketServer) store.ListingScope {
	return store.ListingScope{Source: store.SourceDirectory, MerchantID: s.MerchantID, Owner: s.BaseURL}
}

// refreshServers reads the servers that are due, unless another instance does.
func (m *Market) refreshServers(ctx context.Context) time.Duration {
	const name, pause = "market:servers", time.Minute
	now := m.Clock()
	_, taken, err := m.Store.TakeWork(ctx, name, m.owner, now, now.Add(workLease))
	if err != nil || !taken {
		m.failed(ctx, err)
		return pause
	}
	due, err := m.Store.DueMarketServers(ctx, now, dueServers)
	m.failed(ctx, err)
	began := time.Now()
	for _, s := range due {
		if ctx.Err() != nil || time.Since(began) > workLease/2 {
			break
		}
		m.failed(ctx, m.refresh(ctx, s))
	}
	m.failed(ctx, m.Store.LeaveWork(context.WithoutCancel(ctx), name, m.owner, ""))
	return pause
}

// refresh reads one server. The listings of one that fails, and of a suspended merchant, become
// stale.
func (m *Market) refresh(ctx context.Context, s store.MarketServer) error {
	now := m.Clock()
	owner, err := m.Merchant(ctx, s.MerchantID)
	if err != nil {
		return fmt.Errorf("read merchant %s: %w", s.MerchantID, err)
	}
	err = errors.New("the merchant is suspended")
	var found []store.Listing
	var lines []client.MarketLine
	if owner.Active {
		found, lines, err = m.inspect(ctx, owner, s.BaseURL)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		_, err = m.keep(ctx, s, found, lines, now)
		return unlessDeleted(err)
	}
	s.Failures++
	s.CheckedAt, s.DueAt = now, now.Add(min(retryServer<<min(s.Failures-1, 8), refreshEvery))
	data, marshalErr := json.Marshal(report{Lines: []client.MarketLine{{Operation: "openapi.json", Problem: err.Error()}}})
	s.Report = string(data)
	m.Logger.WarnContext(ctx, "market: a registered server cannot be read", slog.String("serverId", s.ID), slog.String("error", err.Error()),
		slog.Int("failures", s.Failures))
	if s.Failures >= failuresToStale || !owner.Active {
		m.failed(ctx, m.stale(ctx, scope(s), now.Add(time.Millisecond)))
	}
	return errors.Join(marshalErr, unlessDeleted(m.Store.SaveMarketServer(ctx, s)))
}

// unlessDeleted returns err, or nil if the merchant has deleted the server meanwhile.
func unlessDeleted(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}
