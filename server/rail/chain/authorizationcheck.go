package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Reasons beyond those of the protocol.
const (
	// ReasonDust refuses an amount below Authorizations.Least.
	ReasonDust x402.Reason = "invalid_exact_evm_payload_authorization_value_too_low"
	// ReasonUndeployed refuses a wallet that is not deployed: the relayer calls no
	// factory that a payload names, unless Authorizations.Factories does as well.
	ReasonUndeployed x402.Reason = "invalid_exact_evm_payload_undeployed_smart_wallet"
	// ReasonSimulation refuses a transfer that the token would not make.
	ReasonSimulation x402.Reason = "invalid_exact_evm_transaction_simulation_failed"
	// ReasonBlocked refuses a transfer of an account that the token's issuer has blocked.
	ReasonBlocked x402.Reason = "account_blocked_by_token_issuer"
	// ReasonGasBudget refuses what would cost the relayer too much.
	ReasonGasBudget x402.Reason = "relayer_gas_budget_exceeded"
)

// Authorizations says which signed transfers are settled, and what they may cost.
type Authorizations struct {
	// Least is the smallest amount. Default: a tenth of a cent.
	Least rail.Micros
	// LeastWindow is how long an authorization must still be valid: at least this,
	// and at least two blocks and as long as settlements took lately.
	// Default: 12 seconds.
	LeastWindow time.Duration
	// BlockTime is how far blocks lie apart. Default: two seconds.
	BlockTime time.Duration
	// KeyGas is the most gas that a settlement may use whose payer signed with a
	// key, WalletGas that of a contract. Defaults: 150,000 and 500,000.
	KeyGas, WalletGas uint64
	// PayerGas and PayeeGas are how much gas the settlements of one payer, and to
	// one payee, may use in an hour, all as if each used all it may; WalletPayerGas is
	// that of a payer that is a contract. A settlement that reverts counts tenfold for
	// its payer, and not for its payee. Defaults: 1,500, 15,000 and 150 million.
	PayerGas, PayeeGas, WalletPayerGas uint64
	// RelayerWei is the most that all settlements may cost in an hour; PayerWei,
	// PayeeWei and CallerWei that of one payer, to one payee and for one caller, counted
	// as gas is. Defaults: 10, 1, 5 and 5 ether.
	RelayerWei, PayerWei, PayeeWei, CallerWei *big.Int
	// Lookback is how many blocks back a transfer is looked for that somebody else
	// has broadcast. Default: 1,800, an hour of blocks.
	Lookback uint64
	// Factories may be called to deploy the wallet of a payer whose signature names
	// them (ERC-6492). A factory must do nothing for its caller but make wallets.
	// Default: none, and such payers are refused.
	Factories []common.Address
	// DeployGas is the most gas that deploying a wallet may use. Default: 2,000,000.
	DeployGas uint64
}

func (a Authorizations) orDefault() Authorizations {
	if a.Least <= 0 {
		a.Least = 1000
	}
	if a.LeastWindow <= 0 {
		a.LeastWindow = 12 * time.Second
	}
	if a.BlockTime <= 0 {
		a.BlockTime = 2 * time.Second
	}
	for n, value := range map[*uint64]uint64{
		&a.KeyGas: 150_000, &a.WalletGas: 500_000, &a.PayerGas: 1_500_000_000, &a.PayeeGas: 15_000_000_000,
		&a.WalletPayerGas: 150_000_000, &a.Lookback: 1800, &a.DeployGas: 2_000_000,
	} {
		if *n == 0 {
			*n = value
		}
	}
	for wei, ether := range map[**big.Int]int64{&a.RelayerWei: 10, &a.PayerWei: 1, &a.PayeeWei: 5, &a.CallerWei: 5} {
		if *wei == nil {
			*wei = new(big.Int).Mul(big.NewInt(ether), big.NewInt(weiPerGwei*weiPerGwei))
		}
	}
	return a
}

// limitOf is the budget of a role in an hour.
func (a Authorizations) limitOf(as role) cost {
	wei, gas := a.RelayerWei, uint64(1<<62)
	switch as {
	case asPayer:
		wei, gas = a.PayerWei, a.PayerGas
	case asWallet:
		wei, gas = a.PayerWei, min(a.WalletPayerGas, a.PayerGas)
	case asPayee:
		wei, gas = a.PayeeWei, a.PayeeGas
	case asCaller:
		wei = a.CallerWei
	case asAll:
	}
	return cost{gas: gas, gwei: costOf(1, wei).gwei}
}

// errUsed tells that the chain has seen the authorization used, or canceled.
var errUsed = errors.New("chain: authorization was used")

// errNoGas tells that the relayer must be given ether.
var errNoGas = errors.New("chain: relayer cannot pay for gas")

