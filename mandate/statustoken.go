package mandate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// statusTyp is the typ of a status list token and the subtype of its media type.
const statusTyp = "statuslist+jwt"

// statusToken holds the claims of a status list token (draft-ietf-oauth-status-list section 5.1).
type statusToken struct {
	list     *StatusList
	iat, exp int64         // exp is 0 if there is none
	ttl      time.Duration // 0 if there is none
}

// signStatusList returns the signed token of a list.
func signStatusList(ctx context.Context, signer SignerFunc, uri string, t statusToken) (string, error) {
	if signer == nil {
		return "", errors.New("no Signer")
	}
	key, err := signer(ctx)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	public, err := publicOf(key)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	lst, err := t.list.compress()
	if err != nil {
		return "", err
	}
	payload := ijson.AppendString([]byte(`{"sub":`), uri)
	payload = fmt.Appendf(payload, `,"iat":%d,"exp":%d,"ttl":%d,"status_list":{"bits":1,"lst":"%s"}}`,
		t.iat, t.exp, int64(t.ttl/time.Second), sdjwt.Encode64(lst))
	return sdjwt.Sign([]byte(`{"alg":"ES256","typ":"`+statusTyp+`","kid":"`+public.ID()+`"}`), payload, key)
}

// verifyStatusList verifies a token as strictly as a mandate: kid selects the key, and sub
// must be the address that the list was fetched from.
func verifyStatusList(ctx context.Context, keys KeySource, uri, token string, w window) (statusToken, error) {
	jwt, err := sdjwt.ParseJWT(token)
	if err != nil {
		return statusToken{}, fmt.Errorf("%w: %w", ErrStatusList, err)
	}
	kid, err := jwt.Header(statusTyp)
	if err != nil {
		return statusToken{}, fmt.Errorf("%w: %w", ErrStatusList, err)
	}
	key, err := keys.Key(ctx, kid)
	if err != nil {
		return statusToken{}, fmt.Errorf("find key %s of status list: %w", strconv.Quote(kid), err)
	}
	if key.IsZero() {
		return statusToken{}, fmt.Errorf("find key of status list: %w", ErrKeyUnknown)
	}
	if err := jwt.Verify(key.key); err != nil {
		return statusToken{}, fmt.Errorf("%w: %w", ErrStatusList, err)
	}
	claims, err := jwt.Claims()
	if err != nil {
		return statusToken{}, fmt.Errorf("%w: %w", ErrStatusList, err)
	}
	return readStatusToken(claims, uri, w)
}

func readStatusToken(claims *ijson.Value, uri string, w window) (statusToken, error) {
	var t statusToken
	var ok bool
	if !claims.Get("sub").Is(uri) {
		return t, fmt.Errorf("%w: it is the list of another address", ErrStatusList)
	}
	if t.iat, ok = date(claims.Get("iat")); !ok || w.early(t.iat) {
		return t, fmt.Errorf("%w: iat is missing or in the future", ErrStatusList)
	}
	if exp := claims.Get("exp"); exp != nil {
		if t.exp, ok = date(exp); !ok || w.late(t.exp) {
			return t, fmt.Errorf("%w: it is expired", ErrStatusList)
		}
	}
	if ttl := claims.Get("ttl"); ttl != nil {
		s, ok := ttl.Int(1, int64(maxFresh/time.Second))
		if !ok {
			return t, fmt.Errorf("%w: bad ttl", ErrStatusList)
		}
		t.ttl = time.Duration(s) * time.Second
	}
	body := claims.Get("status_list")
	if _, ok := body.Get("bits").Int(1, 1); !ok {
		return t, fmt.Errorf("%w: bits is not 1", ErrStatusList)
	}
	text, _ := body.Get("lst").Str()
	lst, ok := sdjwt.Decode64(text)
	if !ok {
		return t, fmt.Errorf("%w: lst is not base64url", ErrStatusList)
	}
	var err error
	t.list, err = decompressStatusList(lst)
	return t, err
}
