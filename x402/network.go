package x402

import (
	"fmt"
	"strconv"
	"strings"
)

// Networks known by name. Any other EVM chain is written as its CAIP-2 name.
const (
	NetworkBase        = "eip155:8453"
	NetworkBaseSepolia = "eip155:84532"

	NetworkBaseV1        = "base"
	NetworkBaseSepoliaV1 = "base-sepolia"
)

// Network is an EVM chain under its three names.
type Network struct {
	// ChainID is the EIP-155 chain id: 8453.
	ChainID int64
	// CAIP2 is the v2 name: "eip155:8453".
	CAIP2 string
	// V1 is the v1 name: "base"; for a chain without one its CAIP-2 name.
	V1 string
}

// ParseNetwork reads a network under its v1 or its v2 name. An error where it is
// neither a v1 name known here nor "eip155:" and a canonical positive number.
func ParseNetwork(name string) (Network, error) {
	switch name {
	case NetworkBaseV1:
		return NetworkOf(8453), nil
	case NetworkBaseSepoliaV1:
		return NetworkOf(84532), nil
	}
	digits, ok := strings.CutPrefix(name, "eip155:")
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || id <= 0 || strconv.FormatInt(id, 10) != digits {
		return Network{}, fmt.Errorf("%q is no EVM network: want a name like %q", name, NetworkBase)
	}
	return NetworkOf(id), nil
}

// NetworkOf names the chain of an EIP-155 chain id.
func NetworkOf(chainID int64) Network {
	n := Network{ChainID: chainID, CAIP2: "eip155:" + strconv.FormatInt(chainID, 10)}
	switch chainID {
	case 8453:
		n.V1 = NetworkBaseV1
	case 84532:
		n.V1 = NetworkBaseSepoliaV1
	default:
		n.V1 = n.CAIP2
	}
	return n
}

// Asset is a token with EIP-3009 and what its EIP-712 domain needs.
type Asset struct {
	// Address is the token contract, EIP-55 checksummed.
	Address string
	// Name and Version are those of the token's EIP-712 domain. They differ
	// between chains, and a wrong one makes every signature fail.
	Name, Version string
	// Decimals of one token. USDC has 6.
	Decimals int
}

// USDC is Circle's dollar token on a chain; false where none is known here.
func USDC(chainID int64) (Asset, bool) {
	switch chainID {
	case 8453:
		return Asset{Address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Name: "USD Coin", Version: "2", Decimals: 6}, true
	case 84532:
		return Asset{Address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", Name: "USDC", Version: "2", Decimals: 6}, true
	}
	return Asset{}, false
}
