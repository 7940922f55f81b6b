package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// wallet is a browser's wallet: it signs with a key of the development chain what
// it is given, hashed by go-ethereum's general encoder, and sends transactions.
type wallet struct {
	devchain.Wallet

	rpc *ethclient.Client

	mu      sync.Mutex
	chain   string // hexadecimal
	knows   bool   // the service's chain
	refuses string // a method, once
	asked   []string
}

// provider is the wallet in the page (EIP-1193).
const provider = `window.ethereum = {request: async ({method, params}) => {
	const answer = await window.goWallet({method, params: params || []});
	if (answer.code) throw Object.assign(new Error(answer.message), {code: answer.code});
	return answer.result;
}};`

type walletRequest struct {
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type walletAnswer struct {
	Result  any    `json:"result"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// install puts the wallet into every page that the browser opens.
func (w *wallet) install(ctx context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.ExposeFunc("goWallet", w.answer), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: provider})
		return err
	})))
}

func (w *wallet) answer(ctx context.Context, r walletRequest) (walletAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r.Method)
	if r.Method == w.refuses {
		w.refuses = ""
		return walletAnswer{Code: 4001, Message: "User rejected the request."}, nil
	}
	switch r.Method {
	case "eth_requestAccounts", "eth_accounts":
		return walletAnswer{Result: []string{strings.ToLower(w.Address.Hex())}}, nil
	case "eth_chainId":
		return walletAnswer{Result: w.chain}, nil
	case "wallet_switchEthereumChain":
		var to struct{ ChainID string }
		if err := json.Unmarshal(r.Params[0], &to); err != nil || !w.knows {
			return walletAnswer{Code: 4902, Message: "Unrecognized chain ID."}, err
		}
		w.chain = to.ChainID
		return walletAnswer{}, nil
	case "eth_signTypedData_v4":
		return w.sign(r.Params)
	case "personal_sign":
		return w.signText(r.Params)
	case "eth_sendTransaction":
		return w.send(ctx, r.Params)
	case "eth_getTransactionReceipt":
		var receipt json.RawMessage
		err := w.rpc.Client().CallContext(ctx, &receipt, r.Method, r.Params[0])
		return walletAnswer{Result: receipt}, err
	}
	return walletAnswer{Code: 4200, Message: "Unsupported method " + r.Method}, nil
}

func (w *wallet) sign(params []json.RawMessage) (walletAnswer, error) {
	var from common.Address
	var text string
	var typed apitypes.TypedData
	for i, to := range []any{&from, &text} {
		if err := json.Unmarshal(params[i], to); err != nil {
			return walletAnswer{}, err
		}
	}
	if err := json.Unmarshal([]byte(text), &typed); err != nil {
		return walletAnswer{}, err
	}
	id, chain := (*big.Int)(typed.Domain.ChainId), hexutil.MustDecodeBig(w.chain)
	if from != w.Address || id.Cmp(chain) != 0 {
		return walletAnswer{Code: -32602, Message: fmt.Sprintf("not for %s on chain %s", from, chain)}, nil
	}
	digest, _, err := apitypes.TypedDataAndHash(typed)
	if err != nil {
		return walletAnswer{}, err
	}
	signature, err := crypto.Sign(digest, w.Key())
	if err != nil {
		return walletAnswer{}, err
	}
	signature[64] += 27
	return walletAnswer{Result: hexutil.Encode(signature)}, nil
}

// signText signs a text (EIP-191).
func (w *wallet) signText(params []json.RawMessage) (walletAnswer, error) {
	var text hexutil.Bytes
	var from common.Address
	for i, to := range []any{&text, &from} {
		if err := json.Unmarshal(params[i], to); err != nil {
			return walletAnswer{}, err
		}
	}
	if from != w.Address {
		return walletAnswer{Code: -32602, Message: "not for " + from.Hex()}, nil
	}
	signature, err := crypto.Sign(accounts.TextHash(text), w.Key())
	if err != nil {
		return walletAnswer{}, err
	}
	signature[64] += 27
	return walletAnswer{Result: hexutil.Encode(signature)}, nil
}

func (w *wallet) send(ctx context.Context, params []json.RawMessage) (walletAnswer, error) {
	var call struct {
		From, To common.Address
		Data     hexutil.Bytes
	}
	if err := json.Unmarshal(params[0], &call); err != nil || call.From != w.Address {
		return walletAnswer{Code: -32602, Message: "not from here"}, err
	}
	nonce, err := w.rpc.PendingNonceAt(ctx, w.Address)
	if err != nil {
		return walletAnswer{}, err
	}
	id := big.NewInt(devchain.ChainID)
	tx, err := types.SignNewTx(w.Key(), types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: &call.To, Data: call.Data, Gas: 200_000, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11),
	})
	if err != nil {
		return walletAnswer{}, err
	}
	return walletAnswer{Result: tx.Hash()}, w.rpc.SendTransaction(ctx, tx)
}

// withChain is a service on a chain, a setup link, and a wallet in a browser.
func withChain(t *testing.T, w width, key devchain.Wallet) (context.Context, *servertest.Server, client.Session, *wallet) {
	t.Helper()
	ctx := scripted(t, w)
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start, Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
	s, err := srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	rpc, err := ethclient.DialContext(t.Context(), srv.Chain.RPCURL)
	require.NoError(t, err)
	t.Cleanup(rpc.Close)
	own := &wallet{Wallet: key, rpc: rpc, chain: "0x1", knows: true}
	return ctx, srv, s, own
}

// A person connects a wallet, which is on another network at first, confirms lower
// limits, signs twice and pays no gas; the mandate pays; the wallet revokes it on the
// contract, and the service sees that.
func TestPersonPaysFromAWallet(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx, srv, s, own := withChain(t, w, devchain.Wallets()[2])
			own.install(ctx, t)
			before, err := own.rpc.BalanceAt(t.Context(), own.Address, nil)
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#own-wallet"),
				fill("#per", "12.50"), click("#own-wallet")))
			shoot(ctx, t, "wallet-setup-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("button.main"), visible(".badge.good")))
			shoot(ctx, t, "wallet-confirmed-"+w.name)
			require.Contains(t, text(ctx, t, "dl"), "up to $12.50")
			require.Equal(t, []string{
				"eth_requestAccounts", "eth_chainId", "wallet_switchEthereumChain", "eth_chainId", "eth_signTypedData_v4", "eth_signTypedData_v4",
			}, own.asked)
			after, err := own.rpc.BalanceAt(t.Context(), own.Address, nil)
			require.NoError(t, err)
			require.Equal(t, before, after, "the person paid gas")

			m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
			require.NoError(t, err)
			ch, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1250, Currency: client.USDC, Description: "October report"})
			require.NoError(t, err)
			require.Equal(t, client.Completed, ch.Status)
			require.NotEmpty(t, ch.TxHash)

			confirmed, err := chromedp.Run(ctx, chromedp.Location())
			require.NoError(t, err)
			open(ctx, t, srv.URL+"/me", "#wallet-form button")
			accessible(ctx, t, "sign-in-wallet-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#wallet-form button"), visible(".mandate")))
			require.Contains(t, text(ctx, t, ".mandate"), "$12.50 of $100.00 spent in")
			open(ctx, t, confirmed, "#revoke-button")

			require.NoError(t, chromedp.Do(ctx, click("#revoke-button"), visible(".badge.bad")))
			require.Equal(t, "Stopped", text(ctx, t, ".badge"))
			shoot(ctx, t, "wallet-revoked-"+w.name)
			_, err = srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USDC, Description: "November report"})
			require.ErrorIs(t, err, client.ErrMandateRevoked)
		})
	}
}

// TestPersonConnectsACardAndAWallet: one mandate with both pays by either rail, within limits that hold for
// both together.
func TestPersonConnectsACardAndAWallet(t *testing.T) {
	t.Parallel()
	ctx, srv, s, own := withChain(t, widths[0], devchain.Wallets()[4])
	own.install(ctx, t)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#also-wallet"), click("#own-wallet"), hidden("#also-wallet"),
		click(`input[value="card_visa"]`), click("#also-wallet"), fill("#month", "30")))
	accessible(ctx, t, "setup-both-phone")
	require.NoError(t, chromedp.Do(ctx, click("button.main"), visible(".badge.good")))
	require.Contains(t, text(ctx, t, "dl"), "4242")
	require.Contains(t, text(ctx, t, "dl"), "USDC")
	m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
	require.NoError(t, err)
	pay := func(cents int64, in client.Currency) (client.Charge, error) {
		return srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: cents, Currency: in, Description: "October report"})
	}
	usd, err := pay(1500, client.USD)
	require.NoError(t, err)
	usdc, err := pay(1500, client.USDC)
	require.NoError(t, err)
	require.NotEmpty(t, usdc.TxHash)
	require.NotEmpty(t, usd.ProcessorPaymentID)
	_, err = pay(100, client.USDC)
	require.ErrorIs(t, err, client.ErrMonthlyLimit)
}

// The page shows what goes wrong with a wallet, and the person can correct it and
// continue.
func TestWalletTroubleIsTold(t *testing.T) {
	t.Parallel()
	ctx, srv, s, own := withChain(t, widths[0], devchain.Wallets()[3])
	fails := func(shot, words string) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, click("button.main")))
		shows(ctx, t, words)
		shoot(ctx, t, "wallet-"+shot)
		after, err := srv.Client().Session(t.Context(), s.SessionToken)
		require.NoError(t, err)
		require.Equal(t, client.SessionPending, after.Status)
	}
	open := func() {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#own-wallet"), click("#own-wallet")))
	}
	open()
	fails("missing", "There is no wallet in this browser")
	own.install(ctx, t)
	own.set(func() { own.refuses = "eth_requestAccounts" })
	open()
	fails("hidden", "did not let this page see an account")
	own.set(func() { own.knows = false })
	fails("unknown-network", "does not know Base Sepolia (chain id 84532)")
	own.set(func() { own.knows, own.refuses = true, "wallet_switchEthereumChain" })
	fails("wrong-network", "Switch it to Base Sepolia")
	own.set(func() { own.refuses = "eth_signTypedData_v4" })
	fails("refused", "You refused to sign")
	require.NoError(t, chromedp.Do(ctx, fill("#per", "2600")))
	fails("widened", "at most $25.00")
	require.NoError(t, chromedp.Do(ctx, fill("#per", "25")))
	own.set(func() { own.Wallet = devchain.EmptyWallet() })
	fails("poor", "too little USDC")
	own.set(func() { own.Wallet = devchain.Wallets()[3] })
	require.NoError(t, chromedp.Do(ctx, click("button.main"), visible(".badge.good")))

	own.set(func() { own.refuses = "eth_sendTransaction" })
	require.NoError(t, chromedp.Do(ctx, click("#revoke-button")))
	shows(ctx, t, "The mandate is still valid")
	own.set(func() { own.Wallet = devchain.Wallets()[4] })
	require.NoError(t, chromedp.Do(ctx, click("#revoke-button")))
	shows(ctx, t, "Only "+devchain.Wallets()[3].Address.Hex())
	shoot(ctx, t, "wallet-revoke-other")
}

// shows waits until the page shows a problem with this text.
func shows(ctx context.Context, t *testing.T, words string) {
	t.Helper()
	quoted, err := json.Marshal(words)
	require.NoError(t, err)
	_, err = chromedp.Run(ctx, chromedp.Poll[bool](fmt.Sprintf(
		`(b => b && !b.hidden && b.textContent.includes(%s))(document.getElementById("wallet-error"))`, quoted)))
	require.NoError(t, err)
}

func (w *wallet) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}
