package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// confirmed confirms a mandate with a wallet, pays with it once and opens its
// private page.
func confirmed(ctx context.Context, t *testing.T, srv *servertest.Server, s client.Session, own *wallet) string {
	t.Helper()
	own.install(ctx, t)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#own-wallet"),
		click("#own-wallet"), click("button.main"), visible("#private")))
	m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
	require.NoError(t, err)
	paid, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1250, Currency: client.USDC, Description: "October report"})
	require.NoError(t, err)
	require.Equal(t, client.Completed, paid.Status)
	require.NoError(t, chromedp.Do(ctx, click("#private a"), visible("#mandate-page")))
	require.Contains(t, text(ctx, t, "#spent"), "$12.50 of $100.00 spent in")
	require.Contains(t, text(ctx, t, ".payments"), "October report")
	return m
}

// ended requires that nothing can be paid with a mandate any more, and that the owner's
// grant is revoked on the chain.
func ended(t *testing.T, srv *servertest.Server, mandate string, own *wallet) {
	t.Helper()
	_, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: 100, Currency: client.USDC, Description: "November report"})
	require.ErrorIs(t, err, client.ErrMandateRevoked)
	events, err := contracts.MandateRouterMetaData.ParseABI()
	require.NoError(t, err)
	owner := common.BytesToHash(own.Address[:])
	require.Eventually(t, func() bool {
		logs, err := own.rpc.FilterLogs(t.Context(), ethereum.FilterQuery{
			Addresses: []common.Address{devchain.Router()}, Topics: [][]common.Hash{{events.Events["MandateRevoked"].ID}, nil, {owner}},
		})
		return err == nil && len(logs) == 1
	}, time.Minute, 50*time.Millisecond, "the grant is still on the chain")
}

// TestPersonStopsAWalletMandateFromThePrivatePage: the button of the service, which the
// wallet need not be asked for, also ends the grant on the chain.
func TestPersonStopsAWalletMandateFromThePrivatePage(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx, srv, s, own := withChain(t, w, devchain.Wallets()[2])
			m := confirmed(ctx, t, srv, s, own)
			accessible(ctx, t, "mandate-wallet-"+w.name)
			own.set(func() { own.asked = nil })
			require.NoError(t, chromedp.Do(ctx, click("#stop"), visible("#stop-form"),
				click("#stop-form button"), visible(".badge.bad")))
			require.Contains(t, text(ctx, t, "#note"), "You stopped it")
			own.set(func() { require.Empty(t, own.asked, "the wallet was asked") })
			ended(t, srv, m, own)
		})
	}
}

// TestPersonRevokesFromTheWalletOnThePrivatePage: the wallet ends the grant by itself,
// and the page says so once the service has seen it.
func TestPersonRevokesFromTheWalletOnThePrivatePage(t *testing.T) {
	t.Parallel()
	ctx, srv, s, own := withChain(t, widths[0], devchain.Wallets()[3])
	m := confirmed(ctx, t, srv, s, own)
	require.NoError(t, chromedp.Do(ctx, visible("#revoke-button"), click("#revoke-button"), visible(".badge.bad")))
	require.Contains(t, text(ctx, t, "#note"), "Your wallet stopped it on the chain")
	ended(t, srv, m, own)
}
