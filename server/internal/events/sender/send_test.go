package sender

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPlain: whatever a receiver answers can be stored and shown.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"ok\n", "\x00\x1b[31m", "\xff\xfe", "näh"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		text := plain(answer)
		require.LessOrEqual(t, len(text), 3*len(answer)+3)
		for _, r := range text {
			require.True(t, r == '\n' || r >= ' ' && r != 0x7f && r != '\uFFFD', "%q", text)
		}
	})
}
