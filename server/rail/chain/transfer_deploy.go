package chain

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/gasbudget"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// undeployedError reports an authorization that is good except that a trusted factory
// must deploy the payer's wallet first.
type undeployedError struct{ evm.Wrapped }

func (*undeployedError) Error() string { return "chain: the payer's wallet is not deployed yet" }

const deployPrefix = "deploy/"

func deployTask(wallet common.Address) string { return deployPrefix + wallet.Hex() }

// checkDeployed is [Rail.checkAuthorization] after it has a trusted factory deploy the
// payer's wallet, if that is necessary.
func (r *Rail) checkDeployed(ctx context.Context, a authorization) (transferJob, error) {
	t, err := r.checkAuthorization(ctx, a)
	var undeployed *undeployedError
	if !errors.As(err, &undeployed) {
		return t, err
	}
	if err := r.deployWallet(ctx, a, undeployed.Wrapped); err != nil {
		return transferJob{}, err
	}
	if t, err = r.checkAuthorization(ctx, a); errors.As(err, &undeployed) { // the node is late with its state
		return transferJob{}, refuseAuthorization(x402.ReasonPending, "the payer's wallet is being deployed")
	}
	return t, err
}

// deployWallet has a trusted factory deploy the payer's wallet, once, and waits until
// that is in a block. It returns a [*refusedError] if the factory does not deploy it, or
// if it takes longer than Config.Wait: a repeat continues then.
func (r *Rail) deployWallet(ctx context.Context, a authorization, d evm.Wrapped) error {
	s, found, err := r.relayer.SlotOf(ctx, deployTask(a.From))
	if err != nil {
		return err
	}
	if !found {
		s, err = r.submitDeployment(ctx, a, d)
		var no *refusedError
		if errors.As(err, &no) { // perhaps because of what another instance has done meanwhile
			var slotErr error
			if s, found, slotErr = r.relayer.SlotOf(ctx, deployTask(a.From)); slotErr != nil || found {
				err = slotErr
			}
		}
		if err != nil {
			return err
		}
	}
	receipt, err := r.relayer.Await(ctx, s, time.Now().Add(r.config.Wait))
	switch {
	case err != nil:
		return err
	case receipt == nil:
		return refuseAuthorization(x402.ReasonPending, "the payer's wallet is being deployed")
	case receipt.Status != types.ReceiptStatusSuccessful:
		return refuseAuthorization(ReasonUndeployed, "the factory did not make the payer's wallet")
	}
	return nil
}

// submitDeployment calls the factory, within the budgets of payer and payee.
func (r *Rail) submitDeployment(ctx context.Context, a authorization, d evm.Wrapped) (relayer.Slot, error) {
	limits := r.config.Authorizations
	j := relayer.Job{Task: deployTask(a.From), To: d.Factory, Data: d.FactoryCall}
	gas, err := r.relayer.Estimate(ctx, j)
	var refusal *eth.RevertError
	if errors.As(err, &refusal) || gas > limits.DeployGas {
		return relayer.Slot{}, refuseAuthorization(ReasonUndeployed, "the factory would not make the payer's wallet for %d gas", limits.DeployGas)
	}
	if err != nil {
		return relayer.Slot{}, err
	}
	j.Gas = gas
	ok, err := r.relayer.Afford(ctx, &j)
	if err == nil && !ok {
		err = errNoGas
	}
	if err != nil {
		return relayer.Slot{}, err
	}
	if err := r.spend(ctx, j.Task, expenseOf(gasbudget.CostOf(j.Gas, j.Offer.Cap), a, true)); err != nil {
		return relayer.Slot{}, err
	}
	s, err := r.relayer.Submit(ctx, j)
	if err != nil {
		r.budget.GiveBack(j.Task)
	}
	return s, err
}
