package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/clientconfig"
)

type agentCmd struct {
	Setup    agentSetupCmd    `cmd:"" help:"Write the tools of a service into an agent's configuration file, after showing what changes."`
	Manifest agentManifestCmd `cmd:"" help:"Print the manifest of a bundle (.mcpb) with the tools of a service."`
}

type agentSetupCmd struct {
	Client  string `help:"The agent: claude-desktop, claude-code, cursor, vscode, windsurf, gemini or codex. Default: the command lists them." placeholder:"NAME"`
	Service string `help:"The service. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
	Token   string `help:"The access token. Prefer the environment variable." env:"SERVICE_ACCESS_TOKEN" placeholder:"TOKEN"`
	Mandate string `help:"The mandate that pays if a call names none: its token or its id. Default: none." env:"SERVICE_MANDATE" placeholder:"TOKEN|ID"`
	Name    string `help:"Name of the entry in the file. Default: ${default}." default:"paywarrant" placeholder:"NAME"`
	Print   bool   `help:"Show what would be written, and write nothing."`
	Yes     bool   `help:"Write without asking." short:"y"`

	in     io.Reader // default: standard input
	places *clientconfig.Places
}

// Help is the longer text of the command.
func (agentSetupCmd) Help() string {
	return `The agent runs "paywarrant mcp", by this program's path, or from the search path if the file is a project's. The entry has the access token, except in a project's file, which takes it from the
environment or asks for it. The file as it was is kept beside it, with the ending .bak.

Example:
  export SERVICE_ACCESS_TOKEN=$(paywarrant tokens create --name "my agent" --scope pay,balance --mandate del_01K…)
  paywarrant agent setup --client cursor --mandate del_01K…`
}

// Run shows the change, asks, and writes it.
func (c agentSetupCmd) Run(_ context.Context, o output) error {
	places, err := c.where()
	if err != nil {
		return err
	}
	if c.Client == "" {
		return listClients(o, places)
	}
	client, ok := clientconfig.Find(c.Client)
	if !ok {
		return usage("--client: %q is none of %s", c.Client, strings.Join(clientconfig.Names(), ", "))
	}
	if c.Token == "" && !client.Shared {
		return usage("set SERVICE_ACCESS_TOKEN, or give --token; paywarrant tokens create makes one")
	}
	server, err := c.server(client)
	if err != nil {
		return err
	}
	change, err := client.Plan(places, server)
	if err != nil {
		return fmt.Errorf("%w. Add by hand:\n\n%s", err, masked(change.Entry, c.Token))
	}
	verb := "Adds to"
	switch {
	case change.Replaces:
		verb = "Replaces the entry in"
	case change.Before == nil:
		verb = "Creates"
	}
	if _, err := fmt.Fprintf(o.out, "%s %s:\n\n%s\n\n", verb, change.Path, masked(change.Entry, c.Token)); err != nil || c.Print {
		return err
	}
	if !c.Yes {
		agreed, err := c.ask(o)
		if err != nil || !agreed {
			return err
		}
	}
	backup, err := change.Write()
	if err != nil {
		return err
	}
	text := "Written."
	if backup != "" {
		text += " The file as it was: " + backup + "."
	}
	if client.Shared {
		text += " The file has no token: export SERVICE_ACCESS_TOKEN for " + client.Title + ", or enter it when asked."
	}
	_, err = fmt.Fprintf(o.out, "%s Restart %s to load it.\n", text, client.Title)
	return err
}

// masked hides a token.
func masked(text, token string) string {
	if len(token) < 8 {
		return text
	}
	return strings.ReplaceAll(text, token, "token_…"+token[len(token)-4:])
}

func (c agentSetupCmd) where() (clientconfig.Places, error) {
	if c.places != nil {
		return *c.places, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return clientconfig.Places{}, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return clientconfig.Places{}, err
	}
	project, err := os.Getwd()
	return clientconfig.Places{Home: home, Config: config, Project: project}, err
}

// server returns the entry. Its program is this one; in a project's file, and if this one was
// built to run once, it is the one on the search path.
func (c agentSetupCmd) server(client clientconfig.Client) (clientconfig.Server, error) {
	program, err := os.Executable()
	if err != nil {
		return clientconfig.Server{}, err
	}
	if client.Shared || strings.Contains(program, "go-build") {
		program = "paywarrant"
	}
	env := map[string]string{"SERVICE_API_URL": c.Service, "SERVICE_ACCESS_TOKEN": c.Token}
	if c.Mandate != "" {
		env["SERVICE_MANDATE"] = c.Mandate
	}
	return clientconfig.Server{Name: c.Name, Command: program, Args: []string{"mcp"}, Env: env, Secret: "SERVICE_ACCESS_TOKEN"}, nil
}

// ask reports whether the person agrees.
func (c agentSetupCmd) ask(o output) (bool, error) {
	in := c.in
	if in == nil {
		in = os.Stdin
	}
	if _, err := fmt.Fprint(o.out, "Write it? [y/N] "); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return false, usage("no answer: give --yes to write without asking, or --print to write nothing")
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	_, err = fmt.Fprintln(o.out, "Nothing was written.")
	return false, err
}

func listClients(o output, places clientconfig.Places) error {
	table := [][]string{{"CLIENT", "AGENT", "FILE", ""}}
	for _, c := range clientconfig.Clients {
		state := ""
		if c.Installed(places) {
			state = "found"
		}
		table = append(table, []string{c.Name, c.Title, c.Path(places), state})
	}
	if err := printTable(o.out, table); err != nil {
		return err
	}
	_, err := fmt.Fprintln(o.out, "\nChoose one: paywarrant agent setup --client NAME")
	return err
}

type agentManifestCmd struct {
	Service string `help:"The service that the manifest suggests. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
}

// Help is the longer text of the command.
func (agentManifestCmd) Help() string {
	return `A bundle is a zip archive with this manifest and the program, as server/paywarrant. Agents that install bundles ask
for the access token and the address of the service.

Example:
  mkdir -p bundle/server && cp $(command -v paywarrant) bundle/server/ && paywarrant agent manifest > bundle/manifest.json`
}

// Run prints the manifest of MCP bundles, version 0.3.
func (c agentManifestCmd) Run(_ context.Context, o output) error {
	type setting struct {
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Sensitive   bool   `json:"sensitive,omitzero"`
		Required    bool   `json:"required"`
		Default     string `json:"default,omitempty"`
	}
	e := json.NewEncoder(o.out)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{
		"manifest_version": "0.3", "name": "paywarrant", "display_name": "Paywarrant", "version": strings.TrimPrefix(version(), "v"),
		"description": "Lets an agent pay, within limits that a person signed.",
		"author":      map[string]string{"name": "Paywarrant", "url": "https://github.com/paywarrant/paywarrant"},
		"server": map[string]any{
			"type": "binary", "entry_point": "server/paywarrant",
			"mcp_config": map[string]any{
				"command": "${__dirname}/server/paywarrant", "args": []string{"mcp"},
				"env": map[string]string{ //nolint:gosec // names of settings
					"SERVICE_API_URL": "${user_config.baseUrl}", "SERVICE_ACCESS_TOKEN": "${user_config.accessToken}", "SERVICE_MANDATE": "${user_config.mandate}",
				},
			},
		},
		"tools_generated": true,
		"user_config": map[string]setting{
			"accessToken": {"string", "Access token", "Made by the merchant's dashboard or by: paywarrant tokens create", true, true, ""},
			"baseUrl":     {"string", "Service", "Address of the payment service", false, true, c.Service},
			"mandate":     {"string", "Mandate", "The mandate that pays if a call names none", false, false, ""},
		},
	})
}
