package mandate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Defaults of [Verifier].
const (
	DefaultSkew               = 60 * time.Second
	DefaultMaxPresentationAge = 300 * time.Second
	DefaultCacheSize          = 1024
)

// Verifier verifies mandates. Set the fields before the first use; afterwards it must not
// be copied or modified. It is safe for concurrent use.
type Verifier struct {
	// Issuer is the URL of the service whose mandates are accepted, exactly as in the claim
	// iss: an https URL, or for development an http URL of the loopback interface. Only in
	// the latter case may the mandate's status.uri be an http URL too. Required.
	Issuer string
	// Keys are the issuer's keys. Required.
	Keys KeySource
	// Statuses reports revocations. Default: revocations are not checked.
	Statuses StatusSource
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Skew is the tolerated difference between clocks. Default: DefaultSkew. Negative: none.
	Skew time.Duration
	// MaxPresentationAge is the maximum age of a key binding. Default:
	// DefaultMaxPresentationAge.
	MaxPresentationAge time.Duration
	// CacheSize is the number of verified mandates that are cached, so that verifying one
	// again needs no signature check. Times, key and status are checked every time.
	// Default: DefaultCacheSize. Negative: none.
	CacheSize int
	// IgnoreTimes skips comparing iat, exp and nbf with the clock. The service uses it,
	// because its ledger decides. The claims must still be well-formed, and key bindings
	// fresh. Default: false.
	IgnoreTimes bool

	once    sync.Once
	invalid error
	trusted issuerURL
	cache   *cache
}

func (v *Verifier) setup() error {
	v.once.Do(func() {
		v.trusted, v.invalid = parseIssuer(v.Issuer)
		if v.invalid == nil && v.Keys == nil {
			v.invalid = errors.New("no Keys")
		}
		size := v.CacheSize
		if size == 0 {
			size = DefaultCacheSize
		}
		v.cache = newCache(size)
	})
	if v.invalid != nil {
		return fmt.Errorf("configure mandate verifier: %w", v.invalid)
	}
	return nil
}

// Verify verifies the text of a mandate, as received in a header, and returns its content.
// A key binding is not required. If there is one, it is verified for any audience and
// nonce.
//
// It returns an [*Error] of the class [ErrMalformed], [ErrInvalid], [ErrExpired],
// [ErrRevoked] or [ErrUnavailable], or another error if the Verifier is not configured.
func (v *Verifier) Verify(ctx context.Context, token string) (*Mandate, error) {
	p, err := v.VerifyPresentation(ctx, token, Expect{AllowUnbound: true, IgnoreTransaction: true})
	if err != nil {
		return nil, err
	}
	return p.Mandate, nil
}

// VerifyPresentation verifies a mandate with its key binding. It does not detect that a
// presentation is used twice: the caller must, by mandate id and nonce.
//
// Errors are those of [Verifier.Verify].
func (v *Verifier) VerifyPresentation(ctx context.Context, token string, want Expect) (*Presentation, error) {
	if err := v.setup(); err != nil {
		return nil, err
	}
	if len(token) > MaxTokenBytes {
		return nil, refuse(TooLarge)
	}
	text := strings.TrimPrefix(token, Prefix)
	w := v.window()
	bound := strings.LastIndexByte(text, '~') + 1
	sum, known := v.cache.get(text[:bound])
	var tok *sdjwt.Token
	if known == nil || bound != len(text) || !want.AllowUnbound {
		var err error
		if tok, err = sdjwt.Split(text, !want.AllowUnbound); err != nil {
			return nil, wrap(err)
		}
	}
	if known == nil {
		var err error
		if known, err = v.issued(ctx, tok, w); err != nil {
			return nil, err
		}
		v.cache.put(sum, known)
	} else if err := v.again(ctx, known, w); err != nil {
		return nil, err
	}
	p := &Presentation{Mandate: known.clone()}
	switch {
	case tok != nil && tok.Binding != nil:
		if err := p.bind(tok, v.binding(known, want, w), want); err != nil {
			return nil, err
		}
	case known.RequiresBinding:
		return nil, refuse(KBMissing)
	}
	return p, v.status(ctx, known)
}

func (v *Verifier) window() window { return windowAt(v.Clock, v.Skew, v.IgnoreTimes) }

// windowAt returns the current time and the tolerated skew, each with its default.
func windowAt(clock func() time.Time, skew time.Duration, ignore bool) window {
	now := time.Now
	if clock != nil {
		now = clock
	}
	if skew == 0 {
		skew = DefaultSkew
	}
	return window{now: now().Unix(), skew: int64(max(skew, 0) / time.Second), ignore: ignore}
}

// issued checks rules 6 to 29.
func (v *Verifier) issued(ctx context.Context, tok *sdjwt.Token, w window) (*verified, error) {
	kid, err := tok.Issuer.Header(typ)
	if err != nil {
		return nil, wrap(err)
	}
	key, err := v.key(ctx, kid)
	if err != nil {
		return nil, err
	}
	if err := tok.Issuer.Verify(key.key); err != nil {
		return nil, wrap(err)
	}
	m, err := readIssued(tok, v.trusted, w)
	if err != nil {
		return nil, err
	}
	m.key, m.KeyID = key, strings.Clone(kid)
	return m, nil
}

// readIssued checks rules 14 to 29, which concern the signed content.
func readIssued(tok *sdjwt.Token, trusted issuerURL, w window) (*verified, error) {
	payload, err := tok.Issuer.Claims()
	if err != nil {
		return nil, wrap(err)
	}
	f := formOf(payload)
	if err := tok.Disclose(payload, f); err != nil {
		return nil, wrap(err)
	}
	c, err := f.claims(payload)
	if err != nil {
		return nil, err
	}
	return readClaims(c, trusted, w)
}

// key returns the issuer's key. The error distinguishes an unknown key from unavailable keys.
func (v *Verifier) key(ctx context.Context, kid string) (PublicKey, error) {
	key, err := v.Keys.Key(ctx, kid)
	switch {
	case errors.Is(err, ErrKeyUnknown), err == nil && key.IsZero():
		return PublicKey{}, refuse(KidUnknown)
	case err != nil:
		return PublicKey{}, &Error{Reason: KeysUnavailable, Err: err}
	}
	return key, nil
}

// again checks what can change after a mandate was verified.
func (v *Verifier) again(ctx context.Context, m *verified, w window) error {
	key, err := v.key(ctx, m.KeyID)
	if err != nil {
		return err
	}
	if !key.Equal(m.key) {
		return refuse(KidUnknown)
	}
	return m.check(w)
}

// status checks the mandate's status list if there is one and Statuses is set.
func (v *Verifier) status(ctx context.Context, m *verified) error {
	if v.Statuses == nil || m.Status == nil {
		return nil
	}
	revoked, err := v.Statuses.Revoked(ctx, *m.Status)
	switch {
	case err != nil:
		return &Error{Reason: StatusUnavailable, Err: err}
	case revoked:
		return refuse(Revoked)
	}
	return nil
}
