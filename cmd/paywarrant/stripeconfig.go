package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/server/rail/stripe"
)

// stripeConfig is the card rail over Stripe. The secrets are in files, or in the environment.
type stripeConfig struct {
	// KeyFile holds the secret or restricted API key. Default: PAYWARRANT_STRIPE_KEY.
	KeyFile string `toml:"key_file"`
	// WebhookSecretFile holds the signing secrets of the webhook endpoint, one a line.
	// Default: PAYWARRANT_STRIPE_WEBHOOK_SECRET; without either, events are refused.
	WebhookSecretFile string `toml:"webhook_secret_file"`
	// APIURL is the address of the API. Default: Stripe's.
	APIURL string `toml:"api_url"`
}

// The environment variables for the secrets.
const (
	stripeKeyVariable    = "PAYWARRANT_STRIPE_KEY"
	stripeSecretVariable = "PAYWARRANT_STRIPE_WEBHOOK_SECRET"
)

// open returns the rail. The returned error names the key of the configuration, and shows
// no secret.
func (c stripeConfig) open(live bool, log *slog.Logger) (*stripe.Rail, error) {
	keys, err := secrets("stripe.key_file", c.KeyFile, stripeKeyVariable)
	if err != nil {
		return nil, err
	}
	if len(keys) != 1 {
		return nil, fmt.Errorf("stripe.key_file: needs one API key, in the file or in %s", stripeKeyVariable)
	}
	if live == keys[0].TestMode() {
		if live {
			return nil, errors.New("stripe.key_file: live mode needs a live key (sk_live_… or rk_live_…), not a test key")
		}
		return nil, errors.New("stripe.key_file: the sandbox needs a test key (sk_test_… or rk_test_…), not a live key")
	}
	signing, err := secrets("stripe.webhook_secret_file", c.WebhookSecretFile, stripeSecretVariable)
	if err != nil {
		return nil, err
	}
	r, err := stripe.New(stripe.Config{Key: keys[0], WebhookSecrets: signing, BaseURL: c.APIURL, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("stripe: %w", err)
	}
	return r, nil
}

// secrets returns the secrets in a file, one a line, or in a variable if no file is named.
func secrets(key, file, variable string) ([]stripe.Key, error) {
	text := os.Getenv(variable)
	if file != "" {
		if err := privateIfThere(file); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		text = string(content)
	}
	var found []stripe.Key
	for _, one := range strings.Fields(text) {
		found = append(found, stripe.Key(one))
	}
	return found, nil
}
