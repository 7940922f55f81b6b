package card_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail/card"
)

func TestKeyShowsItselfToNobody(t *testing.T) {
	t.Parallel()
	config := struct {
		Key card.Key `json:"key"`
	}{"canary"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("key", config.Key), slog.Any("config", config))
	marshalled, err := json.Marshal(config)
	require.NoError(t, err)
	for _, shown := range []string{
		log.String(), string(marshalled), fmt.Sprint(config), fmt.Sprintf("%+v %#v %s %q", config, config, config.Key, config.Key),
	} {
		require.NotContains(t, shown, "canary")
	}
	require.Equal(t, "canary", config.Key.Reveal())
}
