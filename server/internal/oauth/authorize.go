package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// maxState limits the state of an app, in bytes.
	maxState = 2048
	// maxQuery limits the query of an authorization request, in bytes.
	maxQuery = 8 << 10
	// challengeLength is that of a SHA-256 in base64url.
	challengeLength = 43
)

// request is a valid authorization request.
type request struct {
	app       app
	to        redirect
	state     string
	challenge string
	resource  string
	scopes    []client.Scope
}

// refusal is why a request is refused: on a page, because nothing is sent to an address that an
// app chose before the merchant decides (RFC 9700 §4.11.2).
type refusal struct {
	text string
	back string // the address of the app with the error; empty if it is not known
}

func (r *refusal) Error() string { return r.text }

// once are the parameters of which a request has at most one.
var once = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "resource",
}

// parse checks an authorization request of a merchant's browser. It returns a [*refusal].
func (s *Service) parse(ctx context.Context, r *http.Request, m ledger.Merchant) (request, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > maxQuery || !site.Clean(q) {
		return request{}, &refusal{text: "The address that the app opened is not valid."}
	}
	repeated := func(name string) bool { return len(q[name]) > 1 }
	if repeated("client_id") || repeated("redirect_uri") {
		return request{}, &refusal{text: "The app sent client_id or redirect_uri more than once."}
	}
	a, err := s.app(ctx, q.Get("client_id"), m.ID)
	var document *documentError
	switch {
	case errors.Is(err, errUnknownClient):
		return request{}, &refusal{text: "The app is not known here, or its registration has expired. Start again in the app."}
	case errors.As(err, &document):
		return request{}, &refusal{text: document.text}
	case err != nil:
		return request{}, err
	}
	to, ok := a.allows(q.Get("redirect_uri"))
	if !ok {
		return request{}, &refusal{text: "The app wants the answer to be sent to an address that it has not registered (redirect_uri)."}
	}
	req := request{app: a, to: to, state: q.Get("state"), challenge: q.Get("code_challenge")}
	if slices.ContainsFunc(once, repeated) {
		return request{}, s.refused(req, invalidRequest("a parameter is repeated"))
	}
	if p := s.complete(&req, q); p != nil {
		return request{}, s.refused(req, p)
	}
	return req, nil
}

// complete reads the rest of a request, whose app and redirect URI are valid.
func (s *Service) complete(req *request, q url.Values) *problem {
	if len(req.state) > maxState {
		req.state = ""
		return invalidRequest("state is too long")
	}
	switch {
	case q.Get("response_type") != "code":
		return &problem{code: "unsupported_response_type", text: "response_type must be code"}
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return invalidRequest("response_mode must be query")
	case q.Get("code_challenge_method") != "S256":
		return invalidRequest("code_challenge_method must be S256 (PKCE)")
	case len(req.challenge) != challengeLength || strings.Trim(req.challenge, base64url) != "":
		return invalidRequest("code_challenge must be the SHA-256 of the verifier in base64url")
	}
	var ok bool
	if req.resource, ok = s.resource(q["resource"]); !ok {
		return &problem{code: "invalid_target", text: "resource must be one of " + strings.Join(s.Resources, ", ")}
	}
	if req.scopes, ok = scopesOf(q["scope"]); !ok {
		return &problem{code: "invalid_scope", text: "scope must hold pay, balance or revoke"}
	}
	return nil
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// resource returns the audience that a request asks for. Scheme and host may be in upper case.
func (s *Service) resource(asked []string) (string, bool) {
	if len(asked) == 0 {
		return s.Resources[0], true
	}
	for _, own := range s.Resources {
		path := strings.TrimPrefix(own, s.BaseURL)
		if origin, ok := strings.CutSuffix(asked[0], path); ok && strings.EqualFold(origin, s.BaseURL) {
			return own, true
		}
	}
	return "", false
}

// scopesOf returns the known scopes of a parameter, in a fixed order. Others are ignored, such
// as offline_access, unless there is nothing else. Without the parameter it returns all.
func scopesOf(param []string) ([]client.Scope, bool) {
	asked := strings.Fields(strings.Join(param, " "))
	if len(asked) == 0 {
		return client.Scopes(), true
	}
	var known []client.Scope
	for _, scope := range client.Scopes() {
		if slices.Contains(asked, string(scope)) {
			known = append(known, scope)
		}
	}
	return known, len(known) > 0
}

// refused returns the refusal of a request whose app and redirect URI are valid.
func (s *Service) refused(req request, p *problem) *refusal {
	return &refusal{
		text: "The app sent a request that is not valid: " + p.text + ".",
		back: req.answer(s.BaseURL, url.Values{"error": {p.code}, "error_description": {p.text}}),
	}
}

// answer returns the redirect URI with an answer. It names the issuer, so that an app that
// talks with several does not send the code to another one (RFC 9207).
func (req request) answer(issuer string, params url.Values) string {
	params.Set("iss", issuer)
	if req.state != "" {
		params.Set("state", req.state)
	}
	return req.to.with(params)
}

// refuse shows why a request is refused.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		s.Site.Failed(w, r, err)
		return
	}
	s.Logger.InfoContext(r.Context(), "authorization request refused", slog.String("reason", no.text))
	m := site.Message{Badge: site.Badge{Tone: site.Bad, Text: "Refused"}, Headline: "The app cannot be connected", Text: no.text}
	if no.back != "" {
		m.Next, m.Action = no.back, "Back to the app"
	}
	s.Site.Message(w, r, http.StatusBadRequest, m)
}

// shown returns text of an app for a page; nothing if it could mislead.
func shown(name string) string {
	if text.Check(name, maxAppName) != nil {
		return ""
	}
	return name
}
