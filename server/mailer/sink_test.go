package mailer_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/mailer"
)

// mail is what a sink received.
type mail struct {
	from, data, credentials string
	to                      []string
	secure                  bool
}

// sink is an SMTP server that stores what it receives.
type sink struct {
	listener net.Listener
	tls      *tls.Config
	roots    *x509.CertPool
	mode     mailer.TLS
	plain    bool              // it has no STARTTLS
	answers  map[string]string // by command, in place of the usual ones; empty: it is silent

	mu    sync.Mutex
	mails []mail
	open  map[net.Conn]bool
	all   sync.WaitGroup
}

func start(t *testing.T, mode mailer.TLS, answers map[string]string) *sink {
	t.Helper()
	issued := httptest.NewTLSServer(nil) // for its certificate, which is good for 127.0.0.1
	issued.Close()
	s := &sink{mode: mode, answers: answers, tls: issued.TLS, roots: x509.NewCertPool(), open: map[net.Conn]bool{}}
	s.roots.AddCert(issued.Certificate())
	var err error
	s.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.all.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[conn] = true
			s.mu.Unlock()
			s.all.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.mu.Lock()
		for conn := range s.open {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

func (s *sink) config(change func(*mailer.Config)) mailer.Config {
	c := mailer.Config{Addr: s.listener.Addr().String(), From: "Payments <pay@example.com>", TLS: s.mode, RootCAs: s.roots}
	if change != nil {
		change(&c)
	}
	return c
}

func (s *sink) messages() []mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mails
}

func (s *sink) received(t *testing.T) mail {
	t.Helper()
	require.Len(t, s.messages(), 1)
	return s.messages()[0]
}

// serve speaks SMTP (RFC 5321) as far as a client needs it.
func (s *sink) serve(conn net.Conn) {
	defer conn.Close()
	var m mail
	if s.mode == mailer.ImplicitTLS {
		conn, m.secure = tls.Server(conn, s.tls), true
	}
	in := bufio.NewReader(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 sink")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		command, rest, _ := strings.Cut(line, " ")
		if answer, ok := s.answers[command]; ok {
			if answer != "" {
				say(answer)
			}
			continue
		}
		switch command {
		case "EHLO":
			if s.mode == mailer.NoTLS || m.secure || s.plain {
				say("250-sink\r\n250 AUTH PLAIN")
			} else {
				say("250-sink\r\n250 STARTTLS")
			}
		case "STARTTLS":
			say("220 go on")
			secured := tls.Server(conn, s.tls)
			conn, in, m.secure = secured, bufio.NewReader(secured), true
		case "AUTH":
			credentials, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			m.credentials = string(credentials)
			say("235 welcome")
		case "MAIL":
			m.from, _, _ = strings.Cut(strings.TrimPrefix(rest, "FROM:"), " ")
			say("250 ok")
		case "RCPT":
			m.to = append(m.to, strings.TrimPrefix(rest, "TO:"))
			say("250 ok")
		case "DATA":
			say("354 go on")
			for !strings.HasSuffix(m.data, "\r\n.\r\n") {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				m.data += line
			}
			s.mu.Lock()
			s.mails = append(s.mails, m)
			s.mu.Unlock()
			say("250 stored")
		case "QUIT":
			say("221 bye")
			return
		default: // NOOP, RSET
			say("250 ok")
		}
	}
}
