package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDocumentHasEveryRoute: what openapi.json promises and what tests derive from it covers
// the whole table of routes.
func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(document), &doc))
	a := New(Config{Clock: time.Now, Sandbox: &Sandbox{Advance: func(time.Duration) {}}})
	for _, r := range a.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if path == "/openapi.json" {
			continue
		}
		path = strings.Replace(path, "/v1/delegates/{intentMandate}", "/v1/delegates/{delegateToken}", 1)
		require.Contains(t, doc.Paths[path], strings.ToLower(method), r.pattern)
	}
}
