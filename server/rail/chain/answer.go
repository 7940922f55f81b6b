package chain

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Codes of JSON-RPC errors.
const (
	codeReverted  = 3      // geth, reth, Erigon, Besu: execution reverted, with data
	codeExecution = -32015 // Nethermind, OpenEthereum: the EVM stopped the call
	codeServer    = -32000 // anything else: only its text says what
)

// halts are the EVM's exceptional halts in the words of several clients, without
// spaces and in lower case.
var halts = []string{
	"executionreverted", "outofgas", "gasuintoverflow", "invalidopcode", "opcodenotfound", "badinstruction", "stackunderflow",
	"stackoverflow", "stacklimit", "invalidjump", "returndataoutofbounds", "writeprotection", "statechangeduringstaticcall",
}

// isAnswer reports whether an error says that a contract failed, in whatever way, and
// not that the node did. It goes by the code of the JSON-RPC error and its data; texts
// count only for the code that says nothing.
func isAnswer(err error) bool {
	var refusal *revertError
	if errors.As(reverted(err), &refusal) {
		return true
	}
	var coded rpc.Error
	if !errors.As(err, &coded) {
		return false
	}
	switch coded.ErrorCode() {
	case codeReverted, codeExecution:
		return true
	case codeServer:
		text := strings.ToLower(strings.ReplaceAll(coded.Error(), " ", ""))
		for _, halt := range halts {
			if strings.Contains(text, halt) {
				return true
			}
		}
	}
	return false
}

// errPaused reports that the token makes no transfers for now.
var errPaused = errors.New("chain: the token is paused")

// tokenStops reports what a token's issuer has stopped, as USDC reports it: [errPaused],
// which is temporary, or a [*refusedError] that names a blocked account.
func (r *Rail) tokenStops(ctx context.Context, accounts ...common.Address) error {
	paused, err := r.flag(ctx, "paused()", nil)
	if err != nil || paused {
		return errors.Join(err, errPausedIf(paused))
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

// whyTokenRefused returns [rail.WalletBlocked] if the token's issuer has blocked one of
// the accounts, and otherwise the reason that is given. A pause is [errPaused].
func (r *Rail) whyTokenRefused(ctx context.Context, otherwise rail.Reason, accounts ...common.Address) (rail.Reason, error) {
	err := r.tokenStops(ctx, accounts...)
	var blocked *refusedError
	if errors.As(err, &blocked) {
		r.config.Logger.WarnContext(ctx, "the token's issuer has blocked an account", slog.String("problem", blocked.Error()))
		return rail.WalletBlocked, nil
	}
	return otherwise, err
}

func errPausedIf(paused bool) error {
	if paused {
		return errPaused
	}
	return nil
}

// flag asks the token for a truth; false if it does not know the question.
func (r *Rail) flag(ctx context.Context, question string, argument []byte) (bool, error) {
	call := append(crypto.Keccak256([]byte(question))[:4], argument...)
	answer, err := r.read(ctx, r.config.Token.Address, call, nil)
	if err != nil {
		if isAnswer(err) {
			return false, nil
		}
		return false, err
	}
	return len(answer) == 32 && new(big.Int).SetBytes(answer).Sign() > 0, nil
}
