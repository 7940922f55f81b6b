package tools

import (
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/client"
)

// registerDescriptions adds what programs read about the service: a page for models and the entry
// for registries of tools. Both are public.
func (t *Tools) registerDescriptions(mux *http.ServeMux) {
	mux.HandleFunc("GET /llms.txt", func(w http.ResponseWriter, _ *http.Request) {
		public(w, "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, llms, t.BaseURL) // the client may have gone
	})
	mux.HandleFunc("GET /server.json", func(w http.ResponseWriter, _ *http.Request) {
		public(w, "application/json")
		writeJSON(w, http.StatusOK, t.registryEntry())
	})
}

func public(w http.ResponseWriter, contentType string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Content-Type-Options", "nosniff")
}

// llms is the page for models (llmstxt.org).
const llms = `# Paywarrant

> Agents pay with this service, within limits that a person signed. A person confirms limits on a page; the result is a
> mandate. An agent that holds a mandate and an access token buys from paywalls (x402 v1 and v2, MPP) and is charged within
> the limits. The person can lower the limits, pause and stop at any time.

## For an agent that pays

- [Tools](%[1]s/mcp): Model Context Protocol over streamable HTTP. Send the access token as "Authorization: Bearer token_…",
  or connect by OAuth 2.1: the answer 401 names the metadata.
- Without a mandate, call setup_spending_mandate and give setupUrl to the person. Then call poll_setup_session.
- To read a page that asks for payment, call delegare_fetch with its url and, if the person named one, maxPriceCents.
- A refusal has a code, a message and a remedy. Do what the remedy says. Do not repeat a payment whose outcome is unknown:
  the same call returns the outcome.

## For a program

- [API](%[1]s/openapi.json): charges, authorizations, refunds, receipts, webhooks.
- [Keys of mandates](%[1]s/.well-known/jwks.json)
- [Registry entry](%[1]s/server.json)

## For a person

- [Your mandates](%[1]s/me): what agents paid for you, and how to stop them.
`

// registryEntry is a server.json of the registry of the Model Context Protocol.
func (t *Tools) registryEntry() map[string]any {
	return map[string]any{
		"$schema":     "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        "io.github.paywarrant/paywarrant",
		"title":       "Paywarrant",
		"description": "Lets an agent pay, within limits that a person signed.",
		"version":     client.Version,
		"repository":  map[string]string{"url": "https://github.com/paywarrant/paywarrant", "source": "github"},
		"remotes": []map[string]any{{
			"type": "streamable-http", "url": t.BaseURL + Path,
			"headers": []map[string]any{{
				"name": "Authorization", "value": "Bearer {accessToken}", "isRequired": false,
				"description": "Only without OAuth.",
				"variables": map[string]any{"accessToken": map[string]any{
					"description": "Access token, made by the merchant's dashboard or by: paywarrant tokens create", "isRequired": true, "isSecret": true,
				}},
			}},
		}},
	}
}
