package contracts_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func tokenDomain() evm.Separator {
	return evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}.Separator()
}

// authorization returns an authorization of a hundred micros from the owner to the payee.
func (w *world) authorization() evm.TransferAuthorization {
	return evm.TransferAuthorization{
		From: w.owner.Address, To: w.payee, Value: evm.Uint64(100), ValidAfter: evm.Uint64(w.now() - 1),
		ValidBefore: evm.Uint64(w.now() + 1000), Nonce: common.Hash{1},
	}
}

func (w *world) transfer(t *testing.T, a evm.TransferAuthorization, by devchain.Wallet) []byte {
	t.Helper()
	s, err := evm.Sign(evm.Digest(tokenDomain(), a), by.Key())
	require.NoError(t, err)
	return w.token.PackTransferWithAuthorization0(a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, s[64], [32]byte(s[:32]), [32]byte(s[32:64]))
}

// tokenRefuses sends a call to the token that must revert with an error of the type E.
func tokenRefuses[E any](t *testing.T, w *world, by devchain.Wallet, call []byte) {
	t.Helper()
	_, got := w.send(t, by, devchain.USDC(), call)
	_, ok := got.(*E)
	require.True(t, ok, "want %T, got %T", new(E), got)
}

func TestTransferWithAuthorization(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		a := w.authorization()
		receipt := w.must(t, anyone(), devchain.USDC(), w.transfer(t, a, w.owner))
		require.EqualValues(t, 100, w.balance(t, w.payee))
		used, err := w.token.UnpackAuthorizationUsedEvent(receipt.Logs[0])
		require.NoError(t, err)
		require.Equal(t, w.owner.Address, used.Authorizer)
		require.EqualValues(t, a.Nonce, used.Nonce)
		state, err := w.token.UnpackAuthorizationState(w.call(t, devchain.USDC(), w.token.PackAuthorizationState(a.From, a.Nonce)))
		require.NoError(t, err)
		require.True(t, state)
		tokenRefuses[contracts.TestUSDCAuthorizationUsedOrCanceled](t, w, anyone(), w.transfer(t, a, w.owner))
		a.Nonce = common.Hash{2}
		w.must(t, anyone(), devchain.USDC(), w.transfer(t, a, w.owner))
		require.EqualValues(t, 200, w.balance(t, w.payee))
	})
}

func TestAuthorizationWindowIsOpenAtBothEnds(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		a := w.authorization()
		a.ValidAfter, a.ValidBefore = evm.Uint64(w.now()+500), evm.Uint64(w.now()+501)
		tokenRefuses[contracts.TestUSDCAuthorizationNotYetValid](t, w, anyone(), w.transfer(t, a, w.owner))
		w.until(t, time.Unix(a.ValidBefore.Big().Int64(), 0))
		tokenRefuses[contracts.TestUSDCAuthorizationExpired](t, w, anyone(), w.transfer(t, a, w.owner))
	})
}

func TestAuthorizationOfSomebodyElse(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		a := w.authorization()
		tokenRefuses[contracts.TestUSDCInvalidSignature](t, w, anyone(), w.transfer(t, a, anyone()))
		s, err := evm.Sign(evm.Digest(tokenDomain(), a), w.owner.Key())
		require.NoError(t, err)
		more := a
		more.Value = evm.Uint64(101)
		call := w.token.PackTransferWithAuthorization(more.From, more.To, more.Value.Big(), more.ValidAfter.Big(), more.ValidBefore.Big(), more.Nonce, s)
		tokenRefuses[contracts.TestUSDCInvalidSignature](t, w, anyone(), call)
		a.Value = evm.Uint64(devchain.WalletMicros + 1)
		tokenRefuses[contracts.TestUSDCERC20InsufficientBalance](t, w, anyone(), w.transfer(t, a, w.owner))
	})
}

func TestCancelAuthorization(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		a := w.authorization()
		typeHash := w.call(t, devchain.USDC(), w.token.PackCANCELAUTHORIZATIONTYPEHASH())
		structHash := hash(typeHash, common.LeftPadBytes(a.From[:], 32), a.Nonce[:])
		separator := tokenDomain()
		digest := hash([]byte{0x19, 1}, separator[:], structHash[:])
		s, err := evm.Sign(digest, w.owner.Key())
		require.NoError(t, err)
		forged, err := evm.Sign(digest, anyone().Key())
		require.NoError(t, err)
		tokenRefuses[contracts.TestUSDCInvalidSignature](t, w, anyone(), w.token.PackCancelAuthorization0(a.From, a.Nonce, forged))
		w.must(t, anyone(), devchain.USDC(), w.token.PackCancelAuthorization0(a.From, a.Nonce, s))
		tokenRefuses[contracts.TestUSDCAuthorizationUsedOrCanceled](t, w, anyone(), w.transfer(t, a, w.owner))
		tokenRefuses[contracts.TestUSDCAuthorizationUsedOrCanceled](t, w, anyone(), w.token.PackCancelAuthorization0(a.From, a.Nonce, s))
	})
}

func TestReceiveWithAuthorizationIsThePayees(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		to := devchain.Wallets()[4]
		a := w.authorization()
		a.To = to.Address
		typeHash := w.call(t, devchain.USDC(), w.token.PackRECEIVEWITHAUTHORIZATIONTYPEHASH())
		structHash := hash(typeHash, common.LeftPadBytes(a.From[:], 32), common.LeftPadBytes(a.To[:], 32), a.Value[:], a.ValidAfter[:], a.ValidBefore[:], a.Nonce[:])
		separator := tokenDomain()
		s, err := evm.Sign(hash([]byte{0x19, 1}, separator[:], structHash[:]), w.owner.Key())
		require.NoError(t, err)
		call := w.token.PackReceiveWithAuthorization(a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, s)
		tokenRefuses[contracts.TestUSDCCallerIsNotPayee](t, w, anyone(), call)
		w.must(t, to, devchain.USDC(), call)
		require.EqualValues(t, devchain.WalletMicros+100, w.balance(t, to.Address))
	})
}

func TestPermitOnce(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		p := w.permit(t, 5, w.owner)
		call := w.token.PackPermit0(w.owner.Address, w.chain.Router(), p.Value, p.Deadline, p.V, p.R, p.S)
		w.must(t, anyone(), devchain.USDC(), call)
		require.EqualValues(t, 5, w.allowance(t))
		tokenRefuses[contracts.TestUSDCInvalidSignature](t, w, anyone(), call)
		late := w.permit(t, 6, w.owner)
		w.until(t, w.chain.Now().Add(2000*time.Second))
		tokenRefuses[contracts.TestUSDCPermitExpired](t, w, anyone(), w.token.PackPermit0(w.owner.Address, w.chain.Router(), late.Value, late.Deadline, late.V, late.R, late.S))
	})
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		require.Equal(t, big.NewInt(6), new(big.Int).SetBytes(w.call(t, devchain.USDC(), w.token.PackDecimals())))
		separator := tokenDomain()
		require.Equal(t, separator[:], w.call(t, devchain.USDC(), w.token.PackDOMAINSEPARATOR()))
	})
}
