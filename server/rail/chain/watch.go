package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Revocation is a grant that ended on the chain.
type Revocation struct {
	GrantID   common.Hash
	MandateID string // that charged the grant; empty where none has yet
	Session   string // that it was connected for
	Owner     common.Address
	By        common.Address // who revoked, or who brought the owner's signature
	TxHash    common.Hash
}

// Method is what names the grant in a mandate's instrument.
func (r Revocation) Method() string { return r.GrantID.Hex() }

const (
	// watchSpan is how many blocks are asked for at a time; nodes limit it.
	watchSpan = 1000
	// watchBack is how far the watcher goes back where the block that it saw last is
	// no longer there: further than any chain reorganizes.
	watchBack = 256
)

// cursor is the newest block that was watched.
type cursor struct {
	Block uint64      `json:"block"`
	Hash  common.Hash `json:"hash"`
}

// announcer is an [RPC] that announces blocks. The rail then does not ask for them.
type announcer interface {
	// NextBlock returns a channel that is closed when the newest block changes.
	NextBlock() <-chan struct{}
}

// nextBlock returns a channel that is closed when the node announces another newest
// block; nil if it announces none.
func (r *Rail) nextBlock() <-chan struct{} {
	if a, ok := r.config.RPC.(announcer); ok {
		return a.NextBlock()
	}
	return nil
}

// watchAlways watches every Config.Poll, or as soon as the node announces a block.
func (r *Rail) watchAlways(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		next := r.nextBlock() // before the work: no block is missed
		err := r.logged(ctx, "watch the router", r.watch)
		if next == nil || err != nil {
			timer.Reset(r.config.Poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// watch looks for revocations in the blocks that became final since the last time.
// A revocation is told before the cursor moves on, so that none is missed; one that
// was told before a crash is told again.
func (r *Rail) watch(ctx context.Context) error {
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return fmt.Errorf("read newest block: %w", err)
	}
	if r.figures.head.Swap(head) == head && r.watchedAll.Load() {
		return nil // no new block
	}
	r.watchedAll.Store(false)
	deep, ok := r.confirmed(head)
	if !ok {
		return nil
	}
	at, found, err := view[cursor](ctx, r.config.Store, kindCursor, cursorWatch)
	if err != nil {
		return err
	}
	if !found && r.config.FromBlock > 0 {
		at.Block = r.config.FromBlock - 1
	}
	if found {
		if at, err = r.rewound(ctx, at); err != nil {
			return err
		}
	}
	for next := at.Block + 1; next <= deep; next += watchSpan {
		last := min(next+watchSpan-1, deep)
		if err := r.watchSpan(ctx, next, last); err != nil {
			return err
		}
	}
	r.figures.watched.Store(deep)
	r.watchedAll.Store(true)
	return nil
}

// rewound goes back where the block seen last has been replaced.
func (r *Rail) rewound(ctx context.Context, at cursor) (cursor, error) {
	header, err := r.config.RPC.HeaderByNumber(ctx, new(big.Int).SetUint64(at.Block))
	if err == nil && header.Hash() == at.Hash {
		return at, nil
	}
	if err != nil && !errors.Is(err, ethereum.NotFound) {
		return at, fmt.Errorf("read block %d: %w", at.Block, err)
	}
	failpoint.Hit(failpoint.WatcherRewound)
	r.config.Logger.WarnContext(ctx, "chain was reorganized under the watcher", slog.Uint64("block", at.Block))
	return cursor{Block: at.Block - min(at.Block, watchBack)}, nil
}

func (r *Rail) watchSpan(ctx context.Context, first, last uint64) error {
	end, err := r.cursorAt(ctx, last)
	if err != nil {
		return err
	}
	events, err := contracts.MandateRouterMetaData.ParseABI()
	if err != nil {
		return fmt.Errorf("read ABI: %w", err)
	}
	logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(last),
		Addresses: []common.Address{r.config.Router}, Topics: [][]common.Hash{{events.Events["MandateRevoked"].ID}},
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	for _, l := range logs {
		e, err := r.router.UnpackMandateRevokedEvent(&l)
		if err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		failpoint.Hit(failpoint.WatcherSaw)
		if err := r.sawRevoked(ctx, Revocation{GrantID: e.GrantId, Owner: e.Owner, By: e.By, TxHash: l.TxHash}); err != nil {
			return err
		}
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error { return write(tx, kindCursor, cursorWatch, end) })
	if err != nil {
		return fmt.Errorf("store cursor: %w", err)
	}
	failpoint.Hit(failpoint.WatcherMoved)
	return nil
}

// cursorAt is the cursor at a block.
func (r *Rail) cursorAt(ctx context.Context, block uint64) (cursor, error) {
	header, err := r.config.RPC.HeaderByNumber(ctx, new(big.Int).SetUint64(block))
	if err != nil {
		return cursor{}, fmt.Errorf("read block %d: %w", block, err)
	}
	return cursor{Block: block, Hash: header.Hash()}, nil
}

// sawRevoked destroys the session key of a grant of ours, and tells of it.
func (r *Rail) sawRevoked(ctx context.Context, seen Revocation) error {
	ours := false
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		ours = false
		grant, found, err := read[grantRecord](tx, kindGrant, seen.GrantID.Hex())
		if err != nil || !found {
			return err
		}
		connection, _, err := read[connectionRecord](tx, kindConnection, grant.Connected)
		if err != nil {
			return err
		}
		ours, seen.MandateID, seen.Session = true, grant.MandateID, connection.Session
		return destroy(tx, seen.GrantID)
	})
	if err != nil {
		return fmt.Errorf("destroy session key: %w", err)
	}
	if !ours || r.config.OnRevoked == nil {
		return nil
	}
	failpoint.Hit(failpoint.WatcherDestroyed)
	err = r.config.OnRevoked(ctx, seen)
	if errors.Is(err, rail.ErrUndecided) {
		err = r.config.Store.Update(ctx, func(tx Tx) error { return write(tx, kindUndecided, seen.GrantID.Hex(), seen) })
	}
	if err != nil {
		return fmt.Errorf("tell of revocation of %s: %w", seen.GrantID, err)
	}
	failpoint.Hit(failpoint.WatcherReported)
	return nil
}

