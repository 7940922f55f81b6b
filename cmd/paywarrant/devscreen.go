package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/webhook"
)

// eventPrinter prints the events of the merchant for people.
type eventPrinter struct{ out io.Writer }

// print prints one line for an event.
func (p *eventPrinter) print(e webhook.Event) {
	var data struct {
		webhook.Payment

		RevokedBy string `json:"revokedBy"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	what := []string{data.MandateID}
	if data.TransactionID != "" {
		what = []string{"$" + money.Micros(data.AmountMicros).Decimal(), data.TransactionID, data.FailureReason}
	} else if data.RevokedBy != "" {
		what = append(what, "by the "+data.RevokedBy)
	}
	t := newPrinter(p.out, false)
	t.print(t.paint("2", e.CreatedAt.Local().Format(time.TimeOnly)) + "  " + fmt.Sprintf("%-18s", e.Type) + "  " +
		strings.TrimSpace(strings.Join(what, "  ")) + "\n")
}

// showScreen writes the files that the commands on the screen use, and prints it.
func (s *devSystem) showScreen(out io.Writer, text []byte, mandate client.Session, token string) error {
	env := envFile{path: filepath.Join(s.Dir, "dev.env")}
	if err := env.replace(s.variables(mandate.Mandate, token)); err != nil {
		return err
	}
	files := map[string]string{"dev.json": string(text) + "\n"}
	if s.Chain != nil {
		files["wallet.key"] = wallets()[0].PrivateKey + "\n"
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	t := newPrinter(out, false)
	t.print("\n" + t.paint("1", "Paywarrant runs here, in sandbox mode: no real money.") + " Ctrl-C stops it.\n\n")
	t.rows([]fact{
		{"Start page", s.BaseURL + "/   a button opens what a person sees who signs a mandate"},
		{"Paid API", s.API.BaseURL + s.API.Routes[0].Path + "   and " + fmt.Sprint(len(s.API.Routes)-1) + " more, on the start page"},
		{"Metrics", s.Metrics},
	})
	t.print("\n")
	about := []fact{
		{"Merchant", s.People.Merchant.ID + ", paid at " + s.People.Merchant.PayTo},
	}
	if mandate.MandateID != "" {
		about = append(about, fact{"Mandate", mandate.MandateID + ", up to $5 a payment and $50 a month"})
	}
	if s.Chain != nil {
		about = append(about, fact{"Chain", s.Chain.RPCURL() + ", ten wallets with test USDC"})
	}
	t.rows(append(about, fact{"As JSON", filepath.Join(s.Dir, "dev.json") + ", with all keys"}))
	t.print("\n" + t.paint("1", "Pay for something, in another terminal:") + "\n\n")
	for _, c := range s.commands(mandate.Mandate != "") {
		t.print("  " + c + "\n")
	}
	t.print("\n" + t.paint("1", "Events of the merchant:") + "\n\n")
	return t.err
}

// variables are what programs need to use the system.
func (s *devSystem) variables(mandate, token string) []fact {
	return []fact{
		{"SERVICE_API_URL", s.BaseURL},
		{"SERVICE_MERCHANT_ID", s.People.Merchant.ID},
		{"SERVICE_API_KEY", s.People.Merchant.APIKey},
		{"PAY_TO", s.People.Merchant.PayTo},
		{"SERVICE_MANDATE", mandate},
		{"SERVICE_ACCESS_TOKEN", token},
		{"API", s.API.BaseURL},
	}
}

// commands returns three commands that pay for something.
func (s *devSystem) commands(mandate bool) []string {
	program, last := self(), s.API.Routes[len(s.API.Routes)-1]
	with := ". " + filepath.Join(s.Dir, "dev.env") + " && " + program
	commands := []string{with + " pay " + s.API.BaseURL + last.Path}
	if !mandate {
		commands = nil
	}
	if s.Chain != nil {
		commands = append(commands, program+" pay "+s.API.BaseURL+s.API.Routes[0].Path+" --wallet "+filepath.Join(s.Dir, "wallet.key"))
	}
	return append(commands, with+" webhooks trigger payment.succeeded")
}

// self returns the command by which a person runs this program.
func self() string {
	program, err := os.Executable()
	if err != nil {
		return "paywarrant"
	}
	if found, err := exec.LookPath("paywarrant"); err == nil {
		if same, err := filepath.EvalSymlinks(found); err == nil && same == program {
			return "paywarrant"
		}
	}
	if strings.Contains(program, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/paywarrant" // what "go run" has built is removed when it ends
	}
	return program
}

// ownMandate returns the completed session of a new mandate of the merchant, and an
// access token that is bound to it: by a test card and, if there is a chain, a test
// wallet; empty if the test helpers are closed here.
func (s *devSystem) ownMandate(ctx context.Context) (mandate client.Session, token string, err error) {
	if !s.local() {
		return mandate, "", nil
	}
	c, err := s.client()
	if err != nil {
		return mandate, "", err
	}
	session, err := c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	if err != nil {
		return mandate, "", err
	}
	methods := []string{"card_visa"}
	if s.Chain != nil {
		methods = append(methods, "wallet")
	}
	if mandate, err = c.CompleteTestSession(ctx, session.SessionToken, client.TestCompletion{PaymentMethods: methods}); err != nil {
		return mandate, "", err
	}
	made, err := c.CreateAccessToken(ctx, client.AccessTokenParams{Name: "paywarrant dev", Mandate: mandate.Mandate})
	return mandate, made.Token, err
}
