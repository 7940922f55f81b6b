package market

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/store"
)

// Limits of a listing, in characters or bytes.
const (
	maxURL         = 1024
	maxTitle       = 100
	maxDescription = 500
	maxCategory    = 32
	maxSchema      = 8 << 10
	maxOffers      = 8
	maxWords       = 40
	maxWord        = 32
	maxField       = 128 // of an offer
)

// maxPrice is the highest price that is taken for one, in micro-USD.
const maxPrice = 1_000_000_000_000

// methods are the methods of endpoints that are listed.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}

// draft is a listing that is being read from a stranger's document.
type draft struct {
	store.Listing

	offers []client.MarketOffer
}

func newDraft(source, merchantID string, now time.Time) draft {
	return draft{Listing: store.Listing{Source: source, MerchantID: merchantID, Low: -1, High: -1, LastSeen: now}}
}

// at sets the method and the URL. It reports false for those that are never listed.
func (d *draft) at(method, address string, private bool) bool {
	u, ok := endpoint(address, private)
	d.Method = strings.ToUpper(cmp.Or(method, "GET"))
	if !ok || !slices.Contains(methods, d.Method) {
		return false
	}
	d.URL, d.Owner = u.String(), u.Scheme+"://"+u.Host
	d.URL = strings.NewReplacer("%7B", "{", "%7D", "}").Replace(d.URL)
	return true
}

// endpoint parses an address that strangers may be sent to: https, and not to a private network.
func endpoint(address string, private bool) (*url.URL, bool) {
	if len(address) > maxURL || !text.Clean(address) || strings.ContainsAny(address, " \\\"<>`") {
		return nil, false
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, false
	}
	u.Host = strings.ToLower(u.Host)
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	switch {
	case private && (u.Scheme == "https" || u.Scheme == "http"):
	case u.Scheme != "https" || loopback.Name(host) || (err == nil && !ssrf.Public(a)) || (err != nil && !strings.Contains(strings.Trim(host, "."), ".")):
		return nil, false
	}
	if port := u.Port(); (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

// line returns s as one line of at most longest characters that is safe to show.
func line(s string, longest int) string {
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest-1]) + "…"
	}
	return s
}

// category returns a category in the form in which it is searched, or an empty string.
func category(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" || len(s) > maxCategory || strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
		return ""
	}
	return s
}

// schema returns a JSON object of limited length in compact form, or an empty string.
func schema(raw json.RawMessage) string {
	var o map[string]any
	if len(raw) > maxSchema || json.Unmarshal(raw, &o) != nil || len(o) == 0 {
		return ""
	}
	data, err := json.Marshal(o)
	if err != nil || len(data) > maxSchema {
		return ""
	}
	return string(data)
}

// offer adds a way to pay. decimals are those of the asset; -1 if they are not known, and the
// price then is not known either.
func (d *draft) offer(o client.MarketOffer, decimals int) {
	for _, field := range []*string{&o.Method, &o.Network, &o.Asset, &o.Amount, &o.PayTo} {
		if *field = line(*field, maxField); strings.ContainsRune(*field, ' ') {
			*field = ""
		}
	}
	if len(d.offers) == maxOffers || slices.Contains(d.offers, o) {
		return
	}
	d.offers = append(d.offers, o)
	if !slices.Contains(d.Protocols, o.Protocol) {
		d.Protocols = append(d.Protocols, o.Protocol)
	}
	if o.PayTo != "" && !slices.Contains(d.PayTo, o.PayTo) {
		d.PayTo = append(d.PayTo, o.PayTo)
	}
	price, ok := money.FromUnits(o.Amount, decimals)
	if !ok || price > maxPrice {
		return
	}
	if d.Low < 0 || price < d.Low {
		d.Low = price
	}
	d.High = max(d.High, price)
}

// finish returns the listing. It reports false if nothing can be paid.
func (d *draft) finish(now time.Time) (store.Listing, bool) {
	if d.URL == "" || len(d.offers) == 0 {
		return store.Listing{}, false
	}
	d.Title, d.Description, d.Category = line(d.Title, maxTitle), line(d.Description, maxDescription), category(d.Category)
	data, err := json.Marshal(d.offers)
	if err != nil {
		return store.Listing{}, false
	}
	d.Offers = string(data)
	d.Rank, d.Words = Rank(d.Listing, now), Words(d.Listing)
	return d.Listing, true
}

// Rank orders listings: what was paid here and asks for it, what merchants registered, and what
// others list or was paid here without being asked, then by settlements, the last of them, and
// completeness. A stale listing is ranked after all others by the store.
func Rank(l store.Listing, now time.Time) int64 {
	var rank int64
	switch {
	case l.Source == store.SourceFacilitator && l.Verified:
		rank = 30_000
	case l.Source == store.SourceDirectory && l.Verified:
		rank = 20_000
	case l.Source == store.SourceDirectory:
		rank = 10_000
	}
	const day = 24 * time.Hour
	switch age := now.Sub(l.LastSettled); {
	case l.LastSettled.IsZero():
	case age < 7*day:
		rank += 2000
	case age < 30*day:
		rank += 1000
	}
	rank += 200 * int64(min(bits.Len64(uint64(max(l.Settlements, 0))), 20))
	for _, has := range []bool{l.Title != "", l.Description != "", l.Category != "", l.Low >= 0, l.InputSchema != "", l.OutputSchema != ""} {
		if has {
			rank += 100
		}
	}
	return rank
}

// Words that no text contains, by which all listings and those of a filter are found.
const (
	wordAll      = "=all"
	wordCategory = "=c:"
	wordMethod   = "=m:"
	wordProtocol = "=p:"
)

// Words returns the words that find a listing.
func Words(l store.Listing) []string {
	all := []string{wordAll, wordMethod + l.Method}
	if l.Category != "" {
		all = append(all, wordCategory+l.Category)
	}
	for _, p := range l.Protocols {
		all = append(all, wordProtocol+p)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(l.URL, "https://"), "http://"), "?")
	for _, word := range split(l.Title + " " + l.Category + " " + address + " " + l.Description) {
		if len(all) == maxWords {
			break
		}
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// split returns the words of a text in the form in which they are compared: lower case, and
// without the s of a plural.
func split(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var all []string
	for _, word := range words {
		if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
			word = word[:len(word)-1]
		}
		if len(word) > 1 && utf8.RuneCountInString(word) <= maxWord && text.Clean(word) {
			all = append(all, word)
		}
	}
	return all
}
