// Command paywarrant runs the payment service, its development form, and its tools.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line. Kong reads names, help and defaults from the tags.
type cli struct {
	Demo             demoCmd             `cmd:"" help:"Run every step in the terminal: a mandate, charges within and beyond its limits, a paywall, a revocation."`
	Dev              devCmd              `cmd:"" help:"Run the service in sandbox mode with everything around it, until interrupted."`
	Serve            serveCmd            `cmd:"" help:"Run the service from a configuration file."`
	Migrate          migrateCmd          `cmd:"" help:"Migrate the database to this version's schema, then exit."`
	Keys             keysCmd             `cmd:"" help:"Manage the keys that sign mandates and the key that encrypts secrets."`
	Merchants        merchantsCmd        `cmd:"" help:"Create, list, suspend and limit merchants."`
	APIKeys          apiKeysCmd          `cmd:"" name:"api-keys" help:"List, create and revoke the API keys of merchants."`
	Charges          chargesCmd          `cmd:"" help:"Show charges and conflicting outcomes, and resolve a charge that is stuck."`
	Tabs             tabsCmd             `cmd:"" help:"List and close the tabs from which a merchant's small card payments are drawn."`
	Refunds          refundsCmd          `cmd:"" help:"List the refunds of a charge."`
	Export           exportCmd           `cmd:"" help:"Export transactions, postings and fees as CSV or JSON Lines."`
	Reconcile        reconcileCmd        `cmd:"" help:"Compare the ledger with what the card processor and the chain have moved."`
	Fees             feesCmd             `cmd:"" help:"Show what merchants owe for a month."`
	Audit            auditCmd            `cmd:"" help:"Show the actions of operators."`
	Ledger           ledgerCmd           `cmd:"" help:"Check the ledger."`
	Tokens           tokensCmd           `cmd:"" help:"Create, list and revoke the access tokens with which agents pay."`
	Mandate          mandateCmd          `cmd:"" help:"Create and inspect mandates."`
	Pay              payCmd              `cmd:"" help:"Fetch a URL that requires payment: show the challenge, pay, show the receipt."`
	Gate             gateCmd             `cmd:"" help:"Charge for a service in any language, as a reverse proxy in front of it."`
	Validate         validateCmd         `cmd:"" help:"Judge any paywall by the rules of x402, MPP and HTTP, with remedies."`
	Conform          conformCmd          `cmd:"" help:"Judge a service that settles payments."`
	Doctor           doctorCmd           `cmd:"" help:"Find out why directories do not list an endpoint."`
	SandboxProcessor sandboxProcessorCmd `cmd:"" help:"Run the sandbox card processor by itself, for several service instances to share."`
	MCP              mcpCmd              `cmd:"" name:"mcp" help:"Serve the agent's tools by the Model Context Protocol on standard input and output."`
	Agent            agentCmd            `cmd:"" help:"Give an agent the tools of a service."`
	Webhooks         webhooksCmd         `cmd:"" help:"Receive a merchant's events without a public address, and trigger test events."`
	Version          versionCmd          `cmd:"" help:"Print the version."`
	VersionFlag      kong.VersionFlag    `help:"Print the version." name:"version"`
}

// output is where a command writes: results to out, everything else to errors.
type output struct{ out, errors io.Writer }

func main() {
	waitBeside()
	signal.Ignore(syscall.SIGPIPE) // so that a command whose reader is gone ends in order
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	err := run(ctx, os.Args[1:], output{os.Stdout, os.Stderr})
	stop()
	complain(os.Stderr, os.Args[1:], err)
	if code := exitCode(err); code != exitOK {
		os.Exit(code)
	}
}

// endings are the signals that end a command in order. SIGHUP is one of them, unless
// the process was started to outlive its terminal.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// writers is how many files a service waits for: the ledger's, and the sandbox's cards.
const writers = 2

// waitBeside lets as many goroutines run as there are processors while writers wait for
// the disk: who waits keeps its place until the runtime notices, up to 10 ms later.
// GOMAXPROCS in the environment counts instead.
func waitBeside() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + writers)
	}
}

// complain writes an error, as JSON if the command was asked for JSON. One that was
// reported already, or that reports that the output is closed, is not written.
func complain(to io.Writer, args []string, err error) {
	switch {
	case err == nil, errors.Is(err, errSaid), errors.Is(err, syscall.EPIPE):
	case slices.Contains(args, "--json"):
		_ = json.NewEncoder(to).Encode(struct { // an error cannot be reported
			Error    string `json:"error"`
			ExitCode int    `json:"exitCode"`
		}{err.Error(), exitCode(err)})
	default:
		fmt.Fprintln(to, "paywarrant:", err)
		if errors.Is(err, syscall.ECONNREFUSED) {
			fmt.Fprintln(to, "Nothing listens at that address. `paywarrant dev` takes new ports at each start: source the file of its --env again.")
		}
	}
}

// errSaid is a failure that was reported in full.
var errSaid = errors.New("failed")

// run runs one command line; nothing in it ends the process, but help does.
func run(ctx context.Context, args []string, o output) error {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("paywarrant"),
		kong.Description(description), kong.Vars{"version": version()},
		kong.Writers(o.out, o.errors), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(o),
	)
	if err != nil {
		return err
	}
	addExamples(parser)
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return withHint(err)
	}
	return parsed.Run()
}

const description = `Agents pay, within limits that a person signed.

Start with: paywarrant demo

Exit codes: 0 done, 1 failed, 2 the command line or the environment is wrong, 3 refused by a limit, a seller or the service, 4 nothing answered, 5 not everything could be compared.`

// withHint adds where to look to an error of the command line that names no value.
func withHint(err error) error {
	var parse *kong.ParseError
	if errors.As(err, &parse) && strings.Contains(err.Error(), "expected one of") {
		if names := subcommands(parse.Context); len(names) > 0 {
			return usage("want one of the commands %s", strings.Join(names, ", "))
		}
	}
	for _, of := range []string{"unexpected argument", "expected one of", "unknown flag"} {
		if strings.Contains(err.Error(), of) {
			return fmt.Errorf("%w (paywarrant --help lists the commands, paywarrant COMMAND --help its flags)", err)
		}
	}
	return err
}

// subcommands returns the commands that can follow what was parsed.
func subcommands(c *kong.Context) (names []string) {
	node := c.Selected()
	if node == nil {
		node = c.Model.Node
	}
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, commandOf(child))
		}
	}
	return names
}
