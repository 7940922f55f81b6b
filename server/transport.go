package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Transport returns a transport that calls the service within the process, without a
// connection. Requests whose URL is not below Config.BaseURL are sent by next; if next is
// nil, they are refused. Use it for a gate or a client in the same program:
//
//	paywall.Config{APIURL: baseURL, HTTPClient: &http.Client{Transport: srv.Transport(http.DefaultTransport)}, …}
//
// Responses are complete, not streamed. If a request's context ends, RoundTrip returns at
// once, and the service finishes the request in the background; [Server.Close] waits for it.
func (s *Server) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{server: s, next: next, origin: s.config.BaseURL}
}

type transport struct {
	server *Server
	next   http.RoundTripper
	origin string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.ours(r.URL) {
		if t.next == nil {
			closeBody(r)
			return nil, fmt.Errorf("server: %s is not served in this process", r.URL.Host)
		}
		return t.next.RoundTrip(r)
	}
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		closeBody(r)
		return nil, err
	}
	in := r.Clone(ctx)
	in.RequestURI, in.RemoteAddr = in.URL.RequestURI(), "127.0.0.1:0"
	in.Header.Del("X-Forwarded-For") // there is no proxy in between, whatever is passed on
	in.Header.Del("Forwarded")
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	answered := make(chan *http.Response, 1)
	go func() {
		defer close(answered) // without a response if the handler gave up
		defer closeBody(in)
		w := &memoryWriter{header: http.Header{}}
		defer func() { _ = recover() }() // of http.ErrAbortHandler alone: others were answered
		t.server.ServeHTTP(w, in)
		answered <- w.response(r) //nolint:bodyclose // the caller of RoundTrip closes it
	}()
	select {
	case resp, ok := <-answered:
		if !ok {
			return nil, fmt.Errorf("server: %w", io.ErrUnexpectedEOF)
		}
		return resp, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ours reports whether a URL belongs to the service.
func (t *transport) ours(u *url.URL) bool { return strings.EqualFold(u.Scheme+"://"+u.Host, t.origin) }

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // its errors are the sender's own
	}
}

// memoryWriter is an http.ResponseWriter that keeps the response.
type memoryWriter struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *memoryWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

func (w *memoryWriter) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), Header: w.sent, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}
}
