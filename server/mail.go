package server

import (
	"context"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/mail"
	"github.com/paywarrant/paywarrant/server/internal/notices"
	"github.com/paywarrant/paywarrant/server/internal/pages"
	"github.com/paywarrant/paywarrant/server/internal/signin"
)

// The kinds of messages. They are stored.
const (
	endpointDisabled = "webhook_endpoint_disabled"
	signInCode       = "sign_in_code"
)

// queueMails makes the queue of messages if there is a Mailer.
func (s *Server) queueMails() {
	if s.config.Mailer == nil {
		return
	}
	s.mails = mail.New(mail.Config{
		Store: s.config.Store, Clock: s.config.Clock, Logger: s.config.Logger,
		Letters: map[string]func(context.Context, string) (letter.Letter, error){},
		Send: func(ctx context.Context, l letter.Letter) error {
			page, err := l.HTML()
			if err != nil {
				return err
			}
			return s.config.Mailer.Mail(ctx, Message{To: l.To, Subject: l.Subject, Text: l.Text(), HTML: page})
		},
	})
}

// mailbox returns the messages that a page shows, or nil if there is no such page.
func (c *Config) mailbox() func() []pages.Mail {
	if c.Mailbox == nil {
		return nil
	}
	return func() (all []pages.Mail) {
		for _, m := range c.Mailbox() {
			all = append(all, pages.Mail{To: m.To, Subject: m.Subject, Text: m.Text})
		}
		return all
	}
}

// post returns the function that queues messages of a kind, or nil if no mail is sent.
func (s *Server) post(kind string) func(ctx context.Context, subjectID string) {
	if s.mails == nil {
		return nil
	}
	return func(ctx context.Context, subjectID string) { s.mails.Post(ctx, kind, subjectID) }
}

// write sets the author of the messages of a kind.
func (s *Server) write(kind string, letters func(ctx context.Context, subjectID string) (letter.Letter, error)) {
	if s.mails != nil {
		s.mails.Letters[kind] = letters
	}
}

// followNotices returns the function that posts notices, or nil if no mail is sent.
func (s *Server) followNotices() func(ctx context.Context, merchantID string, after, through int64) error {
	if s.mails == nil {
		return nil
	}
	return notices.New(notices.Config{Store: s.config.Store, Mandate: s.ledger.Mandate, Add: s.mails.Add, Clock: s.config.Clock}).Follow
}

// openSignIns makes the codes and sessions of people and merchants.
func (s *Server) openSignIns(ctx context.Context) error {
	secret, err := s.keys.Secret(ctx, "sign-in")
	if err != nil {
		return err
	}
	s.signIns, err = signin.New(signin.Config{
		Store: s.config.Store, Secret: secret, Clock: s.config.Clock, BaseURL: s.config.BaseURL, Post: s.post(signInCode), Known: s.known,
	})
	if err != nil {
		return err
	}
	s.write(signInCode, s.signIns.Letter)
	return nil
}

// known reports whether a message with a code is sent to an address. Those for merchants are
// sent to addresses that have an account, or may create one, and those for people to
// addresses that were proven for a mandate.
func (s *Server) known(ctx context.Context, p signin.Purpose, email string) (bool, error) {
	switch p {
	case signin.PersonSignIn:
		ids, err := s.config.Store.MandatesOfOwner(ctx, string(signin.Email), email, "", 1)
		return len(ids) > 0, err
	case signin.MerchantSignIn:
		if s.config.MerchantSignUp {
			return true, nil
		}
		found, err := s.config.Store.MerchantsByEmail(ctx, email, 1)
		return len(found) > 0, err
	case signin.Setup:
	}
	return true, nil
}

// mailsOfPages returns the queue of messages, or nil without a Mailer.
func (s *Server) mailsOfPages() pages.Mails {
	if s.mails == nil {
		return nil
	}
	return s.mails
}
