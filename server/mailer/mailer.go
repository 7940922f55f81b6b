// Package mailer sends the service's messages by SMTP:
//
//	m, err := mailer.New(mailer.Config{Addr: "smtp.example.com:587", From: "Payments <pay@example.com>", Username: "pay", Password: "…"})
//	srv, err := server.New(ctx, server.Config{Mailer: m, …})
//
// The connection is encrypted, and the server's certificate is verified; only a server on a
// loopback address may do without. One message is sent at a time, on a connection of its own.
// The service stores what is to be sent and tries again; see [server.Mailer].
//
// Errors name the step that failed and the server's status code. They contain neither
// addresses nor what the server wrote, since both may be personal.
package mailer

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server"
)

// TLS is how the connection is encrypted.
type TLS string

// The ways to encrypt a connection.
const (
	// StartTLS upgrades a plain connection, usually on port 587.
	StartTLS TLS = "starttls"
	// ImplicitTLS encrypts from the first byte, usually on port 465.
	ImplicitTLS TLS = "tls"
	// NoTLS does not encrypt. Only loopback addresses may use it.
	NoTLS TLS = "none"
)

// defaultTimeout is the time for one message.
const defaultTimeout = 30 * time.Second

// Config configures [New].
type Config struct {
	// Addr is the server's host name and port. Required.
	Addr string
	// From is the sender: an address, or a name with an address. Required.
	From string
	// Username authenticates to the server. Default: no authentication.
	Username string
	// Password goes with Username.
	Password string
	// TLS is how the connection is encrypted. Default: [StartTLS].
	TLS TLS
	// RootCAs verify the server's certificate. Default: the system's.
	RootCAs *x509.CertPool
	// Timeout is the time for one message. Default: 30 seconds.
	Timeout time.Duration
}

// String hides the password.
func (cfg Config) String() string {
	return fmt.Sprintf("{Addr:%s From:%s Username:%s TLS:%s}", cfg.Addr, cfg.From, cfg.Username, cfg.TLS)
}

// GoString hides the password.
func (cfg Config) GoString() string { return cfg.String() }

// LogValue hides the password.
func (cfg Config) LogValue() slog.Value { return slog.StringValue(cfg.String()) }

// SMTP is a [server.Mailer] that sends by SMTP. It is safe for concurrent use.
type SMTP struct {
	host   string
	from   *netmail.Address
	option []gomail.Option
	dial   gomail.DialContextFunc
}

var _ server.Mailer = (*SMTP)(nil)

// New returns a mailer. It does not connect. The returned error names the invalid field.
func New(cfg Config) (*SMTP, error) {
	host, port, err := net.SplitHostPort(cfg.Addr)
	number, notNumber := strconv.Atoi(port)
	if err != nil || host == "" || notNumber != nil || number < 1 || number > 65535 {
		return nil, errors.New(`mailer: Addr: must be a host name and a port: "smtp.example.com:587"`)
	}
	from, err := netmail.ParseAddress(cfg.From)
	if err != nil {
		return nil, errors.New(`mailer: From: must be an address: "Payments <pay@example.com>"`)
	}
	if (cfg.Username == "") != (cfg.Password == "") {
		return nil, errors.New("mailer: Username and Password go together")
	}
	if cfg.Timeout < 0 {
		return nil, errors.New("mailer: Timeout: must not be negative")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	s := &SMTP{host: host, from: from, option: []gomail.Option{
		gomail.WithPort(number), gomail.WithTimeout(cfg.Timeout), gomail.WithHELO(domain),
	}}
	if err := s.encrypt(cfg); err != nil {
		return nil, err
	}
	if cfg.Username != "" {
		s.option = append(s.option, gomail.WithUsername(cfg.Username), gomail.WithPassword(cfg.Password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	if _, err := gomail.NewClient(host, s.option...); err != nil {
		return nil, fmt.Errorf("mailer: %w", err)
	}
	return s, nil
}

// encrypt sets how connections are made and encrypted.
func (s *SMTP) encrypt(cfg Config) error {
	secure := &tls.Config{ServerName: s.host, RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12}
	s.dial = new(net.Dialer).DialContext
	switch cfg.TLS {
	case "", StartTLS:
		s.option = append(s.option, gomail.WithTLSConfig(secure), gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS:
		s.option = append(s.option, gomail.WithSSL())
		s.dial = (&tls.Dialer{Config: secure}).DialContext
	case NoTLS:
		if !loopback.Host(s.host) {
			return errors.New(`mailer: TLS: "none" is for a server on a loopback address`)
		}
		s.option = append(s.option, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		return fmt.Errorf("mailer: TLS: must be %q, %q or %q", StartTLS, ImplicitTLS, NoTLS)
	}
	return nil
}

// Mail implements [server.Mailer]. It returns [server.ErrMailRefused] if the server refuses
// the recipient for good, or if the address is not one.
func (s *SMTP) Mail(ctx context.Context, m server.Message) error {
	message, err := s.compose(m)
	if err != nil {
		return err
	}
	closed := func() bool { return true }
	defer func() { closed() }()
	dial := func(dialing context.Context, network, addr string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, addr)
		if err == nil {
			closed = context.AfterFunc(ctx, func() { _ = conn.Close() }) // the library reads ctx only while it dials
		}
		return conn, err
	}
	c, err := gomail.NewClient(s.host, append(slices.Clip(s.option), gomail.WithDialContextFunc(dial))...)
	if err != nil {
		return errors.New("mailer: the options of the connection are invalid")
	}
	if err := c.DialAndSendWithContext(ctx, message); err != nil {
		return describe(ctx, err)
	}
	return nil
}

// compose returns the message with both bodies.
func (s *SMTP) compose(m server.Message) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := message.FromFormat(s.from.Name, s.from.Address); err != nil {
		return nil, errors.New("mailer: From is not an address")
	}
	if err := message.To(m.To); err != nil {
		return nil, fmt.Errorf("mailer: the recipient's address is not one: %w", server.ErrMailRefused)
	}
	message.Subject(strings.Join(strings.Fields(m.Subject), " "))
	message.SetDate()
	_, domain, _ := strings.Cut(s.from.Address, "@")
	message.SetMessageIDWithValue(rand.Text() + "@" + domain)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		message.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return message, nil
}

// noSuchAddress are the statuses with which a server refuses a recipient for good (RFC 5321,
// section 4.2). Others may be about the sender or the configuration, which can be corrected.
var noSuchAddress = []int{550, 551, 553}

// describe returns an error without addresses and without the server's words.
func describe(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mailer: %w", ctx.Err())
	}
	var failed *gomail.SendError
	if !errors.As(err, &failed) {
		return errors.New("mailer: no connection to the mail server, or it refused the credentials")
	}
	described := fmt.Errorf("mailer: %s, status %d", failed.Reason, failed.ErrorCode())
	if failed.Reason == gomail.ErrSMTPRcptTo && slices.Contains(noSuchAddress, failed.ErrorCode()) {
		return fmt.Errorf("%w: %w", described, server.ErrMailRefused)
	}
	return described
}
