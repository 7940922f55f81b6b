package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailure     = 1 // the command failed
	exitUsage       = 2 // the command line or the environment is wrong
	exitRefused     = 3 // a limit, a seller or the service refused
	exitUnreachable = 4 // nothing answered
	exitIncomplete  = 5 // reconcile: no difference, and not everything could be compared
)

// exitError is an error that knows its exit code. Wrap an error in one only if
// [exitCode] cannot derive the code from the error itself.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error itself.
func (e *exitError) Unwrap() error { return e.err }

// usage returns an error of the command line or the environment.
func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// exitCode returns the code with which the process exits after err.
func exitCode(err error) int {
	var coded *exitError
	var parse *kong.ParseError
	var unpaid *agent.PaymentError
	var refused *client.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &parse):
		return exitUsage
	case errors.Is(err, syscall.EPIPE): // the reader of the output is gone, not the service
		return exitFailure
	case unreachable(err):
		return exitUnreachable
	case errors.As(err, &unpaid):
		return exitRefused
	case errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500:
		return exitRefused
	}
	return exitFailure
}

// unreachable reports whether err says that nothing answered: a failed name
// lookup, a broken connection, a timeout, or a service that is down.
func unreachable(err error) bool {
	var around *url.Error // implements net.Error whatever it wraps
	if errors.As(err, &around) {
		err = around.Err
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, client.ErrUnavailable)
}
