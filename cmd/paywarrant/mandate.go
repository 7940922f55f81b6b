package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

type mandateCmd struct {
	Create  mandateCreateCmd  `cmd:"" help:"Create a mandate in a sandbox, as a person would on the setup page."`
	Inspect mandateInspectCmd `cmd:"" help:"Print what a mandate or a presentation allows, and whether it is valid."`
}

type mandateInspectCmd struct {
	Token  string `arg:"" help:"The token (dtok_…). - reads it from standard input, so that it is not in the list of processes." placeholder:"TOKEN"`
	JWKS   string `help:"The issuer's keys: a URL or a file. Default: /.well-known/jwks.json of the issuer that the token names." placeholder:"URL|FILE" name:"jwks"`
	Status bool   `help:"Also check the mandate's status list."`
	JSON   bool   `help:"Print JSON." name:"json"`

	stdin io.Reader // default: os.Stdin
}

// inspection is what is found out about a token.
type inspection struct {
	token  string
	peeked *mandate.Peeked
	jwks   string
	err    error // why it is not good
	status string
	now    time.Time
}

// Run prints; a token that is not good fails the command.
func (c mandateInspectCmd) Run(ctx context.Context, o output) error {
	i := inspection{now: time.Now()}
	var err error
	if i.token, err = c.read(); err != nil {
		return err
	}
	if i.peeked, err = mandate.Peek(i.token); err != nil {
		return usage("cannot be read as a mandate (dtok_…): %w", err)
	}
	keys, err := c.keys(&i)
	if err != nil {
		return err
	}
	i.err = i.verify(ctx, keys, c.Status)
	if c.JSON {
		err = i.printJSON(o.out)
	} else {
		err = i.print(o.out)
	}
	if err == nil && i.err != nil {
		err = errSaid
	}
	return err
}

// read is the token, from the argument or standard input.
func (c mandateInspectCmd) read() (string, error) {
	if c.Token != "-" {
		return strings.TrimSpace(c.Token), nil
	}
	in := c.stdin
	if in == nil {
		in = os.Stdin
	}
	text, err := io.ReadAll(io.LimitReader(in, 2*mandate.MaxTokenBytes))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// keys finds where the issuer's keys are.
func (c mandateInspectCmd) keys(i *inspection) (mandate.KeySource, error) {
	i.jwks = c.JWKS
	if i.jwks == "" {
		i.jwks = strings.TrimRight(i.peeked.Mandate.Issuer, "/") + "/.well-known/jwks.json"
	}
	if strings.Contains(i.jwks, "://") {
		return mandate.RemoteKeys(i.jwks), nil
	}
	text, err := os.ReadFile(i.jwks)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	keys, err := mandate.ParseJWKS(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.jwks, err)
	}
	return mandate.StaticKeys(keys...), nil
}

// verify judges the token, for whatever audience and nonce it may be.
func (i *inspection) verify(ctx context.Context, keys mandate.KeySource, status bool) error {
	v := mandate.Verifier{Issuer: i.peeked.Mandate.Issuer, Keys: keys}
	p, err := v.VerifyPresentation(ctx, i.token, mandate.Expect{AllowUnbound: true, AllowStale: true, IgnoreTransaction: true})
	if err != nil {
		return err
	}
	if p.Stale {
		return &mandate.Error{Reason: mandate.KBStale}
	}
	ref := i.peeked.Mandate.Status
	if !status || ref == nil {
		return nil
	}
	revoked, err := mandate.RemoteStatuses(keys).Revoked(ctx, *ref)
	switch {
	case err != nil:
		i.status = "cannot be read: " + err.Error()
		return &mandate.Error{Reason: mandate.StatusUnavailable, Err: err}
	case revoked:
		i.status = "revoked"
		return &mandate.Error{Reason: mandate.Revoked}
	}
	i.status = "not revoked"
	return nil
}

// verdict says for a person whether the token is good.
func (i *inspection) verdict() string {
	var e *mandate.Error
	switch {
	case i.err == nil:
		return "good: signed by " + i.peeked.Mandate.Issuer
	case errors.Is(i.err, mandate.ErrExpired):
		return "EXPIRED, else good"
	case errors.Is(i.err, mandate.ErrRevoked):
		return "REVOKED, else good"
	case errors.Is(i.err, mandate.ErrUnavailable):
		return "NOT VERIFIED: " + i.err.Error()
	case errors.As(i.err, &e) && e.Reason == mandate.KBStale:
		return "EXPIRED presentation, else good"
	case errors.As(i.err, &e):
		return "NOT GOOD (" + string(e.Reason) + "); nothing below is proven"
	}
	return "NOT VERIFIED: " + i.err.Error()
}
