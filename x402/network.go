package x402

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of networks. Other EVM chains are named by their CAIP-2 id in both versions.
const (
	NetworkBase        = "eip155:8453"  // v2
	NetworkBaseSepolia = "eip155:84532" // v2

	NetworkBaseV1        = "base"         // v1
	NetworkBaseSepoliaV1 = "base-sepolia" // v1
)

// Network is an EVM chain with the names that the protocol gives it.
type Network struct {
	// ChainID is the EIP-155 chain id: 8453.
	ChainID int64
	// CAIP2 is the v2 name: "eip155:8453".
	CAIP2 string
	// V1 is the v1 name: "base". A chain without one has its CAIP-2 name.
	V1 string
}

// ParseNetwork returns the network with a v1 or v2 name. It returns an error if the name
// is neither one of the v1 names above nor "eip155:" and a canonical positive number.
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
		return Network{}, fmt.Errorf("%q is not an EVM network: want a name like %q", name, NetworkBase)
	}
	return NetworkOf(id), nil
}

// NetworkOf returns the network with an EIP-155 chain id.
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

// Asset is a token that supports EIP-3009.
type Asset struct {
	// Address is the token contract, with its EIP-55 checksum.
	Address string
	// Name and Version are those of the token's EIP-712 domain. They differ between
	// chains, and a wrong value makes every signature invalid.
	Name, Version string
	// Decimals is the number of decimals of the token. USDC has 6.
	Decimals int
}

// USDC returns Circle's dollar token on a chain. It reports false if this package does
// not know one.
func USDC(chainID int64) (Asset, bool) {
	switch chainID {
	case 8453:
		return Asset{Address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Name: "USD Coin", Version: "2", Decimals: 6}, true
	case 84532:
		return Asset{Address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", Name: "USDC", Version: "2", Decimals: 6}, true
	}
	return Asset{}, false
}
