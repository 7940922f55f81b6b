package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestWorstCaseFollowsWhatIsTyped: the sentence changes with the fields, and names what cannot be confirmed.
func TestWorstCaseFollowsWhatIsTyped(t *testing.T) {
	t.Parallel()
	ctx := scripted(t, widths[0])
	quiet(ctx, t)
	_, s := setup(t)
	open(ctx, t, s.SetupURL, "#worst")
	require.Contains(t, text(ctx, t, "#worst"), "At most $100.00 a month to Aurora Data, at most $1,250.00 until")
	says := func(part string) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, contains("#worst", part)))
	}
	require.NoError(t, chromedp.Do(ctx, fill("#month", "40")))
	says("At most $40.00 a month to Aurora Data")
	require.NoError(t, chromedp.Do(ctx, fill("#month", "400")))
	says("The limit for a month can be at most $100.00.")
	require.NoError(t, chromedp.Do(ctx, fill("#month", "30"), fill("#total", "45")))
	says("At most $30.00 a month to Aurora Data, at most $45.00 until")
	accessible(ctx, t, "setup-typing-phone")
}
