package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// app is a client.
type app struct {
	ID   string
	Name string
	// Host is the host of the metadata document. It is proven; the name is only a claim.
	// Empty: the app registered itself.
	Host      string
	Redirects []string
}

// allows returns the redirect URI of a request, if the app has it.
func (a app) allows(asked string) (redirect, bool) {
	to, err := parseRedirect(asked)
	if err != nil {
		return redirect{}, false
	}
	for _, text := range a.Redirects {
		if own, err := parseRedirect(text); err == nil && own.allows(to) {
			return to, true
		}
	}
	return redirect{}, false
}

var errUnknownClient = errors.New("oauth: the client is not known")

// app returns the client with an id. A metadata document is fetched for a merchant that is
// signed in, whose requests are limited, so that no stranger can make the service fetch. It
// returns errUnknownClient, or a [*documentError].
func (s *Service) app(ctx context.Context, clientID, merchantID string) (app, error) {
	if strings.HasPrefix(clientID, "https://") {
		return s.documents.app(ctx, clientID, merchantID)
	}
	if !id.Valid(id.App, clientID) {
		return app{}, errUnknownClient
	}
	c, err := s.Store.OAuthClient(ctx, clientID)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && !s.Clock().Before(c.ExpiresAt)) {
		return app{}, errUnknownClient
	}
	if err != nil {
		return app{}, err
	}
	return app{ID: c.ID, Name: c.Name, Redirects: c.RedirectURIs}, nil
}

// documentURL checks the URL of a metadata document. The error's text fits after
// "client_id".
func documentURL(text string) (*url.URL, error) {
	to, err := parseRedirect(text)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https":
		return nil, errors.New("must be an https URL")
	case to.rest == "" || to.rest[0] != '/' || u.Path == "/":
		return nil, errors.New("must have a path")
	case dotted(u.Path):
		return nil, errors.New("must not have dot segments")
	}
	return u, nil
}

func dotted(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
