package api

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInternalErrorMentionsAChargeOnlyForCharges(t *testing.T) {
	t.Parallel()
	a := New(Config{Logger: slog.New(slog.DiscardHandler), Clock: time.Now})
	for pattern, charge := range map[string]bool{
		"POST /v1/payments/charge": true, "POST /v1/mandates": false, "POST /v1/mandates/{intentMandate}/revoke": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.Pattern = pattern
		w := httptest.NewRecorder()
		a.fail(w, r, errors.New("secret cause"))
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.NotContains(t, w.Body.String(), "secret")
		if charge {
			require.Contains(t, w.Body.String(), "A charge, if it began")
		} else {
			require.NotContains(t, w.Body.String(), "A charge")
		}
	}
}
