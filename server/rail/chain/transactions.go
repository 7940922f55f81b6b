package chain

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// restFor is how long rounds are skipped while nothing changes.
const restFor = 2 * time.Second

// rest describes the last round of tend. While chain and records stay the same, the
// next rounds have nothing to do.
type rest struct {
	head      common.Hash
	submitted uint64    // the relayer's count when the round began
	until     time.Time // zero if something was left to do
}

// tendUnlessAtRest runs a round of tend, unless the last one left nothing to do and
// nothing has changed. At rest it reads only the newest header, and runs a round every
// restFor for the transactions of other instances.
func (r *Rail) tendUnlessAtRest(ctx context.Context) error {
	submitted := r.relayer.Submitted()
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return err
	}
	head := header.Hash()
	if r.rest.head == head && r.rest.submitted == submitted && time.Now().Before(r.rest.until) {
		return nil
	}
	r.rest = rest{head: head, submitted: submitted}
	idle, err := r.tendAt(ctx, header)
	if err == nil && idle {
		r.rest.until = time.Now().Add(restFor)
	}
	return err
}

// tend runs one round.
func (r *Rail) tend(ctx context.Context) error {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return err
	}
	_, err = r.tendAt(ctx, header)
	return err
}

// tendAt tends the relayer's transactions, makes the reports that are due and deletes
// expired records. It reports whether nothing is left to do before the next block.
func (r *Rail) tendAt(ctx context.Context, newest *types.Header) (idle bool, err error) {
	idle, tendErr := r.relayer.Tend(ctx, newest)
	undecided, err := r.retryRevocations(ctx)
	return idle && undecided == 0, errors.Join(tendErr, err, r.reportUndone(ctx), r.deleteSightings(ctx))
}
