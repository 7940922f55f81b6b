package devchain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

const (
	// batchLimit and batchBytes bound a batch of calls, as geth does.
	batchLimit, batchBytes = 1000, 25_000_000
	// readTimeout is how long a client may take to send a request.
	readTimeout = 30 * time.Second
)

// newRPC returns a server of the chain's JSON-RPC methods.
func newRPC(c *Chain) (*rpc.Server, error) {
	s := rpc.NewServer()
	s.SetBatchLimits(batchLimit, batchBytes)
	for name, methods := range map[string]any{"eth": &ethMethods{c}, "net": netMethods{}, "web3": web3Methods{}} {
		if err := s.RegisterName(name, methods); err != nil {
			return nil, fmt.Errorf("register methods: %w", err)
		}
	}
	return s, nil
}

type netMethods struct{}

// Version implements net_version.
func (netMethods) Version() string { return strconv.Itoa(ChainID) }

// Listening implements net_listening.
func (netMethods) Listening() bool { return true }

type web3Methods struct{}

// ClientVersion implements web3_clientVersion.
func (web3Methods) ClientVersion() string { return "paywarrant-devchain" }

// server serves JSON-RPC over HTTP.
type server struct {
	http http.Server
	url  string
	done chan error
}

// serve starts serving at an address that [listenAt] returned.
func serve(address string, methods http.Handler) (*server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve JSON-RPC: %w", err)
	}
	s := &server{url: "http://" + listener.Addr().String(), done: make(chan error, 1)}
	s.http.Handler, s.http.ReadTimeout = forBrowsers(methods), readTimeout
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

func (s *server) close() error {
	err := s.http.Close()
	if ended := <-s.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// forBrowsers lets wallets in browsers call from any page. It refuses host names
// other than localhost: a page must not reach the chain through a name of its own.
func forBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !strings.EqualFold(host, "localhost") && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "invalid host specified", http.StatusForbidden)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			header.Set("Access-Control-Allow-Methods", "POST")
			header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			header.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// listenAt reads Config.Addr. It accepts only loopback addresses: any client of the
// chain may do everything on it.
func listenAt(addr string) (string, error) {
	if addr == "" {
		return "127.0.0.1:0", nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("read address: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("address %q is not on the loopback interface", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("read port: %w", err)
	}
	return addr, nil
}
