package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// poorWallet is a wallet of a random key, which owns nothing.
type poorWallet struct{ *evm.Wallet }

// newPoorWallet returns a wallet that signs for the tokens of offers.
func newPoorWallet(offers []offer) (*poorWallet, error) {
	assets := map[int64]x402.Asset{}
	for _, o := range offers {
		if a, ok := o.token(); ok && assets[o.chainID].Address == "" {
			assets[o.chainID] = a
		}
	}
	key, err := evm.ParseKey(randomHex(32))
	if err != nil {
		return nil, err
	}
	w, err := evm.NewWallet(evm.WalletConfig{Key: key, Assets: assets})
	return &poorWallet{w}, err
}

// token returns the token of an offer that a transfer authorization can pay.
func (o offer) token() (x402.Asset, bool) {
	address, err := x402.ParseAddress(o.asset)
	if err != nil || o.chainID == 0 || o.scheme() != x402.SchemeExact || !x402.IsAmount(o.amount) || o.amount == "0" {
		return x402.Asset{}, false
	}
	if _, err := x402.ParseAddress(o.payTo); err != nil || (o.protocol == payment2 && o.mpp.Method != mpp.MethodEVM) {
		return x402.Asset{}, false
	}
	if known, ok := x402.USDC(o.chainID); ok && x402.SameAddress(known.Address, address) {
		return known, true
	}
	extra, _ := o.raw["extra"].(map[string]any)
	a := x402.Asset{Address: address, Name: str(extra[x402.ExtraName]), Version: str(extra[x402.ExtraVersion]), Decimals: 6}
	return a, a.Name != "" && a.Version != ""
}

const (
	// life is how long a signed transfer is valid, unless the challenge of MPP expires later.
	life = time.Minute
	// longest is how long a signed transfer is valid at most, whatever a challenge says.
	longest = 10 * time.Minute
)

// transfer returns the authorization that pays an offer from an account.
func (p *probe) transfer(o offer, from string) x402.Authorization {
	a := x402.Authorization{
		From: from, To: o.payTo, Value: o.amount, ValidAfter: "0", Nonce: "0x" + randomHex(32),
		ValidBefore: strconv.FormatInt(p.cfg.Clock().Add(life).Unix(), 10),
	}
	if o.protocol != payment2 {
		return a
	}
	a.Nonce = o.mpp.Nonce()
	if at, err := o.mpp.ExpiresAt(); err == nil && !at.IsZero() {
		if latest := p.cfg.Clock().Add(longest); at.After(latest) {
			at = latest
		}
		a.ValidBefore = strconv.FormatInt(at.Unix(), 10)
	}
	return a
}

// sign signs a transfer for an offer.
func sign(ctx context.Context, w agent.Wallet, o offer, a x402.Authorization) (x402.Exact, error) {
	asset, ok := w.Asset(o.chainID)
	if !ok || !x402.SameAddress(asset.Address, o.asset) {
		return x402.Exact{}, fmt.Errorf("the wallet has no token %s on chain %d", clean(o.asset, maxQuoted), o.chainID)
	}
	signature, err := w.SignTransfer(ctx, o.chainID, asset, a)
	return x402.Exact{Signature: signature, Authorization: a}, err
}

// header returns the header that pays an offer with a signed transfer.
func (c *challenge) header(o offer, exact x402.Exact) (http.Header, error) {
	var name, value string
	var err error
	switch o.protocol {
	case version2:
		name = x402.HeaderPaymentSignature
		payload := map[string]any{"x402Version": 2, "accepted": o.raw, "payload": exact}
		for _, member := range []string{"resource", "extensions"} {
			if v, ok := c.two[member]; ok {
				payload[member] = v
			}
		}
		if extensions, ok := c.two["extensions"].(map[string]any); ok {
			payload["extensions"] = withIdentifier(extensions)
		}
		value, err = x402.EncodeHeader(payload)
	case version1:
		name = x402.HeaderPayment
		value, err = x402.EncodeHeader(map[string]any{"x402Version": 1, "scheme": x402.SchemeExact, "network": o.network, "payload": exact})
	default:
		name = mpp.HeaderCredential
		value, err = credential(o, exact)
	}
	if err != nil {
		return nil, err
	}
	if len(value) > x402.MaxPaymentHeader {
		return nil, errors.New("the payment is longer than a header may be")
	}
	h := http.Header{}
	h.Set(name, value)
	return h, nil
}

// credential returns the credential of the Payment scheme.
func credential(o offer, exact x402.Exact) (string, error) {
	a := exact.Authorization
	payload, err := json.Marshal(mpp.AuthorizationPayload{
		Type: mpp.CredentialAuthorization, From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter,
		ValidBefore: a.ValidBefore, Nonce: a.Nonce, Signature: exact.Signature,
	})
	if err != nil {
		return "", err
	}
	return mpp.Credential{Challenge: o.mpp, Source: fmt.Sprintf("did:pkh:eip155:%d:%s", o.chainID, a.From), Payload: payload}.Header()
}

// withIdentifier adds an id to the extension payment-identifier.
func withIdentifier(extensions map[string]any) map[string]any {
	e, _ := extensions[x402.ExtensionIdentifier].(map[string]any)
	info, ok := e["info"].(map[string]any)
	if !ok {
		return extensions
	}
	all, own, filled := maps.Clone(extensions), maps.Clone(e), maps.Clone(info)
	filled["id"] = "pay_" + randomHex(16)
	own["info"], all[x402.ExtensionIdentifier] = filled, own
	return all
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
