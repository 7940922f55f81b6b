package main

import (
	"context"

	"github.com/paywarrant/paywarrant/server"
)

type auditCmd struct {
	List auditListCmd `cmd:"" help:"List the actions of operators, merchants and persons, newest first."`
}

type auditListCmd struct {
	operatorFlags

	Actor string `help:"List the actions of one actor only, or of a kind of actors: operator, merchant, person, merchant:mer_…, person:del_…" placeholder:"ACTOR"`
	Limit int    `default:"100" help:"Number of entries to list. Default: ${default}." placeholder:"N"`
}

// Help is the longer text of the command.
func (auditListCmd) Help() string {
	return `Examples:
  paywarrant audit list --config pay.toml --limit 20
  paywarrant audit list --config pay.toml --actor merchant:mer_01K…`
}

// auditSubjectLine is an entry of the audit log with what it is about.
type auditSubjectLine struct {
	auditLine

	Subject string `json:"subject"`
}

// Run lists the latest entries.
func (c auditListCmd) Run(ctx context.Context, o output) error {
	if c.Limit < 1 {
		return usage("--limit: %d is not a number of entries", c.Limit)
	}
	return c.operator(ctx, func(op *server.Operator) error {
		var objects []any
		table := [][]string{{"AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL", "REASON"}}
		for before := ""; len(objects) < c.Limit; {
			most := min(c.Limit-len(objects), listPage)
			page, err := op.AuditLog(ctx, c.Actor, before, most)
			if err != nil {
				return err
			}
			for _, e := range page {
				l := auditSubjectLine{auditLine{At: at(e.At), Actor: e.Actor, Action: e.Action, Reason: e.Reason, Detail: e.Detail}, e.Subject}
				objects, before = append(objects, l), e.ID
				table = append(table, []string{l.At, l.Actor, l.Action, l.Subject, l.Detail, l.Reason})
			}
			if len(page) < most {
				break
			}
		}
		return c.print(o, objects, table)
	})
}
