package x402_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
)

func TestNetworkNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]x402.Network{
		"base":          {ChainID: 8453, CAIP2: "eip155:8453", V1: "base"},
		"eip155:8453":   {ChainID: 8453, CAIP2: "eip155:8453", V1: "base"},
		"base-sepolia":  {ChainID: 84532, CAIP2: "eip155:84532", V1: "base-sepolia"},
		"eip155:31337":  {ChainID: 31337, CAIP2: "eip155:31337", V1: "eip155:31337"},
		"eip155:137":    {ChainID: 137, CAIP2: "eip155:137", V1: "eip155:137"},
		"eip155:084532": {},
		"eip155:-1":     {},
		"eip155:0":      {},
		"eip155:":       {},
		"solana:1":      {},
		"8453":          {},
		"":              {},
	} {
		got, err := x402.ParseNetwork(name)
		require.Equal(t, want, got, name)
		require.Equal(t, want == x402.Network{}, err != nil, name)
	}
}

func TestUSDCNamesDifferByChain(t *testing.T) {
	t.Parallel()
	live, ok := x402.USDC(8453)
	require.True(t, ok)
	require.Equal(t, "USD Coin", live.Name)
	test, ok := x402.USDC(84532)
	require.True(t, ok)
	require.Equal(t, "USDC", test.Name)
	for _, a := range []x402.Asset{live, test} {
		sum, err := x402.ParseAddress(a.Address)
		require.NoError(t, err)
		require.Equal(t, sum, a.Address)
	}
	_, ok = x402.USDC(1)
	require.False(t, ok)
}

func TestAddressChecksum(t *testing.T) {
	t.Parallel()
	// The addresses that EIP-55 gives as examples.
	for _, want := range []string{
		"0x52908400098527886E0F7030069857D2E4169EE7",
		"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
		"0xde709f2102306220921060314715629080e2fb77",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	} {
		for _, in := range []string{want, strings.ToLower(want), "0x" + strings.ToUpper(want[2:])} {
			got, err := x402.ParseAddress(in)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	for _, bad := range []string{
		"", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
		"0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg",
	} {
		_, err := x402.ParseAddress(bad)
		require.Error(t, err, bad)
	}
}
