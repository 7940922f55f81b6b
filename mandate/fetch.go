package mandate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fetcher fetches public documents. It follows no redirects: the source of keys is
// configured, and a response must not change it.
type fetcher struct {
	once   sync.Once
	client *http.Client
}

type request struct {
	url, accept, etag string
	limit             int64 // maximum size of the body, in bytes
}

type fetched struct {
	unchanged bool
	body      []byte
	etag      string
	fresh     time.Duration // how long it may be cached, by Cache-Control and Age
}

var errRedirect = errors.New("redirects are not followed")

func (f *fetcher) get(ctx context.Context, client *http.Client, q request) (fetched, error) {
	if !validURL(q.url, true) {
		return fetched{}, fmt.Errorf("%q is neither an https URL nor an http URL of the loopback interface", q.url)
	}
	f.once.Do(func() {
		c := http.Client{}
		if client != nil {
			c = *client
		}
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
		f.client = &c
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url, nil)
	if err != nil {
		return fetched{}, err
	}
	r.Header.Set("Accept", q.accept)
	if q.etag != "" {
		r.Header.Set("If-None-Match", q.etag)
	}
	res, err := f.client.Do(r)
	if err != nil {
		return fetched{}, err
	}
	defer func() { _ = res.Body.Close() }()
	return read(res, q)
}

func read(res *http.Response, q request) (fetched, error) {
	got := fetched{etag: res.Header.Get("ETag"), fresh: freshness(res.Header)}
	switch {
	case res.StatusCode == http.StatusNotModified && q.etag != "":
		got.unchanged = true
		return got, nil
	case res.StatusCode != http.StatusOK:
		return fetched{}, fmt.Errorf("GET %s: status %d", q.url, res.StatusCode)
	}
	var err error
	if got.body, err = io.ReadAll(io.LimitReader(res.Body, q.limit+1)); err != nil {
		return fetched{}, fmt.Errorf("read body of %s: %w", q.url, err)
	}
	if int64(len(got.body)) > q.limit {
		return fetched{}, fmt.Errorf("body of %s is longer than %d bytes", q.url, q.limit)
	}
	return got, nil
}

// freshness returns max-age minus Age, within our own bounds.
func freshness(h http.Header) time.Duration {
	fresh := defaultFresh
	for _, line := range h.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(d)), "=")
			switch name {
			case "no-store", "no-cache":
				return minFresh
			case "max-age":
				fresh = deltaSeconds(value, maxFresh)
			}
		}
	}
	if age := h.Get("Age"); age != "" {
		fresh -= deltaSeconds(age, maxFresh)
	}
	return min(max(fresh, minFresh), maxFresh)
}

// deltaSeconds parses whole seconds, and caps them at limit. It returns 0 for other text.
func deltaSeconds(s string, limit time.Duration) time.Duration {
	n, err := strconv.ParseInt(strings.Trim(s, `"`), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, n is the largest int64
		return 0
	}
	return time.Duration(min(max(n, 0), int64(limit/time.Second))) * time.Second
}
