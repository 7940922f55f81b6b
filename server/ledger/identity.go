package ledger

import (
	"context"
	"errors"
	"fmt"
)

// Epoch is the version of the meaning of rows. This program cannot open a store of a later
// epoch.
const Epoch = 1

// Identity identifies the service that owns a store.
type Identity struct {
	// Mode is the service's mode: "sandbox" or "live".
	Mode string
	// Issuer is the service's base URL.
	Issuer string
	// Epoch is the version of the meaning of rows; see [Epoch].
	Epoch int
}

// Owned is a store that records its service.
type Owned interface {
	// Owner returns the store's service. It returns [ErrNotFound] if the store has none.
	Owner(ctx context.Context) (Identity, error)
	// Claim records i as the store's service if it has none, and returns the store's service.
	Claim(ctx context.Context, i Identity) (Identity, error)
	// Move changes the issuer of the store's service.
	Move(ctx context.Context, issuer string) error
}

// Own claims a store for a service of this epoch. If the store belongs to another service,
// Own returns an error that names the difference, unless moved accepts the previous
// issuer: the store's issuer then becomes this one.
func Own(ctx context.Context, store Owned, mode, issuer string, moved func(previous string) bool) error {
	owner, err := store.Claim(ctx, Identity{Mode: mode, Issuer: issuer, Epoch: Epoch})
	if err = differs(owner, err, mode, issuer, moved); err != nil || owner.Issuer == issuer {
		return err
	}
	return store.Move(ctx, issuer)
}

// Verify returns the errors of [Own], and nil for a store that has no service. It changes
// nothing.
func Verify(ctx context.Context, store Owned, mode, issuer string, moved func(previous string) bool) error {
	owner, err := store.Owner(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return differs(owner, err, mode, issuer, moved)
}

// differs returns an error if the store's service is another one, or could not be read.
func differs(owner Identity, err error, mode, issuer string, moved func(previous string) bool) error {
	switch {
	case err != nil:
		return fmt.Errorf("read whose store it is: %w", err)
	case owner.Mode != mode:
		return fmt.Errorf("the store is of a %s service, and this one is %s: use a store of its own", owner.Mode, mode)
	case owner.Epoch > Epoch:
		return fmt.Errorf("the store is of a later version (epoch %d, this program's is %d)", owner.Epoch, Epoch)
	case owner.Issuer != issuer && !moved(owner.Issuer):
		return fmt.Errorf("the store is of %s, and the base URL is %s: mandates that were issued by the former would no longer be valid", owner.Issuer, issuer)
	}
	return nil
}
