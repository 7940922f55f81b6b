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

// StatusSource tells whether a mandate was revoked. [RemoteStatuses] is there;
// implementations must be safe for concurrent use.
type StatusSource interface {
	// Revoked tells the status at the reference. Errors: any error says that
	// it cannot be known now, and the mandate is then refused.
	Revoked(ctx context.Context, ref StatusRef) (bool, error)
}

// Defaults of [RemoteStatusSource].
const (
	DefaultStatusMaxBytes = 2 << 20
	DefaultStatusTimeout  = 5 * time.Second
	DefaultStatusRetry    = 5 * time.Second
)

// maxStatusLists bounds how many lists are kept.
const maxStatusLists = 64

// RemoteStatusSource reads status lists from where mandates say they are, and
// keeps each for its ttl. What is older is not used: while a list cannot be
// read, the mandates in it are refused. Set the fields and use it, from as many
// goroutines as you like; it must not be copied or changed after its first use.
//
// It starts no goroutine: a list is read by the verification that needs it, by
// one at a time, and from four fifths of its ttl on ahead of need.
type RemoteStatusSource struct {
	// Keys are those of the mandates' issuer, who signs the lists too. Required.
	Keys KeySource
	// HTTPClient does the requests. Redirects are not followed. Default: a
	// client with http.DefaultTransport.
	HTTPClient *http.Client
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Skew is how far clocks may be apart. Default: DefaultSkew; negative: not at all.
	Skew time.Duration
	// Timeout ends a request. Default: DefaultStatusTimeout.
	Timeout time.Duration
	// MaxBytes is the longest token that is read. Default: DefaultStatusMaxBytes.
	MaxBytes int64
	// Retry is how soon a list is asked for again after a failure. Default: DefaultStatusRetry.
	Retry time.Duration

	fetcher fetcher
	mu      sync.Mutex
	lists   map[string]*remoteList
}

// RemoteStatuses is a source of the lists that are signed with keys.
// [RemoteStatusSource] has more to set.
func RemoteStatuses(keys KeySource) *RemoteStatusSource { return &RemoteStatusSource{Keys: keys} }

// remoteList is a list and the right to read it anew.
type remoteList struct {
	turn chan struct{} // holds one value while somebody reads

	mu    sync.Mutex
	token statusToken
	read  time.Time
	keep  time.Duration
	tried time.Time
	err   error
}

// Revoked looks the mandate up. Errors: that its list cannot be read now, that
// the list is not a signed one of the issuer ([ErrStatusList]), or that the
// index is not in it ([ErrStatusIndex]).
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

// list is the entry of an address. Forgetting one costs a request.
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

// current is the list that is known, and whether it must be read anew.
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

// turn reads the list anew when it is the caller's turn. With a list at hand
// (known) nobody waits for somebody else's turn to end, and a failure is no harm.
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
		return list, err // somebody else has read it meanwhile
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

// take keeps what was read. An older list never replaces a newer one: nobody
// can bring a revoked mandate back by showing an old list.
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
