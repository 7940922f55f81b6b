package evm_test

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func hash() *rapid.Generator[common.Hash] {
	return rapid.Custom(func(t *rapid.T) common.Hash {
		return common.BytesToHash(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
	})
}

func account() *rapid.Generator[common.Address] {
	return rapid.Custom(func(t *rapid.T) common.Address {
		return common.BytesToAddress(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "address"))
	})
}

func number() *rapid.Generator[evm.Uint256] {
	return rapid.Custom(func(t *rapid.T) (u evm.Uint256) {
		digits := rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "number")
		copy(u[32-len(digits):], digits)
		return u
	})
}

// messages are all the types there are.
func messages() *rapid.Generator[evm.Message] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) evm.Message {
			return evm.TransferAuthorization{
				From: account().Draw(t, "from"), To: account().Draw(t, "to"), Value: number().Draw(t, "value"),
				ValidAfter: number().Draw(t, "after"), ValidBefore: number().Draw(t, "before"), Nonce: hash().Draw(t, "nonce"),
			}
		}),
		rapid.Custom(func(t *rapid.T) evm.Message {
			return evm.Permit{
				Owner: account().Draw(t, "owner"), Spender: account().Draw(t, "spender"), Value: number().Draw(t, "value"),
				Nonce: number().Draw(t, "nonce"), Deadline: number().Draw(t, "deadline"),
			}
		}),
		rapid.Custom(func(t *rapid.T) evm.Message {
			return evm.Grant{
				Owner: account().Draw(t, "owner"), Token: account().Draw(t, "token"), SessionKey: account().Draw(t, "key"),
				MaxPerCharge: rapid.Uint64().Draw(t, "charge"), MaxPerMonth: rapid.Uint64().Draw(t, "month"),
				ExpiresAt: rapid.Uint64().Draw(t, "end"), Payees: rapid.SliceOfN(account(), 0, 5).Draw(t, "payees"), Salt: hash().Draw(t, "salt"),
			}
		}),
		rapid.Custom(func(t *rapid.T) evm.Message {
			return evm.Charge{
				GrantID: hash().Draw(t, "grant"), Payee: account().Draw(t, "payee"), Amount: rapid.Uint64().Draw(t, "amount"),
				Ref: hash().Draw(t, "ref"), Deadline: rapid.Uint64().Draw(t, "deadline"),
			}
		}),
		rapid.Custom(func(t *rapid.T) evm.Message {
			return evm.UptoPermit{
				From: account().Draw(t, "from"), Token: account().Draw(t, "token"), Amount: number().Draw(t, "amount"),
				Spender: account().Draw(t, "spender"), Nonce: number().Draw(t, "nonce"), Deadline: number().Draw(t, "deadline"),
				To: account().Draw(t, "to"), Facilitator: account().Draw(t, "facilitator"), ValidAfter: number().Draw(t, "after"),
			}
		}),
		rapid.Custom(func(t *rapid.T) evm.Message { return evm.Revoke{GrantID: hash().Draw(t, "grant")} }),
	)
}

func domains() *rapid.Generator[evm.Domain] {
	return rapid.Custom(func(t *rapid.T) evm.Domain {
		return evm.Domain{
			Name: rapid.StringN(1, 40, -1).Draw(t, "name"), Version: rapid.StringN(0, 4, -1).Draw(t, "version"),
			ChainID: rapid.Uint64Min(1).Draw(t, "chain"), Contract: account().Draw(t, "contract"),
		}
	})
}

// TestDigestIsThatOfAGeneralEncoder gives what wallets are shown to go-ethereum's
// encoder, and compares its hash with ours.
func TestDigestIsThatOfAGeneralEncoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domain, message := domains().Draw(t, "domain"), messages().Draw(t, "message")
		var general apitypes.TypedData
		require.NoError(t, json.Unmarshal(evm.TypedData(domain, message), &general))
		want, _, err := apitypes.TypedDataAndHash(general)
		require.NoError(t, err)
		got := evm.Digest(domain.Separator(), message)
		require.Equal(t, want, got.Bytes())
	})
}

func TestSignAndRecover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := keyOf(byte(rapid.IntRange(1, 200).Draw(t, "key")))
		digest := evm.Digest(domains().Draw(t, "domain").Separator(), messages().Draw(t, "message"))
		signature, err := evm.Sign(digest, key)
		require.NoError(t, err)
		by, err := evm.Recover(digest, signature)
		require.NoError(t, err)
		require.Equal(t, crypto.PubkeyToAddress(key.PublicKey), by)
		changed := bytes.Clone(signature)
		changed[rapid.IntRange(0, 64).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if by, err := evm.Recover(digest, changed); err == nil {
			require.NotEqual(t, crypto.PubkeyToAddress(key.PublicKey), by)
		}
	})
}