// checkOrder tells whether an authorization would move the money now, and returns
// the call that does. A [*refusedError] where it would not, [errUsed] where it has,
// an [*undeployedError] where the payer's wallet must be made first.
func (r *Rail) checkOrder(ctx context.Context, o order) (work, error) {
	limits := r.config.Authorizations
	value := o.Value.Big()
	if value.Cmp(big.NewInt(int64(limits.Least))) < 0 {
		return work{}, refuseAuthorization(ReasonDust, "the amount is below %d", limits.Least)
	}
	if (o.To == common.Address{}) || o.To == o.From {
		return work{}, refuseAuthorization(x402.ReasonRecipient, "nobody else is paid")
	}
	digest := evm.Digest(r.tokenDomain.Separator(), o.TransferAuthorization)
	signer, err := evm.Verifier{Chain: questions{r}}.Verify(ctx, o.From, digest, o.signature)
	switch {
	case errors.Is(err, evm.ErrSignature), errors.Is(err, evm.ErrWrapper):
		return work{}, refuseAuthorization(x402.ReasonSignature, "the payer did not sign this")
	case err != nil:
		return work{}, err
	case signer.Deploy != nil && !limits.trusts(signer.Deploy.Factory):
		return work{}, refuseAuthorization(ReasonUndeployed, "the payer's wallet is not deployed")
	}
	if used, err := r.usedOrder(ctx, o.TransferAuthorization); err != nil || used {
		return work{}, errors.Join(err, usedIf(used))
	}
	if err := r.checkWindow(ctx, o); err != nil {
		return work{}, err
	}
	reserve, err := r.checkFunds(ctx, o)
	if err != nil {
		return work{}, err
	}
	if signer.Deploy != nil {
		return work{}, &undeployedError{*signer.Deploy}
	}
	w := r.callOf(o, signer)
	w.reserve, w.contract = reserve, signer.Contract
	why, err := r.affordGas(ctx, &w)
	if err == nil && why != "" {
		err = errNoGas
	}
	if err != nil {
		return work{}, err
	}
	if err := r.simulate(ctx, o, w); err != nil {
		return work{}, err
	}
	return w, r.checkWindow(ctx, o) // a wallet may take its time to answer
}

func usedIf(used bool) error {
	if used {
		return errUsed
	}
	return nil
}

// checkWindow tells whether the authorization is valid, and for long enough to
// land. The chain's clock and our own may differ: the later one counts.
func (r *Rail) checkWindow(ctx context.Context, o order) error {
	header, err := r.newest(ctx)
	if err != nil {
		return err
	}
	now := r.config.Clock()
	if at := time.Unix(int64(header.Time), 0); at.After(now) { // not before the year 292 billion
		now = at
	}
	margin := max(r.config.Authorizations.LeastWindow, 2*r.config.Authorizations.BlockTime+r.lately.usual())
	switch reason := o.wire.CheckWindow(now); {
	case reason == x402.ReasonValidAfter:
		return refuseAuthorization(reason, "it is not valid yet")
	case reason != "", o.wire.CheckWindow(now.Add(margin)) == x402.ReasonValidBefore:
		return refuseAuthorization(x402.ReasonValidBefore, "it is not valid for another %s", margin)
	}
	return nil
}

