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

// Verifier checks mandates. Set the fields and use it, from as many goroutines
// as you like; it must not be copied or changed after its first use.
type Verifier struct {
	// Issuer is the address of the service whose mandates are taken: an https
	// URL, exactly as in the claim iss. An http URL of the loopback interface
	// is taken too, for development; then, and only then, the mandate's
	// status.uri may be such a one as well. Required.
	Issuer string
	// Keys are the issuer's keys. Required.
	Keys KeySource
	// Statuses makes revocations known. Default: nil, they are not looked for.
	Statuses StatusSource
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Skew is how far clocks may be apart. Default: DefaultSkew; negative: not at all.
	Skew time.Duration
	// MaxPresentationAge is how old a key binding may be. Default: DefaultMaxPresentationAge.
	MaxPresentationAge time.Duration
	// CacheSize is how many verified mandates are remembered, so that seeing
	// one again costs no signature check. Times, key and status are judged
	// each time. Default: DefaultCacheSize; negative: none.
	CacheSize int
	// IgnoreTimes leaves out the comparisons of iat, exp and nbf with the
	// clock, for the service itself, which judges them exactly by its ledger.
	// The claims must still be well-formed, and key bindings still be fresh.
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

// Verify checks the text of a mandate, as it came in a header, and returns
// what it says. A key binding is not required; where one was sent it is
// checked, for whatever audience and nonce.
//
// Errors: [*Error], whose classes are [ErrMalformed], [ErrInvalid],
// [ErrExpired], [ErrRevoked] and [ErrUnavailable]; any other error says that
// the Verifier is not configured.
func (v *Verifier) Verify(ctx context.Context, token string) (*Mandate, error) {
	p, err := v.VerifyPresentation(ctx, token, Expect{AllowUnbound: true, IgnoreTransaction: true})
	if err != nil {
		return nil, err
	}
	return p.Mandate, nil
}

// VerifyPresentation checks a mandate with its key binding. That a
// presentation is used once only is not known here: whoever settles it keeps
// that, by mandate id and nonce.
//
// Errors: as [Verifier.Verify].
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

// windowAt is now by the clock, with the skew allowed; both have their defaults.
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

// issued goes through rules 6 to 29.
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

// readIssued goes through rules 14 to 29: what stands under the signature.
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

// key asks the source, and tells an unknown key from one that cannot be known now.
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

// again judges what can have changed since the mandate was verified.
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

// status looks the mandate up in its status list, where both are there.
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
