package main

import "github.com/alecthomas/kong"

// examples are shown in the help of the commands that have no longer text.
var examples = map[string]string{
	"serve":              "paywarrant serve --config pay.toml",
	"migrate":            "paywarrant migrate --config pay.toml",
	"demo":               "paywarrant demo --json",
	"version":            "paywarrant version",
	"sandbox-processor":  "paywarrant sandbox-processor --file processor.db --addr 127.0.0.1:4030",
	"keys list":          "paywarrant keys list --config pay.toml",
	"keys rotate":        "paywarrant keys rotate --config pay.toml",
	"keys revoke":        "paywarrant keys revoke --config pay.toml -- KEY",
	"keys rewrap":        "paywarrant keys rewrap --config pay.toml",
	"merchants list":     "paywarrant merchants list --config pay.toml",
	"merchants show":     "paywarrant merchants show mer_01K… --config pay.toml",
	"merchants activate": "paywarrant merchants activate mer_01K… --config pay.toml",
	"api-keys list":      "paywarrant api-keys list mer_01K… --config pay.toml",
	"charges show":       "paywarrant charges show txn_01K… --config pay.toml",
	"ledger check":       "paywarrant ledger check --store pay.db",
	"mandate inspect":    "paywarrant mandate create | paywarrant mandate inspect -",
	"tokens list":        "paywarrant tokens list --json",
	"tokens revoke":      "paywarrant tokens revoke tok_01K…",
	"webhooks trigger":   "paywarrant webhooks trigger payment.failed",
}

// addExamples adds the examples to the help of the commands.
func addExamples(parser *kong.Kong) {
	for _, leaf := range parser.Model.Leaves(true) {
		example, ok := examples[commandOf(leaf)]
		if !ok {
			continue
		}
		if leaf.Detail != "" {
			leaf.Detail += "\n\n"
		}
		leaf.Detail += "Example:\n  " + example
	}
}

// commandOf returns the words that call a command.
func commandOf(n *kong.Node) string {
	words := ""
	for ; n != nil && n.Type == kong.CommandNode; n = n.Parent {
		if words != "" {
			words = " " + words
		}
		words = n.Name + words
	}
	return words
}