// callOf is the transfer as the relayer sends it: to the token, whatever the
// payload says. A key's signature goes in the form that every such token knows.
func (r *Rail) callOf(o order, signer evm.Signer) work {
	value, after, before := o.Value.Big(), o.ValidAfter.Big(), o.ValidBefore.Big()
	w := work{to: r.config.Token.Address, gas: r.config.Authorizations.WalletGas}
	if signer.Contract {
		w.data = r.token.PackTransferWithAuthorization(o.From, o.To, value, after, before, o.Nonce, signer.Signature)
		return w
	}
	sig := [evm.SignatureSize]byte(signer.Signature)
	w.gas = r.config.Authorizations.KeyGas
	w.data = r.token.PackTransferWithAuthorization0(
		o.From, o.To, value, after, before, o.Nonce, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
	return w
}

// simulate makes the call as the relayer would, and undoes it. It offers what the
// transaction will, since a wallet can see the gas price.
func (r *Rail) simulate(ctx context.Context, o order, w work) error {
	_, err := r.config.RPC.CallContract(ctx, ethereum.CallMsg{
		From: r.relayer, To: &w.to, Data: w.data, Gas: w.gas, GasTipCap: w.offer.tip, GasFeeCap: w.offer.cap,
	}, nil)
	if err == nil {
		return nil
	}
	if !isAnswer(err) {
		return fmt.Errorf("simulate transfer: %w", err)
	}
	if used, err := r.usedOrder(ctx, o.TransferAuthorization); err != nil || used {
		return errors.Join(err, usedIf(used))
	}
	balance, err := r.balance(ctx, o.From)
	if err != nil {
		return err
	}
	if balance.Cmp(o.Value.Big()) < 0 { // spent meanwhile
		return refuseAuthorization(x402.ReasonInsufficientFunds, "the payer has less than the amount")
	}
	if err := r.tokenStops(ctx, o.From, o.To); err != nil {
		return err
	}
	return refuseAuthorization(ReasonSimulation, "the token would not make the transfer")
}

// usedOrder asks the token whether the authorization was used or canceled.
func (r *Rail) usedOrder(ctx context.Context, t evm.TransferAuthorization) (bool, error) {
	return viewOf(ctx, r, r.config.Token.Address, r.token.PackAuthorizationState(t.From, t.Nonce), r.token.UnpackAuthorizationState)
}

// findOrder returns the final transaction that made exactly this transfer, whoever
// sent it. The authorization must have been recorded, unused, when since was the
// newest block: anybody can copy a used one from the chain. It returns a
// [*refusedError] if there is no such transaction, with [x402.ReasonPending] if
// there is one that is not final.
func (r *Rail) findOrder(ctx context.Context, t evm.TransferAuthorization, since uint64) (common.Hash, error) {
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return common.Hash{}, fmt.Errorf("read newest block: %w", err)
	}
	deep, _ := r.confirmed(head)
	event := crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	none := refuseAuthorization(x402.ReasonNonceUsed, "the authorization was used, and not for this transfer")
	since -= min(since, watchedDepth) // a reorganization can move the transfer to a lower block
	since = max(since, head-min(head, r.config.Authorizations.Lookback))
	for first := since; first <= head; first += watchSpan {
		logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
			FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(min(first+watchSpan-1, head)),
			Addresses: []common.Address{r.config.Token.Address},
			Topics:    [][]common.Hash{{event}, {common.BytesToHash(t.From[:])}, {t.Nonce}},
		})
		if err != nil {
			return common.Hash{}, fmt.Errorf("look for transfer: %w", err)
		}
		for _, l := range logs {
			receipt, err := r.config.RPC.TransactionReceipt(ctx, l.TxHash)
			if err != nil {
				return common.Hash{}, fmt.Errorf("read receipt of %s: %w", l.TxHash, err)
			}
			if l.Removed || !r.movedOrder(receipt, t) {
				continue
			}
			enough, err := r.deepEnough(ctx, t.Value.Big(), l.BlockNumber)
			if err != nil {
				return common.Hash{}, err
			}
			if l.BlockNumber > deep || !enough {
				return common.Hash{}, refuseAuthorization(x402.ReasonPending, "the transfer is in block %d, which is not final", l.BlockNumber)
			}
			return l.TxHash, nil
		}
	}
	return common.Hash{}, none
}

// movedOrder tells whether a receipt holds the transfer, as the token tells it:
// the use of the nonce, and right after it exactly the amount from payer to payee.
// A transaction may hold several transfers, so the two must belong together.
func (r *Rail) movedOrder(receipt *types.Receipt, t evm.TransferAuthorization) bool {
	if receipt.Status != types.ReceiptStatusSuccessful {
		return false
	}
	for i := range len(receipt.Logs) - 1 {
		used, moved := receipt.Logs[i], receipt.Logs[i+1]
		if used.Address != r.config.Token.Address || moved.Address != r.config.Token.Address {
			continue
		}
		u, err := r.token.UnpackAuthorizationUsedEvent(used)
		if err != nil || u.Authorizer != t.From || u.Nonce != t.Nonce {
			continue
		}
		m, err := r.token.UnpackTransferEvent(moved)
		if err == nil && m.From == t.From && m.To == t.To && m.Value.Cmp(t.Value.Big()) == 0 {
			return true
		}
	}
	return false
}

// questions asks accounts whether they signed, by calls that are undone.
type questions struct{ *Rail }

// Call implements [evm.Chain].
func (q questions) Call(ctx context.Context, to *common.Address, data []byte, gas uint64) ([]byte, error) {
	answer, err := q.config.RPC.CallContract(ctx, ethereum.CallMsg{To: to, Data: data, Gas: gas}, nil)
	if err != nil && isAnswer(err) {
		return nil, nil
	}
	return answer, err
}

// Code implements [evm.Chain]: only whether there is any is asked, by creation
// code that returns the size: PUSH20 account, EXTCODESIZE, PUSH0, MSTORE, PUSH1 32,
// PUSH0, RETURN.
func (q questions) Code(ctx context.Context, at common.Address) ([]byte, error) {
	ask := append([]byte{0x73}, at[:]...)
	ask = append(ask, 0x3b, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3)
	answer, err := q.config.RPC.CallContract(ctx, ethereum.CallMsg{Data: ask, Gas: 200_000}, nil)
	if err != nil {
		return nil, err
	}
	if len(answer) != 32 {
		return nil, errRecord
	}
	if new(big.Int).SetBytes(answer).Sign() == 0 {
		return nil, nil
	}
	return answer, nil
}
