// Package process runs the paywarrant binary as a child process, for drills that
// kill it.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// FreeAddr is a loopback address that was free a moment ago.
func FreeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Command is what to start. What it writes to standard error is appended to Log;
// Env is added to the environment.
type Command struct {
	Binary, Log string
	Args, Env   []string
}

// Process is a running child. It never outlives its parent.
type Process struct {
	cmd *exec.Cmd
	out *bufio.Reader
	log string
}

// Start starts the command.
func (c Command) Start(ctx context.Context) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, c.Binary, c.Args...), log: c.Log}
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p.cmd.Stderr = file
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// Line reads the next line of standard output.
func (p *Process) Line() ([]byte, error) {
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		said, _ := os.ReadFile(p.log)
		return nil, fmt.Errorf("the process ended: %w: %s", err, said)
	}
	return text, nil
}

// Kill ends the process as a power switch would.
func (p *Process) Kill() error {
	if p.cmd.Process == nil { // it did not start
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait() // it was killed, and says so
	return nil
}

// Died waits until the process has ended by itself, and reports whether it did
// within a time.
func (p *Process) Died(within time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, p.out)
		close(ended)
	}()
	select {
	case <-ended:
		_ = p.cmd.Wait() // it was killed, and says so
		return true
	case <-time.After(within):
		_ = p.Kill()
		<-ended
		return false
	}
}

// Stop ends the process as an operator would.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
