package market

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
)

// Kind is the kind of a catalog.
type Kind string

// The kinds of catalogs.
const (
	KindX402 Kind = "x402" // /discovery/resources
	KindMPP  Kind = "mpp"  // a directory of MPP services, as one document
)

// Upstream is another catalog.
type Upstream struct {
	// Name identifies it in listings, logs and metrics.
	Name string
	Kind Kind
	// URL is the address of the document, or of the list of an x402 catalog.
	URL string
}

// Limits bound what is read of an upstream, and how often.
type Limits struct {
	// Every is the pause after a success; Retry the one after the first failure, which doubles up
	// to Every. Default: 5 minutes, 30 seconds.
	Every, Retry time.Duration
	// Timeout limits one answer, and Total all of a catalog. Default: 15 seconds, 3 minutes.
	Timeout, Total time.Duration
	// Page is the largest answer in bytes, and Size that of all answers. Default: 8 MiB, 128 MiB.
	Page, Size int64
	// Pages and Entries limit a catalog. Default: 1,000 and 50,000.
	Pages, Entries int
}

func (l Limits) orDefault() Limits {
	l.Every, l.Retry = cmp.Or(l.Every, 5*time.Minute), cmp.Or(l.Retry, 30*time.Second)
	l.Timeout, l.Total = cmp.Or(l.Timeout, 15*time.Second), cmp.Or(l.Total, 3*time.Minute)
	l.Page, l.Size, l.Pages, l.Entries = cmp.Or(l.Page, 8<<20), cmp.Or(l.Size, 128<<20), cmp.Or(l.Pages, 1000), cmp.Or(l.Entries, 50_000)
	return l
}

const (
	// pageSize is the number of items that are asked for at a time.
	pageSize = 100
	// failuresToStale is the number of failures in a row after which the entries are stale.
	failuresToStale = 2
	// maxTags limits the pages whose ETags are stored.
	maxTags = 200
)

// progress is what is stored between two reads of an upstream.
type progress struct {
	NextMs   int64    `json:"next"`
	Failures int      `json:"failures"`
	Tags     []string `json:"tags,omitempty"` // of each page
}

// pullDue reads an upstream if it is due and no other instance does. It returns the pause before
// it looks again.
func (m *Market) pullDue(ctx context.Context, u Upstream) time.Duration {
	name, now := "market:"+u.Name, m.Clock()
	cursor, taken, err := m.Store.TakeWork(ctx, name, m.owner, now, now.Add(workLease))
	if err != nil || !taken {
		m.failed(ctx, err)
		return m.Limits.Retry
	}
	var p progress
	if cursor != "" {
		_ = json.Unmarshal([]byte(cursor), &p) // of another version: read everything
	}
	if wait := time.UnixMilli(p.NextMs).Sub(now); wait <= 0 {
		p = m.pull(ctx, u, p)
	}
	data, err := json.Marshal(p)
	m.failed(ctx, errors.Join(err, m.Store.LeaveWork(context.WithoutCancel(ctx), name, m.owner, string(data))))
	return max(time.UnixMilli(p.NextMs).Sub(m.Clock()), look)
}

// pull reads an upstream once, and returns the progress.
func (m *Market) pull(ctx context.Context, u Upstream, p progress) progress {
	began := m.Clock()
	tags, outcome, err := m.read(ctx, u, p.Tags, began)
	if err == nil {
		m.Pulled(u.Name, outcome)
		return progress{NextMs: m.Clock().Add(m.Limits.Every).UnixMilli(), Tags: tags}
	}
	if ctx.Err() != nil {
		return p
	}
	kind := "store"
	if f := (*fault)(nil); errors.As(err, &f) {
		kind = f.kind
	}
	m.Pulled(u.Name, kind)
	p = progress{Failures: p.Failures + 1}
	pause := min(m.Limits.Retry<<min(p.Failures-1, 10), max(m.Limits.Every, m.Limits.Retry))
	p.NextMs = m.Clock().Add(pause).UnixMilli()
	m.Logger.WarnContext(ctx, "market: a catalog cannot be read", slog.String("upstream", u.Name), slog.String("kind", kind),
		slog.String("error", err.Error()), slog.Int("failures", p.Failures), slog.Duration("pause", pause))
	if p.Failures >= failuresToStale {
		m.failed(ctx, m.stale(ctx, store.ListingScope{Source: store.SourceUpstream + u.Name}, began.Add(time.Millisecond)))
	}
	return p
}

