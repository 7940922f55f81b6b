package mandate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestPeekReadsWhatNobodyVerified(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.issue(t)
	want, err := f.verifier().Verify(t.Context(), m.Reveal())
	require.NoError(t, err)
	p, err := mandate.Peek(m.Reveal())
	require.NoError(t, err)
	require.Equal(t, want, p.Mandate)
	require.False(t, p.HasBinding)

	text := f.present(t, m).Reveal()
	p, err = mandate.Peek(text[:len(text)-4] + "AAAA") // whatever the signature
	require.NoError(t, err)
	require.True(t, p.HasBinding)
	require.False(t, p.Mandate.Bound)
	b := f.binding()
	require.Equal(t, []any{b.Audience, b.Nonce, b.IssuedAt, &b.Transaction}, []any{p.Audience, p.Nonce, p.IssuedAt, p.Transaction})

	for _, bad := range []string{"", "dtok_", "dtok_a.b.c~", strings.Repeat("a", mandate.MaxTokenBytes+1)} {
		_, err = mandate.Peek(bad)
		require.ErrorIs(t, err, mandate.ErrMalformed, bad)
	}
}
