package bundle

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/paywall"
)

// Balance returns a handler that reports the remaining credits of the bundle whose token
// is in X-Bundle-Token. Mount it at [Config.BalanceURL]. It takes no credit, and answers
// 401 if the token is not valid.
func (s *Shop) Balance() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Add("Vary", paywall.HeaderBundleToken)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "Use GET to read the balance.")
			return
		}
		id, err := s.read(r.Header.Get(paywall.HeaderBundleToken))
		var b Bundle
		if err == nil {
			b, err = s.cfg.Store.Read(r.Context(), id)
		}
		switch {
		case errors.Is(err, ErrToken), errors.Is(err, ErrNotFound):
			refuse(w, http.StatusUnauthorized, "invalid_bundle_token", "Send the token of a bundle in X-Bundle-Token.")
		case err != nil:
			s.cfg.Logger.ErrorContext(r.Context(), "bundle: read balance", slog.Any("error", err))
			retryafter.Set(h, time.Second)
			refuse(w, http.StatusServiceUnavailable, "unavailable", "The balance cannot be read now.")
		default:
			left := b.Remaining
			if !s.cfg.Clock().Before(b.ExpiresAt) {
				left = 0
			}
			writeJSON(w, http.StatusOK, map[string]any{
				"creditsRemaining": left, "tier": b.Tier, "requests": b.Requests, "expiresAt": b.ExpiresAt.UTC(),
			})
		}
	})
}
