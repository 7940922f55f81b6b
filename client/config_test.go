package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

func good() client.Config {
	return client.Config{BaseURL: "https://pay.example", MerchantID: merchantID, APIKey: apiKey}
}

func TestNewNamesTheWrongField(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		field string
		spoil func(*client.Config)
	}{
		"no base URL":         {"BaseURL", func(c *client.Config) { c.BaseURL = "" }},
		"not a URL":           {"BaseURL", func(c *client.Config) { c.BaseURL = "https://pay.example:port" }},
		"relative":            {"BaseURL", func(c *client.Config) { c.BaseURL = "/v1" }},
		"no host":             {"BaseURL", func(c *client.Config) { c.BaseURL = "https://" }},
		"port alone":          {"BaseURL", func(c *client.Config) { c.BaseURL = "https://:443" }},
		"other scheme":        {"BaseURL", func(c *client.Config) { c.BaseURL = "ftp://pay.example" }},
		"http to a stranger":  {"BaseURL", func(c *client.Config) { c.BaseURL = "http://pay.example" }},
		"http, looks local":   {"BaseURL", func(c *client.Config) { c.BaseURL = "http://localhost.evil.example" }},
		"http, private":       {"BaseURL", func(c *client.Config) { c.BaseURL = "http://10.0.0.1" }},
		"user":                {"BaseURL", func(c *client.Config) { c.BaseURL = "https://u:" + apiKey + "@pay.example" }},
		"query":               {"BaseURL", func(c *client.Config) { c.BaseURL = "https://pay.example?key=" + apiKey }},
		"fragment":            {"BaseURL", func(c *client.Config) { c.BaseURL = "https://pay.example#a" }},
		"no merchant":         {"MerchantID", func(c *client.Config) { c.MerchantID = "" }},
		"merchant with CR":    {"MerchantID", func(c *client.Config) { c.MerchantID = "mer_1\r\nX-Evil: 1" }},
		"no key":              {"APIKey", func(c *client.Config) { c.APIKey = "" }},
		"key with a newline":  {"APIKey", func(c *client.Config) { c.APIKey = apiKey + "\n" }},
		"key with a space":    {"APIKey", func(c *client.Config) { c.APIKey = apiKey + " " }},
		"key beyond ASCII":    {"APIKey", func(c *client.Config) { c.APIKey = apiKey + "é" }},
		"user agent with LF":  {"UserAgent", func(c *client.Config) { c.UserAgent = "a\nb" }},
		"too many retries":    {"MaxRetries", func(c *client.Config) { c.MaxRetries = 11 }},
		"negative time-out":   {"Timeout", func(c *client.Config) { c.Timeout = -time.Second }},
		"key as the base URL": {"BaseURL", func(c *client.Config) { c.BaseURL = apiKey }},
	} {
		cfg := good()
		tc.spoil(&cfg)
		c, err := client.New(cfg)
		require.Nil(t, c, name)
		require.ErrorContains(t, err, "client: "+tc.field+":", name)
		require.NotContains(t, err.Error(), apiKey, name)
	}
}

func TestNewTakesHTTPSAndLoopback(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"https://pay.example", "https://pay.example/", "https://pay.example:8443/base",
		"http://localhost:8080", "http://127.0.0.1:8080", "http://127.8.9.1", "http://[::1]:8080",
	} {
		cfg := good()
		cfg.BaseURL = base
		_, err := client.New(cfg)
		require.NoError(t, err, base)
	}
}

func TestConfigAndClientHideTheKey(t *testing.T) {
	t.Parallel()
	bad := good()
	bad.BaseURL = "https://user:" + apiKey + "@pay.example"
	c, err := client.New(good())
	require.NoError(t, err)
	for _, v := range []any{good(), bad, new(good()), c, *c, []any{good()}, struct{ C client.Config }{good()}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, v)
			require.NotContains(t, text, apiKey)
			require.NotContains(t, text, fmt.Sprintf("%x", apiKey))
		}
		asJSON, _ := json.Marshal(v)
		require.NotContains(t, string(asJSON), apiKey)
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("text", slog.Any("value", v))
		slog.New(slog.NewJSONHandler(&log, nil)).Info("json", slog.Any("value", v))
		require.NotContains(t, log.String(), apiKey)
	}
	require.Contains(t, good().String(), "https://pay.example")
	require.Contains(t, good().String(), "[redacted]")
}

func TestUserAgentGoesFirst(t *testing.T) {
	t.Parallel()
	var agent string
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		reply(http.StatusOK, `{"totalVolumeCents":0}`)(w, r)
	}, func(cfg *client.Config) { cfg.UserAgent = "shop/2.1" })
	_, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, "shop/2.1 paywarrant-go/"+client.Version, agent)
}

func TestDefaultHTTPClient(t *testing.T) {
	t.Parallel()
	c := setup(t, reply(http.StatusOK, `{"totalVolumeCents":7}`), func(cfg *client.Config) { cfg.HTTPClient = nil })
	s, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(7), s.TotalVolumeCents)
}
