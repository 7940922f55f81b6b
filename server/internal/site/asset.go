package site

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// Asset is a file that pages load. Its path names its content, so browsers keep it for ever.
type Asset struct {
	Path, mediaType string
	content         []byte
}

// NewAsset returns an asset; ext is ".css" or ".js".
func NewAsset(name, ext string, content []byte) *Asset {
	sum := sha256.Sum256(content)
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	return &Asset{Path: "/assets/" + name + "-" + hex.EncodeToString(sum[:6]) + ext, mediaType: types[ext], content: content}
}

// Register adds the asset to mux.
func (a *Asset) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+a.Path, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", a.mediaType)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(a.content) // the client may have gone
	})
}
