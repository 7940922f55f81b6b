package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// configFile is the path of a file that holds a [config] in TOML.
type configFile string

// config is what `serve` runs. docs/operations.md describes every key.
type config struct {
	Mode              string      `toml:"mode"`
	BaseURL           string      `toml:"base_url"`
	Listen            string      `toml:"listen"`
	Store             string      `toml:"store"`
	KeyFile           string      `toml:"key_file"`
	RequestsPerSecond int         `toml:"requests_per_second"`
	LogLevel          string      `toml:"log_level"`
	TLS               tlsConfig   `toml:"tls"`
	SandboxCard       cardsConfig `toml:"sandbox_card"`
}

type tlsConfig struct {
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
}

// cardsConfig is the sandbox card rail: in the process, or at an address.
type cardsConfig struct {
	ProcessorURL string `toml:"processor_url"`
	ProcessorKey string `toml:"processor_key"`
}

// read reads the file strictly: a key that is not known is an error, as is one
// that is missing.
func (f configFile) read() (config, error) {
	c := config{Listen: ":8080", LogLevel: "info"}
	meta, err := toml.DecodeFile(string(f), &c)
	if err != nil {
		var where toml.ParseError
		if errors.As(err, &where) {
			return c, fmt.Errorf("%s: line %d: %s", f, where.Position.Line, where.Message)
		}
		return c, fmt.Errorf("read configuration: %w", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return c, fmt.Errorf("%s: unknown key %s", f, unknown[0])
	}
	for key, value := range map[string]string{"mode": c.Mode, "base_url": c.BaseURL, "store": c.Store, "key_file": c.KeyFile} {
		if strings.TrimSpace(value) == "" {
			return c, fmt.Errorf("%s: %s is required", f, key)
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return c, fmt.Errorf("%s: tls.cert and tls.key go together", f)
	}
	return c, nil
}
