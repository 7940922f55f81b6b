package market

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
)

// Limits of a registered server.
const (
	maxDocument   = 2 << 20 // bytes of openapi.json
	maxChallenge  = 64 << 10
	maxOperations = 100
	// inspectTime limits all requests to a server, of which so many run at a time.
	inspectTime = 20 * time.Second
	together    = 4
)

// document is the part of an OpenAPI document that counts here (draft-payment-discovery-00).
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"info"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Service struct {
		Categories []string `json:"categories"`
	} `json:"x-service-info"`
	Paths map[string]map[string]json.RawMessage `json:"paths"`
}

type operation struct {
	Summary     string          `json:"summary"`
	Description string          `json:"description"`
	Payment     json.RawMessage `json:"x-payment-info"`
	Parameters  []struct {
		Name    string `json:"name"`
		In      string `json:"in"`
		Example any    `json:"example"`
	} `json:"parameters"`
	Body      content            `json:"requestBody"`
	Responses map[string]content `json:"responses"`
}

type content struct {
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

// price is an offer of x-payment-info. Amount is null or missing if it varies.
type price struct {
	Amount   *string `json:"amount"`
	Currency string  `json:"currency"`
	Intent   string  `json:"intent"`
	Method   string  `json:"method"`
	Offers   []price `json:"offers"`
}

// inspect reads the document of a server, asks each operation for its price, and returns those
// that ask for what the document says, and a line for each. The text of an error is for the
// merchant.
func (m *Market) inspect(ctx context.Context, owner ledger.Merchant, base string) ([]store.Listing, []client.MarketLine, error) {
	limited, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	body, _, _, err := m.fetch.json(limited, base+"/openapi.json", "", maxDocument)
	if err != nil {
		return nil, nil, fmt.Errorf("/openapi.json: %w", err)
	}
	var doc document
	if err := json.Unmarshal(body, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, nil, faulty(invalidJSON, "/openapi.json: not an OpenAPI 3 document")
	}
	prefix, err := doc.prefix(base)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := m.jobs(doc, owner, base+prefix)
	if err != nil {
		return nil, nil, err
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, j := range jobs {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			j.line.Problem = m.ask(limited, j)
		})
	}
	running.Wait()
	var found []store.Listing
	lines := make([]client.MarketLine, 0, len(jobs))
	for _, j := range jobs {
		if j.line.Problem == "" {
			var l store.Listing
			j.Verified = j.verified(owner)
			if l, j.line.Listed = j.finish(m.Clock()); j.line.Listed {
				found = append(found, l)
			}
		}
		lines = append(lines, j.line)
	}
	return found, lines, nil
}

// prefix returns the path of the server that the document names, which must be at base.
func (d document) prefix(base string) (string, error) {
	if len(d.Servers) == 0 || d.Servers[0].URL == "" {
		return "", nil
	}
	at := strings.TrimSuffix(d.Servers[0].URL, "/")
	if strings.HasPrefix(at, "/") || at == "" {
		return at, nil
	}
	u, err := url.Parse(at)
	if err != nil || !strings.EqualFold(u.Scheme+"://"+u.Host, base) {
		return "", faulty(invalidJSON, "/openapi.json: servers[0].url is another server")
	}
	return strings.TrimSuffix(u.Path, "/"), nil
}

// job is an operation that is asked for its price.
type job struct {
	draft

	sample string // the URL with values for its parameters
	prices []price
	line   client.MarketLine
}

