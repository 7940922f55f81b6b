package server_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// mail waits for the first message and returns it.
func (c caller) mail(t *testing.T) server.Message {
	t.Helper()
	require.Eventually(t, func() bool { return len(c.Mails()) > 0 }, time.Minute, 10*time.Millisecond)
	require.Len(t, c.Mails(), 1)
	return c.Mails()[0]
}

// downMailer fails until it is up.
type downMailer struct {
	mu   sync.Mutex
	up   bool
	down int
	sent []server.Message
}

func (d *downMailer) Mail(_ context.Context, m server.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.up {
		d.down++
		return errors.New("no connection")
	}
	d.sent = append(d.sent, m)
	return nil
}

func (d *downMailer) state() (down int, sent []server.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down, d.sent
}

// TestConfirmationIsMailedWhenTheMailServerIsBack: a mail server that is down delays neither
// the person's confirmation nor is the mail lost.
func TestConfirmationIsMailedWhenTheMailServerIsBack(t *testing.T) {
	t.Parallel()
	d := &downMailer{}
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.Mailer = d }})
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, map[string]string{"email": "ada@example.com"})
	require.Eventually(t, func() bool { down, _ := d.state(); return down == 1 }, time.Minute, 10*time.Millisecond)
	d.mu.Lock()
	d.up = true
	d.mu.Unlock()
	c.Clock.Advance(2 * time.Minute)
	require.Eventually(t, func() bool { _, sent := d.state(); return len(sent) == 1 }, time.Minute, 10*time.Millisecond)
	_, sent := d.state()
	require.Equal(t, "ada@example.com", sent[0].To)
	require.Contains(t, sent[0].Text, m.link)
	require.Equal(t, http.StatusOK, c.page(t, m.link).Status)
}
