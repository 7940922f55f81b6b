package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// paid adds a charge on the chain that was settled at a time, and returns it.
func (p place) paid(t *testing.T, merchantID, description string, amount ledger.Micros, at time.Time) ledger.Charge {
	t.Helper()
	c := ledger.Charge{
		ID: id.New(id.Charge, at), MandateID: "del_1", MerchantID: merchantID, Amount: amount, Fee: ledger.Fee(rail.Chain, amount), Currency: "usdc",
		Description: description, Metadata: map[string]string{"order": "7", "=a": "b"}, Rails: []rail.Name{rail.Chain},
		Status: ledger.ChargeSucceeded, Source: ledger.SourceMandate, Rail: rail.Chain, TxHash: "0xa", CreatedAt: at, SettledAt: at,
	}
	posting := func(n int, from, to string, amount ledger.Micros) ledger.Posting {
		return ledger.Posting{ChargeID: c.ID, N: n, MandateID: c.MandateID, From: from, To: to, Amount: amount, At: at}
	}
	const clearing = "rail:chainrail:clearing"
	account := "merchant:" + merchantID
	e := ledger.Effects{Insert: ledger.Rows{Charges: []ledger.Charge{c}, Postings: []ledger.Posting{
		posting(0, "mandate:del_1", clearing, amount), posting(1, clearing, account, amount), posting(2, account, account+":fees_due", c.Fee),
	}}}
	store, err := sqlite.Open(t.Context(), p.store)
	require.NoError(t, err)
	require.NoError(t, store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) { return e, nil }))
	require.NoError(t, store.Close())
	return c
}

// exported runs an export in both formats, and returns the rows by their columns' names,
// which must agree but for the apostrophes of safe cells.
func (p place) exported(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	text, err := p.do(t, append(args, "--format", "csv")...)
	require.NoError(t, err)
	cells, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	lines, err := p.do(t, append(args, "--format", "jsonl")...)
	require.NoError(t, err)
	rows := []map[string]any{}
	for line := range strings.Lines(lines) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		row := map[string]any{}
		require.NoError(t, decoder.Decode(&row))
		rows = append(rows, row)
	}
	require.Len(t, cells, len(rows)+1)
	for i, row := range rows {
		require.Len(t, row, len(cells[0]))
		for j, name := range cells[0] {
			if _, object := row[name].(map[string]any); !object {
				require.Equal(t, fmt.Sprint(row[name]), strings.TrimPrefix(cells[i+1][j], "'"), name)
			}
		}
	}
	return rows
}

