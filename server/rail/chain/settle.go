package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
)

// errOutcome tells that the chain says what cannot be: somebody must look.
var errOutcome = errors.New("chain: outcome cannot be told")

// outOfGasPercent of the limit used means that a transaction failed for want of gas.
const outOfGasPercent = 98

// settle asks the chain once what became of a charge, and keeps what is final.
func (r *Rail) settle(ctx context.Context, key string, record chargeRecord) (rail.Outcome, error) {
	s, found, err := r.taskSlot(ctx, chargeTask(key))
	if err != nil {
		return rail.Outcome{}, err
	}
	if !found { // its nonce was lost to somebody else
		return r.again(ctx, key, record)
	}
	became, receipt, err := r.examine(ctx, s)
	if err != nil {
		return rail.Outcome{}, err
	}
	pending := pendingIn(s)
	switch became {
	case final:
		deep, err := r.deepEnough(ctx, new(big.Int).SetUint64(record.Charge.Amount), receipt.BlockNumber.Uint64())
		if err != nil || !deep {
			return pending, err
		}
		outcome, err := r.readFinal(ctx, record, s, receipt)
		if err != nil {
			return rail.Outcome{}, err
		}
		failpoint.Hit(failpoint.TransferLanded)
		return r.decide(ctx, key, outcome)
	case displaced:
		if err := r.leave(ctx, s); err != nil {
			return rail.Outcome{}, err
		}
		return r.again(ctx, key, record)
	case included:
		return pending, nil
	case waiting:
		fallthrough
	default:
		if end, over, err := r.over(ctx, record); err != nil || over {
			return r.decideUnless(ctx, key, record, end, err)
		}
		return pending, r.push(ctx, s)
	}
}

// readFinal reads the outcome of a transaction that is final.
func (r *Rail) readFinal(ctx context.Context, record chargeRecord, s slot, receipt *types.Receipt) (rail.Outcome, error) {
	if receipt.Status == types.ReceiptStatusSuccessful && r.moved(record, logsOf(receipt)) {
		return r.succeeded(ctx, receipt.TxHash, receipt.BlockNumber)
	}
	hash, block, found, err := r.findCharged(ctx, record, receipt.BlockNumber.Uint64())
	if err != nil {
		return rail.Outcome{}, err
	}
	switch {
	case found:
		return r.succeeded(ctx, hash, block)
	case s.canceled(receipt.TxHash):
		return refused(rail.Unavailable), nil
	case receipt.Status == types.ReceiptStatusSuccessful:
		return rail.Outcome{}, fmt.Errorf("transaction %s succeeded and moved nothing: %w", receipt.TxHash, errOutcome)
	case receipt.GasUsed*100 >= s.Gas*outOfGasPercent:
		return refused(rail.OutOfGas), nil
	}
	why, err := r.whyTokenRefused(ctx, rail.Reverted, record.Owner, record.Charge.Payee)
	if errors.Is(err, errPaused) { // this transaction has failed, whatever comes after the pause
		why, err = rail.Reverted, nil
	}
	return refused(why), err
}

// moved tells whether logs hold the router's word and the token's for exactly this
// charge: a call that succeeds may have moved nothing.
func (r *Rail) moved(record chargeRecord, logs []types.Log) bool {
	c := record.Charge
	amount := new(big.Int).SetUint64(c.Amount)
	var charged, transferred bool
	for i := range logs {
		switch logs[i].Address {
		case r.config.Router:
			e, err := r.router.UnpackChargedEvent(&logs[i])
			charged = charged || (err == nil && e.GrantId == c.GrantID && e.Ref == c.Ref && e.Payee == c.Payee && e.Amount.Cmp(amount) == 0)
		case r.config.Token.Address:
			e, err := r.token.UnpackTransferEvent(&logs[i])
			transferred = transferred || (err == nil && e.From == record.Owner && e.To == c.Payee && e.Value.Cmp(amount) == 0)
		}
	}
	return charged && transferred
}

func logsOf(receipt *types.Receipt) []types.Log {
	logs := make([]types.Log, len(receipt.Logs))
	for i, l := range receipt.Logs {
		logs[i] = *l
	}
	return logs
}

// succeeded is the outcome of a transaction in a block.
func (r *Rail) succeeded(ctx context.Context, hash common.Hash, block *big.Int) (rail.Outcome, error) {
	header, err := r.config.RPC.HeaderByNumber(ctx, block)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("read block %s: %w", block, err)
	}
	at := time.Unix(int64(header.Time), 0).UTC() // not before the year 292 billion
	return rail.Outcome{Status: rail.Succeeded, TxHash: hash.Hex(), SettledAt: at}, nil
}

// findCharged looks for the router's word that the charge was made, in whatever
// final transaction, up to a block at least: a node that has gone back behind what it
// said of that block does not know.
func (r *Rail) findCharged(ctx context.Context, record chargeRecord, least uint64) (hash common.Hash, block *big.Int, found bool, err error) {
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return hash, nil, false, fmt.Errorf("read newest block: %w", err)
	}
	deep, ok := r.confirmed(head)
	if least > 0 && (!ok || deep < least) {
		return hash, nil, false, fmt.Errorf("look for charge up to block %d: the node is at %d", least, head)
	}
	if !ok || deep < record.Since {
		return hash, nil, false, nil
	}
	event, err := contracts.MandateRouterMetaData.ParseABI()
	if err != nil {
		return hash, nil, false, fmt.Errorf("read ABI: %w", err)
	}
	topics := [][]common.Hash{{event.Events["Charged"].ID}, {record.Charge.GrantID}, {record.Charge.Ref}}
	for first := record.Since; first <= deep; first += watchSpan {
		logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
			FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(min(first+watchSpan-1, deep)),
			Addresses: []common.Address{r.config.Router}, Topics: topics,
		})
		if err != nil {
			return hash, nil, false, fmt.Errorf("look for charge: %w", err)
		}
		for _, l := range logs {
			e, err := r.router.UnpackChargedEvent(&l)
			if err == nil && !l.Removed && e.Payee == record.Charge.Payee && e.Amount.Cmp(new(big.Int).SetUint64(record.Charge.Amount)) == 0 {
				deep, err := r.deepEnough(ctx, e.Amount, l.BlockNumber)
				if err == nil && !deep {
					err = fmt.Errorf("charge is in block %d, which is not deep enough for its amount", l.BlockNumber)
				}
				if err != nil {
					return hash, nil, false, err
				}
				return l.TxHash, new(big.Int).SetUint64(l.BlockNumber), true, nil
			}
		}
	}
	return hash, nil, false, nil
}

