package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/paywarrant/paywarrant/agent/mcptools"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/store"
)

// permitted reports whether the scopes of a token permit the tool that a request calls. If they
// do not, it answers the request, so that an app can ask its person for more (RFC 6750 §3.1).
func permitted(w http.ResponseWriter, r *http.Request, t store.AccessToken, metadataURL string) bool {
	if r.Method != http.MethodPost {
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		writeJSON(w, http.StatusRequestEntityTooLarge, map[string]string{"code": string(client.CodeValidation), "message": "The request is too large."})
		return false
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"code": string(client.CodeValidation), "message": "The request did not arrive whole."})
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &message) != nil || message.Method != "tools/call" {
		return true // the tools check what they need
	}
	scope := mcptools.Scope(message.Params.Name)
	if scope == "" || slices.Contains(t.Scopes, string(scope)) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+string(scope)+`", resource_metadata="`+metadataURL+`"`)
	writeJSON(w, http.StatusForbidden, map[string]string{
		"code": string(client.CodeInsufficientScope), "message": "The access token lacks the scope " + string(scope) + ".", "scope": string(scope),
	})
	return false
}
