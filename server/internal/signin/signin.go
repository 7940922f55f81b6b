// Package signin proves who is at a browser: by one-time codes that are mailed to an email
// address, by passkeys, and by sessions in a cookie.
//
// A page asks for an address and calls SendCode. The next page asks for the code:
//
//	account, err := codes.Check(ctx, sessions.Challenge(ctx, signin.MerchantSignIn, email), code)
//	// err: ErrNoCode, ErrMalformed, or a *WrongCodeError
//	err = sessions.Begin(ctx, signin.Account{Kind: signin.Merchant, ID: merchantID})
//
// Sessions come from [Service.Sessions]. Every handler of a dashboard runs below its Handler:
//
//	merchants := service.Sessions("merchant", failed, signin.Merchant)
//	mux.Handle("GET /dashboard", merchants.Handler(page))
//
//	account, ok := merchants.Account(r.Context()) // not ok: redirect to the sign-in page
//	if !merchants.Fresh(r.Context(), 10*time.Minute) { … } // ask for a code again, then call Prove
//
// A code has six digits, is valid for ten minutes and allows five attempts. It is valid in the
// browser that asked for it, which has one valid code for an account and a purpose. The code is
// derived from a stored id with a secret of the service, so the database contains no code.
// SendCode answers the same for every address: only when the message is written, Known decides
// whether it is sent.
//
// The package does not decide what an account may do, and it does not know passwords.
package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// Purpose is what a code is for. A code for one purpose is wrong for any other.
type Purpose string

// The purposes.
const (
	PersonSignIn   Purpose = "person_sign_in"
	MerchantSignIn Purpose = "merchant_sign_in"
	Setup          Purpose = "setup"
)

// letters are what the message with a code says, by purpose.
var letters = map[Purpose]struct{ subject, intro string }{
	PersonSignIn:   {"Your sign-in code", "Enter this code to see your mandates and payments:"},
	MerchantSignIn: {"Your sign-in code", "Enter this code to sign in to your merchant account:"},
	Setup:          {"Your confirmation code", "Enter this code on the page where you confirm spending limits for an agent:"},
}

const (
	// CodeLifetime is the time in which a code must be entered.
	CodeLifetime = 10 * time.Minute
	// MaxAttempts is the number of attempts that a code allows.
	MaxAttempts = 5
	// MaxCodes is the number of codes for one account and purpose in Window, until one is
	// entered. With MaxAttempts it bounds guessing: 150 of a million codes in a day.
	MaxCodes = 30
	// MaxCodesFromNetwork is how many of them one network asks for, and how many more a browser
	// in which the address was proven before, so that strangers do not use up those of the
	// account's owner.
	MaxCodesFromNetwork = 10
	// MaxCodesPerNetwork is the number of codes that one network asks for in Window.
	MaxCodesPerNetwork = 200
	// Window is the period in which codes are counted.
	Window = 24 * time.Hour

	digits   = 6
	codes    = 1_000_000
	network  = "network" // the purpose of rows that count the codes of networks
	maxEmail = 254
)

var (
	// ErrTooMany reports that the account or the network has asked for too many codes.
	ErrTooMany = errors.New("signin: too many codes")
	// ErrNoCode reports that the account has no valid code: it expired, was used or
	// replaced, or allows no more attempts.
	ErrNoCode = errors.New("signin: no valid code")
	// ErrMalformed reports a code that does not have six digits. It is not counted as an attempt.
	ErrMalformed = errors.New("signin: a code has six digits")
	// ErrNoMail reports that the service sends no mail.
	ErrNoMail = errors.New("signin: no mail is sent")
	// ErrEmail reports text that is not an email address.
	ErrEmail = errors.New("signin: not an email address")
)

// WrongCodeError reports a wrong code.
type WrongCodeError struct{ AttemptsLeft int }

func (e *WrongCodeError) Error() string {
	return fmt.Sprintf("signin: wrong code, attempts left: %d", e.AttemptsLeft)
}

// Store is the part of the store that the package uses.
type Store interface {
	store.SignIns
	store.Passkeys
}

// Config configures [New]. Every field is required, except Post, Lifetime and Idle.
type Config struct {
	Store Store
	// Secret derives codes from ids.
	Secret []byte
	Clock  func() time.Time
	// BaseURL is the origin of the pages. Cookies are Secure if it is https.
	BaseURL string
	// Post queues the letter with a code's id; see [Service.Letter]. Nil: no code can be sent.
	Post func(ctx context.Context, codeID string)
	// Known reports whether a message is sent to an address. It is called in the background.
	Known func(ctx context.Context, p Purpose, email string) (bool, error)
	// Lifetime is the time after which a session ends. Default: 12 hours.
	Lifetime time.Duration
	// Idle is the time without a request after which a session ends. Default: 1 hour.
	Idle time.Duration
}

// Service sends and checks codes, and has the sessions. It is safe for concurrent use.
type Service struct {
	Config

	relyingParty *webauthn.WebAuthn // nil: there are no passkeys
}

