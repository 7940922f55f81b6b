package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// drainFor is how long requests may take to end once the process is to stop.
const drainFor = 25 * time.Second

// headersFor is how long the headers of a request may take.
const headersFor = 10 * time.Second

// listener serves one handler on one address.
type listener struct {
	net.Listener

	server *http.Server
	done   chan error
}

// listen takes an address; serve begins to answer. setting is what names the address: a flag,
// or a key of a configuration file.
func listen(ctx context.Context, setting, addr string) (*listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usage("%s: another process listens on %s; choose another address, or port 0 for a free one", setting, addr)
	}
	if err != nil {
		return nil, usage("%s: %w", setting, err)
	}
	return &listener{Listener: l, done: make(chan error, 1)}, nil
}

// origin returns the address as a URL: of the loopback interface if the listener has
// no single address.
func (l *listener) origin() string {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return "http://" + l.Addr().String()
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
}

// serve answers until stop. Slow or idle clients hold nothing for long.
func (l *listener) serve(h http.Handler, tlsCert, tlsKey string) {
	l.run(&http.Server{Handler: h, ReadHeaderTimeout: headersFor, ReadTimeout: 30 * time.Second, WriteTimeout: 90 * time.Second}, tlsCert, tlsKey)
}

// serveStreams is like serve, but bounds neither requests nor responses in time.
func (l *listener) serveStreams(h http.Handler, tlsCert, tlsKey string) {
	l.run(&http.Server{Handler: h, ReadHeaderTimeout: headersFor}, tlsCert, tlsKey)
}

func (l *listener) run(server *http.Server, tlsCert, tlsKey string) {
	server.IdleTimeout, server.MaxHeaderBytes = 2*time.Minute, 64<<10
	l.server = server
	go func() {
		if tlsCert != "" {
			l.done <- l.server.ServeTLS(l.Listener, tlsCert, tlsKey)
		} else {
			l.done <- l.server.Serve(l.Listener)
		}
	}()
}

// lameDuck goes on to serve for a while, as a text, so that load balancers notice that
// the service is not ready before it refuses connections. It returns at once if the
// listener has failed.
func (l *listener) lameDuck(pause string) {
	d, _ := time.ParseDuration(pause) // as checked; an empty text is no pause
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-l.done:
		l.done <- err // for stop
	}
}

// stop lets running requests end, then closes. It may be called without serve.
func (l *listener) stop() error {
	if l.server == nil {
		return l.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	if served := <-l.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
