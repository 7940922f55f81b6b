package server

import (
	"context"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/store"
)

// keepAudit stores what merchants and persons did in the audit log of operators.
func (s *Server) keepAudit(ctx context.Context, all []audit.Entry) error {
	rows := make([]store.AuditEntry, len(all))
	for i, e := range all {
		rows[i] = store.AuditEntry{ID: id.New(id.Audit, e.At), At: e.At, Actor: e.Actor, Action: e.Action, Subject: e.Subject, Detail: e.Detail}
	}
	return s.config.Store.AddAudits(ctx, rows)
}
