package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/server/mailer"
)

// mailConfig is the mail server. Nil: no mail is sent.
type mailConfig struct {
	SMTP         string `toml:"smtp"`
	From         string `toml:"from"`
	TLS          string `toml:"tls"`
	Username     string `toml:"username"`
	PasswordFile string `toml:"password_file"`
}

// mailKeys are the keys of the mailer's fields.
var mailKeys = strings.NewReplacer("mailer: Addr", "mail.smtp", "mailer: From", "mail.from", "mailer: TLS", "mail.tls")

// open returns the mailer. The returned error names the key.
func (c mailConfig) open() (*mailer.SMTP, error) {
	if (c.Username == "") != (c.PasswordFile == "") {
		return nil, errors.New("mail.username and mail.password_file go together")
	}
	cfg := mailer.Config{Addr: c.SMTP, From: c.From, TLS: mailer.TLS(c.TLS), Username: c.Username}
	if c.PasswordFile != "" {
		password, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("mail.password_file: %w", err)
		}
		if cfg.Password = strings.TrimSpace(string(password)); cfg.Password == "" {
			return nil, fmt.Errorf("mail.password_file: %s is empty", c.PasswordFile)
		}
	}
	m, err := mailer.New(cfg)
	if err != nil {
		return nil, errors.New(mailKeys.Replace(err.Error()))
	}
	return m, nil
}
