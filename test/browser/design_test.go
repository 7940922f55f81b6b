package browser_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

// quiet fails the test if a page logs an error, breaks its content security policy, or
// sends a request to another host.
func quiet(ctx context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, log.Enable, struct{}{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
		return err
	})))
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			assert.Fail(t, "a script failed", "%+v", e.ExceptionDetails)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
				assert.Fail(t, "the page logged an error", "%s %s", e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err != nil || (u.Scheme != "data" && !loopback.Host(u.Hostname())) {
				assert.Fail(t, "the page sent a request to another host", e.Request.URL)
			}
		}
	}))
}

// TestComponentsAreAccessible: the page of all components, at each width.
func TestComponentsAreAccessible(t *testing.T) {
	t.Parallel()
	srv, _ := setup(t)
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/design"), visible("#icons")))
			accessible(ctx, t, "design-"+w.name)
		})
	}
}
