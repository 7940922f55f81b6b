package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HeaderSignature carries the signature of a delivery.
const HeaderSignature = "X-Service-Signature"

// The headers of Standard Webhooks (standardwebhooks.com, "Webhook headers").
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Sign returns the headers of a delivery of body, the event with this id, sent at
// a time: one signature for each secret. The service signs with it, and so can
// tests of receivers. It returns [ErrSecret].
func Sign(id string, at time.Time, body []byte, secrets ...string) (http.Header, error) {
	all, err := keys(secrets)
	if err != nil {
		return nil, err
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	var own, standard strings.Builder
	own.WriteString("t=" + seconds)
	for i, key := range all {
		own.WriteString(",v1=" + hex.EncodeToString(mac(key, seconds, ".", body)))
		if i > 0 {
			standard.WriteByte(' ')
		}
		standard.WriteString("v1," + base64.StdEncoding.EncodeToString(mac(key, id+"."+seconds, ".", body)))
	}
	return http.Header{
		"Content-Type": {"application/json"}, HeaderSignature: {own.String()},
		headerID: {id}, headerTimestamp: {seconds}, headerSignature: {standard.String()},
	}, nil
}

// mac is the HMAC-SHA256 of head, dot and body.
func mac(key []byte, head, dot string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(head + dot)) // a hash takes everything
	_, _ = h.Write(body)
	return h.Sum(nil)
}
