package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// ConfigError reports a field of a configuration that the chain contradicts.
type ConfigError struct {
	// Field is the field's name in [Config].
	Field string
	// Problem says what is wrong with it.
	Problem string
}

func (e *ConfigError) Error() string { return "chain: " + e.Field + ": " + e.Problem }

func contradicted(field, format string, args ...any) error {
	return &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// decimals of every token that the rail can move: amounts are millionths of a dollar.
const decimals = 6

// Check compares a configuration with the chain: the chain's id, that router and token
// exist and take signatures for the domains that wallets sign for, and that the relayer
// may charge. It needs neither store nor vault, and changes nothing; [Rail.Start] does
// the same. It returns a [*ConfigError] if the chain contradicts a field, and another
// error if the node does not answer or a field is missing.
func Check(ctx context.Context, c Config) error {
	if err := c.validateChain(); err != nil {
		return err
	}
	id, err := c.RPC.ChainID(ctx)
	if err != nil {
		return fmt.Errorf("read the chain's id: %w", err)
	}
	if !id.IsUint64() || id.Uint64() != c.ChainID {
		return contradicted("ChainID", "the chain's id is %s, not %d", id, c.ChainID)
	}
	r := newRail(c)
	return errors.Join(r.checkRouter(ctx), r.checkToken(ctx))
}

// checkRouter checks the router's domain, and that the relayer is an operator.
func (r *Rail) checkRouter(ctx context.Context) error {
	at := r.config.Router
	answer, err := r.chain.Call(ctx, at, r.router.PackEip712Domain(), nil)
	var no *eth.RevertError
	if err != nil && !errors.As(err, &no) {
		return err
	}
	domain, unpackErr := r.router.UnpackEip712Domain(answer)
	if no != nil || unpackErr != nil || domain.Name != contracts.RouterDomainName || domain.Version != contracts.RouterDomainVersion {
		return contradicted("Router", "there is no %s of version %s at %s", contracts.RouterDomainName, contracts.RouterDomainVersion, at)
	}
	relayer := r.relayer.Address()
	ours, err := eth.View(ctx, r.chain, at, r.router.PackIsOperator(relayer), r.router.UnpackIsOperator)
	if err != nil {
		return err
	}
	if !ours {
		return contradicted("Relayer", "%s is no operator of the router: its administrator must call setOperator(%s, true)", relayer, relayer)
	}
	return nil
}

// checkToken checks the token's unit and its domain: with another name or version, no
// permit that a wallet signs would be valid.
func (r *Rail) checkToken(ctx context.Context) error {
	at := r.config.Token
	unit, err := r.chain.Call(ctx, at.Address, r.token.PackDecimals(), nil)
	var no *eth.RevertError
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
	separator, err := r.chain.Call(ctx, at.Address, r.token.PackDOMAINSEPARATOR(), nil)
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
