package main

import (
	"context"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/store"
)

type apiKeysCmd struct {
	List   apiKeysListCmd   `cmd:"" help:"List a merchant's API keys: their ids, labels and last four characters."`
	Create apiKeysCreateCmd `cmd:"" help:"Create another API key for a merchant, and print it. It is shown only once."`
	Revoke apiKeysRevokeCmd `cmd:"" help:"Revoke an API key at once, by its id."`
}

// apiKeyLine is how an API key is printed.
type apiKeyLine struct {
	ID         string   `json:"id"`
	MerchantID string   `json:"merchantId"`
	Label      string   `json:"label,omitempty"`
	LastFour   string   `json:"lastFour"`
	Scopes     []string `json:"scopes"`
	APIKey     string   `json:"apiKey,omitempty"` // of a new key
	CreatedAt  string   `json:"createdAt"`
	RevokedAt  string   `json:"revokedAt,omitempty"`
}

func keyLine(k store.APIKey) apiKeyLine {
	l := apiKeyLine{ID: k.ID(), MerchantID: k.MerchantID, Label: k.Label, LastFour: k.Hint, Scopes: k.Scopes, CreatedAt: k.CreatedAt.UTC().Format(time.RFC3339)}
	if !k.RevokedAt.IsZero() {
		l.RevokedAt = k.RevokedAt.UTC().Format(time.RFC3339)
	}
	return l
}

type apiKeysListCmd struct{ merchantArg }

// Run lists the keys of a merchant.
func (c apiKeysListCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		keys, err := op.APIKeys(ctx, c.Merchant)
		if err != nil {
			return err
		}
		var objects []any
		table := [][]string{{"KEY", "LABEL", "ENDS WITH", "SCOPES", "CREATED", "STATE"}}
		for _, k := range keys {
			l := keyLine(k)
			state := "valid"
			if l.RevokedAt != "" {
				state = "revoked " + l.RevokedAt
			}
			objects = append(objects, l)
			table = append(table, []string{l.ID, l.Label, "…" + l.LastFour, strings.Join(l.Scopes, ","), l.CreatedAt, state})
		}
		return c.print(o, objects, table)
	})
}

type apiKeysCreateCmd struct {
	merchantArg

	Label string         `help:"Label of the key." placeholder:"TEXT"`
	Scope []client.Scope `enum:"read,charge,refund,admin" help:"What the key permits, separated by commas: read, charge, refund, admin. Default: all." placeholder:"SCOPE,…"`
}

// Run makes a key.
func (c apiKeysCreateCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		plain, k, err := op.CreateAPIKey(ctx, c.Merchant, c.Label, c.Scope...)
		if err != nil {
			return err
		}
		l := keyLine(k)
		l.APIKey = plain
		return c.print(o, []any{l}, [][]string{{"Key", l.ID}, {"Label", l.Label}, {"Scopes", strings.Join(l.Scopes, ",")}, {"API key", plain + "  (cannot be read again)"}})
	})
}

// Help is the longer text of the command.
func (apiKeysCreateCmd) Help() string {
	return "Example: paywarrant api-keys create mer_01K… --config pay.toml --label billing --scope read,refund"
}

type apiKeysRevokeCmd struct {
	operatorFlags

	Key    string `arg:"" help:"The key's id, or at least its first ten characters, as list prints it." placeholder:"key_…"`
	Reason string `help:"The reason, for the audit log." placeholder:"TEXT"`
}

// Run ends a key.
func (c apiKeysRevokeCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		k, err := op.RevokeAPIKey(ctx, c.Key, c.Reason)
		if err != nil {
			return err
		}
		l := keyLine(k)
		return c.print(o, []any{l}, [][]string{{"Key", l.ID}, {"Ends with", "…" + l.LastFour}, {"Revoked", l.RevokedAt}})
	})
}

// Help is the longer text of the command.
func (apiKeysRevokeCmd) Help() string {
	return "Example: paywarrant api-keys revoke key_3f1c09aa52de7b64 --config pay.toml --reason \"in a public repository\""
}
