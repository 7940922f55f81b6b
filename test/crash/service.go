package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// service is the child process.
type service struct {
	binary, addr, dir, processor string

	process *exec.Cmd
}

// readyLine is the part of the line of `paywarrant dev` that is needed here.
type readyLine struct {
	BaseURL  string `json:"baseUrl"`
	Merchant struct {
		ID     string `json:"id"`
		APIKey string `json:"apiKey"`
	} `json:"merchant"`
}

// build compiles the service and finds an address for it.
func build(ctx context.Context, dir, processor string) (*service, error) {
	binary := filepath.Join(dir, "paywarrant")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/paywarrant/paywarrant/cmd/paywarrant").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &service{binary: binary, addr: l.Addr().String(), dir: filepath.Join(dir, "data"), processor: processor}, l.Close()
}

// start starts the service and waits until it is ready.
func (s *service) start(ctx context.Context) (readyLine, error) {
	var line readyLine
	s.process = exec.CommandContext(ctx, s.binary, "dev", "--addr", s.addr, "--data", s.dir, "--processor", s.processor)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it never outlives the drill
	log, err := os.OpenFile(s.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return line, err
	}
	defer log.Close()
	s.process.Stderr = log
	out, err := s.process.StdoutPipe()
	if err != nil {
		return line, err
	}
	if err := s.process.Start(); err != nil {
		return line, err
	}
	text, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		said, _ := os.ReadFile(s.dir + ".log")
		return line, fmt.Errorf("the service did not become ready: %w: %s", err, said)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
	return line, json.Unmarshal(text, &line)
}

// kill ends the process as a power switch would.
func (s *service) kill() error {
	if err := s.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = s.process.Wait() // it was killed, and says so
	return nil
}

// stop ends the process as an operator would.
func (s *service) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("stop the service: %w", err)
	}
	return nil
}
