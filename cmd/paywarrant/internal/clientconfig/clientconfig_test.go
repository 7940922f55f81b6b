package clientconfig_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/clientconfig"
)

const token = "token_0123456789"

func server() clientconfig.Server {
	return clientconfig.Server{
		Name: "pay.warrant", Command: "/opt/paywarrant", Args: []string{"mcp"}, Secret: "SERVICE_ACCESS_TOKEN",
		Env: map[string]string{"SERVICE_API_URL": "https://pay.example", "SERVICE_ACCESS_TOKEN": token},
	}
}

func places(t *testing.T) clientconfig.Places {
	t.Helper()
	dir := t.TempDir()
	return clientconfig.Places{Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, "config"), Project: filepath.Join(dir, "project")}
}

// entry returns the server's entry in a file.
func entry(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file map[string]any
	if filepath.Ext(path) == ".toml" {
		_, err = toml.Decode(string(text), &file)
	} else {
		err = json.Unmarshal(text, &file)
	}
	require.NoError(t, err, string(text))
	for _, where := range []string{"mcpServers", "servers", "mcp_servers"} {
		if servers, ok := file[where].(map[string]any); ok {
			return servers["pay.warrant"].(map[string]any)
		}
	}
	require.Fail(t, "no servers", string(text))
	return nil
}

// TestEachClientGetsItsEntry: a new file, which only the user reads if it has the token; a project's file has none.
func TestEachClientGetsItsEntry(t *testing.T) {
	t.Parallel()
	for _, c := range clientconfig.Clients {
		p := places(t)
		require.False(t, c.Installed(p), c.Name)
		change, err := c.Plan(p, server())
		require.NoError(t, err)
		require.NoFileExists(t, change.Path)
		backup, err := change.Write()
		require.NoError(t, err)
		require.Empty(t, backup)
		require.True(t, c.Installed(p), c.Name)
		got := entry(t, change.Path)
		require.Equal(t, "/opt/paywarrant", got["command"], c.Name)
		require.Equal(t, []any{"mcp"}, got["args"])
		env := got["env"].(map[string]any)
		require.Equal(t, "https://pay.example", env["SERVICE_API_URL"])
		about, err := os.Stat(change.Path)
		require.NoError(t, err)
		if c.Shared {
			require.NotContains(t, string(change.After), token, c.Name)
			require.Contains(t, env["SERVICE_ACCESS_TOKEN"], "${")
			require.EqualValues(t, 0o644, about.Mode().Perm())
			continue
		}
		require.Equal(t, token, env["SERVICE_ACCESS_TOKEN"])
		require.EqualValues(t, 0o600, about.Mode().Perm())
	}
}

// TestTheRestOfAFileStays: its order, its spaces and its other servers; a second run replaces the entry.
func TestTheRestOfAFileStays(t *testing.T) {
	t.Parallel()
	p := places(t)
	c, ok := clientconfig.Find("cursor")
	require.True(t, ok)
	const before = `{"zeta":  1,
	"mcpServers": {"other": {"command": "x", "args": [ "a" ]}}, "alpha": [1,  2] }`
	require.NoError(t, os.MkdirAll(filepath.Dir(c.Path(p)), 0o755))
	require.NoError(t, os.WriteFile(c.Path(p), []byte(before), 0o644))
	for i := range 2 {
		change, err := c.Plan(p, server())
		require.NoError(t, err)
		require.Equal(t, i == 1, change.Replaces)
		backup, err := change.Write()
		require.NoError(t, err)
		require.Equal(t, c.Path(p)+".bak", backup)
		after, err := os.ReadFile(c.Path(p))
		require.NoError(t, err)
		require.Contains(t, string(after), `{"zeta":  1,`)
		require.Contains(t, string(after), `"other": {"command": "x", "args": [ "a" ]}`)
		require.Contains(t, string(after), `"alpha": [1,  2]`)
		require.Equal(t, "/opt/paywarrant", entry(t, c.Path(p))["command"])
	}
}

// TestWhatCouldBeLostIsRefused: comments, what is no object, what changed meanwhile.
func TestWhatCouldBeLostIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"// mine\n{}", "{,}", "[]", `"x"`, "null"} {
		p := places(t)
		c, _ := clientconfig.Find("vscode")
		require.NoError(t, os.MkdirAll(filepath.Dir(c.Path(p)), 0o755))
		require.NoError(t, os.WriteFile(c.Path(p), []byte(text), 0o644))
		change, err := c.Plan(p, server())
		require.ErrorIs(t, err, clientconfig.ErrComments, text)
		require.Contains(t, change.Entry, "paywarrant", "what to add by hand")
	}
	p := places(t)
	c, _ := clientconfig.Find("cursor")
	change, err := c.Plan(p, server())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(c.Path(p)), 0o755))
	require.NoError(t, os.WriteFile(c.Path(p), []byte("{}"), 0o644))
	_, err = change.Write()
	require.ErrorContains(t, err, "has changed meanwhile")
}

// TestQuestionForTheTokenIsAskedOnce, in a file that prompts for it.
func TestQuestionForTheTokenIsAskedOnce(t *testing.T) {
	t.Parallel()
	p := places(t)
	c, _ := clientconfig.Find("vscode")
	for range 2 {
		change, err := c.Plan(p, server())
		require.NoError(t, err)
		_, err = change.Write()
		require.NoError(t, err)
	}
	text, err := os.ReadFile(c.Path(p))
	require.NoError(t, err)
	var file struct{ Inputs []map[string]any }
	require.NoError(t, json.Unmarshal(text, &file))
	require.Len(t, file.Inputs, 1)
	require.Equal(t, true, file.Inputs[0]["password"])
}

// TestLinkStaysALink: a file that is kept elsewhere.
func TestLinkStaysALink(t *testing.T) {
	t.Parallel()
	p := places(t)
	c, _ := clientconfig.Find("codex")
	kept := filepath.Join(t.TempDir(), "dot-codex.toml")
	require.NoError(t, os.WriteFile(kept, []byte("# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\"\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(c.Path(p)), 0o755))
	require.NoError(t, os.Symlink(kept, c.Path(p)))
	change, err := c.Plan(p, server())
	require.NoError(t, err)
	_, err = change.Write()
	require.NoError(t, err)
	about, err := os.Lstat(c.Path(p))
	require.NoError(t, err)
	require.NotZero(t, about.Mode()&os.ModeSymlink)
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Contains(t, string(text), "# mine\nmodel = \"m\"\n")
	require.Equal(t, "/opt/paywarrant", entry(t, kept)["command"])
	_, err = c.Plan(p, server())
	require.ErrorContains(t, err, "already")
}
