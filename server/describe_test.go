package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatProgramsReadAboutTheService: each address and each tool that the page for models names exists, and
// the registry's entry leads to the tools.
func TestWhatProgramsReadAboutTheService(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	page := c.do(t, http.MethodGet, "/llms.txt", "")
	require.Equal(t, "text/plain; charset=utf-8", page.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(page.Text, "# Paywarrant\n\n> "))
	addresses := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(page.Text, -1)
	require.Len(t, addresses, 5)
	for _, a := range addresses {
		path, ours := strings.CutPrefix(a[1], c.URL)
		require.True(t, ours, a[1])
		status := c.do(t, http.MethodGet, path, "").Status
		require.True(t, status == http.StatusOK || (path == "/mcp" && status == http.StatusUnauthorized), "%s: %d", path, status)
	}
	entry := c.do(t, http.MethodGet, "/server.json", "")
	remote := entry.Body["remotes"].([]any)[0].(map[string]any)
	require.Equal(t, "streamable-http", remote["type"])
	require.Equal(t, c.URL+"/mcp", remote["url"])
	require.Regexp(t, `^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`, entry.str("name"))
	require.LessOrEqual(t, len(entry.str("description")), 100, "the registry's limit")
	secret := remote["headers"].([]any)[0].(map[string]any)["variables"].(map[string]any)["accessToken"].(map[string]any)["isSecret"]
	require.Equal(t, true, secret)
}
