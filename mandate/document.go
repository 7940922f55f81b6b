package mandate

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// document is a public text that rarely changes, served with an ETag.
type document struct {
	contentType, etag, cacheControl string
	body                            []byte
}

func newDocument(contentType string, maxAge time.Duration, body []byte) document {
	sum := sha256.Sum256(body)
	return document{
		contentType:  contentType,
		etag:         `"` + sdjwt.Encode64(sum[:16]) + `"`,
		cacheControl: "public, max-age=" + strconv.FormatInt(int64(maxAge/time.Second), 10),
		body:         body,
	}
}

// ServeHTTP answers GET and HEAD.
func (d document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", d.cacheControl)
	if matches(r.Header.Values("If-None-Match"), d.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Length", strconv.Itoa(len(d.body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(d.body) // the client may be gone
}

// matches compares weakly, as RFC 9110 section 13.1.2 requires. Our tags contain no comma.
func matches(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
