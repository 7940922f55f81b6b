package mandate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// DefaultStatusTTL is how long verifiers may cache a status list.
const DefaultStatusTTL = 5 * time.Minute

// StatusPublisher serves a status list as a signed token at its address. Set the fields
// before the first use; afterwards it must not be copied or modified. It is safe for
// concurrent use.
//
// The list is signed again when it changes, and before it expires. HTTP caches must
// revalidate each time, so that every verifier learns of a revocation within the ttl.
type StatusPublisher struct {
	// URI is the list's address as mandates contain it. Required.
	URI string
	// Signer returns the signing key. Required.
	Signer SignerFunc
	// TTL is how long verifiers may cache the list, in whole seconds up to a day.
	// Default: DefaultStatusTTL.
	TTL time.Duration
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time

	mu     sync.Mutex
	list   *StatusList
	doc    document
	signed time.Time // zero if doc is out of date
}

// Publish replaces the served list with a copy of list. It returns an error if list is nil.
func (p *StatusPublisher) Publish(list *StatusList) error {
	if list == nil {
		return errors.New("publish status list: no list")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list, p.signed = list.Clone(), time.Time{}
	return nil
}

// Revoke sets a bit of the served list. It returns [ErrStatusIndex] for an index outside
// the list.
func (p *StatusPublisher) Revoke(index int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		return fmt.Errorf("revoke %d: no list: %w", index, ErrStatusIndex)
	}
	p.signed = time.Time{}
	return p.list.Revoke(index)
}

// Token returns the signed list. It returns an error if there is no list, and the errors
// of Signer.
func (p *StatusPublisher) Token(ctx context.Context) (string, error) {
	doc, err := p.document(ctx)
	return string(doc.body), err
}

func (p *StatusPublisher) document(ctx context.Context) (document, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		return document{}, errors.New("sign status list: no list")
	}
	now, ttl := p.now(), p.ttl()
	if age := now.Sub(p.signed); !p.signed.IsZero() && age >= 0 && age < ttl {
		return p.doc, nil
	}
	text, err := signStatusList(ctx, p.Signer, p.URI, statusToken{
		list: p.list, iat: now.Unix(), exp: now.Add(3 * ttl).Unix(), ttl: ttl,
	})
	if err != nil {
		return document{}, fmt.Errorf("sign status list: %w", err)
	}
	p.doc, p.signed = newDocument("application/"+statusTyp, 0, []byte(text)), now
	p.doc.cacheControl = "no-cache"
	return p.doc, nil
}

// ServeHTTP answers GET and HEAD with the signed list, or with 503 if it cannot be signed.
func (p *StatusPublisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	doc, err := p.document(r.Context())
	if err != nil {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	doc.ServeHTTP(w, r)
}

func (p *StatusPublisher) now() time.Time {
	if p.Clock != nil {
		return p.Clock()
	}
	return time.Now()
}

func (p *StatusPublisher) ttl() time.Duration {
	ttl := min(p.TTL, maxFresh).Truncate(time.Second)
	if ttl <= 0 {
		return DefaultStatusTTL
	}
	return ttl
}
