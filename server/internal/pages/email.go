package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// A person who gives an email address proves it with a code before the mandate is
// confirmed: the private link is mailed to a proven address alone. The merchant, who has the
// session's token too, could otherwise enter an address of its own or of another person.

// proofEmail is the kind of the proof that a code was entered in a session.
const proofEmail = "email"

// fieldCode is the field of the code.
const fieldCode = "code"

// Codes sends and checks one-time codes.
type Codes interface {
	SendCode(ctx context.Context, c signin.Challenge, client string) error
	Check(ctx context.Context, c signin.Challenge, entered string) (email string, err error)
	// Remember sets the cookie of a browser in which an address was proven.
	Remember(w http.ResponseWriter, email string)
	// Text is what a wallet signs to sign in, and Current reports whether one of a time is
	// still accepted.
	Text(w signin.WalletText) string
	Current(at string) bool
	// Forget deletes what is stored about an account.
	Forget(ctx context.Context, a signin.Account) error
}

// Mails queues messages to people.
type Mails interface {
	// Expect queues a message before its subject exists.
	Expect(ctx context.Context, kind, subjectID string) error
	// Hasten sends a message whose subject exists now.
	Hasten(ctx context.Context, kind, subjectID string)
}

// emailChallenge is what a code proves in a session.
func emailChallenge(s payment.Session, email string) signin.Challenge {
	return signin.Challenge{Purpose: signin.Setup, Email: email, Binding: s.Hash}
}

// proven reports whether the address was proven in this session.
func (p *Pages) proven(s payment.Session, in entered) bool {
	email, err := signin.ParseEmail(in.email)
	return err == nil && p.Payments.IsSetupProof(s, proofEmail, email, in.proven)
}

// mailCode mails a code to the address that was entered.
func (p *Pages) mailCode(ctx context.Context, s payment.Session, in *entered) (problem, error) {
	err := p.Codes.SendCode(ctx, emailChallenge(s, in.email), httplog.ClientNetwork(ctx))
	switch {
	case errors.Is(err, signin.ErrEmail):
		return problem{field: fieldEmail, text: "The email address is not complete."}, nil
	case errors.Is(err, signin.ErrTooMany):
		return problem{field: fieldEmail, text: "Too many codes were mailed to this address or from your network. Leave the field empty, or try again tomorrow."}, nil
	case err != nil:
		return problem{}, err
	}
	in.email, _ = signin.ParseEmail(in.email) // SendCode accepted it
	in.mailed, in.code = in.email, ""
	return problem{field: fieldCode, text: "A code was mailed to " + in.email + ". Enter it to confirm your limits.", notice: true}, nil
}

// proveEmail checks the code of the address that was entered, or mails one.
func (p *Pages) proveEmail(ctx context.Context, s payment.Session, in *entered) (problem, error) {
	if parsed, err := signin.ParseEmail(in.email); err == nil {
		in.email = parsed // the address that is proven is the one that gets the link
	}
	switch {
	case in.email == "" || p.proven(s, *in):
		return problem{}, nil
	case in.mailed != in.email:
		return p.mailCode(ctx, s, in)
	case in.code == "":
		return problem{field: fieldCode, text: "Enter the code that was mailed to " + in.email + "."}, nil
	}
	email, err := p.Codes.Check(ctx, emailChallenge(s, in.email), in.code)
	var wrong *signin.WrongCodeError
	switch {
	case err == nil:
		in.proven, in.code = p.Payments.SetupProof(s, proofEmail, email), ""
		return problem{}, nil
	case errors.Is(err, signin.ErrEmail):
		return problem{field: fieldEmail, text: "The email address is not complete."}, nil
	case errors.Is(err, signin.ErrMalformed):
		return problem{field: fieldCode, text: "A code has six digits, such as 123 456."}, nil
	case errors.As(err, &wrong) && wrong.AttemptsLeft > 0:
		return problem{field: fieldCode, text: fmt.Sprintf("This is not the code. Attempts left: %d.", wrong.AttemptsLeft)}, nil
	case errors.As(err, &wrong), errors.Is(err, signin.ErrNoCode):
		in.code = ""
		return problem{field: fieldCode, text: "This code is not valid any more. Choose “Mail me another code”."}, nil
	}
	return problem{}, err
}

// prepare records who confirms a mandate, and queues the confirmations: both outlive a
// process that ends right after the mandate was stored.
func (p *Pages) prepare(rails []rail.Name, in entered) func(ctx context.Context, mandateID string, with []rail.Instrument) error {
	return func(ctx context.Context, mandateID string, with []rail.Instrument) error {
		if in.email != "" {
			email, err := signin.ParseEmail(in.email)
			if err != nil {
				return err
			}
			if err := p.Owners.AddMandateOwner(ctx, string(signin.Email), email, mandateID); err != nil {
				return err
			}
			if err := p.Notices.PutNotices(ctx, store.Notices{MandateID: mandateID, Limits: true}); err != nil {
				return err
			}
			if err := p.Mails.Expect(ctx, MandateConfirmed, mandateID); err != nil {
				return err
			}
		}
		wallets, ok := p.Payments.Wallets(rails)
		for _, i := range with {
			if i.Rail == rail.Card && in.connected != "" && p.Mails != nil {
				if err := p.Mails.Expect(ctx, CardConnected, mandateID); err != nil {
					return err
				}
			}
			if !ok {
				continue
			}
			if call, ok := wallets.RevokeCall(i); ok {
				if err := p.Owners.AddMandateOwner(ctx, string(signin.Wallet), strings.ToLower(call.From), mandateID); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// hasten mails the confirmations now.
func (p *Pages) hasten(ctx context.Context, m ledger.Mandate) {
	if p.Mails == nil {
		return
	}
	p.Mails.Hasten(ctx, MandateConfirmed, m.ID)
	p.Mails.Hasten(ctx, CardConnected, m.ID)
}
