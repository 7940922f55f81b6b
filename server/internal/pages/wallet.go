package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ownWallet is the choice of a wallet in the person's browser.
const ownWallet = "own_wallet"

const chooseMethod = "Choose how to pay."

// network is the chain that a wallet must be on.
type network struct {
	ChainID uint64
	Name    string
}

func networkOf(w rail.Wallets) network {
	n := network{ChainID: w.ChainID()}
	switch n.ChainID {
	case 8453:
		n.Name = "Base"
	case 84532:
		n.Name = "Base Sepolia"
	default:
		n.Name = fmt.Sprintf("chain %d", n.ChainID)
	}
	return n
}

// walletView is the choice of an own wallet on the setup page.
type walletView struct {
	network

	Checked bool
	// Joins reports that a card can be chosen too, and Also that the wallet joins it.
	Joins, Also bool
}

// revokeView is how a wallet ends a mandate by itself.
type revokeView struct {
	network

	Call rail.WalletCall
}

func (f setupForm) scripts(p *Pages) []*site.Asset {
	return append(p.askingWallet(f.Wallet != nil), p.typing)
}
func (r result) scripts(p *Pages) []*site.Asset { return p.askingWallet(r.Revoke != nil) }

// proposal is the data for the page's script.
type proposal struct {
	ID       string            `json:"id,omitempty"`
	Messages []json.RawMessage `json:"messages,omitempty"`
	Problem  string            `json:"problem,omitempty"`
}

// proposeToWallet answers what the wallet must sign for the limits in the form.
func (p *Pages) proposeToWallet(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	answer, status := proposal{}, http.StatusOK
	terms, wrong := p.terms(s.Terms, enteredIn(r.PostForm))
	problem := wrong.text
	if in := enteredIn(r.PostForm); problem == "" && in.email != "" && p.Mails != nil && !p.proven(s, in) && in.code == "" {
		problem = "Prove your email address first: choose “Mail me a code”. Or leave the address empty."
	}
	if problem == "" {
		made, err := p.Payments.ProposeToWallet(r.Context(), s, terms, r.PostForm.Get("owner"))
		if httplog.HungUp(r.Context(), err) {
			p.failed(w, r, err)
			return
		}
		if problem, ok = walletProblem(err, terms); err != nil && !ok {
			p.Logger.ErrorContext(r.Context(), "proposal not made", slog.String("requestId", httplog.RequestID(r.Context())), slog.Any("error", err))
			problem, status = "Something failed on our side. Nothing was decided. Please try again in a moment.", http.StatusInternalServerError
		}
		answer.ID, answer.Messages = made.ID, made.Messages
	}
	if problem != "" {
		answer, status = proposal{Problem: problem}, max(status, http.StatusUnprocessableEntity)
	}
	answerScript(w, status, answer)
}

// answerScript answers a page's script.
func answerScript(w http.ResponseWriter, status int, answer any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may have gone
}

// walletProblem describes an error for the person; false if it is not one that
// the person can put right.
func walletProblem(err error, t ledger.Terms) (problem string, ok bool) {
	var refused *rail.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Reason == rail.InsufficientFunds:
		return fmt.Sprintf("There is too little USDC in this wallet: a payment can be up to %s. Put USDC into it, or lower the limit for one payment.",
			dollars(t.MaxPerTx)), true
	case errors.As(err, &refused):
		return "No merchant of this mandate accepts USDC on this network. Choose another way to pay.", true
	case errors.Is(err, rail.ErrUnknownMethod):
		return "Your wallet gave no address that can pay. Choose another way to pay.", true
	case errors.Is(err, rail.ErrNoProposal):
		return "The limits have changed since your wallet signed, or it signed too long ago. Confirm again to sign once more.", true
	case errors.Is(err, rail.ErrSignature):
		return "This was signed by another account, or by a wallet that is a contract, which cannot pay this way. Choose your account in the wallet, and confirm again.", true
	case errors.Is(err, ledger.ErrSessionFinished):
		return "This link has been used already. Load the page again.", true
	case errors.Is(err, ledger.ErrWidened):
		return "You can lower what was asked for, not raise it.", true
	}
	return "", false
}

// methods are the payment methods that the person chose, in the rails' terms. Only what is on
// offer can be chosen by name.
func (p *Pages) methods(ctx context.Context, s payment.Session, terms ledger.Terms, in entered) (methods []string, problem string, err error) {
	if in.method != ownWallet {
		connected := p.Payments.IsSetupProof(s, proofConnected, in.method, in.connected)
		if !connected && !slices.ContainsFunc(p.Methods(s.Terms.Rails...), func(m rail.Method) bool { return m.Name == in.method }) {
			return nil, chooseMethod, nil
		}
		if methods = []string{in.method}; !in.also {
			return methods, "", nil
		}
	}
	if in.proposal == "" {
		return nil, "To pay from a wallet in your browser, switch JavaScript on.", nil
	}
	wallet, err := p.Payments.AcceptFromWallet(ctx, s, terms, in.proposal, in.signatures)
	if problem, ok := walletProblem(err, terms); ok {
		return nil, problem, nil
	}
	return append(methods, wallet), "", err
}

// revocation is how the mandate's wallet ends it; nil if none can.
func (p *Pages) revocation(m ledger.Mandate, instruments []rail.Instrument) *revokeView {
	wallets, ok := p.Payments.Wallets(m.Terms.Rails)
	if !ok {
		return nil
	}
	for _, in := range instruments {
		if call, ok := wallets.RevokeCall(in); ok {
			return &revokeView{network: networkOf(wallets), Call: call}
		}
	}
	return nil
}
