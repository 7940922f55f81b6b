package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/test/internal/process"
)

// service is one or several `paywarrant serve` on one store.
type service struct {
	dir       string
	commands  []process.Command
	urls      []string
	instances []*process.Process
	database  *pgtest.Cluster // nil: SQLite
}

// startService builds the binary and starts so many instances in a folder of their
// own; several need PostgreSQL.
func startService(ctx context.Context, o options) (s *service, err error) {
	s = &service{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "webhooks-"); err != nil {
		return s, err
	}
	store := filepath.Join(s.dir, "pay.db")
	if o.Postgres {
		if s.database, err = pgtest.New(ctx); err != nil {
			return s, err
		}
		store = s.database.URL()
	}
	var tags []string
	if o.Points {
		tags = []string{"failpoint"}
	}
	binary, err := programtest.Build(ctx, s.dir, tags...)
	if err != nil {
		return s, err
	}
	n := max(o.Instances, 1)
	s.instances = make([]*process.Process, n)
	for i := range n {
		addr, err := process.FreeAddr(ctx)
		if err != nil {
			return s, err
		}
		config := filepath.Join(s.dir, fmt.Sprintf("%d.toml", i))
		if err := os.WriteFile(config, fmt.Appendf(nil, configText, addr, addr, store, filepath.Join(s.dir, "key")), 0o600); err != nil {
			return s, err
		}
		s.urls = append(s.urls, "http://"+addr)
		s.commands = append(s.commands, process.Command{
			Binary: binary, Log: filepath.Join(s.dir, fmt.Sprintf("%d.log", i)), Args: []string{"serve", "--config", config},
			Env: []string{"TMPDIR=" + s.dir}, // where the sandbox's card processor is
		})
		if err := s.start(ctx, i); err != nil {
			return s, err
		}
	}
	return s, nil
}

const configText = `
mode = "sandbox"
base_url = "http://%s"
listen = "%s"
store = %q
key_file = %q
requests_per_second = 1000000
log_level = "warn"
[sandbox_card]
`

// endAt starts an instance so that it ends when it reaches a step for the n-th time,
// and reports whether it did.
func (s *service) endAt(ctx context.Context, i int, at failpoint.Point, n int) (bool, error) {
	armed := s.commands[i]
	armed.Env = append(slices.Clone(armed.Env), fmt.Sprintf("PAYWARRANT_FAILPOINT=%s:%d", at, n))
	var err error
	if s.instances[i], err = armed.Start(ctx); err != nil {
		return false, err
	}
	return s.instances[i].Died(time.Minute), nil
}

// start starts an instance and waits until it is ready.
func (s *service) start(ctx context.Context, i int) (err error) {
	if s.instances[i], err = s.commands[i].Start(ctx); err != nil {
		return err
	}
	return until(ctx, func() bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.urls[i]+"/readyz", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
}

// kill ends an instance as a power switch would.
func (s *service) kill(i int) error {
	if s.instances[i] == nil {
		return nil
	}
	return s.instances[i].Kill()
}

// merchant opens an account.
func (s *service) merchant(ctx context.Context, name string) (client.Merchant, error) {
	c, err := s.client(client.Merchant{ID: "mer_none", APIKey: "sk_test_none"})
	if err != nil {
		return client.Merchant{}, err
	}
	return c.CreateTestMerchant(ctx, name)
}

// client calls the first instance as a merchant.
func (s *service) client(m client.Merchant) (*client.Client, error) {
	return client.New(client.Config{
		BaseURL: s.urls[0], MerchantID: m.ID, APIKey: m.APIKey, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
	})
}

// close ends everything and removes the folder. What the instances logged is
// printed where something went wrong.
func (s *service) close() error {
	var err error
	for i := range s.instances {
		err = errors.Join(err, s.kill(i))
	}
	if s.database != nil {
		err = errors.Join(err, s.database.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// patience is how long nothing may change before the drill gives up.
const patience = 4 * time.Minute

func until(ctx context.Context, done func() bool) error {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			return errors.New("not all came in time")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}
