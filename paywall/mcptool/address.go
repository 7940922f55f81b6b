package mcptool

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// headerClient is the header in which [ClientAddress] passes the client's address on, after a
// code that a client cannot make.
const headerClient = "X-Service-Client-Address"

var addressKey = []byte(rand.Text())

// ClientAddress passes the addresses of clients to the gates of tools, which limit invalid
// payments by them. Wrap the handler of the SDK with it. Without it, all clients share the limit
// of [paywall.Config.UnprovenPerSecond].
func ClientAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(headerClient, addressCode(r.RemoteAddr)+" "+r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}

func addressCode(address string) string {
	h := hmac.New(sha256.New, addressKey)
	_, _ = h.Write([]byte(address)) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}

// setAddress sets the client's address that h has from [ClientAddress], and the headers of proxies.
func setAddress(r *http.Request, h http.Header) {
	code, address, _ := strings.Cut(h.Get(headerClient), " ")
	if !hmac.Equal([]byte(code), []byte(addressCode(address))) {
		return
	}
	r.RemoteAddr = address
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For"} {
		if values := h.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
}
