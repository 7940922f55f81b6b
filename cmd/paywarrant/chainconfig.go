package main

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// chainConfig is the chain rail: which chain, and how patient to be with it.
// docs/reference/operations.md describes every key.
type chainConfig struct {
	RPCURL          string        `toml:"rpc_url"`
	ChainID         uint64        `toml:"chain_id"`
	Router          string        `toml:"router"`
	Token           string        `toml:"token"`
	TokenName       string        `toml:"token_name"`
	TokenVersion    string        `toml:"token_version"`
	Permit2         string        `toml:"permit2"`
	UptoProxy       string        `toml:"upto_proxy"`
	RelayerKeyFile  string        `toml:"relayer_key_file"`
	Confirmations   uint64        `toml:"confirmations"`
	SafeAbove       int64         `toml:"safe_above_cents"`
	FinalizedAbove  int64         `toml:"finalized_above_cents"`
	Wait            time.Duration `toml:"wait"`
	Poll            time.Duration `toml:"poll"`
	Lifetime        time.Duration `toml:"lifetime"`
	BumpAfter       time.Duration `toml:"bump_after"`
	MaxFeeGwei      float64       `toml:"max_fee_gwei"`
	LowBalanceEther float64       `toml:"low_balance_ether"`
	Factories       []string      `toml:"factories"`
	// Budgets of the facilitator in an hour.
	RelayerBudgetEther float64 `toml:"relayer_budget_ether"`
	PayerBudgetEther   float64 `toml:"payer_budget_ether"`
	PayeeBudgetEther   float64 `toml:"payee_budget_ether"`
	CallerBudgetEther  float64 `toml:"caller_budget_ether"`
	PayerGas           uint64  `toml:"payer_gas"`
	WalletPayerGas     uint64  `toml:"wallet_payer_gas"`
	PayeeGas           uint64  `toml:"payee_gas"`
}

const (
	// liveConfirmations is the default in live mode, leastConfirmations the fewest
	// that it takes: a newest block is easily replaced.
	liveConfirmations, leastConfirmations = 3, 2
	maxConfirmations                      = 1000
	// maxFactories is how many may be trusted.
	maxFactories = 100

	weiPerGwei, weiPerEther = 1e9, 1e18
	// microsPerCent converts what people write, up to mostCents.
	microsPerCent, mostCents = 10_000, 1e14
)

// defaults fills in what the file left out.
func (c *chainConfig) defaults(live bool) {
	usdc, known := x402.USDC(int64(c.ChainID)) // one that is too large is refused
	if !known {
		usdc = x402.Asset{Name: "USD Coin", Version: "2"} // of most of them
	}
	for text, value := range map[*string]string{
		&c.Token: usdc.Address, &c.TokenName: usdc.Name, &c.TokenVersion: usdc.Version,
		&c.Permit2: evm.Permit2().Hex(), &c.UptoProxy: evm.UptoProxy().Hex(),
	} {
		if *text == "" {
			*text = value
		}
	}
	for d, value := range map[*time.Duration]time.Duration{
		&c.Wait: 10 * time.Second, &c.Poll: time.Second, &c.Lifetime: 10 * time.Minute, &c.BumpAfter: 15 * time.Second,
	} {
		if *d == 0 {
			*d = value
		}
	}
	if c.Confirmations == 0 {
		c.Confirmations = 1
		if live {
			c.Confirmations = liveConfirmations
		}
	}
	if c.MaxFeeGwei == 0 {
		c.MaxFeeGwei = 500
	}
	for n, value := range map[*float64]float64{
		&c.LowBalanceEther: 0.01, &c.RelayerBudgetEther: 1, &c.PayerBudgetEther: 0.1, &c.PayeeBudgetEther: 0.5, &c.CallerBudgetEther: 0.5,
	} {
		if *n == 0 {
			*n = value
		}
	}
}

// budgets are what settlements may cost in an hour.
func (c chainConfig) budgets() chain.Authorizations {
	return chain.Authorizations{
		RelayerWei: times(c.RelayerBudgetEther, weiPerEther), PayerWei: times(c.PayerBudgetEther, weiPerEther),
		PayeeWei: times(c.PayeeBudgetEther, weiPerEther), CallerWei: times(c.CallerBudgetEther, weiPerEther),
		PayerGas: c.PayerGas, WalletPayerGas: c.WalletPayerGas, PayeeGas: c.PayeeGas,
	}
}

// parse reads what the file says of the chain, without what must be opened. An error
// names the key.
func (c chainConfig) parse(live bool) (chain.Config, error) {
	c.defaults(live)
	out := chain.Config{
		ChainID: c.ChainID, Token: chain.Token{Name: c.TokenName, Version: c.TokenVersion}, Confirmations: c.Confirmations,
		Wait: c.Wait, Poll: c.Poll, Lifetime: c.Lifetime, BumpAfter: c.BumpAfter,
		MaxFeeWei: times(c.MaxFeeGwei, weiPerGwei), LowBalanceWei: times(c.LowBalanceEther, weiPerEther),
		Authorizations: c.budgets(), SafeAbove: rail.Micros(c.SafeAbove) * microsPerCent, FinalizedAbove: rail.Micros(c.FinalizedAbove) * microsPerCent,
	}
	errs := []error{c.checkNode(live), c.checkNumbers(live), c.checkBudgets(), c.checkTimes()}
	bad := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("chain.%s: %w", key, err))
		}
	}
	var err error
	out.Router, err = chain.ParseAddress(c.Router)
	bad("router", err)
	out.Token.Address, err = chain.ParseAddress(c.Token)
	bad("token", err)
	out.Upto.Permit2, err = chain.ParseAddress(c.Permit2)
	bad("permit2", err)
	out.Upto.Proxy, err = chain.ParseAddress(c.UptoProxy)
	bad("upto_proxy", err)
	for i, text := range c.Factories {
		factory, err := chain.ParseAddress(text)
		bad(fmt.Sprintf("factories[%d]", i), err)
		out.Authorizations.Factories = append(out.Authorizations.Factories, factory)
	}
	return out, errors.Join(errs...)
}

