package chain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// undeployedError tells that a payment is good but for its wallet, which a factory
// that is trusted makes.
type undeployedError struct{ evm.Wrapped }

func (*undeployedError) Error() string { return "chain: the payer's wallet is not deployed yet" }

// trusts tells whether the relayer may call a factory. What it is called with comes
// from the payload, so a factory that is trusted must do nothing for a caller but
// make wallets.
func (a Authorizations) trusts(factory common.Address) bool {
	return slices.Contains(a.Factories, factory)
}

const deployPrefix = "deploy/"

func deployTask(wallet common.Address) string { return deployPrefix + wallet.Hex() }

// deployWallet has a trusted factory make the payer's wallet, once, and waits until
// it is there. A [*refusedError] where the factory does not make it, or where it
// takes longer than Config.Wait: then a repeat goes on.
func (r *Rail) deployWallet(ctx context.Context, o order, d evm.Wrapped) error {
	s, found, err := r.taskSlot(ctx, deployTask(o.From))
	if err != nil {
		return err
	}
	if !found {
		s, err = r.submitDeployment(ctx, o, d)
		var no *refusedError
		if errors.As(err, &no) { // by what another instance has done meanwhile, perhaps
			var slotErr error
			if s, found, slotErr = r.taskSlot(ctx, deployTask(o.From)); slotErr != nil || found {
				err = slotErr
			}
		}
		if err != nil {
			return err
		}
	}
	for until := time.Now().Add(r.config.Wait); ; {
		next := r.nextBlock()
		became, receipt, err := r.examine(ctx, s)
		if err != nil {
			return err
		}
		switch became {
		case final, included:
			if receipt.Status != types.ReceiptStatusSuccessful {
				return refuseAuthorization(ReasonUndeployed, "the factory did not make the payer's wallet")
			}
			return nil
		case displaced:
			return errors.Join(r.leave(ctx, s), errOutcome) // the next try takes another nonce
		case waiting:
			if err := r.push(ctx, s); err != nil {
				return err
			}
		}
		if !time.Now().Before(until) {
			return refuseAuthorization(x402.ReasonPending, "the payer's wallet is being deployed")
		}
		if err := pause(ctx, next, r.config.Poll); err != nil {
			return err
		}
	}
}

// submitDeployment calls the factory, within what the payer and payee may cost.
func (r *Rail) submitDeployment(ctx context.Context, o order, d evm.Wrapped) (slot, error) {
	limits := r.config.Authorizations
	w := work{task: deployTask(o.From), to: d.Factory, data: d.FactoryCall}
	gas, err := r.estimate(ctx, w)
	var refusal *revertError
	if errors.As(err, &refusal) || gas > limits.DeployGas {
		return slot{}, refuseAuthorization(ReasonUndeployed, "the factory would not make the payer's wallet for %d gas", limits.DeployGas)
	}
	if err != nil {
		return slot{}, err
	}
	w.gas = gas
	why, err := r.affordGas(ctx, &w)
	if err == nil && why != "" {
		err = errNoGas
	}
	if err != nil {
		return slot{}, err
	}
	if err := r.spend(ctx, w.task, expenseOf(costOf(w.gas, w.offer.cap), o.From, o.To, true, o.from)); err != nil {
		return slot{}, err
	}
	s, err := r.submit(ctx, w)
	if err != nil {
		r.budget.giveBack(w.task)
	}
	return s, err
}
