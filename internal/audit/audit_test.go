package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/audit"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestFailuresAreLoggedWithoutFillingTheLog(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{time.Unix(1_800_000_000, 0)}
	log := audit.New(slog.New(slog.NewJSONHandler(&text, nil)), c.Now)
	for range 1000 {
		log.Record(context.Background(), audit.AuthenticationFailed)
	}
	require.Equal(t, 10, bytes.Count(text.Bytes(), []byte("\n")))
	text.Reset()
	c.now = c.now.Add(time.Second)
	log.Record(context.Background(), audit.AuthenticationFailed)
	var line map[string]any
	require.NoError(t, json.Unmarshal(text.Bytes(), &line))
	require.EqualValues(t, 990, line["suppressed"])
	require.Equal(t, "WARN", line["level"])
	text.Reset()
	for range 20 {
		log.Record(context.Background(), audit.MandateRevoked, slog.String("mandateId", "del_1"))
	}
	require.Equal(t, 20, bytes.Count(text.Bytes(), []byte(`"event":"mandate_revoked"`)), "only failures are limited")
	(*audit.Log)(nil).Record(context.Background(), audit.MandateRevoked)
}
