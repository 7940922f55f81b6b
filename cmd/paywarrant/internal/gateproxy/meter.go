package gateproxy

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/paywall"
)

// headerUsed is the header or trailer of the upstream's response with what a metered request
// used, in US dollars: "0.0042".
const headerUsed = "X-Payment-Used"

// meter counts what the upstream says that a metered request used, and removes it from the
// response.
func (u *upstream) meter(res *http.Response) error {
	used := res.Header.Values(headerUsed)
	res.Header.Del(headerUsed)
	m := paywall.MeterFrom(res.Request.Context())
	if m == nil || res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if err := count(m, used); err != nil {
		u.log.ErrorContext(res.Request.Context(), "usage not counted", slog.String("path", res.Request.URL.Path), slog.String("error", err.Error()))
	}
	delete(res.Trailer, headerUsed)
	res.Body = &meteredBody{ReadCloser: res.Body, res: res, m: m, log: u.log}
	return nil
}

// meteredBody counts what the trailer says.
type meteredBody struct {
	io.ReadCloser

	res *http.Response
	m   *paywall.Meter
	log *slog.Logger
}

// Read reads, and counts at the end.
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && b.m != nil {
		if err := count(b.m, b.res.Trailer.Values(headerUsed)); err != nil {
			b.log.ErrorContext(b.res.Request.Context(), "usage not counted", slog.String("path", b.res.Request.URL.Path), slog.String("error", err.Error()))
		}
		delete(b.res.Trailer, headerUsed)
		b.m = nil
	}
	return n, err
}

// count counts amounts.
func count(m *paywall.Meter, values []string) error {
	for _, value := range values {
		micros, err := money.ParseDecimal(value)
		if err != nil {
			return fmt.Errorf("%s %q: %w", headerUsed, value, err)
		}
		if err := m.Add(int64(micros)); err != nil {
			return fmt.Errorf("%s %q: %w", headerUsed, value, err)
		}
	}
	return nil
}
