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

// Sign returns the headers of a delivery of body, the event with this id, sent at
// a time: one signature for each secret. Tests of receivers can sign with it. It
// returns [ErrSecret].
func Sign(id string, at time.Time, body []byte, secrets ...string) (http.Header, error) {
	s, err := NewSigner(secrets...)
	if err != nil {
		return nil, err
	}
	return s.Sign(id, at, body), nil
}

// Signer is [Sign] for many deliveries: the service signs with it. It may be used
// by several goroutines at once.
type Signer struct{ macs []sync.Pool } // of hashes, for each secret

// NewSigner returns a signer with secrets. It returns [ErrSecret].
func NewSigner(secrets ...string) (*Signer, error) {
	all, err := keys(secrets)
	if err != nil {
		return nil, err
	}
	s := &Signer{macs: make([]sync.Pool, len(all))}
	for i, key := range all {
		s.macs[i].New = func() any { return hmac.New(sha256.New, key) }
	}
	return s, nil
}

// Sign returns the headers of a delivery of body, the event with this id, sent at a time.
func (s *Signer) Sign(id string, at time.Time, body []byte) http.Header {
	var text [20]byte
	seconds := strconv.AppendInt(text[:0], at.Unix(), 10)
	own, standard := append(make([]byte, 0, 96), "t="...), make([]byte, 0, 64)
	own = append(own, seconds...)
	var sum [sha256.Size]byte
	head := append(append(append(make([]byte, 0, 64), id...), '.'), seconds...)
	head = append(head, '.')
	for i := range s.macs {
		h := s.macs[i].Get().(hash.Hash)
		own = hex.AppendEncode(append(own, ",v1="...), mac(h, sum[:0], head[len(id)+1:], body))
		if i > 0 {
			standard = append(standard, ' ')
		}
		standard = base64.StdEncoding.AppendEncode(append(standard, "v1,"...), mac(h, sum[:0], head, body))
		s.macs[i].Put(h)
	}
	return http.Header{
		"Content-Type": {"application/json"}, HeaderSignature: {string(own)},
		headerID: {id}, headerTimestamp: {string(seconds)}, headerSignature: {string(standard)},
	}
}

// mac appends the HMAC-SHA256 of head and body.
func mac(h hash.Hash, to, head, body []byte) []byte {
	h.Reset()
	_, _ = h.Write(head) // a hash takes everything
	_, _ = h.Write(body)
	return h.Sum(to)
}
