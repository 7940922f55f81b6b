package row

import (
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Notices reads a stored row.
func Notices(r db.Notice) (store.Notices, error) {
	return store.Notices{
		MandateID: r.MandateID, Limits: r.Limits != 0, Above: ledger.Micros(r.Above), Month: ledger.Day(r.Month),
		MailedMonth: int(r.MailedMonth), MailedTotal: int(r.MailedTotal), Day: ledger.Day(r.Day), Today: int(r.Today),
	}, nil
}
