package vault_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/server/vault"
)

func Example() {
	ctx := context.Background()
	kek, err := vault.NewLocal(make([]byte, 32)) // in production: vault.KeyFile, or a cloud's key service
	if err != nil {
		log.Fatal(err)
	}
	v := vault.New(kek)
	label := vault.Label{Purpose: "session-key", Owner: "del_1"}
	sealed, err := v.Seal(ctx, label, []byte("a secret"))
	if err != nil {
		log.Fatal(err)
	}
	secret, err := v.Open(ctx, label, sealed)
	fmt.Println(string(secret), err)

	_, err = v.Open(ctx, vault.Label{Purpose: "session-key", Owner: "del_2"}, sealed)
	fmt.Println(errors.Is(err, vault.ErrSealed))
	// Output:
	// a secret <nil>
	// true
}

// A new key wraps from now on. Secrets that an old key wraps are rewrapped one by one;
// then the old key can be forgotten.
func ExampleVault_Rewrap() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "vault-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "vault.key")
	kek, err := vault.KeyFile(path)
	if err != nil {
		log.Fatal(err)
	}
	v := vault.New(kek)
	label := vault.Label{Purpose: "session-key", Owner: "del_1"}
	sealed, err := v.Seal(ctx, label, []byte("a secret"))
	if err != nil {
		log.Fatal(err)
	}

	if err := vault.AddKey(path); err != nil {
		log.Fatal(err)
	}
	sealed, changed, err := v.Rewrap(ctx, label, sealed)
	fmt.Println(changed, err)
	if err := vault.ForgetKeys(path); err != nil {
		log.Fatal(err)
	}
	secret, err := v.Open(ctx, label, sealed)
	fmt.Println(string(secret), err)
	// Output:
	// true <nil>
	// a secret <nil>
}
