package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/internal/letter"
)

// AccountMail is the kind of messages about changes of an account that move where money goes or
// who may charge. It is stored; the name is that of its first messages.
const AccountMail = "passkey"

// The changes. They are stored.
const (
	passkeyAdded   = "added"
	passkeyRemoved = "removed"
	passkeyCopied  = "copied"
	walletChanged  = "wallet"
	keyCreated     = "key"
)

// change is what a message says.
type change struct {
	subject, intro string
	action, page   string
	note           string
}

const unknownPasskey = "If this was not you, remove the passkeys that you do not know, and ask the operator of the service for help."

var changes = map[string]change{
	passkeyAdded: {
		"A passkey was added to your account", "A passkey was added to your merchant account. It signs in without a code.",
		"Your passkeys", passkeysPath, unknownPasskey,
	},
	passkeyRemoved: {
		"A passkey was removed from your account", "A passkey was removed from your merchant account. All other browsers were signed out.",
		"Your passkeys", passkeysPath, unknownPasskey,
	},
	passkeyCopied: {
		"A passkey of your account was refused",
		"A passkey of your merchant account was refused at a sign-in: there may be a copy of it. It is not valid any more. Sign in with a code, and remove it.",
		"Your passkeys", passkeysPath, unknownPasskey,
	},
	walletChanged: {
		"Your account is paid to another wallet", "The wallet of your merchant account was changed. Payments on the chain go to the new one from now on.",
		"Your settings", "/settings", "If this was not you, set your wallet again, revoke the API keys that you do not know, and ask the operator of the service for help.",
	},
	keyCreated: {
		"An API key was created", "An API key was created for your merchant account.",
		"Your API keys", "/keys", "If this was not you, revoke it, and ask the operator of the service for help.",
	},
}

// mail queues a message about a change of a merchant's account.
func (d *Dashboard) mail(ctx context.Context, what, merchantID string, about ...string) {
	if d.Post != nil {
		d.Post(ctx, strings.Join(append([]string{what, merchantID}, about...), " "))
	}
}

// AccountLetter writes a message of the kind [AccountMail].
func (d *Dashboard) AccountLetter(ctx context.Context, subject string) (letter.Letter, error) {
	words := strings.Split(subject, " ")
	c, ok := changes[words[0]]
	if !ok || len(words) < 3 {
		return letter.Letter{}, fmt.Errorf("a message about an account: %q", subject)
	}
	m, err := d.Store.Merchant(ctx, words[1])
	if err != nil {
		return letter.Letter{}, err
	}
	l := letter.Letter{
		To: m.Email, Subject: c.subject, Intro: c.intro, Action: c.action, Link: d.Site.BaseURL + Root + c.page, Notes: []string{c.note}, Footer: m.ID,
	}
	if words[0] == walletChanged && len(words) == 4 {
		l.Lines = []string{"New: " + words[2], "Before: " + cmp.Or(strings.TrimPrefix(words[3], "-"), "none")}
	}
	return l, nil
}