// over tells whether the charge's deadline has passed in a final block, and which:
// whatever of it lands after that reverts.
func (r *Rail) over(ctx context.Context, record chargeRecord) (end uint64, over bool, err error) {
	head, err := r.newest(ctx)
	if err != nil {
		return 0, false, err
	}
	deep, ok := r.confirmed(head.Number.Uint64())
	if !ok {
		return 0, false, nil
	}
	header, err := r.config.RPC.HeaderByNumber(ctx, new(big.Int).SetUint64(deep))
	if err != nil {
		return 0, false, fmt.Errorf("read block %d: %w", deep, err)
	}
	return deep, header.Time > record.Charge.Deadline, nil
}

// decideUnless ends a charge that can no longer land after a block, unless it did
// before.
func (r *Rail) decideUnless(ctx context.Context, key string, record chargeRecord, end uint64, err error) (rail.Outcome, error) {
	if err != nil {
		return rail.Outcome{}, err
	}
	hash, block, found, err := r.findCharged(ctx, record, end)
	if err != nil {
		return rail.Outcome{}, err
	}
	outcome := refused(rail.Unavailable)
	if found {
		if outcome, err = r.succeeded(ctx, hash, block); err != nil {
			return rail.Outcome{}, err
		}
	}
	return r.decide(ctx, key, outcome)
}

// decide keeps an outcome; the first one stands.
func (r *Rail) decide(ctx context.Context, key string, outcome rail.Outcome) (rail.Outcome, error) {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := read[chargeRecord](tx, kindCharge, key)
		if err == nil && !found {
			err = fmt.Errorf("charge %s: %w", key, errRecord)
		}
		if err != nil {
			return err
		}
		if record.Outcome != nil {
			outcome = *record.Outcome
			return nil
		}
		record.Outcome = &outcome
		return write(tx, kindCharge, key, record)
	})
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("store outcome: %w", err)
	}
	failpoint.Hit(failpoint.TransferDecided)
	return outcome, nil
}

// again broadcasts a charge anew whose nonce somebody else has used: nothing of it
// can land any more, unless it has, and its reference moves money once at most.
func (r *Rail) again(ctx context.Context, key string, record chargeRecord) (rail.Outcome, error) {
	unlock, err := r.locks.lock(ctx, key)
	if err != nil {
		return rail.Outcome{}, err
	}
	defer unlock()
	if s, found, err := r.taskSlot(ctx, chargeTask(key)); err != nil || found { // somebody else was faster
		return pendingIn(s), err
	}
	end, over, err := r.over(ctx, record)
	if err != nil || over {
		return r.decideUnless(ctx, key, record, end, err)
	}
	if hash, block, found, err := r.findCharged(ctx, record, end); err != nil || found {
		if err != nil {
			return rail.Outcome{}, err
		}
		outcome, err := r.succeeded(ctx, hash, block)
		if err != nil {
			return rail.Outcome{}, err
		}
		return r.decide(ctx, key, outcome)
	}
	grant, found, err := view[grantRecord](ctx, r.config.Store, kindGrant, record.Charge.GrantID.Hex())
	if err != nil || !found {
		return rail.Outcome{}, errors.Join(err, errRecord)
	}
	if len(grant.Sealed) == 0 { // revoked meanwhile
		return r.decideUnlessCharged(ctx, key, record, rail.Unavailable)
	}
	w, why, err := r.prepareCharge(ctx, grant, record.Charge)
	if err != nil {
		return rail.Outcome{}, err
	}
	if why != "" {
		return r.decideUnlessCharged(ctx, key, record, why)
	}
	w.task = chargeTask(key)
	s, err := r.submit(ctx, w)
	if err != nil {
		return rail.Outcome{}, err
	}
	r.config.Logger.WarnContext(ctx, "charge broadcast under another nonce", slog.Uint64("nonce", s.Nonce))
	return pendingIn(s), nil
}

// decideUnlessCharged ends a charge that would not go through any more, unless that
// is because another instance has broadcast it: it may be in a block already, which
// is not final.
func (r *Rail) decideUnlessCharged(ctx context.Context, key string, record chargeRecord, why rail.Reason) (rail.Outcome, error) {
	done, err := r.charged(ctx, record.Charge)
	if err != nil {
		return rail.Outcome{}, err
	}
	s, found, err := r.taskSlot(ctx, chargeTask(key))
	if err != nil || found || done {
		return pendingIn(s), err
	}
	return r.decide(ctx, key, refused(why))
}

// pendingIn is the outcome of a charge that waits, with the newest of a slot's
// broadcasts, where it has one.
func pendingIn(s slot) rail.Outcome {
	outcome := rail.Outcome{Status: rail.Pending}
	if h := s.hash(); h != (common.Hash{}) {
		outcome.TxHash = h.Hex()
	}
	return outcome
}
