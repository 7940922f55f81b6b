package mandate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// StatusSource reports whether a mandate was revoked. [RemoteStatusSource] implements it.
// Implementations must be safe for concurrent use.
type StatusSource interface {
	// Revoked returns the status at the reference. An error means that the status is not
	// available now, and the mandate is refused.
	Revoked(ctx context.Context, ref StatusRef) (bool, error)
}

// Defaults of [RemoteStatusSource].
const (
	DefaultStatusMaxBytes = 2 << 20
	DefaultStatusTimeout  = 5 * time.Second
	DefaultStatusRetry    = 5 * time.Second
)

// maxStatusLists limits the number of cached lists.
const maxStatusLists = 64

// RemoteStatusSource fetches status lists from the addresses that mandates contain, and
// caches each for its ttl. It does not use an older list: if a list cannot be fetched,
// its mandates are refused. Set the fields before the first use; afterwards it must not
// be copied or modified. It is safe for concurrent use.
//
// It starts no goroutine: the verification that needs a list fetches it, one at a time.
// After four fifths of the ttl the list is fetched again in advance.
type RemoteStatusSource struct {
	// Keys are the keys of the mandates' issuer, which signs the lists too. Required.
	Keys KeySource
	// HTTPClient sends the requests. Redirects are not followed. Default: a client with
	// http.DefaultTransport.
	HTTPClient *http.Client
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Skew is the tolerated difference between clocks. Default: DefaultSkew. Negative: none.
	Skew time.Duration
	// Timeout limits a request. Default: DefaultStatusTimeout.
	Timeout time.Duration
	// MaxBytes is the maximum size of a token, in bytes. Default: DefaultStatusMaxBytes.
	MaxBytes int64
	// Retry is the minimum interval between requests after a failure. Default:
	// DefaultStatusRetry.
	Retry time.Duration

	fetcher fetcher
	mu      sync.Mutex
	lists   map[string]*remoteList
}

// RemoteStatuses returns a source of the lists that are signed with keys. Use
// [RemoteStatusSource] to set more.
func RemoteStatuses(keys KeySource) *RemoteStatusSource { return &RemoteStatusSource{Keys: keys} }

// remoteList is a cached list. Only the holder of its turn fetches it.
type remoteList struct {
	turn chan struct{} // holds one value while the list is being fetched

	mu    sync.Mutex
	token statusToken
	read  time.Time
	keep  time.Duration
	tried time.Time
	err   error
}

// Revoked reports whether a mandate was revoked. It returns an error if the list cannot be
// fetched now, [ErrStatusList] if it is not a valid list signed by the issuer, and
// [ErrStatusIndex] if the index is outside the list.
func (s *RemoteStatusSource) Revoked(ctx context.Context, ref StatusRef) (bool, error) {
	l := s.list(ref.URI)
	list, ask, err := l.current(s.now(), s.retry())
	if ask != no {
		list, err = s.turn(ctx, l, ref.URI, list)
	}
	if err != nil {
		return false, fmt.Errorf("read status list: %w", err)
	}
	return list.Revoked(ref.Index)
}

// list returns the entry of an address. A full cache is emptied, which costs requests.
func (s *RemoteStatusSource) list(uri string) *remoteList {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lists[uri]; ok {
		return l
	}
	if s.lists == nil || len(s.lists) >= maxStatusLists {
		s.lists = make(map[string]*remoteList)
	}
	l := &remoteList{turn: make(chan struct{}, 1)}
	s.lists[uri] = l
	return l
}

// current returns the cached list, and whether it must be fetched again.
func (l *remoteList) current(now time.Time, retry time.Duration) (*StatusList, asking, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	age, since := now.Sub(l.read), now.Sub(l.tried)
	failed := l.err != nil && since >= 0 && since < retry
	switch {
	case l.token.list != nil && age >= 0 && age < l.keep:
		if age >= l.keep*4/5 && !failed {
			return l.token.list, ahead, nil
		}
		return l.token.list, no, nil
	case failed:
		return nil, no, l.err
	default:
		return nil, must, nil
	}
}

// turn fetches the list when it is the caller's turn. If a list is cached (known), the
// caller does not wait for its turn, and a failure is ignored.
func (s *RemoteStatusSource) turn(ctx context.Context, l *remoteList, uri string, known *StatusList) (*StatusList, error) {
	if known != nil {
		select {
		case l.turn <- struct{}{}:
		default:
			return known, nil
		}
	} else {
		select {
		case l.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-l.turn }()
	if list, ask, err := l.current(s.now(), s.retry()); ask == no {
		return list, err // another call fetched it in the meantime
	}
	token, err := s.read(ctx, uri)
	if err = l.take(token, err, s.now(), errors.Is(ctx.Err(), context.Canceled)); err != nil && known == nil {
		return nil, err
	}
	list, _, err := l.current(s.now(), s.retry())
	if list == nil && err == nil {
		err = fmt.Errorf("%w: it is over already", ErrStatusList)
	}
	return list, err
}

// take stores a fetched list. An older list never replaces a newer one, so a replayed old
// list cannot restore a revoked mandate.
func (l *remoteList) take(t statusToken, err error, now time.Time, gaveUp bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && t.iat < l.token.iat {
		err = fmt.Errorf("%w: it is older than the one before", ErrStatusList)
	}
	if gaveUp && err != nil {
		return err
	}
	l.tried, l.err = now, err
	if err != nil {
		return err
	}
	l.token, l.read, l.keep = t, now, t.ttl
	if l.keep == 0 {
		l.keep = DefaultStatusTTL
	}
	if t.exp != 0 {
		l.keep = min(l.keep, max(time.Unix(t.exp, 0).Sub(now), time.Second))
	}
	return nil
}

func (s *RemoteStatusSource) read(ctx context.Context, uri string) (statusToken, error) {
	if s.Keys == nil {
		return statusToken{}, errors.New("no Keys")
	}
	timeout, limit := s.Timeout, s.MaxBytes
	if timeout <= 0 {
		timeout = DefaultStatusTimeout
	}
	if limit <= 0 {
		limit = DefaultStatusMaxBytes
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := s.fetcher.get(ctx, s.HTTPClient, request{url: uri, accept: "application/" + statusTyp, limit: limit})
	if err != nil {
		return statusToken{}, err
	}
	return verifyStatusList(ctx, s.Keys, uri, strings.TrimSpace(string(got.body)), windowAt(s.Clock, s.Skew, false))
}

func (s *RemoteStatusSource) now() time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return time.Now()
}

func (s *RemoteStatusSource) retry() time.Duration {
	if s.Retry <= 0 {
		return DefaultStatusRetry
	}
	return s.Retry
}
