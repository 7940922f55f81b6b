package oauth

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// maxRegistrations limits the apps that one network registers in registrationWindow.
	maxRegistrations   = 100
	registrationWindow = 24 * time.Hour
	// unusedFor is how long an app stays registered that redeems no code.
	unusedFor = 24 * time.Hour
)

// registration is what an app asks for (RFC 7591), and what it gets.
type registration struct {
	ID              string   `json:"client_id"`
	IssuedAt        int64    `json:"client_id_issued_at"`
	Name            string   `json:"client_name,omitempty"`
	RedirectURIs    []string `json:"redirect_uris"`
	ApplicationType string   `json:"application_type,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
}

func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	var in registration
	if err := httpjson.Decode(w, r, &in); err != nil {
		return &problem{code: "invalid_client_metadata", text: err.Error()}
	}
	if err := in.check(); err != nil {
		return err
	}
	now := s.Clock()
	c := store.OAuthClient{
		ID: id.New(id.App, now), Name: in.Name, RedirectURIs: in.RedirectURIs, Network: httplog.ClientNetwork(r.Context()), CreatedAt: now, ExpiresAt: now.Add(unusedFor),
	}
	done, err := s.Store.AddOAuthClient(r.Context(), c, now.Add(-registrationWindow), maxRegistrations)
	if err != nil {
		return err
	}
	if !done {
		return &problem{status: http.StatusTooManyRequests, code: "temporarily_unavailable", text: "your network registered too many apps today"}
	}
	in.ID, in.IssuedAt, in.AuthMethod, in.GrantTypes, in.ResponseTypes = c.ID, now.Unix(), authNone, grantTypes, responseTypes
	httpjson.Write(w, http.StatusCreated, in)
	return nil
}

// check checks what an app asks for. Whatever method it asks for, it gets no secret.
func (in *registration) check() error {
	metadata := func(message string) error { return &problem{code: "invalid_client_metadata", text: message} }
	if err := text.Check(in.Name, maxAppName); err != nil {
		return metadata("client_name " + err.Error())
	}
	if len(in.GrantTypes) > 0 && !slices.Contains(in.GrantTypes, "authorization_code") {
		return metadata("grant_types must hold authorization_code")
	}
	if len(in.ResponseTypes) > 0 && !slices.Contains(in.ResponseTypes, "code") {
		return metadata("response_types must hold code")
	}
	var err error
	if in.RedirectURIs, err = usable(in.RedirectURIs); err == nil {
		err = in.fits()
	}
	if err != nil {
		return &problem{code: "invalid_redirect_uri", text: err.Error()}
	}
	if in.ApplicationType != "" && in.ApplicationType != "native" && in.ApplicationType != "web" {
		return metadata("application_type must be native or web")
	}
	return nil
}

// fits checks the redirect URIs of a web application, which runs on no person's own computer. An app
// that names no type may have both kinds.
func (in *registration) fits() error {
	if in.ApplicationType != "web" {
		return nil
	}
	for _, uri := range in.RedirectURIs {
		if to, err := parseRedirect(uri); err != nil || to.loopback || !strings.HasPrefix(uri, "https:") {
			return errors.New("redirect_uris of an application of the type web must be https URLs that are not loopback; use the type native")
		}
	}
	return nil
}
