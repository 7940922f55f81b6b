package payment

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/x402"
)

// SellerOffer is what a seller outside of the service asks for: one entry of an x402 402
// response, or an MPP challenge.
type SellerOffer struct {
	// X402Version is 1 or 2, or zero for a challenge.
	X402Version int `json:"x402Version"`
	// Accepted is the entry of accepts that is paid.
	Accepted json.RawMessage `json:"accepted"`
	// Resource and Extensions are those of an x402 version 2 response.
	Resource *x402.Resource `json:"resource"`
	// Extensions are sent back to the seller as they are.
	Extensions map[string]x402.Extension `json:"extensions"`
	// Challenge is the value of a WWW-Authenticate header with one challenge.
	Challenge string `json:"challenge"`
}

// OfferError reports a field of an offer that cannot be read.
type OfferError struct {
	// Field is the field's name, and Problem says what is wrong with it.
	Field, Problem string
}

func (e *OfferError) Error() string { return "payment: " + e.Field + " " + e.Problem }

// UnpayableError reports an offer that this service cannot pay. Nothing was stored or moved.
type UnpayableError struct {
	// Problem says why.
	Problem string
}

func (e *UnpayableError) Error() string { return "payment: the offer cannot be paid: " + e.Problem }

func unpayable(format string, args ...any) error {
	return &UnpayableError{Problem: fmt.Sprintf(format, args...)}
}

// Limits of what is signed for a seller, whatever it asks for.
const (
	shortestWindow    = 30 * time.Second
	longestWindow     = 10 * time.Minute
	maxOfferMicros    = int64(1) << 50
	assetTransfer     = "assetTransferMethod" // the member of extra that selects a kind of transfer
	transferByEIP3009 = "eip3009"
)

// asked is a seller's offer as it was read.
type asked struct {
	network, asset, payTo, amount string
	name, version                 string // of the token's domain; may be empty
	decimals                      int    // zero: not said
	window                        time.Duration
	expires                       time.Time // of a challenge; zero if it does not expire
	nonce                         string    // empty: any

	encode func(x402.Exact) (name, value string, err error)
}

// read parses an offer.
func (o SellerOffer) read(now time.Time) (asked, error) {
	switch {
	case o.Challenge != "" && o.X402Version == 0 && len(o.Accepted) == 0:
		return o.readChallenge(now)
	case o.Challenge != "":
		return asked{}, &OfferError{"offer.challenge", "excludes offer.x402Version and offer.accepted"}
	case o.X402Version == x402.Version2:
		return o.readV2()
	case o.X402Version == x402.Version1:
		return o.readV1()
	}
	return asked{}, &OfferError{"offer.x402Version", "must be 1 or 2, unless offer.challenge is set"}
}

func (o SellerOffer) readV2() (asked, error) {
	var r x402.Requirements
	if json.Unmarshal(o.Accepted, &r) != nil {
		return asked{}, &OfferError{"offer.accepted", "is not an entry of accepts of x402 version 2"}
	}
	a := asked{network: r.Network, asset: r.Asset, payTo: r.PayTo, amount: r.Amount, window: seconds(r.MaxTimeoutSeconds)}
	a.encode = func(e x402.Exact) (string, string, error) {
		value, err := x402.EncodeHeader(x402.Payload{
			X402Version: x402.Version2, Resource: o.Resource, Accepted: r, Payload: e, Extensions: o.Extensions,
		})
		return x402.HeaderPaymentSignature, value, err
	}
	return a, a.readScheme(r.Scheme, r.Extra)
}

func (o SellerOffer) readV1() (asked, error) {
	var r x402.RequirementsV1
	if json.Unmarshal(o.Accepted, &r) != nil {
		return asked{}, &OfferError{"offer.accepted", "is not an entry of accepts of x402 version 1"}
	}
	a := asked{network: r.Network, asset: r.Asset, payTo: r.PayTo, amount: r.MaxAmountRequired, window: seconds(r.MaxTimeoutSeconds)}
	a.encode = func(e x402.Exact) (string, string, error) {
		value, err := x402.EncodeHeader(x402.PayloadV1{X402Version: x402.Version1, Scheme: r.Scheme, Network: r.Network, Payload: e})
		return x402.HeaderPayment, value, err
	}
	return a, a.readScheme(r.Scheme, r.Extra)
}

// readScheme reads the scheme and its additions.
func (a *asked) readScheme(scheme string, extra map[string]any) error {
	method, _ := extra[assetTransfer].(string)
	if scheme != x402.SchemeExact || method != "" && method != transferByEIP3009 {
		return unpayable("its scheme is %q %s; only exact transfers by EIP-3009 are paid", scheme, method)
	}
	a.name, _ = extra[x402.ExtraName].(string)
	a.version, _ = extra[x402.ExtraVersion].(string)
	return nil
}