func TestExportsHaveTheRowsOfThePeriod(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	shop, other := p.merchant(t), p.merchant(t)
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	first := p.paid(t, shop, "a, \"quoted\"\nline", 1_234_567, december.AddDate(0, -1, 0))
	second := p.paid(t, other, "x", 10_000, december.Add(-time.Millisecond))
	p.paid(t, shop, "later", 1_000_000, december)
	november := []string{"--from", "2026-11-01", "--to", "2026-12-01T01:00:00+01:00"}

	rows := p.exported(t, append([]string{"export", "transactions"}, november...)...)
	require.Len(t, rows, 2)
	require.Equal(t, map[string]any{
		"transactionId": first.ID, "status": "succeeded", "mandateId": "del_1", "merchantId": shop, "payTo": "", "rail": "chainrail",
		"amountMicros": json.Number("1234567"), "amount": "1.234567", "feeMicros": json.Number("30000"), "fee": "0.03",
		"authorizedMicros": json.Number("0"), "authorized": "0.00", "refundedMicros": json.Number("0"), "refunded": "0.00",
		"currency": "usdc", "description": first.Description,
		"metadata": map[string]any{"order": "7", "=a": "b"}, "resource": "", "processorPaymentId": "", "txHash": "0xa", "failureReason": "",
		"createdAt": "2026-11-01T00:00:00.000Z", "settledAt": "2026-11-01T00:00:00.000Z", "source": "mandate", "payer": "",
	}, rows[0])
	require.Equal(t, []any{second.ID, "2026-11-30T23:59:59.999Z"}, []any{rows[1]["transactionId"], rows[1]["settledAt"]})
	require.Equal(t, rows, p.exported(t, append([]string{"export", "transactions", "--by", "settled"}, november...)...))
	require.Len(t, p.exported(t, "export", "transactions"), 3)
	require.Len(t, p.exported(t, "export", "transactions", "--merchant", other), 1)

	postings := p.exported(t, append([]string{"export", "postings"}, november...)...)
	require.Len(t, postings, 6)
	require.Equal(t, map[string]any{
		"transactionId": first.ID, "posting": json.Number("2"), "mandateId": "del_1", "merchantId": shop, "rail": "chainrail",
		"fromAccount": "merchant:" + shop, "toAccount": "merchant:" + shop + ":fees_due", "amountMicros": json.Number("30000"), "amount": "0.03",
		"postedAt": "2026-11-01T00:00:00.000Z", "settledAt": "2026-11-01T00:00:00.000Z",
	}, postings[2])

	fees := p.exported(t, append([]string{"export", "fees", "--merchant", other}, november...)...)
	require.Equal(t, []map[string]any{{
		"transactionId": second.ID, "merchantId": other, "rail": "chainrail", "amountMicros": json.Number("10000"), "amount": "0.01",
		"feeMicros": json.Number("5000"), "fee": "0.005", "settledAt": "2026-11-30T23:59:59.999Z",
	}}, fees)
	require.Empty(t, p.exported(t, "export", "fees", "--to", "2026-01-01"))
}

// TestStatementIsTheSumOfTheExportedFees for each merchant, and warns while the month can
// still change.
func TestStatementIsTheSumOfTheExportedFees(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	shop, other := p.merchant(t), p.merchant(t)
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 40 {
		to := shop
		if i%3 == 0 {
			to = other
		}
		p.paid(t, to, "", ledger.Micros(10_000*(i+1)), march.Add(time.Duration(i-5)*24*time.Hour))
	}
	var total int64
	for _, m := range []string{shop, other} {
		var fees, gross int64
		exported := p.exported(t, "export", "fees", "--from", "2026-03-01", "--to", "2026-04-01", "--merchant", m)
		for _, row := range exported {
			fees, gross = fees+number(t, row["feeMicros"]), gross+number(t, row["amountMicros"])
		}
		stated := p.exported(t, "fees", "statement", "--month", "2026-03", "--merchant", m)
		require.Len(t, stated, 1)
		require.Equal(t, []int64{int64(len(exported)), gross, fees}, []int64{
			number(t, stated[0]["charges"]), number(t, stated[0]["grossMicros"]), number(t, stated[0]["feeMicros"]),
		})
		require.Equal(t, []any{"2026-03", m, "chainrail"}, []any{stated[0]["month"], stated[0]["merchantId"], stated[0]["rail"]})
		total += fees
	}
	require.Positive(t, total)

	var out, errs bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"fees", "statement", "--config", p.config, "--month", "2026-03"}, output{&out, &errs}))
	require.Regexp(t, `TOTAL +31 +\S+ +0 +\$0.00 +\S+ +\$`+ledger.Micros(total).Decimal()+`\n`, out.String())
	require.Empty(t, errs.String())
	month := time.Now().UTC().Format("2006-01")
	require.NoError(t, run(t.Context(), []string{"fees", "statement", "--config", p.config, "--month", month}, output{&out, &errs}))
	require.Contains(t, errs.String(), "warning: "+month+" has not ended")
}

