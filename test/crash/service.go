package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/test/internal/process"
)

// service is the child process that is killed.
type service struct {
	command process.Command
	running *process.Process
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
func build(ctx context.Context, dir string, args ...string) (*service, error) {
	binary, err := programtest.Build(ctx, dir, "failpoint")
	if err != nil {
		return nil, err
	}
	addr, err := process.FreeAddr(ctx)
	return &service{command: process.Command{
		Binary: binary, Log: filepath.Join(dir, "log"),
		Args: append([]string{"dev", "--addr", addr, "--data", filepath.Join(dir, "data")}, args...),
	}}, err
}

// start starts the service and waits until it is ready.
func (s *service) start(ctx context.Context) (line readyLine, err error) {
	if s.running, err = s.command.Start(ctx); err != nil {
		return line, err
	}
	text, err := s.running.Line()
	if err != nil {
		return line, err
	}
	return line, json.Unmarshal(text, &line)
}

// endAt starts the service so that it kills itself when it has reached a point n
// times, and reports whether it did, within a time.
func (s *service) endAt(ctx context.Context, p failpoint.Point, n int, within time.Duration) (bool, error) {
	armed := s.command
	armed.Env = []string{fmt.Sprintf("PAYWARRANT_FAILPOINT=%s:%d", p, n)}
	var err error
	if s.running, err = armed.Start(ctx); err != nil {
		return false, err
	}
	return s.running.Died(within), nil
}