// checkNode checks the node's address, and the keys that name chain and relayer. The
// URL's path is often a secret: no error repeats it.
func (c chainConfig) checkNode(live bool) error {
	u, err := url.Parse(c.RPCURL)
	switch {
	case c.RPCURL == "":
		return errors.New("chain.rpc_url is required")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("chain.rpc_url: must begin with http:// or https:// and name a host")
	case live && u.Scheme != "https" && !loopback.Host(u.Hostname()):
		return errors.New("chain.rpc_url: must be https in live mode, except on the loopback interface")
	case c.ChainID == 0:
		return errors.New("chain.chain_id is required")
	case !live && slices.Contains(mainNetworks(), c.ChainID):
		return fmt.Errorf("chain.chain_id: %d is a main network, where mode sandbox would move real money", c.ChainID)
	case c.RelayerKeyFile == "":
		return errors.New("chain.relayer_key_file is required")
	}
	return nil
}

// mainNetworks are chains on which USDC is worth something. A sandbox has helpers
// that need no credentials, and belongs on a test network.
func mainNetworks() []uint64 {
	return []uint64{
		1,                    // Ethereum
		10, 130, 8453, 42161, // OP, Unichain, Base, Arbitrum
		324, 480, 59144, // zkSync, World Chain, Linea
		56, 100, 137, 42220, 43114, // BNB, Gnosis, Polygon, Celo, Avalanche
	}
}

func (c chainConfig) checkNumbers(live bool) error {
	switch {
	case live && c.Confirmations < leastConfirmations:
		return fmt.Errorf("chain.confirmations: must be at least %d in live mode: the newest block is easily replaced", leastConfirmations)
	case c.Confirmations > maxConfirmations:
		return fmt.Errorf("chain.confirmations: must be at most %d", maxConfirmations)
	case !(c.MaxFeeGwei >= 1e-9 && c.MaxFeeGwei <= 1e6): // not a number fails both
		return errors.New("chain.max_fee_gwei: must be above 0 and at most 1,000,000")
	case !(c.LowBalanceEther >= 1e-18 && c.LowBalanceEther <= 1e6):
		return errors.New("chain.low_balance_ether: must be above 0 and at most 1,000,000")
	case c.SafeAbove < 0 || c.SafeAbove > mostCents:
		return fmt.Errorf("chain.safe_above_cents: must be from 0 to %d", int64(mostCents))
	case c.FinalizedAbove < 0 || c.FinalizedAbove > mostCents:
		return fmt.Errorf("chain.finalized_above_cents: must be from 0 to %d", int64(mostCents))
	case len(c.Factories) > maxFactories:
		return fmt.Errorf("chain.factories: must be at most %d", maxFactories)
	}
	return nil
}

// checkBudgets bounds what settlements may cost.
func (c chainConfig) checkBudgets() error {
	for _, b := range []struct {
		key   string
		ether float64
	}{
		{"relayer_budget_ether", c.RelayerBudgetEther},
		{"payer_budget_ether", c.PayerBudgetEther},
		{"payee_budget_ether", c.PayeeBudgetEther},
		{"caller_budget_ether", c.CallerBudgetEther},
	} {
		if !(b.ether >= 1e-9 && b.ether <= 1e6) { // not a number fails both
			return fmt.Errorf("chain.%s: must be from 0.000000001 to 1,000,000", b.key)
		}
	}
	for _, b := range []struct {
		key string
		gas uint64
	}{{"payer_gas", c.PayerGas}, {"wallet_payer_gas", c.WalletPayerGas}, {"payee_gas", c.PayeeGas}} {
		if b.gas != 0 && (b.gas < leastGas || b.gas > mostGas) {
			return fmt.Errorf("chain.%s: must be from %d to %d", b.key, leastGas, mostGas)
		}
	}
	return nil
}

// leastGas and mostGas bound the budgets of gas: a settlement of a contract wallet
// must fit in.
const leastGas, mostGas = 500_000, 1_000_000_000_000_000

// checkTimes bounds the patience. A number without a unit would be nanoseconds.
func (c chainConfig) checkTimes() error {
	for _, d := range []struct {
		key               string
		value, least, top time.Duration
	}{
		{"wait", c.Wait, 100 * time.Millisecond, time.Minute}, // answers must be written within 90 seconds
		{"poll", c.Poll, 20 * time.Millisecond, time.Minute},
		{"lifetime", c.Lifetime, time.Minute, 24 * time.Hour},
		{"bump_after", c.BumpAfter, time.Second, time.Hour},
	} {
		if d.value < d.least || d.value > d.top {
			return fmt.Errorf("chain.%s: must be a text such as %q, from %s to %s", d.key, "10s", d.least, d.top)
		}
	}
	return nil
}

// times multiplies a decimal with a unit, exactly but for the decimal itself.
func times(n float64, unit int64) *big.Int {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil // refused by checkNumbers
	}
	product, _ := new(big.Float).Mul(big.NewFloat(n), new(big.Float).SetInt64(unit)).Int(nil)
	return product
}
