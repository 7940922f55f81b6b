package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strings"
)

//go:embed openapi.json
var document string

// openAPI serves the OpenAPI 3.1 document of the routes.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(document))
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "public, max-age=300")
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(document)) // the client may have gone
}