// jobs returns the operations that have x-payment-info, in order.
func (m *Market) jobs(doc document, owner ledger.Merchant, base string) ([]*job, error) {
	var jobs []*job
	for path, item := range doc.Paths {
		for method, raw := range item {
			method = strings.ToUpper(method)
			var op operation
			if !slices.Contains(methods, method) || !strings.HasPrefix(path, "/") || json.Unmarshal(raw, &op) != nil || len(op.Payment) == 0 || string(op.Payment) == "null" {
				continue
			}
			if len(jobs) == maxOperations {
				return nil, faulty(tooMany, "/openapi.json: more than %d operations with x-payment-info", maxOperations)
			}
			jobs = append(jobs, m.job(doc, op, owner, base, path, method))
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int { return strings.Compare(a.line.Operation, b.line.Operation) })
	return jobs, nil
}

func (m *Market) job(doc document, op operation, owner ledger.Merchant, base, path, method string) *job {
	j := &job{draft: newDraft(store.SourceDirectory, owner.ID, m.Clock())}
	j.line.Operation = method + " " + line(path, maxTitle)
	j.Title, j.Description = doc.Info.Title, cmp.Or(op.Summary, op.Description, doc.Info.Description)
	if len(doc.Service.Categories) > 0 {
		j.Category = doc.Service.Categories[0]
	}
	for _, c := range op.Body.Content {
		j.InputSchema = schema(c.Schema)
	}
	for _, c := range op.Responses["200"].Content {
		j.OutputSchema = schema(c.Schema)
	}
	var p price
	switch {
	case method != http.MethodGet && method != http.MethodPost:
		j.line.Problem = "the market lists GET and POST alone"
	case !j.at(method, base+path, m.AllowPrivate):
		j.line.Problem = "the path gives no valid URL"
	case json.Unmarshal(op.Payment, &p) != nil:
		j.line.Problem = "x-payment-info is not valid"
	case op.Responses == nil:
		j.line.Problem = "the operation has no responses"
	}
	if _, ok := op.Responses["402"]; j.line.Problem == "" && !ok {
		j.line.Problem = "the operation lists no response 402"
	}
	if j.prices = p.Offers; len(p.Offers) == 0 {
		j.prices = []price{p}
	}
	j.sample = j.URL
	for _, parameter := range op.Parameters {
		if parameter.In == "path" {
			value := "1"
			if parameter.Example != nil {
				value = fmt.Sprint(parameter.Example)
			}
			j.sample = strings.ReplaceAll(j.sample, "{"+parameter.Name+"}", url.PathEscape(value))
		}
	}
	return j
}

// ask compares the challenge of an endpoint with its description. It returns what is wrong.
func (m *Market) ask(ctx context.Context, j *job) string {
	if j.line.Problem != "" {
		return j.line.Problem
	}
	header, body := http.Header{"Accept": {"application/json"}}, ""
	if j.Method == http.MethodPost {
		header.Set("Content-Type", "application/json")
		body = "{}"
	}
	a, err := m.fetch.send(ctx, j.Method, j.sample, body, header, maxChallenge)
	if err != nil {
		return err.Error()
	}
	if a.status != http.StatusPaymentRequired {
		return fmt.Sprintf("answered with status %d, not 402", a.status)
	}
	challenges, err := mpp.ParseChallenges(a.header.Values("WWW-Authenticate")...)
	if err != nil || len(challenges) == 0 {
		return "WWW-Authenticate has no valid challenge of the Payment scheme"
	}
	if problem := j.compare(challenges); problem != "" {
		return problem
	}
	if required, err := x402.DecodePaymentRequired(a.header.Get("Payment-Required")); err == nil {
		for _, r := range required.Accepts {
			j.accept(x402Accept{Scheme: r.Scheme, Network: r.Network, Amount: r.Amount, Asset: r.Asset, PayTo: r.PayTo, Extra: r.Extra})
		}
	}
	return ""
}

// charge is the request of a challenge.
type charge struct {
	Amount    string `json:"amount"`
	Currency  string `json:"currency"`
	Recipient string `json:"recipient"`
	Details   struct {
		ChainID  int64 `json:"chainId"`
		Decimals *int  `json:"decimals"`
	} `json:"methodDetails"`
}

// compare adds the challenges that the description promises. It returns what differs.
func (j *job) compare(challenges []mpp.Challenge) string {
	for _, p := range j.prices {
		problem := fmt.Sprintf("no challenge has the method %q and the intent %q", line(p.Method, maxCategory), line(p.Intent, maxCategory))
		for _, c := range challenges {
			if (p.Method != "" && !strings.EqualFold(c.Method, p.Method)) || (p.Intent != "" && c.Intent != p.Intent) {
				continue
			}
			var asked charge
			data, err := mpp.DecodeBase64(c.Request)
			if err == nil {
				err = json.Unmarshal(data, &asked)
			}
			switch {
			case err != nil:
				problem = "the request of the challenge cannot be read"
				continue
			case p.Amount != nil && *p.Amount != asked.Amount:
				problem = fmt.Sprintf("the document has the price %q, the challenge %q", line(*p.Amount, 40), line(asked.Amount, 40))
				continue
			case p.Currency != "" && !strings.EqualFold(p.Currency, asked.Currency):
				problem = fmt.Sprintf("the document has the currency %q, the challenge %q", line(p.Currency, 60), line(asked.Currency, 60))
				continue
			}
			problem = ""
			j.challenge(c, asked, p.Amount == nil)
			break
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

// challenge adds the offer of a challenge. An amount that varies is none.
func (j *job) challenge(c mpp.Challenge, asked charge, varies bool) {
	decimals := -1
	if asked.Details.Decimals != nil {
		decimals = *asked.Details.Decimals
	}
	o := client.MarketOffer{Protocol: protocolMPP, Method: c.Method, Asset: asked.Currency, Amount: asked.Amount, PayTo: asked.Recipient}
	if id := asked.Details.ChainID; id > 0 {
		o.Network = x402.NetworkOf(id).CAIP2
		if usdc, ok := x402.USDC(id); ok && strings.EqualFold(usdc.Address, asked.Currency) {
			decimals = usdc.Decimals
		}
	}
	if varies {
		o.Amount = ""
	}
	j.offer(o, decimals)
}

// verified reports whether the merchant is paid at its own wallet, by each offer.
func (j *job) verified(owner ledger.Merchant) bool {
	for _, payTo := range j.PayTo {
		if !strings.EqualFold(payTo, owner.PayTo) {
			return false
		}
	}
	return owner.PayTo != "" && len(j.PayTo) > 0
}
