package oauth

import (
	"net/http"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/httpjson"
)

// metadata is that of the authorization server (RFC 8414).
type metadata struct {
	Issuer                string         `json:"issuer"`
	Authorization         string         `json:"authorization_endpoint"`
	Token                 string         `json:"token_endpoint"`
	Registration          string         `json:"registration_endpoint"`
	Revocation            string         `json:"revocation_endpoint"`
	Scopes                []client.Scope `json:"scopes_supported"`
	ResponseTypes         []string       `json:"response_types_supported"`
	ResponseModes         []string       `json:"response_modes_supported"`
	GrantTypes            []string       `json:"grant_types_supported"`
	TokenAuthMethods      []string       `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string       `json:"revocation_endpoint_auth_methods_supported"`
	Challenges            []string       `json:"code_challenge_methods_supported"`
	Issues                bool           `json:"authorization_response_iss_parameter_supported"`
	Documents             bool           `json:"client_id_metadata_document_supported"`
	Resources             []string       `json:"protected_resources"`
}

var (
	grantTypes    = []string{"authorization_code", "refresh_token"}
	responseTypes = []string{"code"}
	authMethods   = []string{authNone}
)

// authNone is the method by which a public client authenticates at the token endpoint.
const authNone = "none"

func (s *Service) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	httpjson.Write(w, http.StatusOK, metadata{
		Issuer: s.BaseURL, Authorization: s.BaseURL + authorizePath, Token: s.BaseURL + tokenPath,
		Registration: s.BaseURL + registerPath, Revocation: s.BaseURL + revokePath, Scopes: client.Scopes(),
		ResponseTypes: responseTypes, ResponseModes: []string{"query"}, GrantTypes: grantTypes, TokenAuthMethods: authMethods,
		RevocationAuthMethods: authMethods, Challenges: []string{"S256"}, Issues: true, Documents: true, Resources: s.Resources,
	})
}
