package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
)

// movedCharge reports whether logs contain the events of the router and of the token
// for exactly this charge. A successful call alone may have moved nothing.
func (r *Rail) movedCharge(record chargeRecord, logs []types.Log) bool {
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

// findCharge looks in all final blocks for the router's event of a charge. It fails if
// the node does not have the blocks up to least: a node that has fallen behind an
// earlier answer cannot say.
func (r *Rail) findCharge(ctx context.Context, record chargeRecord, least uint64) (hash common.Hash, block uint64, found bool, err error) {
	head, err := r.chain.Head(ctx)
	if err != nil {
		return hash, 0, false, err
	}
	final, ok := r.chain.Final(head)
	if least > 0 && (!ok || final < least) {
		return hash, 0, false, fmt.Errorf("look for charge up to block %d: the node is at %d", least, head)
	}
	if !ok || final < record.Since {
		return hash, 0, false, nil
	}
	event, err := contracts.MandateRouterMetaData.ParseABI()
	if err != nil {
		return hash, 0, false, fmt.Errorf("read ABI: %w", err)
	}
	topics := [][]common.Hash{{event.Events["Charged"].ID}, {record.Charge.GrantID}, {record.Charge.Ref}}
	for first := record.Since; first <= final; first += watchSpan {
		logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
			FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(min(first+watchSpan-1, final)),
			Addresses: []common.Address{r.config.Router}, Topics: topics,
		})
		if err != nil {
			return hash, 0, false, fmt.Errorf("look for charge: %w", err)
		}
		for _, l := range logs {
			e, err := r.router.UnpackChargedEvent(&l)
			if err != nil || l.Removed || e.Payee != record.Charge.Payee || e.Amount.Cmp(new(big.Int).SetUint64(record.Charge.Amount)) != 0 {
				continue
			}
			enough, err := r.chain.FinalFor(ctx, e.Amount, l.BlockNumber)
			if err == nil && !enough {
				err = fmt.Errorf("charge is in block %d, which is not deep enough for its amount", l.BlockNumber)
			}
			if err != nil {
				return hash, 0, false, err
			}
			return l.TxHash, l.BlockNumber, true, nil
		}
	}
	return hash, 0, false, nil
}
