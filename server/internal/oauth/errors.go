package oauth

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
)

// problem is an error of RFC 6749, or of a specification that extends it.
type problem struct {
	status     int // default: 400
	code, text string
}

func (p *problem) Error() string { return p.code + ": " + p.text }

func invalidRequest(text string) *problem { return &problem{code: "invalid_request", text: text} }

func invalidGrant(text string) *problem { return &problem{code: "invalid_grant", text: text} }

func invalidClient(text string) *problem {
	return &problem{status: http.StatusUnauthorized, code: "invalid_client", text: text}
}

func invalidTarget() *problem {
	return &problem{code: "invalid_target", text: "resource is not the one that the tokens are for"}
}

// fail answers a request of an app. The cause of a failure on the service's side goes to the
// log alone.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		if httplog.HungUp(r.Context(), err) {
			w.WriteHeader(httplog.StatusClientClosedRequest)
			return
		}
		s.Logger.ErrorContext(r.Context(), "OAuth request failed", slog.String("requestId", httplog.RequestID(r.Context())),
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
		p = &problem{status: http.StatusInternalServerError, code: "server_error", text: "something failed on our side; try again"}
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="oauth"`) // required by RFC 6749 §5.2
	}
	httpjson.Write(w, cmp.Or(p.status, http.StatusBadRequest), map[string]string{"error": p.code, "error_description": p.text})
}
