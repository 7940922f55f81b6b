package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
)

// Market lists paid endpoints.
type Market interface {
	// Search returns a page. Its parameters are valid.
	Search(ctx context.Context, p client.MarketParams, after store.ListingCursor) (client.MarketPage, error)
	// Register returns a [ServerProblem] or [store.ErrTooManyServers].
	Register(ctx context.Context, owner ledger.Merchant, baseURL string) (client.MarketServer, error)
	Servers(ctx context.Context, merchantID string) (client.MarketServerList, error)
	DeleteServer(ctx context.Context, merchantID, serverID string) error
	// Resources returns a page of the facilitator's catalog. An empty payTo selects all.
	Resources(ctx context.Context, payTo string, offset, limit int) (x402.DiscoveryPage, error)
}

// ServerProblem is an error whose text is for the merchant and fits after the name of the field.
type ServerProblem interface {
	error
	ServerProblem()
}

// maxSearch limits a query, a category and a cursor, in characters.
const maxSearch = 100

// market serves everybody. Requests without credentials count by their address.
func (a *API) market(w http.ResponseWriter, r *http.Request) {
	if err := cmp.Or(a.takeSearch(w, r), checkQuery(r)); err != nil {
		a.fail(w, r, err)
		return
	}
	p, after, err := marketQuery(r.URL.Query())
	if err != nil {
		a.fail(w, r, err)
		return
	}
	page, err := a.Market.Search(r.Context(), p, after)
	a.answer(w, r, reply{Body: page}, err)
}

// maxOffset is the largest offset of a page of the catalog.
const maxOffset = 1_000_000

// resources serves the facilitator's catalog (x402 specification v2 §8).
func (a *API) resources(w http.ResponseWriter, r *http.Request) {
	if err := a.takeSearch(w, r); err != nil {
		a.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	limit, offset := 20, 0
	var err error
	if q.Has("limit") {
		if limit, err = strconv.Atoi(q.Get("limit")); err != nil || limit < 1 || limit > maxPage {
			a.fail(w, r, invalid("limit", "must be an integer, 1 to 100"))
			return
		}
	}
	if q.Has("offset") {
		if offset, err = strconv.Atoi(q.Get("offset")); err != nil || offset < 0 || offset > maxOffset {
			a.fail(w, r, invalid("offset", "must be an integer, 0 to 1000000"))
			return
		}
	}
	payTo := q.Get("payTo")
	if payTo != "" {
		if payTo, err = x402.ParseAddress(payTo); err != nil {
			a.fail(w, r, invalid("payTo", "must be an address"))
			return
		}
	}
	if kind := q.Get("type"); kind != "" && kind != x402.DiscoveryHTTP {
		page := x402.DiscoveryPage{X402Version: x402.Version2, Items: []x402.DiscoveryItem{}, Pagination: x402.Pagination{Limit: limit, Offset: offset}}
		a.answer(w, r, reply{Body: page}, nil)
		return
	}
	page, err := a.Market.Resources(r.Context(), payTo, offset, limit)
	a.answer(w, r, reply{Body: page}, err)
}

// takeSearch counts a search: those of a merchant and of its agents together.
func (a *API) takeSearch(w http.ResponseWriter, r *http.Request) error {
	token := bearer(r)
	var m ledger.Merchant
	var err error
	switch {
	case token != "":
		resource, grace := a.audience(r.Context())
		_, m, err = a.Accounts.AuthenticateToken(r.Context(), token, resource, grace)
	case r.Header.Get("X-Service-Api-Key") != "":
		_, m, err = a.Accounts.Authenticate(r.Context(), r.Header.Get("X-Service-Merchant-Id"), r.Header.Get("X-Service-Api-Key"))
	default:
		return a.takeAddress(r.Context(), w.Header(), searches)
	}
	if errors.Is(err, client.ErrUnauthorized) {
		return a.stranger(r.Context(), w.Header(), err)
	}
	if err != nil {
		return err
	}
	if wait, ok := a.limits.take(w.Header(), m.ID, reads); !ok {
		return rateLimited(wait)
	}
	return nil
}

// marketQuery reads the parameters of a search. The returned error names the invalid one.
func marketQuery(q url.Values) (p client.MarketParams, after store.ListingCursor, err error) {
	p = client.MarketParams{
		Query: q.Get("q"), Category: q.Get("category"), Method: q.Get("method"), Protocol: q.Get("protocol"), Cursor: q.Get("cursor"), Limit: defaultPage,
	}
	for _, field := range []struct{ name, value string }{{"q", p.Query}, {"category", p.Category}} {
		if err := text.Check(field.value, maxSearch); err != nil {
			return p, after, invalid(field.name, err.Error())
		}
	}
	after, ok := store.ParseListingCursor(p.Cursor)
	switch {
	case !ok || len(p.Cursor) > maxSearch:
		return p, after, invalid("cursor", "must be the nextCursor of a page")
	case p.Method != "" && !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, p.Method):
		return p, after, invalid("method", "must be GET, POST, PUT, PATCH, DELETE or HEAD")
	case p.Protocol != "" && p.Protocol != "x402" && p.Protocol != "mpp":
		return p, after, invalid("protocol", "must be x402 or mpp")
	}
	if q.Has("limit") {
		if p.Limit, err = strconv.Atoi(q.Get("limit")); err != nil || p.Limit < 1 || p.Limit > maxPage {
			return p, after, invalid("limit", "must be an integer, 1 to 100")
		}
	}
	for name, to := range map[string]*int64{"minPriceMicros": &p.MinPriceMicros, "maxPriceMicros": &p.MaxPriceMicros} {
		if q.Get(name) == "" {
			continue
		}
		if *to, err = strconv.ParseInt(q.Get(name), 10, 64); err != nil || *to < 0 {
			return p, after, invalid(name, "must be an integer, 0 or more: millionths of a US dollar")
		}
	}
	if p.MaxPriceMicros > 0 && p.MinPriceMicros > p.MaxPriceMicros {
		return p, after, invalid("minPriceMicros", "must not exceed maxPriceMicros")
	}
	return p, after, nil
}

func (a *API) registerServer(ctx context.Context, c call[client.MarketServerParams]) (reply, error) {
	if !c.Merchant.Active {
		return reply{}, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: c.RequestID}
	}
	if c.In.BaseURL == "" {
		return reply{}, invalid("baseUrl", "is required")
	}
	s, err := a.Market.Register(ctx, c.Merchant, c.In.BaseURL)
	if problem := ServerProblem(nil); errors.As(err, &problem) {
		return reply{}, invalid("baseUrl", problem.Error())
	}
	if errors.Is(err, store.ErrTooManyServers) {
		return reply{}, invalid("baseUrl", "is one server too many: an account has at most 20; delete one first")
	}
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "market.register", s.ID)
	return reply{Body: s}, nil
}

func (a *API) marketServers(ctx context.Context, c call[struct{}]) (reply, error) {
	list, err := a.Market.Servers(ctx, c.Merchant.ID)
	return reply{Body: list}, err
}

func (a *API) deleteServer(ctx context.Context, c call[struct{}]) (reply, error) {
	id := c.Request.PathValue("serverId")
	if err := a.Market.DeleteServer(ctx, c.Merchant.ID, id); err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "market.delete", id)
	return reply{Body: client.Deleted{ID: id, Deleted: true}}, nil
}
