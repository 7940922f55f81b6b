package server_test

import (
	"crypto/ecdsa"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// account is who pays: a key, or a contract that a key signs for.
type account struct {
	address common.Address
	key     *ecdsa.PrivateKey
	wrap    func(signature []byte) []byte // nil: as it is
}

func tokenDomain() evm.Domain {
	return evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}
}

// sign signs for a domain.
func (a account) sign(t *testing.T, d evm.Domain, o evm.TransferAuthorization) x402.Exact {
	t.Helper()
	signature, err := evm.Sign(evm.Digest(d.Separator(), o), a.key)
	require.NoError(t, err)
	return a.seal(o, signature)
}

func (a account) seal(o evm.TransferAuthorization, signature []byte) x402.Exact {
	if a.wrap != nil {
		signature = a.wrap(signature)
	}
	return x402.Exact{Signature: hexutil.Encode(signature), Authorization: o.Wire()}
}

// chainside acts on the chain past the service.
type chainside struct {
	facilitated

	node    *ethclient.Client
	factory common.Address
	nonce   uint64
}

// crook has ether and no account at the service.
func crook() devchain.Wallet { return devchain.Wallets()[9] }

func besides(t *testing.T, f facilitated) *chainside {
	t.Helper()
	node, err := ethclient.DialContext(t.Context(), f.Chain.RPCURL)
	require.NoError(t, err)
	t.Cleanup(node.Close)
	c := &chainside{facilitated: f, node: node}
	c.factory = c.send(t, nil, common.FromHex(contracttest.SmartWalletFactoryMetaData.Bin)).ContractAddress
	return c
}

// send has a transaction mined, which may fail.
func (c *chainside) send(t *testing.T, to *common.Address, data []byte) *types.Receipt {
	t.Helper()
	tx, err := types.SignNewTx(crook().Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: c.nonce, To: to, Data: data, Gas: 3_000_000,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	require.NoError(t, err)
	require.NoError(t, c.node.SendTransaction(t.Context(), tx))
	c.nonce++
	var receipt *types.Receipt
	require.Eventually(t, func() bool {
		receipt, err = c.node.TransactionReceipt(t.Context(), tx.Hash())
		return err == nil
	}, time.Minute, time.Millisecond)
	return receipt
}

func (c *chainside) fund(t *testing.T, who common.Address) {
	t.Helper()
	usdc := devchain.USDC()
	c.send(t, &usdc, contracts.NewTestUSDC().PackMint(who, big.NewInt(devchain.WalletMicros)))
}

// wallet is the contract wallet of a funded key, deployed or only to be.
func (c *chainside) wallet(t *testing.T, owner devchain.Wallet, deployed, wrapped bool) account {
	t.Helper()
	calls := contracttest.NewSmartWalletFactory()
	text, err := c.node.CallContract(t.Context(), ethereum.CallMsg{To: &c.factory, Data: calls.PackAddressOf(owner.Address)}, nil)
	require.NoError(t, err)
	a := account{address: common.BytesToAddress(text), key: owner.Key()}
	create := calls.PackCreate(owner.Address)
	if deployed {
		c.send(t, &c.factory, create)
	}
	c.fund(t, a.address)
	if wrapped {
		a.wrap = func(signature []byte) []byte {
			return evm.Wrapped{Factory: c.factory, FactoryCall: create, Signature: signature}.Wrap()
		}
	}
	return a
}

// contract deploys code as somebody's wallet.
func (c *chainside) contract(t *testing.T, runtime string) account {
	t.Helper()
	code := common.FromHex(runtime)
	require.LessOrEqual(t, len(code), 32)
	size := byte(len(code))
	create := append([]byte{0x5f + size}, code...) // PUSHn code, PUSH0 MSTORE, PUSH1 size, PUSH1 offset, RETURN
	create = append(create, 0x5f, 0x52, 0x60, size, 0x60, 32-size, 0xf3)
	receipt := c.send(t, nil, create)
	require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
	c.fund(t, receipt.ContractAddress)
	return account{address: receipt.ContractAddress, key: devchain.Wallets()[3].Key()}
}

// bring broadcasts an authorization as anybody may.
func (c *chainside) bring(t *testing.T, e x402.Exact) *types.Receipt {
	t.Helper()
	o, err := evm.ParseAuthorization(e.Authorization)
	require.NoError(t, err)
	usdc := devchain.USDC()
	return c.send(t, &usdc, contracts.NewTestUSDC().PackTransferWithAuthorization(
		o.From, o.To, o.Value.Big(), o.ValidAfter.Big(), o.ValidBefore.Big(), o.Nonce, common.FromHex(e.Signature)))
}

// highS is the other signature of the same digest that elliptic curves allow.
func highS(signature []byte) []byte {
	s := new(big.Int).SetBytes(signature[32:64])
	out := append([]byte{}, signature...)
	new(big.Int).Sub(crypto.S256().Params().N, s).FillBytes(out[32:64])
	out[64] = 27 + 28 - out[64]
	return out
}
