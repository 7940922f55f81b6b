package letter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/letter"
)

func TestTextAndHTMLSayTheSame(t *testing.T) {
	t.Parallel()
	l := letter.Letter{
		Subject: "Your <mandate>", Intro: "You allowed Tom & Co.", Lines: []string{"At most $5.00.", "A day: up to $6.00."},
		Action: "See every payment", Link: "https://pay.example/m/x?a=1&b=2", Notes: []string{"Keep this link.", "Stop it."}, Footer: "Mandate mdt_1",
	}
	require.Equal(t, `You allowed Tom & Co.

At most $5.00.
A day: up to $6.00.

See every payment:
https://pay.example/m/x?a=1&b=2

Keep this link.

Stop it.

Mandate mdt_1
`, l.Text())
	page, err := l.HTML()
	require.NoError(t, err)
	for _, part := range []string{
		"<title>Your &lt;mandate&gt;</title>", "<p>You allowed Tom &amp; Co.</p>", "<p>At most $5.00.<br>\nA day: up to $6.00.</p>",
		`href="https://pay.example/m/x?a=1&amp;b=2"`, ">See every payment</a>", "<p>Keep this link.</p>\n<p>Stop it.</p>", "Mandate mdt_1</p>",
	} {
		require.Contains(t, page, part)
	}
}

func TestEmptyPartsAreLeftOut(t *testing.T) {
	t.Parallel()
	l := letter.Letter{Intro: "Only this."}
	require.Equal(t, "Only this.\n", l.Text())
	page, err := l.HTML()
	require.NoError(t, err)
	require.NotContains(t, page, "<a ")
	require.NotContains(t, page, "<p></p>")
}
