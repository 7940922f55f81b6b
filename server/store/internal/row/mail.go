package row

import (
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Mail reads a stored row.
func Mail(r db.Mail) (store.Mail, error) {
	return store.Mail{
		Kind: r.Kind, SubjectID: r.SubjectID, Attempts: int(r.Attempts), CreatedAt: at(r.CreatedMs), Due: at(r.DueMs),
	}, nil
}