// tellAgain tells of revocations whose sessions were not decided when they were seen. It
// returns how many there were.
func (r *Rail) tellAgain(ctx context.Context) (undecided int, err error) {
	if r.config.OnRevoked == nil {
		return 0, nil
	}
	var waiting []Record
	err = r.config.Store.View(ctx, func(tx Tx) (err error) {
		waiting, err = tx.List(kindUndecided, "", tended)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list undecided revocations: %w", err)
	}
	var errs []error
	for _, one := range waiting {
		if err := r.tellOne(ctx, one); err != nil {
			errs = append(errs, fmt.Errorf("tell of revocation of %s again: %w", one.Key, err))
		}
	}
	return len(waiting), errors.Join(errs...)
}

func (r *Rail) tellOne(ctx context.Context, one Record) error {
	var seen Revocation
	if err := json.Unmarshal(one.Value, &seen); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	err := r.config.OnRevoked(ctx, seen)
	switch {
	case errors.Is(err, rail.ErrUndecided):
		return nil
	case err != nil:
		return err
	}
	return r.config.Store.Update(ctx, func(tx Tx) error { return tx.Delete(kindUndecided, one.Key) })
}

// Disconnect ends an instrument: its session key is destroyed at once, and its
// grant revoked on the chain, where that is broadcast but not waited for. Ending
// one twice, or one that never was, does nothing. After an error the same call must
// be made again: of a grant that the chain does not have now, because it came undone
// or the node is late, nothing is broadcast, and it would come back.
func (r *Rail) Disconnect(ctx context.Context, in rail.Instrument) error {
	id, ok := parseHash(in.Method)
	if !ok || in.Rail != rail.Chain {
		return nil
	}
	var connection connectionRecord
	known := false
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		var grant grantRecord
		var err error
		if grant, known, err = read[grantRecord](tx, kindGrant, id.Hex()); err != nil || !known {
			return err
		}
		if connection, _, err = read[connectionRecord](tx, kindConnection, grant.Connected); err != nil {
			return err
		}
		return destroy(tx, id)
	})
	if err == nil && known {
		failpoint.Hit(failpoint.KeyDestroyed)
		err = r.revokeOnChain(ctx, id, connection.Relayed)
	}
	if err != nil {
		return fmt.Errorf("disconnect %s: %w", id, err)
	}
	return nil
}

// errAway tells that the chain does not have a grant that it had.
var errAway = errors.New("chain: the grant is not on the chain now")

func (r *Rail) revokeOnChain(ctx context.Context, id common.Hash, relayed bool) error {
	w := work{
		task: "revoke/" + id.Hex(), to: r.config.Router, data: r.router.PackRevoke(id),
		stored: failpoint.RevokeStored, sent: failpoint.RevokeSent,
	}
	if _, found, err := r.taskSlot(ctx, w.task); err != nil || found {
		return err
	}
	m, err := viewOf(ctx, r, r.config.Router, r.router.PackMandate(id), r.router.UnpackMandate)
	if err == nil && relayed && m.State == contracts.StateNone {
		err = r.awayOrLost(ctx, id)
	}
	if err != nil || m.State != contracts.StateActive {
		return err // it never was on the chain, or has ended there
	}
	if w.gas, err = r.estimate(ctx, w); err != nil {
		return err
	}
	_, err = r.submit(ctx, w)
	return err
}

// awayOrLost is [errAway] where a grant that is not on the chain comes back: we look
// after its transaction.
func (r *Rail) awayOrLost(ctx context.Context, id common.Hash) error {
	_, ours, err := r.taskSlot(ctx, grantTask(id))
	if err == nil && ours {
		err = errAway
	}
	return err
}