// New returns a Service. It returns an error for a BaseURL that is no origin.
func New(cfg Config) (*Service, error) {
	if cfg.Lifetime == 0 {
		cfg.Lifetime = 12 * time.Hour
	}
	if cfg.Idle == 0 {
		cfg.Idle = time.Hour
	}
	party, err := relyingParty(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	return &Service{cfg, party}, nil
}

// SendsMail reports whether codes can be sent.
func (s *Service) SendsMail() bool { return s.Post != nil }

// Challenge is what a code proves.
type Challenge struct {
	Purpose Purpose
	// Email is the address that the code is mailed to, as a person writes it.
	Email string
	// Binding is what the code is valid for, such as the hash of a setup session, or the browser
	// of [Sessions.Challenge]: with any other, there is no code. Required, so that a stranger
	// who asks for a code for the same address does not replace this one.
	Binding string
	// Browser is the result of [Service.BrowserOf]. The codes that such a browser asks for are
	// counted by themselves. May be empty.
	Browser string
}

// ParseEmail returns an address in the form in which it identifies an account. It returns
// [ErrEmail] if text is not an address.
func ParseEmail(text string) (string, error) {
	text = strings.TrimSpace(text)
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text || len(text) > maxEmail {
		return "", ErrEmail
	}
	return strings.ToLower(text), nil
}

// SendCode mails a new code, which replaces the last one. The client is the network that
// asks. It returns [ErrNoMail], [ErrEmail] or [ErrTooMany].
func (s *Service) SendCode(ctx context.Context, c Challenge, client string) error {
	if !s.SendsMail() {
		return ErrNoMail
	}
	email, err := ParseEmail(c.Email)
	if err != nil {
		return err
	}
	now := s.Clock()
	since := now.Add(-Window)
	from := hex.EncodeToString(s.mac(network, client))
	count := func(purpose, account, binding string, most int) error {
		done, err := s.Store.PutCode(ctx, store.Code{Purpose: purpose, Account: account, Binding: binding, ID: rand.Text()}, now, since, most)
		if err != nil || !done {
			return tooMany(err)
		}
		return nil
	}
	switch {
	case c.Browser != "":
		err = count(sent(c.Purpose), email, s.tag("known "+c.Browser), MaxCodesFromNetwork)
	default:
		if err = count(network, from, "", MaxCodesPerNetwork); err == nil {
			err = count(sent(c.Purpose), email, from, MaxCodesFromNetwork)
		}
		if err == nil {
			err = count(sent(c.Purpose), email, "", MaxCodes)
		}
	}
	if err != nil {
		return err
	}
	code := store.Code{Purpose: string(c.Purpose), Account: email, Binding: s.tag(c.Binding), ID: rand.Text(), ExpiresAt: now.Add(CodeLifetime)}
	if done, err := s.Store.PutCode(ctx, code, now, since, MaxCodes); err != nil || !done {
		return tooMany(err)
	}
	s.Post(ctx, code.ID)
	return nil
}

// sent is the purpose of rows that count the codes of a purpose: those of an account, and those
// that one network asks for it.
func sent(p Purpose) string { return "sent " + string(p) }

func tooMany(err error) error {
	if err != nil {
		return fmt.Errorf("put code: %w", err)
	}
	return ErrTooMany
}

// Check checks a code and ends it. It returns the account's address, or [ErrEmail],
// [ErrMalformed], [ErrNoCode], or a [*WrongCodeError].
func (s *Service) Check(ctx context.Context, c Challenge, entered string) (email string, err error) {
	if email, err = ParseEmail(c.Email); err != nil {
		return "", err
	}
	entered = strings.NewReplacer(" ", "", "-", "").Replace(entered)
	if len(entered) != digits || strings.Trim(entered, "0123456789") != "" {
		return "", ErrMalformed
	}
	code, err := s.Store.AttemptCode(ctx, string(c.Purpose), email, s.tag(c.Binding), s.Clock(), MaxAttempts)
	if errors.Is(err, ledger.ErrNotFound) {
		return "", ErrNoCode
	}
	if err != nil {
		return "", fmt.Errorf("attempt code: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(s.code(code)), []byte(entered)) != 1 {
		return "", &WrongCodeError{AttemptsLeft: MaxAttempts - code.Attempts}
	}
	used, err := s.Store.UseCode(ctx, code.ID)
	if err != nil {
		return "", fmt.Errorf("use code: %w", err)
	}
	if !used {
		return "", ErrNoCode
	}
	// The account may ask for as many codes as before: only its owner can enter one.
	if err := s.Store.DeleteCodes(ctx, sent(c.Purpose), email); err != nil {
		return "", fmt.Errorf("delete counts of codes: %w", err)
	}
	return email, nil
}

// Letter writes the message with a code. It has no recipient if the code is not valid any
// more, or if Known reports that the address is not.
func (s *Service) Letter(ctx context.Context, codeID string) (letter.Letter, error) {
	code, err := s.Store.Code(ctx, codeID)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && !s.Clock().Before(code.ExpiresAt)) {
		return letter.Letter{}, nil
	}
	if err != nil {
		return letter.Letter{}, fmt.Errorf("read code: %w", err)
	}
	known, err := s.Known(ctx, Purpose(code.Purpose), code.Account)
	if err != nil || !known {
		return letter.Letter{}, err
	}
	text := letters[Purpose(code.Purpose)]
	digits := s.code(code)
	return letter.Letter{
		To: code.Account, Subject: text.subject, Intro: text.intro, Lines: []string{digits[:3] + " " + digits[3:]},
		Notes: []string{
			"It is valid for ten minutes. Do not share it: no merchant and no agent needs it.",
			"If you did not ask for it, ignore this message.",
		},
	}, nil
}

// tag returns a binding as it is stored.
func (s *Service) tag(binding string) string {
	return hex.EncodeToString(s.mac("binding", binding)[:16])
}

// code derives the digits of a code.
func (s *Service) code(c store.Code) string {
	sum := s.mac("code", c.ID, c.Purpose, c.Account, c.Binding)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(sum)%codes)
}

// mac authenticates parts, each with its length.
func (s *Service) mac(parts ...string) []byte {
	h := hmac.New(sha256.New, s.Secret)
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d %s", len(p), p) // never fails
	}
	return h.Sum(nil)
}