// refunded adds a refund of a whole charge that was posted at a time.
func (p place) refunded(t *testing.T, c ledger.Charge, at time.Time) {
	t.Helper()
	const clearing = "rail:chainrail:clearing"
	r := ledger.Refund{
		ID: id.New(id.Refund, at), ChargeID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, N: 1, Amount: c.Amount, Status: ledger.RefundSucceeded,
		Rail: c.Rail, TxHash: "0xb", CreatedAt: at, SettledAt: at,
	}
	e := ledger.Effects{Insert: ledger.Rows{Refunds: []ledger.Refund{r}, Postings: []ledger.Posting{
		{ChargeID: c.ID, N: 10, MandateID: c.MandateID, From: "merchant:" + c.MerchantID, To: clearing, Amount: c.Amount, At: at},
		{ChargeID: c.ID, N: 11, MandateID: c.MandateID, From: clearing, To: "mandate:" + c.MandateID, Amount: c.Amount, At: at},
	}}}
	c.Refunded, c.Refunds = c.Amount, 1
	e.Update.Charges = []ledger.Charge{c}
	store, err := sqlite.Open(t.Context(), p.store)
	require.NoError(t, err)
	require.NoError(t, store.Update(t.Context(), ledger.Keys{Charges: []string{c.ID}}, func(*ledger.State) (ledger.Effects, error) { return e, nil }))
	require.NoError(t, store.Close())
}

// TestRefundOfALaterMonthDoesNotChangeAClosedOne: it is in the statement and the postings of its
// own month, which may give back more than it took.
func TestRefundOfALaterMonthDoesNotChangeAClosedOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	shop := p.merchant(t)
	may := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	first := p.paid(t, shop, "", 5_000_000, may.Add(-time.Hour))
	p.paid(t, shop, "", 2_000_000, may)
	april := []string{"--from", "2026-04-01", "--to", "2026-05-01"}
	books := func() (all []string) {
		for _, args := range [][]string{
			{"fees", "statement", "--month", "2026-04"}, append([]string{"export", "postings"}, april...), append([]string{"export", "fees"}, april...),
		} {
			text, err := p.do(t, append(args, "--format", "csv")...)
			require.NoError(t, err)
			all = append(all, text)
		}
		return all
	}
	closed := books()
	p.refunded(t, first, may.Add(time.Hour))
	require.Equal(t, closed, books())

	stated := p.exported(t, "fees", "statement", "--month", "2026-05")
	require.Equal(t, []map[string]any{{
		"month": "2026-05", "merchantId": shop, "rail": "chainrail", "charges": json.Number("1"), "grossMicros": json.Number("2000000"), "gross": "2.00",
		"feeMicros": json.Number("30000"), "fee": "0.03", "refunds": json.Number("1"), "refundedMicros": json.Number("5000000"), "refunded": "5.00",
		"netMicros": json.Number("-3000000"), "net": "-3.00",
	}}, stated)
	text, err := p.do(t, "fees", "statement", "--month", "2026-05", "--format", "csv")
	require.NoError(t, err)
	require.Contains(t, text, ",-3000000,-3.00\r\n", "a number, not a text")
	text, err = p.do(t, "fees", "statement", "--month", "2026-05")
	require.NoError(t, err)
	require.Regexp(t, `TOTAL +1 +\$2.00 +1 +\$5.00 +-\$3.00 +\$0.03\n`, text)
	var numbers []string
	for _, row := range p.exported(t, "export", "postings", "--from", "2026-05-01") {
		numbers = append(numbers, fmt.Sprint(row["posting"], " ", row["postedAt"]))
	}
	require.Equal(t, []string{
		"10 2026-05-01T01:00:00.000Z", "11 2026-05-01T01:00:00.000Z",
		"0 2026-05-01T00:00:00.000Z", "1 2026-05-01T00:00:00.000Z", "2 2026-05-01T00:00:00.000Z",
	}, numbers)
	require.Len(t, p.exported(t, "export", "fees", "--from", "2026-05-01"), 1)
	require.Len(t, p.exported(t, "export", "transactions", "--by", "settled", "--from", "2026-05-01"), 1)
}