func (o SellerOffer) readChallenge(now time.Time) (asked, error) {
	all, err := mpp.ParseChallenges(o.Challenge)
	if err != nil || len(all) != 1 {
		return asked{}, &OfferError{"offer.challenge", "must be one challenge of the Payment scheme"}
	}
	c := all[0]
	if c.Method != mpp.MethodEVM || c.Intent != mpp.IntentCharge {
		return asked{}, unpayable("its method is %q with intent %q; only evm charges are paid", c.Method, c.Intent)
	}
	var r mpp.ChargeRequest
	data, err := mpp.DecodeBase64(c.Request)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return asked{}, &OfferError{"offer.challenge", "has a request that cannot be read"}
	}
	if types := r.MethodDetails.CredentialTypes; len(types) > 0 && !slices.Contains(types, mpp.CredentialAuthorization) {
		return asked{}, unpayable("it takes no signed authorization")
	}
	a := asked{
		network: x402.NetworkOf(r.MethodDetails.ChainID).CAIP2, asset: r.Currency, payTo: r.Recipient, amount: r.Amount,
		decimals: r.MethodDetails.Decimals, window: longestWindow, nonce: c.Nonce(),
	}
	if expires, err := c.ExpiresAt(); err != nil {
		return asked{}, &OfferError{"offer.challenge", "has an expiry that cannot be read"}
	} else if a.expires = expires; !expires.IsZero() && !now.Before(expires) {
		return asked{}, unpayable("it has expired")
	}
	a.encode = func(e x402.Exact) (string, string, error) { return encodeMPP(c, r.MethodDetails.ChainID, e) }
	return a, nil
}

func encodeMPP(c mpp.Challenge, chainID int64, e x402.Exact) (name, value string, err error) {
	t := e.Authorization
	payload, err := json.Marshal(mpp.AuthorizationPayload{
		Type: mpp.CredentialAuthorization, From: t.From, To: t.To, Value: t.Value, ValidAfter: t.ValidAfter,
		ValidBefore: t.ValidBefore, Nonce: t.Nonce, Signature: e.Signature,
	})
	if err != nil {
		return "", "", err
	}
	source := fmt.Sprintf("did:pkh:eip155:%d:%s", chainID, t.From)
	value, err = mpp.Credential{Challenge: c, Source: source, Payload: payload}.Header()
	return mpp.HeaderCredential, value, err
}

// seconds returns a duration of at most a year.
func seconds(n int64) time.Duration { return time.Duration(min(n, 365*24*3600)) * time.Second }

// micros returns the price in micro-dollars.
func (a asked) micros() (ledger.Micros, error) {
	n, err := strconv.ParseInt(a.amount, 10, 64)
	if !x402.IsAmount(a.amount) || n == 0 {
		return 0, &OfferError{"offer", "must ask for a positive amount in base units"}
	}
	if err != nil || n > maxOfferMicros {
		return 0, unpayable("it asks for %s base units", a.amount)
	}
	return ledger.Micros(n), nil
}

// bounded returns the window in which the seller may settle. A seller of x402 that asks for
// less than the shortest gets it all the same, as other clients give it.
func (a asked) bounded() time.Duration {
	if a.nonce == "" {
		return min(max(a.window, shortestWindow), longestWindow)
	}
	return min(a.window, longestWindow)
}

// payableIn returns an [UnpayableError] unless an offer asks for the dollar of a network.
func (a asked) payableIn(network x402.Network, dollar x402.Asset) error {
	n, err := x402.ParseNetwork(a.network)
	switch {
	case err != nil || n.ChainID != network.ChainID:
		return unpayable("it is on network %q; this service pays on %s", short(a.network), network.CAIP2)
	case !x402.SameAddress(a.asset, dollar.Address):
		return unpayable("it asks for token %q; this service pays %s", short(a.asset), dollar.Address)
	case a.decimals != 0 && a.decimals != dollar.Decimals:
		return unpayable("it says that the token has %d decimals; it has %d", a.decimals, dollar.Decimals)
	case a.name != "" && a.name != dollar.Name, a.version != "" && a.version != dollar.Version:
		return unpayable("it names the token %q %q; a signature for the token is for %q %q", short(a.name), short(a.version), dollar.Name, dollar.Version)
	case a.window <= 0:
		return &OfferError{"offer", "must give a positive time to pay"}
	}
	return nil
}

// short cuts a seller's text for a message.
func short(s string) string { return s[:min(len(s), 80)] }

// sellerResource returns the normalized URL that is paid for.
func sellerResource(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || len(text) > maxTransferResource {
		return nil, &OfferError{"resource", fmt.Sprintf("must be the http or https URL that is paid for, of at most %d characters", maxTransferResource)}
	}
	return u, nil
}
