package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/gateproxy"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/paywall"
)

const (
	// defaultGateListen is the address at which a gate listens.
	defaultGateListen = "127.0.0.1:8402"
	// lookEvery is how often the configuration file is looked at for changes.
	lookEvery = time.Second
	// readyFor bounds a question for readiness.
	readyFor = 2 * time.Second
)

type gateCmd struct {
	Config     string `help:"The configuration file, in TOML, in place of the other flags. A change takes effect within a second. docs/guides/proxy.md describes it." placeholder:"FILE" type:"existingfile" xor:"config"`
	Upstream   string `help:"The base URL of the service to charge for." placeholder:"URL" xor:"config"`
	Price      string `help:"The price of each request, in dollars." placeholder:"USD"`
	PayTo      string `help:"The wallet that is paid." env:"PAY_TO" placeholder:"0x…"`
	Origin     string `help:"The address at which clients reach the gate. Default: that of --listen, if it is on this machine." placeholder:"URL"`
	Service    string `help:"The service that settles payments. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
	Listen     string `help:"The address to listen on. Default: ${default}." default:"127.0.0.1:8402" placeholder:"ADDRESS"`
	Admin      string `help:"The address of /healthz, /readyz and /metrics. Default: none." placeholder:"ADDRESS"`
	Test       bool   `help:"Use the test network, and allow http on this machine."`
	MerchantID string `help:"Your merchant id. Default: the service finds you by --pay-to." env:"SERVICE_MERCHANT_ID" name:"merchant-id" placeholder:"ID"`
}

// Help is the longer text of the command.
func (gateCmd) Help() string {
	return "Charges for a service in any language, as a reverse proxy in front of it: requests without payment are answered 402 with the price, paid ones are passed on. " +
		"The service sees no credentials, but headers with facts about the payment.\n\n" +
		"Examples:\n  paywarrant gate --upstream http://127.0.0.1:3000 --price 0.01 --test\n  paywarrant gate --config gate.toml"
}

// Run serves until ctx is done.
func (c gateCmd) Run(ctx context.Context, o output) error {
	file, err := c.file()
	if err != nil {
		return usage("%w", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(file.LogLevel)); err != nil {
		return usage("log_level: must be debug, info, warn or error")
	}
	log := slog.New(slog.NewJSONHandler(o.errors, &slog.HandlerOptions{Level: level}))
	l, err := listen(ctx, "listen", file.Listen)
	if err != nil {
		return err
	}
	g := runningGate{cmd: c, file: file, log: log, registry: prometheus.NewRegistry()}
	err = g.serve(ctx, l, o)
	return errors.Join(err, l.stop(), g.close())
}

// file returns the configuration, of the file or of the flags.
func (c gateCmd) file() (gateFile, error) {
	if c.Config != "" {
		for flag, given := range map[string]bool{
			"--price": c.Price != "", "--origin": c.Origin != "", "--admin": c.Admin != "", "--test": c.Test, "--listen": c.Listen != defaultGateListen,
		} {
			if given {
				return gateFile{}, usage("%s: --config replaces it; write it into %s", flag, c.Config)
			}
		}
		return readGateFile(c.Config)
	}
	switch {
	case c.Upstream == "":
		return gateFile{}, usage("--upstream or --config is required")
	case c.Price == "":
		return gateFile{}, usage("--price is required")
	case c.PayTo == "":
		return gateFile{}, usage("--pay-to is required, or PAY_TO in the environment")
	}
	return gateFile{
		gateFixed: gateFixed{Listen: c.Listen, Admin: c.Admin, LogLevel: "info"},
		Upstream:  c.Upstream, Origin: c.Origin, Service: c.Service, PayTo: c.PayTo, TestMode: c.Test,
		MerchantID: c.MerchantID, apiKey: os.Getenv("SERVICE_API_KEY"), Routes: []gateRoute{{Pattern: "/", Price: c.Price}},
	}, nil
}

// runningGate is the proxy and what belongs to it.
type runningGate struct {
	cmd      gateCmd
	file     gateFile
	log      *slog.Logger
	registry *prometheus.Registry
	proxy    *gateproxy.Proxy
	reloads  *prometheus.CounterVec
	db       *sql.DB
	admin    *listener
}

// serve serves until ctx is done, or the listener fails.
func (g *runningGate) serve(ctx context.Context, l *listener, o output) error {
	kept, err := g.redemptions(ctx)
	if err != nil {
		return err
	}
	g.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	g.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "paywarrant_gate_reloads_total", Help: "Changes of the configuration file: loaded, failed.",
	}, []string{"result"})
	g.registry.MustRegister(g.reloads)
	g.proxy = gateproxy.New(gateproxy.Options{Redemptions: kept, Registerer: g.registry, Logger: g.log})
	if g.file.Origin == "" {
		g.file.Origin = l.origin()
	}
	if err := g.load(g.file); err != nil {
		return usage("%w", g.named(err))
	}
	if err := g.checkService(ctx, g.file); err != nil {
		return err
	}
	if g.file.Admin != "" {
		if g.admin, err = listen(ctx, "admin", g.file.Admin); err != nil {
			return err
		}
		g.admin.serve(g.adminHandler(), "", "")
	}
	l.serveStreams(g.proxy, g.file.TLS.Cert, g.file.TLS.Key)
	fmt.Fprintf(o.out, "gate: %s charges for %s\n", g.file.Origin, g.file.Upstream)
	g.watch(ctx, l)
	return nil
}

// named puts the name of the configuration file before an error, and the keys of the file, or
// the flags, in place of the fields of a paywall.Config.
func (g *runningGate) named(err error) error {
	prefix, flag := g.cmd.Config+": ", func(key string) string { return key }
	if g.cmd.Config == "" {
		prefix, flag = "", func(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }
	}
	text := paywallField.ReplaceAllStringFunc(err.Error(), func(field string) string {
		if key, ok := gateKeys[strings.TrimPrefix(field, "paywall: ")]; ok {
			return flag(key)
		}
		return field
	})
	return errors.New(prefix + strings.TrimPrefix(text, prefix))
}

// paywallField is the field that an error of package paywall begins with.
var paywallField = regexp.MustCompile(`paywall: [A-Z]\w+`)

// gateKeys are the keys of the file for the fields of a paywall.Config.
var gateKeys = map[string]string{
	"APIURL": "service", "Asset": "asset", "Hold": "hold", "Merchant": "merchant_id", "Metered": "metered", "MimeType": "mime_type",
	"Network": "network", "Origin": "origin", "PayTo": "pay_to", "Price": "price", "RefundUnserved": "refund_unserved", "Secrets": "secret_file",
}

// load has the proxy serve a configuration.
func (g *runningGate) load(f gateFile) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	return g.proxy.Load(c)
}

// watch loads the configuration file when it changes, until ctx is done or the listener fails.
// A file with an error changes nothing.
func (g *runningGate) watch(ctx context.Context, l *listener) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := stamp(g.cmd.Config)
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-l.done:
			l.done <- err // for stop
			return
		case <-tick.C:
		}
		now := stamp(g.cmd.Config)
		if g.cmd.Config == "" || now == last {
			continue
		}
		last = now
		if err := g.reload(ctx); err != nil {
			err = g.named(err)
			g.reloads.WithLabelValues("failed").Inc()
			g.log.ErrorContext(ctx, "the configuration is not loaded; the one before stays", slog.String("error", err.Error()))
			continue
		}
		g.reloads.WithLabelValues("loaded").Inc()
		g.log.InfoContext(ctx, "the configuration is loaded", slog.String("file", g.cmd.Config))
	}
}

// stamp is how a file looks from outside; it differs once the file has changed.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// reload reads the configuration file again.
func (g *runningGate) reload(ctx context.Context) error {
	f, err := readGateFile(g.cmd.Config)
	if err != nil {
		return err
	}
	if f.gateFixed != g.file.gateFixed {
		return errors.New("listen, admin, redemptions, log_level and tls change with a restart only")
	}
	if f.Origin == "" {
		f.Origin = g.file.Origin
	}
	if err := g.checkService(ctx, f); err != nil {
		return err
	}
	return g.load(f)
}

// redemptions opens the store of redeemed credentials.
func (g *runningGate) redemptions(ctx context.Context) (paywall.Redemptions, error) {
	name := g.file.Redemptions
	if name == "" {
		return nil, nil //nolint:nilnil // the default
	}
	driver, source := "sqlite", "file:"+name+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	if onPostgres(name) {
		driver, source = "pgx", name
	} else if err := checkStore(name); err != nil {
		return nil, usage("redemptions: %w", err)
	}
	var err error
	if g.db, err = sql.Open(driver, source); err != nil {
		return nil, fmt.Errorf("redemptions: %w", err)
	}
	kept, err := paywall.NewSQL(paywall.SQLConfig{DB: g.db})
	if err != nil {
		return nil, fmt.Errorf("redemptions: %w", err)
	}
	if err := kept.Migrate(ctx); err != nil {
		return nil, fmt.Errorf("redemptions: %w", err)
	}
	return kept, nil
}

// adminHandler serves health and metrics.
func (g *runningGate) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		httpjson.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyFor)
		defer cancel()
		if err := g.proxy.Ready(ctx); err != nil {
			httpjson.Write(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "upstream": err.Error()})
			return
		}
		httpjson.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(g.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: scrapeFor}))
	return mux
}

// close waits for the captures in the background, and closes what serve opened.
func (g *runningGate) close() error {
	var all []error
	if g.proxy != nil {
		ctx, cancel := context.WithTimeout(context.Background(), drainFor)
		defer cancel()
		if err := g.proxy.Shutdown(ctx); err != nil {
			all = append(all, fmt.Errorf("requests or captures have not ended: %w", err))
		}
	}
	if g.admin != nil {
		all = append(all, g.admin.stop())
	}
	if g.db != nil {
		if err := g.db.Close(); !errors.Is(err, fs.ErrClosed) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
