package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
)

// directory starts a directory that lists addresses among others.
func directory(t *testing.T, entries ...string) string {
	t.Helper()
	return strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		var items []string
		for _, e := range entries {
			items = append(items, fmt.Sprintf(`{"type":"http","resource":%q}`, e))
		}
		if r.URL.Path != "/discovery/resources" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"x402Version":2,"items":[%s]}`, strings.Join(items, ","))
	}), "/weather")
}

func TestDoctorFindsNothingWrongWithAListedEndpoint(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, err := conformance.Doctor(t.Context(), conformance.DoctorConfig{
		Config: conformance.Config{URL: s.url}, Directories: []string{directory(t), directory(t, "https://other.example/", s.url)},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]conformance.Status{"doctor.dns: 127.0.0.1 is this machine: directories cannot reach it": conformance.Warn}, found(report))
}

// TestDoctorNamesWhatIsWrong: each cause is a rule of its own.
func TestDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	unknown := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }}
	for name, c := range map[string]struct {
		config conformance.DoctorConfig
		rule   string
		detail string
	}{
		"unknown name":    {conformance.DoctorConfig{Config: conformance.Config{URL: "http://shop.example/"}, Resolver: unknown}, "doctor.dns", "shop.example"},
		"private address": {conformance.DoctorConfig{Config: conformance.Config{URL: "http://10.255.255.1/", Timeout: time.Second, Transport: refusing{}}}, "doctor.dns", "10.255.255.1 is not a public"},
		"bad certificate": {conformance.DoctorConfig{Config: conformance.Config{URL: secure.URL}}, "doctor.tls", "certificate"},
		"plain http":      {conformance.DoctorConfig{Config: conformance.Config{URL: "http://192.0.2.1/", Transport: refusing{}}}, "doctor.tls", "begins with http://"},
		"nothing there":   {conformance.DoctorConfig{Config: conformance.Config{URL: gone.URL}}, "doctor.reach", "connection refused"},
		"not a paywall":   {conformance.DoctorConfig{Config: conformance.Config{URL: directory(t)}}, "http.status", "answered 404"},
		"not listed":      {conformance.DoctorConfig{Config: conformance.Config{URL: newShop(t).url}, Directories: []string{directory(t)}}, "doctor.listed", "does not list it"},
		"no directory":    {conformance.DoctorConfig{Config: conformance.Config{URL: newShop(t).url}, Directories: []string{gone.URL}}, "doctor.listed", "answered not at all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := conformance.Doctor(t.Context(), c.config)
			require.NoError(t, err)
			r := result(t, report, c.rule)
			require.Equal(t, conformance.Fail, r.Status, "%v", r)
			require.Contains(t, r.Detail, c.detail)
		})
	}
}

// refusing reaches nothing.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("unreachable")
}

func TestDoctorAcceptsAValidCertificate(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	secure := httptest.NewTLSServer(s)
	t.Cleanup(secure.Close)
	s.url = secure.URL + "/weather"
	c := conformance.Config{URL: s.url, Transport: secure.Client().Transport}
	report, err := conformance.Doctor(t.Context(), conformance.DoctorConfig{Config: c})
	require.NoError(t, err)
	require.Equal(t, conformance.Pass, result(t, report, "doctor.tls").Status)
	c.Clock = func() time.Time { return secure.Certificate().NotAfter.Add(-48 * time.Hour) }
	report, err = conformance.Doctor(t.Context(), conformance.DoctorConfig{Config: c})
	require.NoError(t, err)
	require.Equal(t, conformance.Warn, result(t, report, "doctor.tls").Status)
}

// TestEndlessDirectoryEnds: a directory that always has another page is left after twenty.
func TestEndlessDirectoryEnds(t *testing.T) {
	t.Parallel()
	var pages atomic.Int64
	endless := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		pages.Add(1)
		_, _ = fmt.Fprintf(w, `{"items":[%s{}]}`, strings.Repeat("{},", 99))
	})
	report, err := conformance.Doctor(t.Context(), conformance.DoctorConfig{Config: conformance.Config{URL: newShop(t).url}, Directories: []string{endless}})
	require.NoError(t, err)
	require.Contains(t, result(t, report, "doctor.listed").Detail, "among the first 2000")
	require.EqualValues(t, 20, pages.Load())
}

func TestDoctorConfigurationThatIsRefused(t *testing.T) {
	t.Parallel()
	_, err := conformance.Doctor(t.Context(), conformance.DoctorConfig{Config: conformance.Config{URL: "https://a.example"}, Directories: []string{"a.example"}})
	require.ErrorContains(t, err, "Directories[0]")
	_, err = conformance.Doctor(t.Context(), conformance.DoctorConfig{Config: conformance.Config{URL: "https://a.example", BudgetMicros: 1}})
	require.ErrorContains(t, err, "pays nothing")
}