func TestStatementWarnsOfPendingCharges(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		pending int
		oldest  time.Time
		want    string
	}{
		{0, time.Time{}, ""}, {1, end, ""}, {2, end.Add(-time.Second), "2 charges are pending, the oldest since 2026-11-30T23:59:59Z"},
	} {
		var b strings.Builder
		require.NoError(t, warnOpen(&b, 202611, end, c.pending, c.oldest))
		require.Equal(t, c.want != "", b.Len() > 0)
		require.Contains(t, b.String(), c.want)
	}
}

func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	require.NoError(t, err)
	return n
}

// TestSpreadsheetsRunNoCellOfAnExport: a description is a merchant's, and may be a formula.
func TestSpreadsheetsRunNoCellOfAnExport(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.merchant(t)
	for _, text := range []string{`=HYPERLINK("http://x","y")`, "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1"} {
		p.paid(t, m, text, 1e6, time.Now())
		out, err := p.do(t, "export", "transactions", "--format", "csv")
		require.NoError(t, err)
		require.Contains(t, out, "\r\n")
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows[0], len(transactionColumns))
		for _, row := range rows[1:] {
			for _, cell := range row {
				require.NotRegexp(t, `^[=+\-@\t\r\n]`, cell)
			}
		}
		out, err = p.do(t, "export", "transactions", "--format", "jsonl")
		require.NoError(t, err)
		require.Contains(t, out, string(mustJSON(t, text)), "JSON has the text itself")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// full is an output that takes some bytes only.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return f.room, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

// TestIncompleteExportIsNotTakenForAWholeOne: it fails, counts no rows, and leaves the file
// of an earlier export as it is.
func TestIncompleteExportIsNotTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.paid(t, p.merchant(t), strings.Repeat("x", 500), 1e6, time.Now())
	args := []string{"export", "transactions", "--config", p.config}
	var errs bytes.Buffer
	err := run(t.Context(), args, output{&full{100}, &errs})
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "the export is incomplete, it ended after 1 transactions")
	require.Equal(t, exitFailure, exitCode(err))
	require.Empty(t, errs.String())

	file := filepath.Join(t.TempDir(), "november.csv")
	require.NoError(t, run(t.Context(), append(args, "--out", file), output{io.Discard, &errs}))
	require.Equal(t, "exported 1 transactions\n", errs.String())
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	stopped, stop := context.WithCancel(t.Context())
	err = writeOut(file, io.Discard, func(w io.Writer) error {
		_, err := w.Write([]byte("half"))
		require.NoError(t, err)
		stop()
		return stopped.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, whole, again)
	files, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, files, 1, "no temporary file is left")
	info, err := files[0].Info()
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

func TestExportNamesTheWrongFlag(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.merchant(t)
	for _, c := range []struct{ args, problem string }{
		{"--from yesterday", `--from: "yesterday" is neither a date such as 2026-11-01`},
		{"--from 2026-11-01 --to 2026-11-01", "--to: must be after --from"},
		{"--format xml", "--format"},
		{"--by paid", "--by"},
		{"--out /dev/null", "--out: /dev/null is not a regular file"},
		{"--out /nope/a.csv", "--out: there is no folder /nope"},
	} {
		out, err := p.do(t, append([]string{"export", "transactions"}, strings.Fields(c.args)...)...)
		require.ErrorContains(t, err, c.problem)
		require.Equal(t, exitUsage, exitCode(err), c.args)
		require.Empty(t, out)
	}
	out, err := p.do(t, "export", "fees", "--merchant", "mer_none")
	require.EqualError(t, err, "merchant mer_none: not found")
	require.Empty(t, out, "not even the header")
	_, err = p.do(t, "fees", "statement", "--month", "2026-13")
	require.ErrorContains(t, err, `--month: "2026-13" is not a month such as "2026-11"`)
}
