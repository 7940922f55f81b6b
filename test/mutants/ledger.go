package main

// ledgerTests are the packages that hold the rules of money, on SQLite.
const ledgerTests = "./server/ledger ./server/store/sqlite"

var ledgerMutants = []mutant{
	{"internal/money/money.go", "what was spent is rounded down", "if m%MicrosPerCent > 0 {\n\t\tc++", "if false {\n\t\tc++", "./internal/money ./server"},
	{"internal/money/money.go", "an addition overflows", "(n > 0 && s < m) ||", "", "./internal/money"},
	{"internal/money/money.go", "seven decimals are cut", "if len(frac) > 6 {", "if len(frac) > 7 {", "./internal/money"},
	{"internal/money/money.go", "cents overflow", "c > math.MaxInt64/MicrosPerCent ||", "", "./internal/money"},
	{"server/ledger/fee.go", "the fee is rounded down", "(amount*3+99)/100", "amount*3/100", ledgerTests},
	// At one dollar itself both rules give three cents, so ">" would be no bug.
	{"server/ledger/fee.go", "the flat fee starts at two dollars", "amount >= money.MicrosPerDollar", "amount >= 2*money.MicrosPerDollar", ledgerTests},
	{"server/ledger/fee.go", "the flat fee starts below one dollar", "amount >= money.MicrosPerDollar", "amount >= money.MicrosPerDollar/2", ledgerTests},
	{"server/ledger/fee.go", "there is no minimum fee", "max((amount*3+99)/100, minimumFee)", "(amount*3 + 99) / 100", ledgerTests},
	{"server/ledger/fee.go", "cards owe the chain's fee", "case name != rail.Chain:", "case false:", ledgerTests},
	{"server/ledger/month.go", "months are in local time", "\tt = t.UTC()\n", "", ledgerTests},
	{"server/ledger/reserve.go", "the month does not roll over", "month > m.Month {", "false {", ledgerTests},
	{"server/ledger/reserve.go", "a clock that went backwards resets the month", "month > m.Month {", "month != m.Month {", ledgerTests},
	{"server/ledger/reserve.go", "another request under the same key is replayed", "if seen.Fingerprint != r.Fingerprint {", "if false {", ledgerTests},
	{"server/ledger/reserve.go", "suspended merchants are paid", "case !r.Payee.Active:", "case false:", ledgerTests},
	{"server/ledger/reserve.go", "the merchant's own limit is ignored", "r.Payee.MaxCharge > 0 && r.Amount > r.Payee.MaxCharge", "false", ledgerTests},
	{"server/ledger/reserve.go", "the token's signature is ignored", "case !r.TokenValid || !known:", "case !known:", ledgerTests + " ./server"},
	{"server/ledger/reserve.go", "revoked mandates are charged", "case m.Status == MandateRevoked:", "case false:", ledgerTests},
	{"server/ledger/reserve.go", "a mandate is charged at the moment it expires", "case !now.Before(m.Terms.ExpiresAt):", "case now.After(m.Terms.ExpiresAt):", ledgerTests},
	{"server/ledger/reserve.go", "bare mandates may pay anybody", ", r.Named && !slices.Contains(m.Terms.Payees, r.Payee.ID):", ", false && !slices.Contains(m.Terms.Payees, r.Payee.ID):", ledgerTests + " ./server"},
	{"server/ledger/reserve.go", "the cap per payment is exclusive", "case r.Amount > m.Terms.MaxPerTx:", "case r.Amount >= m.Terms.MaxPerTx:", ledgerTests},
	{"server/ledger/reserve.go", "the cap per payment is ignored", "case r.Amount > m.Terms.MaxPerTx:", "case false:", ledgerTests},
	{"server/ledger/settle.go", "a failed charge keeps its hold", "if m.Month == c.Month {", "if false {", ledgerTests},
	{"server/ledger/settle.go", "a hold of last month is given back to this one", "if m.Month == c.Month {", "if true {", ledgerTests},
	{"server/ledger/settle.go", "the fee is not posted", "if c.Fee > 0 {", "if c.Fee < 0 {", ledgerTests},
	{"server/ledger/settle.go", "volume is counted once", "tally.Volume.Add(c.Amount)", "tally.Volume.Add(0)", ledgerTests},
	{"server/ledger/session.go", "a session may be widened per payment", "t.MaxPerTx > wide.MaxPerTx ||", "", ledgerTests + " ./server"},
	{"server/ledger/session.go", "a session may be widened per month", "t.MaxMonthly > wide.MaxMonthly ||", "", ledgerTests + " ./server"},
	{"server/ledger/session.go", "a session may be prolonged", " || t.ExpiresAt.After(wide.ExpiresAt) {", " {", ledgerTests + " ./server"},
	{"server/ledger/session.go", "a session may be confirmed for other payees", "if !wide.Allows(p) {", "if false && !wide.Allows(p) {", ledgerTests + " ./server"},
	{"server/ledger/session.go", "an expired session can be confirmed", "s.Status == SessionPending && !now.Before(s.ExpiresAt)", "false", ledgerTests},
	{"server/ledger/session.go", "setup may be attempted six times", "session.Attempts >= MaxAttempts", "session.Attempts > MaxAttempts", ledgerTests},
	{"server/ledger/batch.go", "the assertion on a counter has no lower bound", "m.Spent < 0 ||", "", ledgerTests},
	{"server/ledger/batch.go", "a posting of nothing is written", "p.Amount <= 0 ||", "", ledgerTests},
	{"server/ledger/check.go", "a counter above its limit is sound", "m.Spent != spent || spent > m.MaxMonthly", "m.Spent != spent", ledgerTests},
}
