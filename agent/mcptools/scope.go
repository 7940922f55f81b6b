package mcptools

import "github.com/paywarrant/paywarrant/client"

// scopes are what tools need that call the merchant API.
var scopes = map[string]client.Scope{
	"setup_spending_mandate": client.ScopePay, "poll_setup_session": client.ScopePay, "authorize_agent_payment": client.ScopePay,
	"delegare_fetch": client.ScopePay, "check_mandate_balance": client.ScopeBalance, "revoke_mandate": client.ScopeRevoke,
}

// Scope returns the scope that an access token must have for a tool. It is empty if the tool
// needs none, or does not exist.
func Scope(tool string) client.Scope { return scopes[tool] }
