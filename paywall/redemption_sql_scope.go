package paywall

import (
	"context"
	"fmt"
)

// scoped is a [Redemptions] with a random text that differs from that of every other store.
type scoped interface {
	scopeText(ctx context.Context) (string, error)
}

func (m *Memory) scopeText(context.Context) (string, error) { return m.scope, nil } //nolint:unparam // implements scoped

// scopeText returns a random text that all instances with this database share, and no others.
// It returns errors of the database, such as that [SQL.Migrate] has not created the table.
func (s *SQL) scopeText(ctx context.Context) (string, error) {
	s.mu.Lock()
	scope := s.scope
	s.mu.Unlock()
	if scope != "" {
		return scope, nil
	}
	_, err := s.db.ExecContext(ctx, "INSERT INTO paywall_redemptions_scope (id, scope) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", randomText())
	if err == nil {
		err = s.db.QueryRowContext(ctx, "SELECT scope FROM paywall_redemptions_scope WHERE id = 1").Scan(&scope)
	}
	if err != nil {
		return "", fmt.Errorf("paywall: read the scope of the redemptions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scope = scope
	return scope, nil
}
