// Package clientconfig writes the tools of a service into the configuration files of agents.
package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Server is what an agent needs to know.
type Server struct {
	// Name is the name of the entry.
	Name string
	// Command is the program, with Args, that serves the tools on standard input and output.
	Command string
	Args    []string
	// Env are its variables. One whose value is empty is taken from the agent's environment.
	Env map[string]string
	// Secret is the name of the variable that must not stand in a file that others read.
	Secret string
}

// Client is an agent with a configuration file.
type Client struct {
	// Name is the value of --client.
	Name string
	// Title is the name that people know.
	Title string
	// Shared reports that the file belongs to a project and is often in version control. It then
	// names the secret, and does not contain it.
	Shared bool

	path  func(Places) string
	entry func(Server) (where string, value any)
}

// Places are the directories in which the files are.
type Places struct {
	Home, Config, Project string
}

// Clients are the agents that are known, in the order in which they are listed.
var Clients = []Client{
	{Name: "claude-desktop", Title: "Claude Desktop", path: config("Claude", "claude_desktop_config.json"), entry: plain("mcpServers")},
	{Name: "claude-code", Title: "Claude Code, this project", Shared: true, path: project(".mcp.json"), entry: expanded},
	{Name: "cursor", Title: "Cursor", path: home(".cursor", "mcp.json"), entry: plain("mcpServers")},
	{Name: "vscode", Title: "Visual Studio Code, this project", Shared: true, path: project(".vscode", "mcp.json"), entry: prompted},
	{Name: "windsurf", Title: "Windsurf", path: home(".codeium", "windsurf", "mcp_config.json"), entry: plain("mcpServers")},
	{Name: "gemini", Title: "Gemini CLI", path: home(".gemini", "settings.json"), entry: plain("mcpServers")},
	{Name: "codex", Title: "Codex CLI", path: home(".codex", "config.toml"), entry: plain("mcp_servers")},
}

func home(parts ...string) func(Places) string {
	return func(p Places) string { return filepath.Join(append([]string{p.Home}, parts...)...) }
}

func config(parts ...string) func(Places) string {
	return func(p Places) string { return filepath.Join(append([]string{p.Config}, parts...)...) }
}

func project(parts ...string) func(Places) string {
	return func(p Places) string { return filepath.Join(append([]string{p.Project}, parts...)...) }
}

// process is the entry of a program on standard input and output.
type process struct {
	Type    string            `json:"type,omitempty" toml:"type,omitempty"`
	Command string            `json:"command" toml:"command"`
	Args    []string          `json:"args" toml:"args"`
	Env     map[string]string `json:"env" toml:"env"`
}

// plain is an entry with the secret.
func plain(where string) func(Server) (string, any) {
	return func(s Server) (string, any) {
		return where, process{Command: s.Command, Args: s.Args, Env: s.Env}
	}
}

// with returns the variables with another value of the secret.
func (s Server) with(secret string) map[string]string {
	env := map[string]string{}
	for name, value := range s.Env {
		env[name] = value
	}
	env[s.Secret] = secret
	return env
}

// expanded is an entry that takes the secret from the agent's environment.
func expanded(s Server) (string, any) {
	return "mcpServers", process{Command: s.Command, Args: s.Args, Env: s.with("${" + s.Secret + "}")}
}

// prompted is an entry for which the agent asks for the secret.
func prompted(s Server) (string, any) {
	return "servers", process{Type: "stdio", Command: s.Command, Args: s.Args, Env: s.with("${input:" + s.Name + "-token}")}
}

