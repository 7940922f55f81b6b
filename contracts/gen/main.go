// Command gen writes the Go bindings of the compiled contracts, and with -check
// fails where those that are there differ. Run it in the module's root after
// `npm run compile` in contracts/:
//
//	go run ./contracts/gen [-check]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/accounts/abi/abigen"
)

// binding is one generated file: which contracts it binds, in which package.
type binding struct {
	path      string
	pkg       string
	contracts []string
}

var errStale = errors.New("bindings are not what the artifacts give: run go run ./contracts/gen")

func bindings() []binding {
	return []binding{
		{path: "bindings.go", pkg: "contracts", contracts: []string{"MandateRouter", "TestUSDC"}},
		{
			path: "contracttest/bindings.go", pkg: "contracttest",
			contracts: []string{"ReentrantToken", "SilentToken", "SmartWallet", "SmartWalletFactory"},
		},
	}
}

func main() {
	check := flag.Bool("check", false, "compare, write nothing")
	folder := flag.String("dir", "contracts", "the folder of the contracts")
	flag.Parse()
	if err := run(*folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(folder string, check bool) error {
	for _, b := range bindings() {
		code, err := b.generate(folder)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, b.path)
		if !check {
			if err := os.WriteFile(path, code, 0o644); err != nil { //nolint:gosec // source code
				return fmt.Errorf("write bindings: %w", err)
			}
			continue
		}
		have, err := os.ReadFile(path) //nolint:gosec // one of two fixed names
		if err != nil {
			return fmt.Errorf("read bindings: %w", err)
		}
		if !bytes.Equal(have, code) {
			return fmt.Errorf("%s: %w", path, errStale)
		}
	}
	return nil
}

// artifact is what compile.mjs writes, as far as it is needed here.
type artifact struct {
	ABI      json.RawMessage `json:"abi"`
	Bytecode string          `json:"bytecode"`
}

func (b binding) generate(folder string) ([]byte, error) {
	var abis, codes []string
	for _, name := range b.contracts {
		text, err := os.ReadFile(filepath.Join(folder, "artifacts", name+".json")) //nolint:gosec // a fixed name
		if err != nil {
			return nil, fmt.Errorf("read artifact: %w", err)
		}
		var a artifact
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, fmt.Errorf("read artifact of %s: %w", name, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, a.ABI); err != nil {
			return nil, fmt.Errorf("read ABI of %s: %w", name, err)
		}
		abis, codes = append(abis, compact.String()), append(codes, a.Bytecode)
	}
	code, err := abigen.BindV2(b.contracts, abis, codes, b.pkg, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("bind %v: %w", b.contracts, err)
	}
	return []byte(code), nil
}