func keyOf(n byte) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{n}, 32))
	if err != nil {
		panic(err)
	}
	return key
}

// TestRecoverRefuses the forms that tokens refuse, or take for another.
func TestRecoverRefuses(t *testing.T) {
	t.Parallel()
	digest := common.Hash{1}
	good, err := evm.Sign(digest, keyOf(1))
	require.NoError(t, err)
	order := crypto.S256().Params().N
	edit := func(change func(s []byte)) []byte {
		s := bytes.Clone(good)
		change(s)
		return s
	}
	for name, signature := range map[string][]byte{
		"nothing":     {},
		"64 bytes":    good[:64],
		"66 bytes":    append(bytes.Clone(good), 0),
		"v of 0 or 1": edit(func(s []byte) { s[64] -= 27 }),
		"v of 29":     edit(func(s []byte) { s[64] = 29 }),
		"r of zero":   edit(func(s []byte) { clear(s[:32]) }),
		"s of zero":   edit(func(s []byte) { clear(s[32:64]) }),
		"r of order":  edit(func(s []byte) { order.FillBytes(s[:32]) }),
		"high s": edit(func(s []byte) {
			new(big.Int).Sub(order, new(big.Int).SetBytes(s[32:64])).FillBytes(s[32:64])
			s[64] ^= 27 ^ 28
		}),
		"compact, 2098": edit(func(s []byte) { s[32] |= 0x80 })[:64],
	} {
		_, err := evm.Recover(digest, signature)
		require.ErrorIs(t, err, evm.ErrSignature, name)
	}
}

func TestUint256(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := number().Draw(t, "number")
		again, err := evm.ParseUint256(u.String())
		require.NoError(t, err)
		require.Equal(t, u, again)
		again, err = evm.FromBig(u.Big())
		require.NoError(t, err)
		require.Equal(t, u, again)
	})
	limit := new(big.Int).Lsh(common.Big1, 256)
	for _, bad := range []string{"", "01", "-1", "+1", " 1", "1 ", "0x1", "1e3", "1.0", "１", limit.String(), strings.Repeat("9", 78), strings.Repeat("1", 79)} {
		_, err := evm.ParseUint256(bad)
		require.ErrorIs(t, err, evm.ErrNumber, bad)
	}
	for _, bad := range []*big.Int{limit, big.NewInt(-1)} {
		_, err := evm.FromBig(bad)
		require.ErrorIs(t, err, evm.ErrNumber)
	}
	top, err := evm.ParseUint256(new(big.Int).Sub(limit, common.Big1).String())
	require.NoError(t, err)
	require.Equal(t, evm.Uint256(bytes.Repeat([]byte{0xff}, 32)), top)
}

func TestAuthorizationThroughTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := evm.TransferAuthorization{
			From: account().Draw(t, "from"), To: account().Draw(t, "to"), Value: number().Draw(t, "value"),
			ValidAfter: number().Draw(t, "after"), ValidBefore: number().Draw(t, "before"), Nonce: hash().Draw(t, "nonce"),
		}
		again, err := evm.ParseAuthorization(a.Wire())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
	good := evm.TransferAuthorization{Value: evm.Uint64(1)}.Wire()
	for name, change := range map[string]func(*x402.Authorization){
		"from":        func(a *x402.Authorization) { a.From = a.From[2:] },
		"to":          func(a *x402.Authorization) { a.To += "00" },
		"value":       func(a *x402.Authorization) { a.Value = "-1" },
		"validAfter":  func(a *x402.Authorization) { a.ValidAfter = "0x0" },
		"validBefore": func(a *x402.Authorization) { a.ValidBefore = "" },
		"nonce":       func(a *x402.Authorization) { a.Nonce = strings.Replace(a.Nonce, "0x00", "0xzz", 1) },
	} {
		bad := good
		change(&bad)
		_, err := evm.ParseAuthorization(bad)
		require.ErrorContains(t, err, name)
	}
}

func TestGrantIDIsBound(t *testing.T) {
	t.Parallel()
	g := evm.Grant{Owner: common.Address{1}, Salt: common.Hash{2}}
	id := g.ID(1, common.Address{3})
	require.Equal(t, id, g.ID(1, common.Address{3}))
	other := g
	other.Salt = common.Hash{9}
	for _, different := range []common.Hash{g.ID(2, common.Address{3}), g.ID(1, common.Address{4}), other.ID(1, common.Address{3})} {
		require.NotEqual(t, id, different)
	}
}
