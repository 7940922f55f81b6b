package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/paywarrant/paywarrant/test/internal/process"
)

// service is the child process that is killed.
type service struct {
	binary, log string
	args        []string

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
	binary, err := process.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	addr, err := process.FreeAddr(ctx)
	return &service{
		binary: binary, log: filepath.Join(dir, "log"),
		args: append([]string{"dev", "--addr", addr, "--data", filepath.Join(dir, "data")}, args...),
	}, err
}

// start starts the service and waits until it is ready.
func (s *service) start(ctx context.Context) (readyLine, error) {
	var line readyLine
	var err error
	if s.running, err = process.Start(ctx, s.log, s.binary, s.args...); err != nil {
		return line, err
	}
	text, err := s.running.Line()
	if err != nil {
		return line, err
	}
	return line, json.Unmarshal(text, &line)
}
