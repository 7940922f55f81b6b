package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/paywarrant/paywarrant/internal/text"
)

// queries returns the query parameters of each GET route by its pattern, as the OpenAPI
// document has them.
var queries = sync.OnceValue(func() map[string][]string {
	var doc struct {
		Paths map[string]struct {
			Get *struct {
				Parameters []struct{ Name, In string }
			}
		}
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		panic("api: openapi.json: " + err.Error())
	}
	all := make(map[string][]string, len(doc.Paths))
	for path, item := range doc.Paths {
		if item.Get == nil {
			continue
		}
		names := []string{}
		for _, p := range item.Get.Parameters {
			if p.In == "query" {
				names = append(names, p.Name)
			}
		}
		all["GET "+path] = names
	}
	return all
})

// maxQueryName limits the unknown names that an error repeats.
const maxQueryName = 40

// checkQuery refuses query parameters that a GET route does not have, so that a misspelled
// filter is not taken for none.
func checkQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	known, documented := queries()[r.Pattern]
	if !documented {
		return nil
	}
	for name := range r.URL.Query() {
		if slices.Contains(known, name) {
			continue
		}
		if text.Check(name, maxQueryName) != nil {
			name = "query"
		}
		if len(known) == 0 {
			return invalid(name, "is not known; this path has no query parameters")
		}
		return invalid(name, "is not known; the query parameters here are "+strings.Join(known, ", "))
	}
	return nil
}
