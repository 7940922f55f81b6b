package pgtest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// guard is a shell script that starts the server whenever it reads a line. When its input
// ends, with this process or when the cluster is closed, it stops the server and deletes
// the folder.
//
//go:embed guard.sh
var guard string

// readyWithin limits how long a server may take to start, including recovery.
const readyWithin = time.Minute

// Cluster is a PostgreSQL server in its own folder.
type Cluster struct {
	dir   string
	guard *exec.Cmd
	input io.WriteCloser
}

// New starts a cluster outside a test, such as in a benchmark. Close stops it. It returns
// [ErrMissing] if PostgreSQL is not installed.
func New(ctx context.Context, settings ...string) (*Cluster, error) { return start(ctx, settings) }

// start creates a cluster and starts its server.
func start(ctx context.Context, settings []string) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	who, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, fmt.Errorf("pgtest: make folder: %w", err)
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, errors.Join(fmt.Errorf("pgtest: hand over folder: %w", err), os.RemoveAll(dir))
		}
	}
	c := &Cluster{dir: dir}
	if err := c.init(ctx, bin, who, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.watch(bin, who); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// init runs initdb and writes the settings.
func (c *Cluster) init(ctx context.Context, bin string, who *syscall.Credential, settings []string) error {
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), // found by binaries
		"-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	initdb.Dir = c.dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w: %s", err, out)
	}
	lines := append([]string{
		"listen_addresses = ''",
		"unix_socket_directories = '" + c.dir + "'",
		"max_connections = 200",
		"fsync = on", "synchronous_commit = on", "full_page_writes = on",
	}, settings...)
	conf, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: write settings: %w", err)
	}
	_, err = io.WriteString(conf, strings.Join(lines, "\n")+"\n")
	if err = errors.Join(err, conf.Close()); err != nil {
		return fmt.Errorf("pgtest: write settings: %w", err)
	}
	return nil
}

// watch starts the guard, which ignores the terminal's signals.
func (c *Cluster) watch(bin string, who *syscall.Credential) error {
	//nolint:noctx // it outlives every context: it ends when its input does
	c.guard = exec.Command("/bin/sh", "-c", guard, "guard", filepath.Join(bin, "postgres"), c.data(), c.dir)
	c.guard.Dir = "/"
	c.guard.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	var err error
	if c.input, err = c.guard.StdinPipe(); err != nil {
		return fmt.Errorf("pgtest: start guard: %w", err)
	}
	if err := c.guard.Start(); err != nil {
		return fmt.Errorf("pgtest: start guard: %w", err)
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// URL returns the connection URL of the server's superuser.
func (c *Cluster) URL() string {
	return "postgres:///postgres?" + url.Values{"host": {c.dir}, "user": {"postgres"}}.Encode()
}

// Start starts the server after it was stopped or killed, and waits until it accepts
// connections, also if it is still starting or stopping.
func (c *Cluster) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if _, err := c.pid(); err != nil { // not running: while old processes remain, a new server exits as well
			if _, err := io.WriteString(c.input, "start\n"); err != nil {
				return fmt.Errorf("pgtest: start server: %w", err)
			}
		}
		for range 25 {
			err := c.ping(ctx)
			if err == nil {
				return nil
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
				return fmt.Errorf("pgtest: server does not answer: %w: %s", err, log)
			}
		}
	}
}

func (c *Cluster) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.Ping(ctx)
}

// pid returns the id of the server's first process. It returns an error if none is running.
func (c *Cluster) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "pid"))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, err
	}
	return pid, syscall.Kill(pid, 0)
}

// Stop stops the server as an operator does: it closes connections and loses nothing.
func (c *Cluster) Stop(ctx context.Context) error { return c.signal(ctx, syscall.SIGINT) }

// Kill stops the server as a crash does: its processes cannot finish anything, and the next
// start recovers from the log.
func (c *Cluster) Kill(ctx context.Context) error { return c.signal(ctx, syscall.SIGQUIT) }

// Restart stops the server and starts it again.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return c.Start(ctx)
}

func (c *Cluster) signal(ctx context.Context, s syscall.Signal) error {
	pid, err := c.pid()
	if err != nil {
		return fmt.Errorf("pgtest: server does not run: %w", err)
	}
	if err := syscall.Kill(pid, s); err != nil {
		return fmt.Errorf("pgtest: signal server: %w", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("pgtest: wait for server to end: %w", ctx.Err())
		}
	}
	return nil
}

// Close stops the server and deletes the folder. It may be called twice.
func (c *Cluster) Close() error {
	if err := c.input.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("pgtest: end guard: %w", err)
	}
	_ = c.guard.Wait() // the server's exit status does not matter
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("pgtest: folder %s is still there", c.dir)
	}
	return nil
}
