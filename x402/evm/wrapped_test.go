package evm_test

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/x402/evm"
)

func wrapped() *rapid.Generator[evm.Wrapped] {
	return rapid.Custom(func(t *rapid.T) evm.Wrapped {
		return evm.Wrapped{
			Factory:     account().Draw(t, "factory"),
			FactoryCall: rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "call"),
			Signature:   rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "signature"),
		}
	})
}

func argument(t require.TestingT, kind string) abi.Argument {
	parsed, err := abi.NewType(kind, "", nil)
	require.NoError(t, err)
	return abi.Argument{Type: parsed}
}

func TestWrapIsTheABIsEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := wrapped().Draw(t, "wrapped")
		args := abi.Arguments{argument(t, "address"), argument(t, "bytes"), argument(t, "bytes")}
		want, err := args.Pack(w.Factory, w.FactoryCall, w.Signature)
		require.NoError(t, err)
		got := w.Wrap()
		require.Equal(t, append(want, bytes.Repeat([]byte{0x64, 0x92}, 16)...), got)
		require.True(t, evm.IsWrapped(got))
		again, err := evm.Unwrap(got)
		require.NoError(t, err)
		require.Equal(t, w.Factory, again.Factory)
		require.True(t, bytes.Equal(w.FactoryCall, again.FactoryCall))
		require.True(t, bytes.Equal(w.Signature, again.Signature))
	})
}

func TestUnwrapRefuses(t *testing.T) {
	t.Parallel()
	good := evm.Wrapped{Factory: common.Address{1}, FactoryCall: []byte{1, 2}, Signature: []byte{3}}.Wrap()
	mark := bytes.Repeat([]byte{0x64, 0x92}, 16)
	for name, change := range map[string]func(b []byte) []byte{
		"no mark":                func(b []byte) []byte { return b[:len(b)-1] },
		"the mark alone":         func([]byte) []byte { return mark },
		"long address":           func(b []byte) []byte { b[0] = 1; return b },
		"offset outside":         func(b []byte) []byte { b[63] = 0xff; return b },
		"offset beyond 64 bits":  func(b []byte) []byte { b[32] = 1; return b },
		"two members in one":     func(b []byte) []byte { b[95] = b[63]; return b },
		"length outside":         func(b []byte) []byte { b[127] = 0xff; return b },
		"length of 2^63":         func(b []byte) []byte { b[120] = 0x80; return b },
		"filling that says more": func(b []byte) []byte { b[128+31] = 1; return b },
		"bytes behind":           func(b []byte) []byte { return append(append(b[:len(b)-32:len(b)-32], make([]byte, 32)...), mark...) },
	} {
		_, err := evm.Unwrap(change(bytes.Clone(good)))
		require.ErrorIs(t, err, evm.ErrWrapper, name)
	}
}

// FuzzUnwrap: what is read is written the same again, so no two signatures are one.
func FuzzUnwrap(f *testing.F) {
	f.Add(evm.Wrapped{Factory: common.Address{1}, FactoryCall: []byte{1, 2}, Signature: []byte{3}}.Wrap())
	f.Add(evm.Wrapped{}.Wrap())
	f.Fuzz(func(t *testing.T, signature []byte) {
		if w, err := evm.Unwrap(signature); err == nil {
			require.Equal(t, signature, w.Wrap())
		}
	})
}

// FuzzParseUint256: a number that is read is written the same again.
func FuzzParseUint256(f *testing.F) {
	f.Add("0")
	f.Add("115792089237316195423570985008687907853269984665640564039457584007913129639935")
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := evm.ParseUint256(s); err == nil {
			require.Equal(t, s, u.String())
		}
	})
}
