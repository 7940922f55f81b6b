package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/text"
)

func TestTextThatIsTaken(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "Weather & Co", "Bäckerei", "天気", "שלום", "caffè ☕", "\ufffd", strings.Repeat("é", 20)} {
		require.NoError(t, text.Check(s, 20), "%q", s)
		require.True(t, text.Clean(s), "%q", s)
	}
}

func TestTextThatIsRefused(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]error{
		"\xff": text.ErrUTF8, "a\xc0\xaf": text.ErrUTF8, "\xed\xa0\x80": text.ErrUTF8,
		"a\x00b": text.ErrControl, "line\nbreak": text.ErrControl, "tab\t": text.ErrControl, "\x7f": text.ErrControl,
		"\u0085": text.ErrControl, "\u2028": text.ErrControl, "\u2029": text.ErrControl,
		"\u202egpj.exe": text.ErrControl, "\u2066a\u2069": text.ErrControl, "\u200f": text.ErrControl, "\u061c": text.ErrControl,
	} {
		require.ErrorIs(t, text.Check(s, 20), want, "%q", s)
		require.False(t, text.Clean(s), "%q", s)
	}
	require.EqualError(t, text.Check(strings.Repeat("é", 21), 20), "must have at most 20 characters")
}

func FuzzCleanTextHasNoControlCharacters(f *testing.F) {
	f.Add("abc\x00", 3)
	f.Fuzz(func(t *testing.T, s string, longest int) {
		if text.Check(s, longest) == nil {
			require.True(t, text.Clean(s))
			require.LessOrEqual(t, len([]rune(s)), max(longest, 0))
		}
	})
}
