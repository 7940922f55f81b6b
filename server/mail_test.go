package server_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// letters returns the messages, without those that carry a code.
func (c caller) letters() []server.Message {
	return slices.DeleteFunc(c.Mails(), func(m server.Message) bool { return strings.HasSuffix(m.Subject, "code") })
}

// mail waits for the first message and returns it.
func (c caller) mail(t *testing.T) server.Message {
	t.Helper()
	require.Eventually(t, func() bool { return len(c.letters()) > 0 }, time.Minute, 10*time.Millisecond)
	require.Len(t, c.letters(), 1)
	return c.letters()[0]
}

var sixDigits = regexp.MustCompile(`(?m)^\d{3} \d{3}$`)

// code waits for a code other than those before, and returns it.
func code(t *testing.T, mails func() []server.Message, before int) string {
	t.Helper()
	found := ""
	require.Eventually(t, func() bool {
		n := 0
		for _, m := range mails() {
			if d := sixDigits.FindString(m.Text); d != "" {
				found = d
				n++
			}
		}
		return n > before
	}, time.Minute, 10*time.Millisecond)
	return found
}

// prove has a code mailed to the address in the form of a setup page, and enters it in the form.
func (c caller) prove(t *testing.T, setupURL string, form url.Values) {
	t.Helper()
	asks := maps.Clone(form)
	asks.Set("action", "code")
	before := len(c.Mails()) - len(c.letters())
	resp, text := post(t, setupURL, asks, "same-origin")
	require.Equal(t, http.StatusOK, resp.StatusCode, text)
	form.Set("mailed", form.Get("email"))
	form.Set("code", code(t, c.Mails, before))
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

func (d *downMailer) set(up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up = up
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
	d.set(true)
	s := c.session(t)
	form := formOf(map[string]string{"method": "card_visa", "expires": c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02"), "email": "ada@example.com"})
	resp, text := post(t, s.SetupURL, form, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, text)
	form.Set("mailed", "ada@example.com")
	form.Set("code", code(t, func() []server.Message { _, sent := d.state(); return sent }, 0))
	d.set(false)
	status, page := c.form(t, s.SetupURL, form)
	require.Equal(t, http.StatusOK, status)
	m := confirmed{link: privateLink.FindString(page)}
	require.Eventually(t, func() bool { down, _ := d.state(); return down == 1 }, time.Minute, 10*time.Millisecond)
	d.set(true)
	c.Clock.Advance(2 * time.Minute)
	require.Eventually(t, func() bool { _, sent := d.state(); return len(sent) == 2 }, time.Minute, 10*time.Millisecond)
	_, sent := d.state()
	sent = sent[1:]
	require.Equal(t, "ada@example.com", sent[0].To)
	require.Contains(t, sent[0].Text, m.link)
	require.Equal(t, http.StatusOK, c.page(t, m.link).Status)
}
