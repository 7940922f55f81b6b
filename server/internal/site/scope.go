package site

import (
	"slices"

	"github.com/paywarrant/paywarrant/client"
)

// ScopeBox is a scope that a person can grant in a form.
type ScopeBox struct {
	Name    client.Scope
	Text    string
	Checked bool
}

var scopeTexts = map[client.Scope]string{
	client.ScopePay:     "Pay from mandates, within their limits, and ask people for new mandates",
	client.ScopeBalance: "See the limits of mandates and what is left of them",
	client.ScopeRevoke:  "End mandates",
	client.ScopeRead:    "See payments, mandates, statistics and events",
	client.ScopeCharge:  "Ask for mandates, charge them and end them, and create checkouts",
	client.ScopeRefund:  "Give payments back",
	client.ScopeAdmin:   "Change webhooks, access tokens and the listing of servers",
}

// ScopeBoxes returns the boxes of scopes, checked as the form's values are. Without values, all
// are checked.
func ScopeBoxes(scopes []client.Scope, form map[string][]string) []ScopeBox {
	var boxes []ScopeBox
	for _, scope := range scopes {
		checked := form == nil || slices.Contains(form["scope"], string(scope))
		boxes = append(boxes, ScopeBox{Name: scope, Text: scopeTexts[scope], Checked: checked})
	}
	return boxes
}

// Checked returns the scopes whose boxes are checked.
func Checked(boxes []ScopeBox) []string {
	var scopes []string
	for _, box := range boxes {
		if box.Checked {
			scopes = append(scopes, string(box.Name))
		}
	}
	return scopes
}
