package row

import (
	"strings"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Listing reads a stored row.
func Listing(r db.Listing) (store.Listing, error) {
	return store.Listing{
		ID: r.ID, Source: r.Source, MerchantID: r.MerchantID, Method: r.Method, URL: r.Url, Owner: r.Owner, Verified: r.Verified != 0,
		Title: r.Title, Description: r.Description, Category: r.Category, Protocols: strings.Fields(r.Protocols),
		Low: ledger.Micros(r.LowMicros), High: ledger.Micros(r.HighMicros), PayTo: strings.Fields(r.PayTo), Offers: r.Offers,
		InputSchema: r.InputSchema, OutputSchema: r.OutputSchema, FirstSeen: at(r.FirstMs), LastSeen: at(r.SeenMs),
		LastSettled: at(r.SettledMs), Settlements: r.Settlements, StaleSince: at(r.StaleMs), Rank: r.Rank, Item: r.Item,
	}, nil
}

// PutListing returns the parameters that store a listing.
func PutListing(l store.Listing) db.PutListingParams {
	p := db.PutListingParams{
		ID: l.ID, Source: l.Source, MerchantID: l.MerchantID, Owner: l.Owner, Method: l.Method, Url: l.URL, Rank: l.Rank,
		LowMicros: int64(l.Low), HighMicros: int64(l.High), FirstMs: Millis(l.FirstSeen), SeenMs: Millis(l.LastSeen),
		SettledMs: Millis(l.LastSettled), Settlements: l.Settlements, Title: l.Title, Description: l.Description, Category: l.Category,
		Protocols: strings.Join(l.Protocols, " "), PayTo: strings.Join(l.PayTo, " "), Offers: l.Offers, InputSchema: l.InputSchema,
		OutputSchema: l.OutputSchema, Item: l.Item,
	}
	if l.Verified {
		p.Verified = 1
	}
	return p
}

// MarketServer reads a stored row.
func MarketServer(r db.MarketServer) (store.MarketServer, error) {
	return store.MarketServer{
		ID: r.ID, MerchantID: r.MerchantID, BaseURL: r.BaseUrl, CreatedAt: at(r.CreatedMs), CheckedAt: at(r.CheckedMs), DueAt: at(r.DueMs),
		Failures: int(r.Failures), Report: r.Report,
	}, nil
}
