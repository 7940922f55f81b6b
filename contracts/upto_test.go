package contracts_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// upto is a world whose owner lets Permit2 move tokens.
type upto struct {
	*world

	permit2 *contracts.TestPermit2
	proxy   *contracts.TestUptoProxy
}

func onEachUpto(t *testing.T, test func(t *testing.T, u upto)) {
	t.Helper()
	onEachForm(t, func(t *testing.T, w *world) {
		u := upto{w, contracts.NewTestPermit2(), contracts.NewTestUptoProxy()}
		w.must(t, w.owner, devchain.USDC(), w.token.PackApprove(evm.Permit2(), big.NewInt(1_000_000)))
		test(t, u)
	})
}

// permitted returns a permit of a hundred micros that the relayer may settle.
func (u upto) permitted() evm.UptoPermit {
	return evm.UptoPermit{
		From: u.owner.Address, Token: devchain.USDC(), Amount: evm.Uint64(100), Spender: evm.UptoProxy(), Nonce: evm.Uint64(300),
		Deadline: evm.Uint64(u.now() + 1000), To: u.payee, Facilitator: devchain.Relayer().Address,
	}
}

func (u upto) sign(t *testing.T, p evm.UptoPermit, by devchain.Wallet) []byte {
	t.Helper()
	s, err := evm.Sign(evm.Digest(evm.Permit2Domain(devchain.ChainID, evm.Permit2()).Separator(), p), by.Key())
	require.NoError(t, err)
	return s
}

func (u upto) settle(p evm.UptoPermit, amount int64, signature []byte) []byte {
	return u.proxy.PackSettle(contracts.TestPermit2PermitTransferFrom{
		Permitted: contracts.TestPermit2TokenPermissions{Token: p.Token, Amount: p.Amount.Big()}, Nonce: p.Nonce.Big(), Deadline: p.Deadline.Big(),
	}, big.NewInt(amount), p.From, contracts.TestUptoProxyWitness{To: p.To, Facilitator: p.Facilitator, ValidAfter: p.ValidAfter.Big()}, signature)
}

func TestUptoSettlesOnceAndForLess(t *testing.T) {
	t.Parallel()
	onEachUpto(t, func(t *testing.T, u upto) {
		p := u.permitted()
		s := u.sign(t, p, u.owner)
		receipt := u.must(t, devchain.Relayer(), evm.UptoProxy(), u.settle(p, 40, s))
		require.EqualValues(t, 40, u.balance(t, u.payee))
		require.Len(t, receipt.Logs, 2, "the transfer, and right after it that it is settled")
		moved, err := u.token.UnpackTransferEvent(receipt.Logs[0])
		require.NoError(t, err)
		require.EqualValues(t, 40, moved.Value.Int64())
		_, err = u.proxy.UnpackSettledEvent(receipt.Logs[1])
		require.NoError(t, err)
		_, failed := u.send(t, devchain.Relayer(), evm.UptoProxy(), u.settle(p, 1, s))
		require.IsType(t, &contracts.TestPermit2InvalidNonce{}, failed, "the rest cannot be settled")
		word, err := u.permit2.UnpackNonceBitmap(u.call(t, evm.Permit2(), u.permit2.PackNonceBitmap(p.From, big.NewInt(1))))
		require.NoError(t, err)
		require.Equal(t, new(big.Int).Lsh(big.NewInt(1), 300-256), word)
	})
}

func TestUptoRefuses(t *testing.T) {
	t.Parallel()
	onEachUpto(t, func(t *testing.T, u upto) {
		p := u.permitted()
		s := u.sign(t, p, u.owner)
		refused := func(want any, by devchain.Wallet, p evm.UptoPermit, amount int64, s []byte) {
			t.Helper()
			_, failed := u.send(t, by, evm.UptoProxy(), u.settle(p, amount, s))
			require.IsType(t, want, failed)
			require.Zero(t, u.balance(t, u.payee))
		}
		refused(&contracts.TestUptoProxyAmountExceedsPermitted{}, devchain.Relayer(), p, 101, s)
		refused(&contracts.TestUptoProxyUnauthorizedFacilitator{}, anyone(), p, 10, s)
		refused(&contracts.TestPermit2InvalidSigner{}, devchain.Relayer(), p, 10, u.sign(t, p, anyone()))
		for _, change := range []func(*evm.UptoPermit){
			func(p *evm.UptoPermit) { p.To = anyone().Address },
			func(p *evm.UptoPermit) { p.Facilitator = anyone().Address },
			func(p *evm.UptoPermit) { p.Amount = evm.Uint64(101) },
			func(p *evm.UptoPermit) { p.Nonce = evm.Uint64(301) },
			func(p *evm.UptoPermit) { p.Deadline = evm.Uint64(u.now() + 1001) },
			func(p *evm.UptoPermit) { p.ValidAfter = evm.Uint64(1) },
		} {
			other := p
			change(&other)
			by := devchain.Relayer()
			if other.Facilitator == anyone().Address {
				by = anyone()
			}
			refused(&contracts.TestPermit2InvalidSigner{}, by, other, 10, s)
		}
		early := p
		early.ValidAfter = evm.Uint64(u.now() + 900)
		refused(&contracts.TestUptoProxyPaymentTooEarly{}, devchain.Relayer(), early, 10, u.sign(t, early, u.owner))
		u.until(t, time.Unix(p.Deadline.Big().Int64()+1, 0))
		refused(&contracts.TestPermit2SignatureExpired{}, devchain.Relayer(), p, 10, s)
	})
}

func TestUptoNonceCanBeMadeUnusable(t *testing.T) {
	t.Parallel()
	onEachUpto(t, func(t *testing.T, u upto) {
		p := u.permitted()
		u.must(t, u.owner, evm.Permit2(), u.permit2.PackInvalidateUnorderedNonces(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 300-256)))
		_, failed := u.send(t, devchain.Relayer(), evm.UptoProxy(), u.settle(p, 10, u.sign(t, p, u.owner)))
		require.IsType(t, &contracts.TestPermit2InvalidNonce{}, failed)
	})
}
