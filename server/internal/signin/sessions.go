package signin

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
)

// Kind is the kind of an account.
type Kind string

// The kinds: a person who proved an email address or a wallet, and a merchant.
const (
	Email    Kind = "email"
	Wallet   Kind = "wallet"
	Merchant Kind = "merchant"
)

// Account is who is signed in.
type Account struct {
	Kind Kind `json:"kind"`
	// ID is an address as [ParseEmail] returns it, the address of a wallet in
	// lower case, or the id of a merchant.
	ID string `json:"id"`
	// Email is the address that was proven, if the account is a merchant.
	Email string `json:"email,omitempty"`
}

// Sessions are the sessions of one dashboard. Methods with a context need that of a request
// below [Sessions.Handler]. They are safe for concurrent use.
type Sessions struct {
	service *Service
	realm   string // a session of another dashboard is none of this one
	kinds   []Kind
	manager *scs.SessionManager
}

// seenEvery is the interval at which a session in use is saved.
const seenEvery = time.Minute

// Sessions returns the sessions of accounts of some kinds, in a cookie with a name of its
// own. Failed answers a request whose session could not be read or saved.
func (s *Service) Sessions(cookie string, failed func(w http.ResponseWriter, r *http.Request, err error), kinds ...Kind) *Sessions {
	// A literal, because scs.New starts a goroutine for a store that is not used here. Managers
	// made this way share the key in a request's context: their handlers must not be nested.
	m := &scs.SessionManager{
		Store: sessionStore{s.Store}, Codec: codec{}, HashTokenInStore: true, Lifetime: s.Lifetime, ErrorFunc: failed,
		Cookie: scs.SessionCookie{Name: cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Persist: true},
	}
	if m.Cookie.Secure = strings.HasPrefix(s.BaseURL, "https:"); m.Cookie.Secure {
		m.Cookie.Name = "__Host-" + cookie // only https allows the prefix
	}
	return &Sessions{service: s, realm: cookie, kinds: kinds, manager: m}
}

// Handler gives the requests of next a session, and sets the cookie. Handlers of two Sessions
// must not be nested.
func (s *Sessions) Handler(next http.Handler) http.Handler {
	inner := s.manager.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if now, rec := s.service.Clock(), s.record(ctx); rec.Account != (Account{}) && now.Sub(rec.SeenAt) >= seenEvery {
			if _, ok := s.Account(ctx); ok {
				rec.SeenAt = now
				s.put(ctx, rec)
			}
		}
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(withLoaded(r.Context())))
	})
}

// Account returns who is signed in.
func (s *Sessions) Account(ctx context.Context) (Account, bool) {
	rec, now := s.record(ctx), s.service.Clock()
	if !slices.Contains(s.kinds, rec.Account.Kind) || now.Sub(rec.SignedInAt) >= s.service.Lifetime || now.Sub(rec.SeenAt) >= s.service.Idle {
		return Account{}, false
	}
	return rec.Account, true
}

// Begin signs an account in that has proven itself just now. The session has a new token.
func (s *Sessions) Begin(ctx context.Context, a Account) error {
	if err := s.BeginUnproven(ctx, a); err != nil {
		return err
	}
	s.Prove(ctx)
	return nil
}

// Renew signs an account in again, as freshly proven as before. The session has a new token.
func (s *Sessions) Renew(ctx context.Context, a Account) error {
	proven := s.record(ctx).ProvenAt
	if err := s.BeginUnproven(ctx, a); err != nil {
		return err
	}
	rec := s.record(ctx)
	rec.ProvenAt = proven
	s.put(ctx, rec)
	return nil
}

// BeginUnproven signs an account in, and [Sessions.Fresh] reports false until [Sessions.Prove]. The
// session has a new token.
func (s *Sessions) BeginUnproven(ctx context.Context, a Account) error {
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	now := s.service.Clock()
	s.put(ctx, record{Account: a, SignedInAt: now, SeenAt: now})
	return nil
}

// Switch changes the account of a session, which is no older and no more freshly proven than
// before. The session has a new token.
func (s *Sessions) Switch(ctx context.Context, a Account) error {
	rec := s.record(ctx)
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	rec.Account = a
	s.put(ctx, rec)
	return nil
}

// Prove records that the account has proven itself again.
func (s *Sessions) Prove(ctx context.Context) {
	rec := s.record(ctx)
	rec.ProvenAt = s.service.Clock()
	s.put(ctx, rec)
}

// Fresh reports whether the account has proven itself within a time.
func (s *Sessions) Fresh(ctx context.Context, within time.Duration) bool {
	_, ok := s.Account(ctx)
	return ok && s.service.Clock().Sub(s.record(ctx).ProvenAt) < within
}

// Challenge returns the challenge of a code that is valid in this browser alone.
func (s *Sessions) Challenge(r *http.Request, p Purpose, email string) Challenge {
	return Challenge{Purpose: p, Email: email, Binding: s.Browser(r.Context()), Browser: s.service.BrowserOf(r, email)}
}

// Browser returns a random text that identifies the session until the next sign-in.
func (s *Sessions) Browser(ctx context.Context) string {
	rec := s.record(ctx)
	if rec.Browser == "" {
		rec.Browser = rand.Text()
		s.put(ctx, rec)
	}
	return rec.Browser
}

// End signs out.
func (s *Sessions) End(ctx context.Context) error { return s.manager.Destroy(ctx) }

// EndAll signs the account out everywhere.
func (s *Sessions) EndAll(ctx context.Context) error {
	a, ok := s.Account(ctx)
	if !ok {
		return nil
	}
	if err := s.service.EndAll(ctx, a); err != nil {
		return err
	}
	return s.manager.Destroy(ctx)
}

// EndAll signs an account out everywhere.
func (s *Service) EndAll(ctx context.Context, a Account) error {
	return s.Store.DeleteWebSessions(ctx, string(a.Kind), a.ID)
}

// Forget deletes the codes and the sessions of an account.
func (s *Service) Forget(ctx context.Context, a Account) error {
	if err := s.Store.DeleteCodes(ctx, "", a.ID); err != nil {
		return err
	}
	return s.EndAll(ctx, a)
}

func (s *Sessions) record(ctx context.Context) record {
	rec, _ := s.manager.Get(ctx, recordKey).(record)
	if rec.Realm != s.realm {
		return record{}
	}
	return rec
}

func (s *Sessions) put(ctx context.Context, rec record) {
	rec.Realm = s.realm
	s.manager.Put(ctx, recordKey, rec)
}
