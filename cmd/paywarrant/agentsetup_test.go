package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/clientconfig"
)

// TestAgentSetupShowsAsksAndWrites: without the token on the screen, and only after an answer.
func TestAgentSetupShowsAsksAndWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	places := &clientconfig.Places{Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, "config"), Project: filepath.Join(dir, "project")}
	file := filepath.Join(places.Home, ".cursor", "mcp.json")
	run := func(c agentSetupCmd, answer string) (string, error) {
		var out bytes.Buffer
		c.Service, c.Name, c.places, c.in = "https://pay.example", "paywarrant", places, strings.NewReader(answer)
		err := c.Run(t.Context(), output{&out, &out})
		require.NotContains(t, out.String(), "token_secret")
		return out.String(), err
	}
	cursor := agentSetupCmd{Client: "cursor", Token: "token_secret1234", Mandate: "del_1"}
	text, err := run(agentSetupCmd{}, "")
	require.NoError(t, err)
	require.Contains(t, text, file)
	for _, answer := range []string{"n\n", "\n", "what\n"} {
		text, err = run(cursor, answer)
		require.NoError(t, err)
		require.Contains(t, text, "Nothing was written.")
		require.Contains(t, text, `"SERVICE_ACCESS_TOKEN": "token_…1234"`)
	}
	_, err = run(cursor, "")
	require.ErrorContains(t, err, "--yes")
	require.Equal(t, exitUsage, exitCode(err))
	shown := cursor
	shown.Print = true
	_, err = run(shown, "")
	require.NoError(t, err)
	require.NoFileExists(t, file)

	text, err = run(cursor, "Yes\n")
	require.NoError(t, err)
	require.Contains(t, text, "Written.")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(written), "token_secret1234")
	require.Contains(t, string(written), "del_1")

	for _, bad := range []agentSetupCmd{{Client: "emacs", Token: "token_x"}, {Client: "cursor"}} {
		_, err = run(bad, "y\n")
		require.Equal(t, exitUsage, exitCode(err))
	}
	text, err = run(agentSetupCmd{Client: "claude-code", Yes: true}, "")
	require.NoError(t, err)
	require.Contains(t, text, "export SERVICE_ACCESS_TOKEN")
}

// TestManifestAsksForTokenAndService: a bundle's settings are the variables of paywarrant mcp.
func TestManifestAsksForTokenAndService(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, agentManifestCmd{Service: "https://pay.example"}.Run(t.Context(), output{&out, &out}))
	var m struct {
		UserConfig map[string]struct {
			Sensitive bool
			Default   string
		} `json:"user_config"`
		Server struct {
			Config struct{ Env map[string]string } `json:"mcp_config"`
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &m))
	require.True(t, m.UserConfig["accessToken"].Sensitive)
	require.Equal(t, "https://pay.example", m.UserConfig["baseUrl"].Default)
	for name, value := range m.Server.Config.Env {
		setting := strings.TrimSuffix(strings.TrimPrefix(value, "${user_config."), "}")
		require.Contains(t, m.UserConfig, setting, name)
	}
}
