package row

import (
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Checkout reads a stored row.
func Checkout(r db.Checkout) (ledger.Checkout, error) {
	return ledger.Checkout{
		Entropy: r.Entropy, ID: r.ID, MerchantID: r.MerchantID, Amount: ledger.Micros(r.AmountMicros), Description: r.Description,
		ReturnURL: r.ReturnUrl, SessionHash: r.SessionHash, ChargeID: r.ChargeID, FailureReason: r.FailureReason,
		CreatedAt: at(r.CreatedMs), ExpiresAt: at(r.ExpiresMs),
	}, nil
}

// InsertCheckout is what a statement of that name takes.
func InsertCheckout(c ledger.Checkout) db.InsertCheckoutParams {
	return db.InsertCheckoutParams{
		Entropy: c.Entropy, ID: c.ID, MerchantID: c.MerchantID, AmountMicros: int64(c.Amount), Description: c.Description,
		ReturnUrl: c.ReturnURL, SessionHash: c.SessionHash, ChargeID: c.ChargeID, FailureReason: c.FailureReason,
		CreatedMs: Millis(c.CreatedAt), ExpiresMs: Millis(c.ExpiresAt),
	}
}

// UpdateCheckout is what a statement of that name takes.
func UpdateCheckout(c ledger.Checkout) db.UpdateCheckoutParams {
	return db.UpdateCheckoutParams{Entropy: c.Entropy, ChargeID: c.ChargeID, FailureReason: c.FailureReason}
}

// Instrument reads a stored row.
func Instrument(r db.Instrument) (i ledger.Instrument, err error) {
	i = ledger.Instrument{
		Instrument: rail.Instrument{
			Rail: rail.Name(r.Rail), Customer: r.Customer, Method: r.Method, Brand: r.Brand, LastFour: r.LastFour,
		},
		Reference: r.Reference, SessionHash: r.SessionHash, MandateID: r.MandateID, State: ledger.InstrumentState(r.State),
		CreatedAt: at(r.CreatedMs), ChangedAt: at(r.ChangedMs),
	}
	if r.Connection != "" {
		i.Connection = parsed[rail.Connection](r.Connection, &err)
	}
	return i, err
}

// connection is the stored form of what a rail was asked, empty once it has answered.
func connection(i ledger.Instrument) string {
	if i.Connection.Reference == "" {
		return ""
	}
	return text(i.Connection)
}

// InsertInstrument is what a statement of that name takes.
func InsertInstrument(i ledger.Instrument) db.InsertInstrumentParams {
	return db.InsertInstrumentParams{
		Reference: i.Reference, SessionHash: i.SessionHash, MandateID: i.MandateID, State: string(i.State), Connection: connection(i),
		Rail: string(i.Rail), Customer: i.Customer, Method: i.Method, Brand: i.Brand, LastFour: i.LastFour,
		CreatedMs: Millis(i.CreatedAt), ChangedMs: Millis(i.ChangedAt),
	}
}

// UpdateInstrument is what a statement of that name takes.
func UpdateInstrument(i ledger.Instrument) db.UpdateInstrumentParams {
	return db.UpdateInstrumentParams{
		Reference: i.Reference, MandateID: i.MandateID, State: string(i.State), Connection: connection(i),
		Rail: string(i.Rail), Customer: i.Customer, Method: i.Method, Brand: i.Brand, LastFour: i.LastFour, ChangedMs: Millis(i.ChangedAt),
	}
}

// Unwinding reads a stored row.
func Unwinding(r db.Unwinding) (ledger.Unwinding, error) {
	return ledger.Unwinding{
		ID: r.ID, Kind: ledger.UnwindingKind(r.Kind), Since: at(r.SinceMs), Due: at(r.DueMs), Attempts: int(r.Attempts),
	}, nil
}

// InsertUnwinding is what a statement of that name takes.
func InsertUnwinding(u ledger.Unwinding) db.InsertUnwindingParams {
	return db.InsertUnwindingParams{
		ID: u.ID, Kind: string(u.Kind), SinceMs: Millis(u.Since), DueMs: Millis(u.Due), Attempts: int64(u.Attempts),
	}
}
