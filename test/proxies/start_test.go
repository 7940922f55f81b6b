package proxies_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// haproxy starts HAProxy with its cache on, before an origin.
func haproxy(t *testing.T, origin string) (socket string) {
	t.Helper()
	dir := t.TempDir()
	socket = filepath.Join(dir, "p")
	config := write(t, dir, "haproxy.cfg", `
global
    maxconn 256
defaults
    mode http
    timeout connect 60s
    timeout client 120s
    timeout server 120s
cache kept
    total-max-size 16
    max-object-size 100000
    max-age 3600
    process-vary on
frontend site
    bind unix@`+socket+`
    http-request cache-use kept
    http-response cache-store kept
    default_backend api
backend api
    server one `+origin+`
`)
	run(t, "haproxy", socket, "-db", "-f", config)
	return socket
}

// nginx starts nginx with its cache on, before an origin. It caches every
// response that does not forbid it, including 402.
func nginx(t *testing.T, origin string) (socket string) {
	t.Helper()
	dir := t.TempDir()
	socket = filepath.Join(dir, "p")
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // who owns the folder
	}
	var folders strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&folders, "    %s_temp_path %s/%s;\n", kind, dir, kind)
	}
	config := write(t, dir, "nginx.conf", user+`
daemon off;
worker_processes 1;
pid `+dir+`/pid;
error_log stderr;
events { worker_connections 256; }
http {
    access_log off;
`+folders.String()+`
    proxy_cache_path `+dir+`/cache keys_zone=kept:1m;
    server {
        listen unix:`+socket+`;
        location / {
            proxy_pass http://`+origin+`;
            proxy_read_timeout 120s;
            proxy_cache kept;
            proxy_cache_valid any 10m;
            proxy_cache_key $request_uri;
        }
    }
}
`)
	run(t, "nginx", socket, "-c", config, "-e", "stderr")
	return socket
}

func write(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run starts a proxy, waits until it takes connections, and ends it with the test.
// If it is not installed, the test is skipped, or fails if PAYWARRANT_REQUIRE has
// proxies.
func run(t *testing.T, program, socket string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program) // not in everybody's path
	}
	if err != nil {
		if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "proxies") {
			t.Fatalf("proxies are required: %v", err)
		}
		t.Skip("needs " + program + ", which is not installed")
	}
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends its own children
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was asked to end
		close(ended)
	}()
	t.Cleanup(func() {
		kill()
		<-ended
	})
	for wait := time.NewTimer(2 * time.Minute); ; {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			require.NoError(t, conn.Close())
			wait.Stop()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-wait.C:
			t.Fatalf("%s takes no connection: %v", program, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
