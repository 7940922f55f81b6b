package sqlstore

import "context"

// Synchronous is whether the single writer's commits wait for the disk.
func (s *Store) Synchronous(ctx context.Context) (mode int, err error) {
	err = s.writer.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&mode)
	return mode, err
}
