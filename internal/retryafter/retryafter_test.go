package retryafter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/retryafter"
)

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-7": 0, "1.5": 0, "soon": 0, "7 s": 0, "3601": time.Hour,
		"99999999999999999999999": time.Hour, "Mon, 02 Jan 2006 15:04:05 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": time.Hour,
		"Fri, 99 Dec 9999 23:59:59 GMT": 0,
	} {
		require.Equal(t, want, retryafter.Read(value, time.Hour), value)
	}
	soon := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	require.InDelta(t, 29, retryafter.Read(soon, time.Hour).Seconds(), 2)
}
