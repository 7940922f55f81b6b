package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// The sources of listings. Those of an upstream catalog are [SourceUpstream] and its name.
const (
	SourceFacilitator = "facilitator" // paid through this service's facilitator
	SourceDirectory   = "directory"   // registered by a merchant
	SourceUpstream    = "upstream:"
)

// MaxListingWords is the number of words that a search may combine.
const MaxListingWords = 6

// MaxListingsSearched is how many entries of the index one search reads.
const MaxListingsSearched = 1000

// StaleRank is subtracted from the rank of a stale listing.
const StaleRank = 1_000_000

// ErrTooManyServers reports that a merchant has registered as many servers as it may.
var ErrTooManyServers = errors.New("store: too many servers")

// Listing is an endpoint that the market lists. Its text is a stranger's.
type Listing struct {
	// ID is the listing's id (lst_…).
	ID string
	// Source, MerchantID, Method and URL identify it. MerchantID is empty for upstreams, and the
	// wallet for payments to one that is no merchant's. URL may be a template, such as
	// "https://shop.example/reports/{id}".
	Source, MerchantID, Method, URL string
	// Owner is the origin of the server.
	Owner string
	// Verified reports that the endpoint asks to be paid at the wallet that was paid here, or at
	// that of the merchant who registered it.
	Verified bool
	// Title, Description and Category are lines of text; Category is in lower case.
	Title, Description, Category string
	// Protocols are "x402" and "mpp".
	Protocols []string
	// Low and High are the lowest and the highest price; -1 if it is not known.
	Low, High ledger.Micros
	// PayTo are the wallets that are paid.
	PayTo []string
	// Offers, InputSchema and OutputSchema are JSON, or empty.
	Offers, InputSchema, OutputSchema string
	// Item is the entry in the facilitator's catalog, as JSON. Empty for other sources.
	Item string
	// FirstSeen and LastSeen are when its source listed it.
	FirstSeen, LastSeen time.Time
	// LastSettled and Settlements are of payments through this service.
	LastSettled time.Time
	// Settlements is their number, and in an upsert the number that is added.
	Settlements int64
	// StaleSince is when its source ceased to list it, or to answer. Zero: it is fresh.
	StaleSince time.Time
	// Rank orders listings, the highest first.
	Rank int64
	// Words find it. Reads do not return them.
	Words []string
}

// ListingScope selects listings. Empty fields select all.
type ListingScope struct {
	// Source, MerchantID and Owner are those of the listings.
	Source, MerchantID, Owner string
}

// ListingCursor is a position in a search.
type ListingCursor struct {
	// Rank and ID are those of the last listing that was read.
	Rank int64
	// ID is the id of that listing.
	ID string
}

// ListingSearch selects listings that have all words.
type ListingSearch struct {
	// Words are 1 to [MaxListingWords].
	Words []string
	// Low and High are a range of prices; -1: any.
	Low, High ledger.Micros
	// After is the position after which the page begins. Zero: at the beginning.
	After ListingCursor
	// Limit is the most listings of the page.
	Limit int
}

// MarketServer is a server whose endpoints a merchant registered.
type MarketServer struct {
	// ID is the server's id (srv_…), and BaseURL its origin.
	ID, MerchantID, BaseURL string
	// CreatedAt is when it was registered.
	CreatedAt time.Time
	// CheckedAt is when it was last read, and DueAt when it is read next.
	CheckedAt, DueAt time.Time
	// Failures is the number of reads that failed since the last one that did not.
	Failures int
	// Report is the result of the last read, as JSON.
	Report string
}

// Listings stores what the market lists.
type Listings interface {
	// UpsertListings adds listings or refreshes them. A refresh leaves FirstSeen and the later
	// LastSettled, and adds Settlements. A refreshed listing is not stale.
	UpsertListings(ctx context.Context, all []Listing) error
	// SearchListings returns a page, and the position after which the search goes on; zero at its
	// end. A page may have fewer listings than the limit although the search goes on. Of one
	// method and URL it returns the listing with the highest rank.
	SearchListings(ctx context.Context, s ListingSearch) ([]Listing, ListingCursor, error)
	// ListingsOf returns the listings of one method and URL, the one with the highest rank first.
	ListingsOf(ctx context.Context, method, url string) ([]Listing, error)
	// ListingsOfSource returns listings of a source that are not stale, those that were added first
	// first, after skipping some, and the number of all. If payTo is not empty, they are those
	// whose only wallet it is.
	ListingsOfSource(ctx context.Context, source, payTo string, skip, limit int) (page []Listing, total int, err error)
	// MarkListingsStale marks up to limit listings of a source that were not seen since a time. It
	// returns their number.
	MarkListingsStale(ctx context.Context, of ListingScope, unseenSince, now time.Time, limit int) (int, error)
	// DeleteStaleListings deletes up to limit listings that are stale since before a time. It
	// returns their number.
	DeleteStaleListings(ctx context.Context, before time.Time, limit int) (int, error)
	// AddMarketServer registers a server, which is due then, or returns the one that the merchant
	// registered at the URL. It returns [ErrTooManyServers] beyond most.
	AddMarketServer(ctx context.Context, s MarketServer, most int) (MarketServer, error)
	// MarketServers returns those of a merchant, the oldest first.
	MarketServers(ctx context.Context, merchantID string, limit int) ([]MarketServer, error)
	// DueMarketServers returns servers that are to be read.
	DueMarketServers(ctx context.Context, now time.Time, limit int) ([]MarketServer, error)
	// SaveMarketServer stores the result of a read. If the server was deleted meanwhile, it deletes
	// its listings, which the read may have stored, and returns [ledger.ErrNotFound].
	SaveMarketServer(ctx context.Context, s MarketServer) error
	// DeleteMarketServer deletes a merchant's server and its listings. It returns
	// [ledger.ErrNotFound] if the merchant has none with the id.
	DeleteMarketServer(ctx context.Context, merchantID, id string) error
}

// String returns the cursor as text: empty for the zero cursor.
func (c ListingCursor) String() string {
	if c == (ListingCursor{}) {
		return ""
	}
	return strconv.FormatInt(c.Rank, 10) + "_" + c.ID
}

// ParseListingCursor is the inverse of String. It reports false if the text is no cursor.
func ParseListingCursor(s string) (c ListingCursor, ok bool) {
	if s == "" {
		return c, true
	}
	rank, listing, _ := strings.Cut(s, "_")
	n, err := strconv.ParseInt(rank, 10, 64)
	return ListingCursor{Rank: n, ID: listing}, err == nil && id.Valid(id.Listing, listing)
}
