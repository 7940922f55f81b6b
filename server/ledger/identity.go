package ledger

import (
	"context"
	"fmt"
)

// Epoch is the meaning that this program gives to the rows of a store. A store of
// a later epoch is not to be opened by it.
const Epoch = 1

// Identity is which service a store is of.
type Identity struct {
	Mode   string
	Issuer string
	Epoch  int
}

// Owned is a store that knows which service it is of.
type Owned interface {
	// Claim makes a store that is of no service yet that of i, and returns whose it is.
	Claim(ctx context.Context, i Identity) (Identity, error)
	// Move changes the issuer.
	Move(ctx context.Context, issuer string) error
}

// Own claims a store for a service of this epoch. It returns an error that names what
// differs if the store is of another one. If moved allows it for the former issuer, the
// store's becomes this one.
func Own(ctx context.Context, store Owned, mode, issuer string, moved func(former string) bool) error {
	owner, err := store.Claim(ctx, Identity{Mode: mode, Issuer: issuer, Epoch: Epoch})
	switch {
	case err != nil:
		return fmt.Errorf("read whose store it is: %w", err)
	case owner.Mode != mode:
		return fmt.Errorf("the store is of a %s service, and this one is %s: use a store of its own", owner.Mode, mode)
	case owner.Epoch > Epoch:
		return fmt.Errorf("the store is of a later version (epoch %d, this program's is %d)", owner.Epoch, Epoch)
	case owner.Issuer == issuer:
		return nil
	case !moved(owner.Issuer):
		return fmt.Errorf("the store is of %s, and the base URL is %s: mandates that were issued by the former would no longer be valid", owner.Issuer, issuer)
	}
	return store.Move(ctx, issuer)
}
