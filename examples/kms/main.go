// Command kms runs the service with a key-encryption key that never leaves a key
// service in the cloud: a vault.Wrapper over its HTTP API.
//
//	KMS_URL=https://kms.example/v1/keys/pay KMS_TOKEN=… go run ./examples/kms
//
// When the key service makes another version of the key the primary one, new
// secrets are wrapped under it at once, and server.Rewrap wraps the others again.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func main() {
	key := NewKey(os.Getenv("KMS_URL"), os.Getenv("KMS_TOKEN"))
	if err := run(context.Background(), key, "pay.db", "127.0.0.1:8080"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, key *Key, file, addr string) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	srv, err := server.New(ctx, server.Config{
		BaseURL: "http://" + addr, Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)}, Wrapper: key,
	})
	if err != nil {
		return err
	}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	defer srv.Close()
	if err := key.Refresh(ctx); err != nil {
		return err
	}
	n, err := server.Rewrap(ctx, store, key)
	if err != nil {
		return err
	}
	log.Printf("%d secrets wrapped under %s", n, key.Version())
	listener := &http.Server{Addr: addr, Handler: srv, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return listener.ListenAndServe()
}
