package bundle_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall/bundle"
)

func TestIssuedTokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	issued := bundle.Issued{Bundle: bundle.Bundle{ID: "bun_1"}, Token: "TokenCanary"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("issued", slog.Any("issued", issued))
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q", issued, issued, issued, issued, &issued), log.String()} {
		require.NotContains(t, text, "TokenCanary")
		require.Contains(t, text, "bun_1")
	}
}