// read reads all pages of an upstream and stores what it lists, unless no page has changed.
func (m *Market) read(ctx context.Context, u Upstream, tags []string, now time.Time) (newTags []string, outcome string, err error) {
	limited, cancel := context.WithTimeout(ctx, m.Limits.Total)
	defer cancel()
	unchanged, err := m.unchanged(limited, u, tags)
	if err != nil || unchanged {
		return tags, "unchanged", err
	}
	found, newTags, err := m.collect(limited, u, now)
	if err != nil {
		return nil, "", err
	}
	if err := m.save(ctx, found); err != nil {
		return nil, "", err
	}
	return newTags, "read", m.stale(ctx, store.ListingScope{Source: store.SourceUpstream + u.Name}, now)
}

// unchanged reports whether all pages are those of the last read.
func (m *Market) unchanged(ctx context.Context, u Upstream, tags []string) (bool, error) {
	for i, tag := range tags {
		_, _, same, err := m.fetch.json(ctx, u.page(i*pageSize), tag, m.Limits.Page)
		if err != nil || !same {
			return false, err
		}
	}
	return len(tags) > 0, nil
}

// page returns the address of a page.
func (u Upstream) page(offset int) string {
	if u.Kind == KindMPP {
		return u.URL
	}
	separator := "?"
	if strings.Contains(u.URL, "?") {
		separator = "&"
	}
	return u.URL + separator + url.Values{"type": {"http"}, "limit": {strconv.Itoa(pageSize)}, "offset": {strconv.Itoa(offset)}}.Encode()
}

// collect reads all pages. A catalog that does not end, or that repeats itself, lists nothing.
func (m *Market) collect(ctx context.Context, u Upstream, now time.Time) (found []store.Listing, tags []string, err error) {
	r := reader{source: store.SourceUpstream + u.Name, now: now, private: m.AllowPrivate, most: m.Limits.Entries}
	seen := map[[2]string]bool{}
	offset, left := 0, m.Limits.Size
	for page := 0; ; page++ {
		if page == m.Limits.Pages {
			return nil, nil, faulty(tooMany, "more than %d pages", m.Limits.Pages)
		}
		body, tag, _, err := m.fetch.json(ctx, u.page(offset), "", m.Limits.Page)
		if err != nil {
			return nil, nil, fmt.Errorf("page %d: %w", page+1, err)
		}
		if left -= int64(len(body)); left < 0 {
			return nil, nil, faulty(tooLarge, "the pages are longer than %d bytes", m.Limits.Size)
		}
		tags = append(tags, tag)
		listings, items, total, err := r.read(u.Kind, body)
		if err != nil {
			return nil, nil, fmt.Errorf("page %d: %w", page+1, err)
		}
		before := len(found)
		for _, l := range listings {
			if key := [2]string{l.Method, l.URL}; !seen[key] {
				seen[key] = true
				found = append(found, l)
			}
		}
		if len(found) > m.Limits.Entries {
			return nil, nil, faulty(tooMany, "more than %d entries", m.Limits.Entries)
		}
		offset += items
		if u.Kind == KindMPP || items == 0 || items < pageSize && offset >= total {
			return found, usable(tags), nil
		}
		if items < pageSize { // the catalog has pages of its own length
			tags = append(tags, "")
		}
		if len(listings) > 0 && len(found) == before {
			return nil, nil, faulty(tooMany, "page %d repeats the ones before", page+1)
		}
	}
}

// usable returns the tags if every page has one.
func usable(tags []string) []string {
	for _, tag := range tags {
		if tag == "" || len(tags) > maxTags {
			return nil
		}
	}
	return tags
}

func (r reader) read(k Kind, body []byte) (found []store.Listing, items, total int, err error) {
	if k == KindMPP {
		found, err = r.readMPP(body)
		return found, 0, 0, err
	}
	return r.readX402(body)
}