// Find returns the client with a name.
func Find(name string) (Client, bool) {
	for _, c := range Clients {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range Clients {
		names = append(names, c.Name)
	}
	return names
}

// Path returns the client's file.
func (c Client) Path(p Places) string { return c.path(p) }

// Installed reports whether the client's file, or the directory of a file that is not a
// project's, exists.
func (c Client) Installed(p Places) bool {
	path := c.Path(p)
	if !c.Shared {
		path = filepath.Dir(path)
	}
	_, err := os.Stat(path)
	return err == nil
}

// ErrComments reports a file with comments, or one that is not JSON: an edit could lose something.
var ErrComments = errors.New("it has comments, or is not valid JSON")

// Change is a file before and after an edit.
type Change struct {
	Path string
	// Before is nil if there is no file.
	Before, After []byte
	// Entry is what is added, as it stands in the file.
	Entry string
	// Replaces reports that the file has an entry with the name.
	Replaces bool

	mode fs.FileMode // of a new file
}

// Plan returns the change of a client's file that adds a server. It writes nothing.
func (c Client) Plan(p Places, s Server) (Change, error) {
	change := Change{Path: c.Path(p), mode: 0o600}
	if c.Shared {
		change.mode = 0o644
	}
	before, err := os.ReadFile(change.Path)
	switch {
	case err == nil:
		change.Before = before
	case !errors.Is(err, fs.ErrNotExist):
		return Change{}, err
	}
	where, value := c.entry(s)
	if filepath.Ext(change.Path) == ".toml" {
		return change.inTOML(where, s.Name, value)
	}
	return change.inJSON(where, s, value)
}

func (c Change) inJSON(where string, s Server, value any) (Change, error) {
	text, err := json.MarshalIndent(value, "    ", "  ")
	if err != nil {
		return Change{}, err
	}
	c.Entry = fmt.Sprintf("%q: {\n    %q: %s\n  }", where, s.Name, text)
	at := where + "." + escape(s.Name)
	if len(bytes.TrimSpace(c.Before)) == 0 {
		c.After = fmt.Appendf(nil, "{\n  %s\n}\n", c.Entry)
	} else {
		if !gjson.ValidBytes(c.Before) || !gjson.ParseBytes(c.Before).IsObject() {
			return c, fmt.Errorf("%s: %w", c.Path, ErrComments)
		}
		c.Replaces = gjson.GetBytes(c.Before, at).Exists()
		if c.After, err = sjson.SetRawBytes(bytes.Clone(c.Before), at, text); err != nil {
			return Change{}, err
		}
	}
	if strings.Contains(string(text), "${input:") {
		c.After, err = asked(c.After, s)
	}
	return c, err
}

// asked adds the question for the secret, unless it is there.
func asked(file []byte, s Server) ([]byte, error) {
	id := s.Name + "-token"
	for _, input := range gjson.GetBytes(file, "inputs").Array() {
		if input.Get("id").String() == id {
			return file, nil
		}
	}
	return sjson.SetBytes(file, "inputs.-1", map[string]any{
		"type": "promptString", "id": id, "description": "Access token of the payment service", "password": true,
	})
}

// escape escapes a name in a path.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, "!", `\!`, ":", `\:`).Replace(name)
}

func (c Change) inTOML(where, name string, value any) (Change, error) {
	var has map[string]any
	if _, err := toml.Decode(string(c.Before), &has); err != nil {
		return Change{}, fmt.Errorf("%s: %w", c.Path, err)
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(map[string]any{where: map[string]any{name: value}}); err != nil {
		return Change{}, err
	}
	_, c.Entry, _ = strings.Cut(b.String(), "["+where+"]\n")
	c.Entry = strings.TrimSpace(strings.ReplaceAll(c.Entry, "\n  ", "\n"))
	if servers, ok := has[where].(map[string]any); ok {
		if _, c.Replaces = servers[name]; c.Replaces {
			return c, fmt.Errorf("%s has [%s.%s] already: edit it, or choose another --name", c.Path, where, name)
		}
	}
	c.After = append(bytes.TrimRight(bytes.Clone(c.Before), "\n"), "\n\n"...)
	c.After = append(bytes.TrimLeft(c.After, "\n"), c.Entry+"\n"...)
	return c, nil
}

// Write writes the change, and returns the name of the copy of the file before it; empty if
// there was none. Only the user can read a file with a secret.
func (c Change) Write() (backup string, err error) {
	path := c.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !bytes.Equal(now, c.Before) {
		return "", fmt.Errorf("%s has changed meanwhile: nothing was written", c.Path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if c.Before != nil {
		backup = path + ".bak"
		if err := replace(backup, c.Before, c.mode); err != nil {
			return "", err
		}
	}
	return backup, replace(path, c.After, c.mode)
}

// replace writes a file whole or not at all.
func replace(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".paywarrant-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
