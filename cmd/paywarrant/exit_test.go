package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
)

func TestExitCodeSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	parse := run(t.Context(), []string{"no-such-command"}, output{})
	_, dial := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	for name, tc := range map[string]struct {
		err  error
		code int
	}{
		"success":                   {nil, 0},
		"any failure":               {errors.New("disk full"), 1},
		"a defect of the service":   {client.ErrInternal, 1},
		"an unknown command":        {parse, 2},
		"a missing key":             {fmt.Errorf("pay: %w", usage("set %s", "SERVICE_API_KEY")), 2},
		"a price above the limit":   {&url.Error{Op: "Get", Err: &agent.PaymentError{Reason: agent.ErrTooExpensive}}, 3},
		"a limit of the mandate":    {&agent.PaymentError{Reason: client.ErrMonthlyLimit}, 3},
		"a wrong key":               {client.ErrUnauthorized, 3},
		"a refused connection":      {&url.Error{Op: "Get", Err: dial}, 4},
		"a service that is down":    {&agent.PaymentError{Reason: client.ErrUnavailable}, 4},
		"a reader that is gone":     {fmt.Errorf("write: %w", syscall.EPIPE), 1},
		"an answer that never came": {context.DeadlineExceeded, 4},
	} {
		require.Equal(t, tc.code, exitCode(tc.err), name)
	}
}
