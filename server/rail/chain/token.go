package chain

import (
	"context"
	"errors"
	"log/slog"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
)

func (r *Rail) balance(ctx context.Context, owner common.Address) (*big.Int, error) {
	return eth.View(ctx, r.chain, r.config.Token.Address, r.token.PackBalanceOf(owner), r.token.UnpackBalanceOf)
}

func (r *Rail) allowance(ctx context.Context, owner common.Address) (*big.Int, error) {
	return r.allowanceAt(ctx, owner, nil)
}

func (r *Rail) allowanceAt(ctx context.Context, owner common.Address, block *big.Int) (*big.Int, error) {
	return eth.ViewAt(ctx, r.chain, block, r.config.Token.Address, r.token.PackAllowance(owner, r.config.Router), r.token.UnpackAllowance)
}

// errPaused reports that the token makes no transfers for now.
var errPaused = errors.New("chain: the token is paused")

// checkStopped returns [errPaused] if the token's issuer has paused it, which passes,
// or a [*refusedError] that names a blocked account, as USDC reports them.
func (r *Rail) checkStopped(ctx context.Context, accounts ...common.Address) error {
	paused, err := r.flag(ctx, "paused()", nil)
	if err != nil {
		return err
	}
	if paused {
		return errPaused
	}
	for _, a := range accounts {
		blocked, err := r.flag(ctx, "isBlacklisted(address)", common.LeftPadBytes(a[:], 32))
		if err != nil {
			return err
		}
		if blocked {
			return refuseAuthorization(ReasonBlocked, "the issuer of the token has blocked %s", a)
		}
	}
	return nil
}

// tokenRefusal returns [rail.WalletBlocked] if the token's issuer has blocked one of the
// accounts, [errPaused] if it has paused the token, and otherwise the given reason.
func (r *Rail) tokenRefusal(ctx context.Context, otherwise rail.Reason, accounts ...common.Address) (rail.Reason, error) {
	err := r.checkStopped(ctx, accounts...)
	var blocked *refusedError
	if errors.As(err, &blocked) {
		r.config.Logger.WarnContext(ctx, "the token's issuer has blocked an account", slog.String("problem", blocked.Error()))
		return rail.WalletBlocked, nil
	}
	return otherwise, err
}

// flag calls a boolean view of the token. It returns false if the token does not have
// the view.
func (r *Rail) flag(ctx context.Context, signature string, argument []byte) (bool, error) {
	call := append(crypto.Keccak256([]byte(signature))[:4], argument...)
	answer, err := r.chain.Call(ctx, r.config.Token.Address, call, nil)
	if err != nil {
		if eth.IsAnswer(err) {
			return false, nil
		}
		return false, err
	}
	return len(answer) == 32 && new(big.Int).SetBytes(answer).Sign() > 0, nil
}
