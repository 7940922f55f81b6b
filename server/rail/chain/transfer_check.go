package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// errUsed reports an authorization that was used or canceled on the chain.
var errUsed = errors.New("chain: authorization was used")

// errNoGas reports that the relayer needs ether.
var errNoGas = errors.New("chain: relayer cannot pay for gas")

// transferJob is the relayer's job for an authorization.
type transferJob struct {
	job      relayer.Job
	contract bool              // the payer is a contract
	reserve  func(tx Tx) error // reserves the transfer's value
}

// checkAuthorization returns the job that settles an authorization, if it would move
// the money now. Otherwise it returns a [*refusedError], [errUsed] if the authorization
// was used, or an [*undeployedError] if the payer's wallet must be deployed first.
func (r *Rail) checkAuthorization(ctx context.Context, a authorization) (transferJob, error) {
	limits := r.config.Authorizations
	if a.most().Cmp(big.NewInt(int64(limits.Least))) < 0 {
		return transferJob{}, refuseAuthorization(ReasonDust, "the amount is below %d", limits.Least)
	}
	if (a.To == common.Address{}) || a.To == a.From {
		return transferJob{}, refuseAuthorization(a.reason(x402.ReasonRecipient), "the payee is the payer or the zero address")
	}
	signer, err := r.checkSigned(ctx, a)
	switch {
	case err != nil:
		return transferJob{}, err
	case signer.Deploy != nil && (a.permit != nil || !limits.trusts(signer.Deploy.Factory)):
		return transferJob{}, refuseAuthorization(ReasonUndeployed, "the payer's wallet is not deployed")
	}
	if err := r.checkUnused(ctx, a.signedTransfer); err != nil {
		return transferJob{}, err
	}
	if err := r.checkWindow(ctx, a); err != nil {
		return transferJob{}, err
	}
	reserve, err := r.checkFunds(ctx, a)
	if err == nil {
		err = r.checkPermit2Allowance(ctx, a)
	}
	if err != nil {
		return transferJob{}, err
	}
	if signer.Deploy != nil {
		return transferJob{}, &undeployedError{*signer.Deploy}
	}
	j := r.transferCall(a, signer)
	ok, err := r.relayer.Afford(ctx, &j)
	if err == nil && !ok {
		err = errNoGas
	}
	if err != nil {
		return transferJob{}, err
	}
	if err := r.simulate(ctx, a, j); err != nil {
		return transferJob{}, err
	}
	// A wallet may have delayed its answer, so the window is checked again.
	return transferJob{job: j, contract: signer.Contract, reserve: reserve}, r.checkWindow(ctx, a)
}

// checkSigned returns how the payer signed an authorization. It refuses one that the payer
// did not sign, and a permit that the rail cannot settle.
func (r *Rail) checkSigned(ctx context.Context, a authorization) (evm.Signer, error) {
	if err := r.checkPermit(a); err != nil {
		return evm.Signer{}, err
	}
	signer, err := evm.Verifier{Chain: accounts{r.config.RPC}}.Verify(ctx, a.From, r.digest(a.signedTransfer), a.signature)
	if errors.Is(err, evm.ErrSignature) || errors.Is(err, evm.ErrWrapper) {
		return signer, refuseAuthorization(a.reason(x402.ReasonSignature), "the payer did not sign this")
	}
	return signer, err
}

// checkWindow refuses an authorization that is not valid, or not for long enough to
// land. The chain's clock and the rail's may differ: the later one counts.
func (r *Rail) checkWindow(ctx context.Context, a authorization) error {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return err
	}
	now := r.config.Clock()
	if at := eth.Time(header); at.After(now) {
		now = at
	}
	margin := max(r.config.Authorizations.LeastWindow, 2*r.config.Authorizations.BlockTime+r.latency.average())
	switch reason := a.wire.CheckWindow(now); {
	case reason == x402.ReasonValidAfter:
		return refuseAuthorization(a.reason(reason), "it is not valid yet")
	case reason != "", a.wire.CheckWindow(now.Add(margin)) == x402.ReasonValidBefore:
		return refuseAuthorization(a.reason(x402.ReasonValidBefore), "it is not valid for another %s", margin)
	}
	return nil
}

