package mandate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestTokenShowsItselfNowhere(t *testing.T) {
	t.Parallel()
	f := setup(t)
	tok := f.present(t, f.issue(t))
	secret := strings.TrimPrefix(tok.Reveal(), mandate.Prefix)
	type outer struct {
		Shown  mandate.Token
		hidden mandate.Token
		list   []mandate.Token
		ptr    *mandate.Token
	}
	o := outer{tok, tok, []mandate.Token{tok}, &tok}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
		fmt.Fprintf(&out, verb+verb+verb+verb, tok, &tok, o, &o)
	}
	fmt.Fprint(&out, tok, o)
	fmt.Fprintln(&out, fmt.Errorf("charge %s: %v", tok, o))
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "charge", slog.Any("token", tok), slog.Any("outer", o), slog.Any("ptr", &o), slog.Any("list", o.list))
	}
	b, err := json.Marshal(map[string]any{"token": tok, "outer": o, "list": o.list})
	require.NoError(t, err)
	text, err := tok.MarshalText()
	require.NoError(t, err)
	all := out.String() + log.String() + string(b) + string(text)
	require.Contains(t, all, "dtok_[redacted]")
	hex := fmt.Sprintf("%x", secret[:12])
	for _, leak := range []string{secret[:24], secret[len(secret)-24:], hex, strings.ToUpper(hex)} {
		require.NotContains(t, all, leak)
	}
}

func TestParseToken(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text := f.issue(t).Reveal()
	for _, s := range []string{text, strings.TrimPrefix(text, mandate.Prefix)} {
		tok, err := mandate.ParseToken(s)
		require.NoError(t, err)
		require.Equal(t, text, tok.Reveal(), "the prefix is always there on output")
		require.False(t, tok.IsZero())
	}
	for _, s := range []string{"", "dtok_", "dtok_dtok_a.b.c~~", "hello", text + "~", text[:len(text)-1], " " + text, text + "\n"} {
		tok, err := mandate.ParseToken(s)
		require.ErrorIs(t, err, mandate.ErrMalformed, "%q", s)
		require.True(t, tok.IsZero())
		require.Empty(t, tok.Reveal())
		require.Empty(t, tok.String())
	}
}
