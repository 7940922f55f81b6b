package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

// servers are the programs that the gate stands before: each answers every request with the same
// JSON, and first prints its port.
var servers = []struct {
	name    string
	command []string
}{
	{"Node", []string{"node", "-e", `
const server = require("http").createServer((request, response) => {
  response.setHeader("Content-Type", "application/json");
  response.end('{"temperature":7}');
});
server.keepAliveTimeout = 60000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));`}},
	{"Python", []string{"python3", "-u", "-c", `
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    def do_GET(self):
        body = b'{"temperature":7}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port)
server.serve_forever()`}},
}

// gateRows compare `paywarrant gate` with a bare httputil.ReverseProxy, each in a process of its
// own, before a server in another language: requests of a free path, and paid ones, for which the
// bare proxy makes the POST that none can do without.
func gateRows(ctx context.Context) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "paywarrant")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/paywarrant").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	facilitator := httptest.NewServer(http.HandlerFunc(answerPayment))
	defer facilitator.Close()
	var rows []row
	for _, s := range servers {
		more, err := beforeServer(ctx, dir, binary, facilitator.URL, s.name, s.command)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func beforeServer(ctx context.Context, dir, binary, service, name string, command []string) (rows []row, err error) {
	port, stop, err := startLine(ctx, command)
	if err != nil {
		return nil, err
	}
	defer stop()
	upstream := "http://127.0.0.1:" + port
	bare, stop, err := startLine(ctx, []string{os.Args[0], bareProxy, upstream, service + "/v1/x402/settle"})
	if err != nil {
		return nil, err
	}
	defer stop()
	listen, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name+".toml")
	text := fmt.Sprintf("listen = %q\nupstream = %q\nservice = %q\npay_to = %q\ntest_mode = true\n\n"+
		"[[routes]]\npath = \"GET /free\"\nfree = true\n\n[[routes]]\npath = \"GET /paid\"\nprice = \"0.01\"\n", listen, upstream, service, shopWallet)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	_, stop, err = startLine(ctx, []string{binary, "gate", "--config", file})
	if err != nil {
		return nil, err
	}
	defer stop()
	gate := "http://" + listen
	free, err := pair(loadAt(ctx, bare+"/free"), loadAt(ctx, gate+"/free"))
	if err != nil {
		return nil, err
	}
	paid, err := pair(loadPaidAt(ctx, bare+"/paid", x402.HeaderPayment, paymentV1), loadPaidAt(ctx, gate+"/paid", x402.HeaderPayment, paymentV1))
	return []row{
		atLeast("gate before "+name+", free path, requests/s", "bare reverse proxy", free, 0.70),
		atLeast("gate before "+name+", paid requests/s", "bare reverse proxy and one POST", paid, 0.70),
	}, err
}

// startLine starts a process and returns the first line that it prints.
func startLine(ctx context.Context, command []string) (line string, stop func(), err error) {
	p := exec.CommandContext(ctx, command[0], command[1:]...)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return "", nil, err
	}
	line, err = bufio.NewReader(out).ReadString('\n')
	stop = func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait() // ended by the signal
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%s did not start: %w", command[0], err)
	}
	return strings.TrimSpace(line), stop, nil
}

// freeAddress returns an address at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// bareProxy is the argument with which this program is the baseline.
const bareProxy = "-bare-proxy"

// serveBareProxy is the baseline: a reverse proxy before upstream, which makes a POST to settle
// before each request of /paid.
func serveBareProxy(ctx context.Context, upstream, settle string) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	pooled := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() },
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/paid" {
			if err := post(r.Context(), pooled, settle, settlement()); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	})}
	fmt.Println("http://" + l.Addr().String())
	return srv.Serve(l)
}

// settlement is about as long as the body with which a gate asks for a settlement.
func settlement() []byte {
	return []byte(`{"x402Version":1,"paymentPayload":` + strings.Repeat(" ", 500) + `{},"paymentRequirements":` + strings.Repeat(" ", 400) + `{}}`)
}