// transferCall returns the transfer as the relayer sends it: always to the token, or to
// the proxy of the scheme upto, for no payload names another contract. The signature of a
// key is sent in the form that every such token takes.
func (r *Rail) transferCall(a authorization, signer evm.Signer) relayer.Job {
	if a.permit != nil {
		return r.uptoCall(a, signer)
	}
	value, after, before := a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big()
	j := relayer.Job{To: r.config.Token.Address, Gas: r.config.Authorizations.WalletGas}
	if signer.Contract {
		j.Data = r.token.PackTransferWithAuthorization(a.From, a.To, value, after, before, a.Nonce, signer.Signature)
		return j
	}
	sig := [evm.SignatureSize]byte(signer.Signature)
	j.Gas = r.config.Authorizations.KeyGas
	j.Data = r.token.PackTransferWithAuthorization0(
		a.From, a.To, value, after, before, a.Nonce, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
	return j
}

// simulate runs the call as the relayer would send it. It offers the same fees, since
// a wallet can read the gas price.
func (r *Rail) simulate(ctx context.Context, a authorization, j relayer.Job) error {
	_, err := r.config.RPC.CallContract(ctx, ethereum.CallMsg{
		From: r.relayer.Address(), To: &j.To, Data: j.Data, Gas: j.Gas, GasTipCap: j.Offer.Tip, GasFeeCap: j.Offer.Cap,
	}, nil)
	if err == nil {
		return nil
	}
	if !eth.IsAnswer(err) {
		return fmt.Errorf("simulate transfer: %w", err)
	}
	if err := r.checkUnused(ctx, a.signedTransfer); err != nil {
		return err
	}
	balance, err := r.balance(ctx, a.From)
	if err != nil {
		return err
	}
	if balance.Cmp(a.Value.Big()) < 0 { // spent since it was checked
		return refuseAuthorization(x402.ReasonInsufficientFunds, "the payer has less than the amount")
	}
	if err := r.checkStopped(ctx, a.From, a.To); err != nil {
		return err
	}
	return refuseAuthorization(ReasonSimulation, "the token would not make the transfer")
}

// checkUnused returns [errUsed] if an authorization was used or canceled.
func (r *Rail) checkUnused(ctx context.Context, t signedTransfer) error {
	used, err := r.isUsed(ctx, t)
	if err == nil && used {
		err = errUsed
	}
	return err
}

// isUsed reports whether an authorization was used or canceled, as the token says.
func (r *Rail) isUsed(ctx context.Context, t signedTransfer) (bool, error) {
	if t.permit != nil {
		return r.isNonceUsed(ctx, t.From, common.Hash(t.permit.Nonce))
	}
	return eth.View(ctx, r.chain, r.config.Token.Address, r.token.PackAuthorizationState(t.From, t.Nonce), r.token.UnpackAuthorizationState)
}

// accounts implements [evm.Chain]: it asks accounts whether they signed, by calls that
// change nothing.
type accounts struct{ rpc RPC }

// Call implements [evm.Chain].
func (c accounts) Call(ctx context.Context, to *common.Address, data []byte, gas uint64) ([]byte, error) {
	answer, err := c.rpc.CallContract(ctx, ethereum.CallMsg{To: to, Data: data, Gas: gas}, nil)
	if err != nil && eth.IsAnswer(err) {
		return nil, nil
	}
	return answer, err
}

// Code implements [evm.Chain]. Callers need to know only whether there is any code, so
// it calls creation code that returns the size: PUSH20 account, EXTCODESIZE, PUSH0,
// MSTORE, PUSH1 32, PUSH0, RETURN.
func (c accounts) Code(ctx context.Context, at common.Address) ([]byte, error) {
	call := append([]byte{0x73}, at[:]...)
	call = append(call, 0x3b, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3)
	answer, err := c.rpc.CallContract(ctx, ethereum.CallMsg{Data: call, Gas: 200_000}, nil)
	if err != nil {
		return nil, err
	}
	if len(answer) != 32 {
		return nil, records.ErrDamaged
	}
	if new(big.Int).SetBytes(answer).Sign() == 0 {
		return nil, nil
	}
	return answer, nil
}
