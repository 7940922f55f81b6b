package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// ConfigError tells which field of a configuration the chain contradicts.
type ConfigError struct {
	Field   string // of [Config]
	Problem string
}

func (e *ConfigError) Error() string { return "chain: " + e.Field + ": " + e.Problem }

func contradicted(field, format string, args ...any) error {
	return &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// decimals of every dollar token that the rail can move: its amounts are millionths.
const decimals = 6

// Check asks the node whether a configuration is true: the chain's id, that router
// and token are there and take signatures for the domains that wallets will be
// asked to sign for, and that the relayer may charge. It needs neither store nor
// vault, and changes nothing; [Rail.Start] does the same. A [*ConfigError] where the
// chain says otherwise; any other error where the node does not tell, or a field is
// missing.
func Check(ctx context.Context, c Config) error {
	if err := c.names(); err != nil {
		return err
	}
	id, err := c.RPC.ChainID(ctx)
	if err != nil {
		return fmt.Errorf("ask for the chain's id: %w", err)
	}
	if !id.IsUint64() || id.Uint64() != c.ChainID {
		return contradicted("ChainID", "the chain's id is %s, not %d", id, c.ChainID)
	}
	r := bare(c)
	return errors.Join(r.checkRouter(ctx), r.checkToken(ctx))
}

// checkRouter asks the router for its domain, and whether the relayer is an operator.
func (r *Rail) checkRouter(ctx context.Context) error {
	at := r.config.Router
	answer, err := r.read(ctx, at, r.router.PackEip712Domain(), nil)
	var no *revertError
	if err != nil && !errors.As(err, &no) {
		return err
	}
	domain, unpackErr := r.router.UnpackEip712Domain(answer)
	if no != nil || unpackErr != nil || domain.Name != contracts.RouterDomainName || domain.Version != contracts.RouterDomainVersion {
		return contradicted("Router", "there is no %s of version %s at %s", contracts.RouterDomainName, contracts.RouterDomainVersion, at)
	}
	ours, err := viewOf(ctx, r, at, r.router.PackIsOperator(r.relayer), r.router.UnpackIsOperator)
	if err != nil {
		return err
	}
	if !ours {
		return contradicted("Relayer", "%s is no operator of the router: its administrator must call setOperator(%s, true)", r.relayer, r.relayer)
	}
	return nil
}

// checkToken asks the token for its unit and its domain: where name or version were
// others, no permit that a wallet signs would ever be good.
func (r *Rail) checkToken(ctx context.Context) error {
	at := r.config.Token
	unit, err := r.read(ctx, at.Address, r.token.PackDecimals(), nil)
	var no *revertError
	if err != nil && !errors.As(err, &no) {
		return err
	}
	n, unpackErr := r.token.UnpackDecimals(unit)
	if no != nil || unpackErr != nil {
		return contradicted("Token", "there is no token at %s", at.Address)
	}
	if n != decimals {
		return contradicted("Token", "the token at %s has %d decimals, not %d", at.Address, n, decimals)
	}
	separator, err := r.read(ctx, at.Address, r.token.PackDOMAINSEPARATOR(), nil)
	if err != nil && !errors.As(err, &no) {
		return err
	}
	domain, unpackErr := r.token.UnpackDOMAINSEPARATOR(separator)
	if no != nil || unpackErr != nil {
		return contradicted("Token", "the token at %s takes no permits (EIP-2612)", at.Address)
	}
	if evm.Separator(domain) != r.tokenDomain.Separator() {
		return contradicted("Token", "the token at %s takes signatures for another name or version than %q and %q", at.Address, at.Name, at.Version)
	}
	return nil
}

// names tells whether the configuration names chain, contracts and relayer.
func (c *Config) names() error {
	switch {
	case c.RPC == nil:
		return errors.New("chain: RPC is required")
	case c.ChainID == 0:
		return errors.New("chain: ChainID is required")
	case c.Router == common.Address{}:
		return errors.New("chain: Router is required")
	case c.Token.Address == common.Address{} || c.Token.Name == "" || c.Token.Version == "":
		return errors.New("chain: Token needs address, name and version")
	case c.Relayer == nil:
		return errors.New("chain: Relayer is required")
	}
	return nil
}

// bare is a rail of names alone.
func bare(c Config) *Rail {
	r := &Rail{
		seen:   sightings{wake: make(chan struct{}, 1)},
		config: c, relayer: crypto.PubkeyToAddress(c.Relayer.PublicKey),
		router: contracts.NewMandateRouter(), token: contracts.NewTestUSDC(),
		tokenDomain: evm.Domain{Name: c.Token.Name, Version: c.Token.Version, ChainID: c.ChainID, Contract: c.Token.Address},
	}
	r.routerDomain = r.domain().Separator()
	return r
}
