package mailer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/mailer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var message = server.Message{
	To: "ada@example.com", Subject: "Your spending\r\nBcc: eve@example.com mandate", Text: "See https://pay.example/m/secret\n", HTML: "<p>See it</p>",
}

// TestMessageArrivesWithBothBodies: over each kind of connection.
func TestMessageArrivesWithBothBodies(t *testing.T) {
	t.Parallel()
	for _, encryption := range []mailer.TLS{"", mailer.ImplicitTLS, mailer.NoTLS} {
		t.Run(string(encryption), func(t *testing.T) {
			t.Parallel()
			s := start(t, encryption, nil)
			m, err := mailer.New(s.config(func(c *mailer.Config) { c.Username, c.Password = "pay", "hunter2" }))
			if encryption == mailer.NoTLS {
				m, err = mailer.New(s.config(nil))
			}
			require.NoError(t, err)
			require.NoError(t, m.Mail(t.Context(), message))
			got := s.received(t)
			require.Equal(t, "<pay@example.com>", got.from)
			require.Equal(t, []string{"<ada@example.com>"}, got.to)
			require.Equal(t, encryption != mailer.NoTLS, got.secure)
			if encryption != mailer.NoTLS {
				require.Equal(t, "\x00pay\x00hunter2", got.credentials)
			}
			for _, part := range []string{
				"Subject: Your spending Bcc: eve@example.com mandate\r\n", "From: \"Payments\" <pay@example.com>\r\n", "Auto-Submitted: auto-generated",
				"text/plain", "See https://pay.example/m/secret", "text/html", "<p>See it</p>", "@example.com>\r\n",
			} {
				require.Contains(t, got.data, part)
			}
			require.NotContains(t, got.data, "\r\nBcc")
		})
	}
}

// TestConnectionIsEncryptedOrNothingIsSent: a server without STARTTLS, or with an unknown
// certificate, receives neither credentials nor a message.
func TestConnectionIsEncryptedOrNothingIsSent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*sink, *mailer.Config){
		"no STARTTLS":         func(s *sink, _ *mailer.Config) { s.plain = true },
		"unknown certificate": func(_ *sink, c *mailer.Config) { c.RootCAs = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, mailer.StartTLS, nil)
			cfg := s.config(func(c *mailer.Config) { c.Username, c.Password = "pay", "hunter2"; change(s, c) })
			m, err := mailer.New(cfg)
			require.NoError(t, err)
			err = m.Mail(t.Context(), message)
			require.Error(t, err)
			require.NotErrorIs(t, err, server.ErrMailRefused, "the operator can correct it")
			require.Empty(t, s.messages())
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestRefusalsThatLast: only a refused recipient is a refusal for good, and no error contains
// an address or the message.
func TestRefusalsThatLast(t *testing.T) {
	t.Parallel()
	for command, statuses := range map[string]map[int]bool{
		"MAIL": {451: false, 550: false}, "RCPT": {450: false, 550: true, 551: true, 553: true, 554: false}, "DATA": {452: false, 550: false},
	} {
		for status, refused := range statuses {
			t.Run(fmt.Sprint(command, status), func(t *testing.T) {
				t.Parallel()
				s := start(t, mailer.NoTLS, map[string]string{command: fmt.Sprintf("%d no ada@example.com here", status)})
				m, err := mailer.New(s.config(nil))
				require.NoError(t, err)
				err = m.Mail(t.Context(), message)
				require.Error(t, err)
				require.Equal(t, refused, strings.Contains(err.Error(), server.ErrMailRefused.Error()))
				if refused {
					require.ErrorIs(t, err, server.ErrMailRefused)
				}
				require.NotContains(t, err.Error(), "ada")
				require.NotContains(t, err.Error(), "secret")
				require.Contains(t, err.Error(), fmt.Sprint(status))
			})
		}
	}
}

func TestSilentServerEndsWithTheTimeOut(t *testing.T) {
	t.Parallel()
	s := start(t, mailer.NoTLS, map[string]string{"EHLO": "", "HELO": ""})
	m, err := mailer.New(s.config(func(c *mailer.Config) { c.Timeout = 50 * time.Millisecond }))
	require.NoError(t, err)
	require.Error(t, m.Mail(t.Context(), message))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	m, err = mailer.New(s.config(nil))
	require.NoError(t, err)
	require.ErrorIs(t, m.Mail(ctx, message), context.DeadlineExceeded)
}

func TestRecipientThatIsNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, mailer.NoTLS, nil)
	m, err := mailer.New(s.config(nil))
	require.NoError(t, err)
	for _, to := range []string{"", "ada", "ada@example.com\r\nRCPT TO:<eve@example.com>"} {
		bad := message
		bad.To = to
		require.ErrorIs(t, m.Mail(t.Context(), bad), server.ErrMailRefused)
	}
	require.Empty(t, s.messages())
}

func TestNewNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	good := mailer.Config{Addr: "smtp.example.com:587", From: "Payments <pay@example.com>"}
	for field, change := range map[string]func(*mailer.Config){
		"Addr":     func(c *mailer.Config) { c.Addr = "smtp.example.com" },
		"From":     func(c *mailer.Config) { c.From = "Payments" },
		"Password": func(c *mailer.Config) { c.Username = "pay" },
		"TLS":      func(c *mailer.Config) { c.TLS = mailer.NoTLS },
		"Timeout":  func(c *mailer.Config) { c.Timeout = -1 },
	} {
		cfg := good
		change(&cfg)
		_, err := mailer.New(cfg)
		require.ErrorContains(t, err, field)
	}
	good.Username, good.Password = "pay", "hunter2"
	_, err := mailer.New(good)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", good, good, good), "hunter2")
}
