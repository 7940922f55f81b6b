package main

import (
	"context"
	"strings"

	"github.com/paywarrant/paywarrant/conformance"
)

type doctorCmd struct {
	URL       string   `arg:"" help:"The paid endpoint."`
	Method    string   `help:"The HTTP method. Default: GET, or POST with --body." short:"X"`
	Body      string   `help:"JSON body to send." short:"d"`
	Directory []string `help:"Base address of an x402 directory, to which /discovery/resources is appended; may be repeated. Default: that of the service." placeholder:"URL"`
	Service   string   `help:"The service whose directory is asked. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
	reportFlags
}

// Help is the longer text of the command.
func (doctorCmd) Help() string {
	return "Why is my endpoint not listed? Checks what directories need, in the order in which they need it: the name, the certificate, an answer, the 402, the documents, the entry. " +
		"The first line that failed is the cause; each has a remedy. No money moves.\n\n" +
		"Exit codes: 0 no rule failed, 1 a rule failed, 2 usage.\n\n" +
		"Example:\n  paywarrant doctor https://api.example.com/weather --directory https://pay.example/v1/x402"
}

// Run checks the endpoint and prints the results.
func (c doctorCmd) Run(ctx context.Context, o output) error {
	if err := c.check(); err != nil {
		return err
	}
	directories := c.Directory
	if len(directories) == 0 {
		directories = []string{strings.TrimSuffix(c.Service, "/") + "/v1/x402"}
	}
	report, err := conformance.Doctor(ctx, conformance.DoctorConfig{
		Config: conformance.Config{URL: c.URL, Method: c.Method, Body: []byte(c.Body)}, Directories: directories,
	})
	if err != nil {
		return notJudged(err)
	}
	return c.write(o, "paywarrant doctor "+report.URL, report)
}
