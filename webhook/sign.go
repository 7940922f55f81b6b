package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"sync"
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

// Sign returns the headers of a delivery: of the event with this id, sent at a time, with a
// signature for each secret. Tests of receivers can use it. It returns [ErrSecret] if a secret
// is missing or malformed.
func Sign(id string, at time.Time, body []byte, secrets ...string) (http.Header, error) {
	s, err := NewSigner(secrets...)
	if err != nil {
		return nil, err
	}
	return s.Sign(id, at, body), nil
}

// Signer signs many deliveries with the same secrets. It is safe for concurrent use.
type Signer struct{ pool sync.Pool } // of *signing

// signing holds the hashes and buffers of one signature at a time.
type signing struct {
	macs []hash.Hash // one for each secret
	text []byte
	sum  [sha256.Size]byte
}

// NewSigner returns a Signer. It returns [ErrSecret] if a secret is missing or malformed.
func NewSigner(secrets ...string) (*Signer, error) {
	all, err := keys(secrets)
	if err != nil {
		return nil, err
	}
	s := &Signer{}
	s.pool.New = func() any {
		d := &signing{}
		for _, key := range all {
			d.macs = append(d.macs, hmac.New(sha256.New, key))
		}
		return d
	}
	return s, nil
}

// Sign returns the headers of a delivery: of the event with this id, sent at a time.
func (s *Signer) Sign(id string, at time.Time, body []byte) http.Header {
	d := s.pool.Get().(*signing)
	defer s.pool.Put(d)
	// One buffer and one string hold all texts: those that are signed before the body, and
	// the two headers.
	text := append(append(d.text[:0], id...), '.')
	text = append(strconv.AppendInt(text, at.Unix(), 10), '.')
	short, head := len(id)+1, len(text)
	text = append(append(text, "t="...), text[short:head-1]...)
	for _, h := range d.macs {
		text = hex.AppendEncode(append(text, ",v1="...), mac(h, d.sum[:0], text[short:head], body))
	}
	own := len(text)
	for i, h := range d.macs {
		if i > 0 {
			text = append(text, ' ')
		}
		text = base64.StdEncoding.AppendEncode(append(text, "v1,"...), mac(h, d.sum[:0], text[:head], body))
	}
	d.text = text
	all := string(text)
	return headers("application/json", all[head:own], id, all[short:head-1], all[own:])
}

// headers returns the headers of a delivery, which share one backing array.
func headers(contentType, own, id, timestamp, standard string) http.Header {
	v := []string{contentType, own, id, timestamp, standard}
	return http.Header{
		"Content-Type": v[0:1:1], HeaderSignature: v[1:2:2], headerID: v[2:3:3], headerTimestamp: v[3:4:4], headerSignature: v[4:5:5],
	}
}

// mac appends the HMAC of head and body.
func mac(h hash.Hash, to, head, body []byte) []byte {
	h.Reset()
	_, _ = h.Write(head) // never fails
	_, _ = h.Write(body)
	return h.Sum(to)
}
