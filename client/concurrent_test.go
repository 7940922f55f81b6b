package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// One client serves many goroutines; no two calls share a key or an answer.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	keys := map[string]bool{}
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var p client.ChargeParams
		_ = json.Unmarshal(body, &p)
		mu.Lock()
		keys[p.IdempotencyKey] = true
		mu.Unlock()
		reply(200, fmt.Sprintf(`{"transactionId":"txn_%d","status":"completed","amountCents":%[1]d}`, p.AmountCents))(w, r)
	})
	const callers, each = 16, 25
	var wg sync.WaitGroup
	errs := make(chan error, callers*each)
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				p := chargeParams()
				p.AmountCents = int64(i*each + j + 1)
				ch, err := c.Charge(t.Context(), p)
				if err == nil && ch.TransactionID != fmt.Sprintf("txn_%d", p.AmountCents) {
					err = fmt.Errorf("charge %d got the answer %s", p.AmountCents, ch.TransactionID)
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, keys, callers*each)
}

// inProcess is a transport straight into a handler, for tests with thousands of calls.
type inProcess http.HandlerFunc

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result(), nil
}
