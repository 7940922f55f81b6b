# The one door to everything. `make help` lists the recipes.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS := $(CURDIR)/.cache/tools
export PATH := $(TOOLS):$(PATH)
export CGO_ENABLED ?= 0

GOLANGCI_LINT := v2.15.0
SQLC          := v1.31.1
GOFUMPT       := v0.12.0
APIDIFF       := v0.0.0-20261014143641-f0251eb4aa3e
FUZZTIME      ?= 30s

help: ## List the recipes
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: ## Run every step in the terminal
	go run ./cmd/paywarrant demo

dev: ## Run the service in sandbox mode until interrupted
	go run ./cmd/paywarrant dev

build: ## Build bin/paywarrant
	go build -trimpath -o bin/paywarrant ./cmd/paywarrant

# Packages with goroutines of their own are tested with the race detector. The others
# drive the EVM and child processes, which it does not see into. MODELS run few random
# sequences with the detector, and many without. PLANS has no goroutines of its own: it
# asks both engines for the plans of generated queries. test/ is a module of its own, whose
# tests run the whole system with browsers, Node, other servers and kills. They read files
# outside the module, whose changes the test cache does not see, so -count=1.
# SQLite itself, C translated to Go with locks of its own, is compiled without the detector:
# that halves the time.
RACE   := ./agent/... ./client/... ./internal/... ./mandate/... ./mpp/... ./paywall/... ./server/... ./webhook/... ./x402/...
MODELS := ./server/store/sqlite ./server/rail/card
PLANS  := ./server/store/internal/sqlstore/db
NORACE := -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0'
PLAIN  := ./bench/... ./cmd/... ./conformance/... ./contracts/... ./examples/... $(PLANS)

# The plain half mostly waits and the other one computes, so they run at the same time;
# what the plain half says is printed after the other.
test: export PAYWARRANT_REQUIRE = postgres,chromium,node,proxies,vectors,curl
test: $(TOOLS)/apidiff ## Install what the tests need, and run all of them
	bash test/install.sh
	mkdir -p .cache
	plain=0; race=0; \
	( go -C test test -count=1 -p 3 -timeout 30m ./... || plain=1; go test -p 3 $(PLAIN) || plain=1; \
	go test $(MODELS) -rapid.checks=100 || plain=1; exit $$plain ) >.cache/plain.log 2>&1 & \
	CGO_ENABLED=1 go test -race $(NORACE) -timeout 30m $$(go list $(RACE) | grep -v "$(PLANS:.%=%)\$$") || race=$$?; \
	wait $$! || plain=$$?; cat .cache/plain.log; exit $$((plain || race))

drills: ## Run the long drills of docs/reliability.md, and the models in full with the race detector
	go -C test run ./crash -kills 200
	go -C test run ./crash -kills 200 -postgres
	go -C test run ./crash -points -kills 10
	go -C test run ./crash -points -kills 10 -postgres
	go -C test run ./crash -chain -kills 50
	go -C test run ./crash -chain -points -kills 3
	go -C test run ./crash -chain -points -kills 1 -postgres
	go -C test run ./crash -sellers -kills 10
	go -C test run ./crash -sellers -kills 3 -postgres
	go -C test test ./crash -count=1 -timeout 60m -run TestStripeLoses -args -stripe-kills 100
	go -C test run ./webhooks -events 20000
	go -C test run ./webhooks -events 20000 -postgres
	go -C test run ./webhooks -kills 50
	go -C test run ./webhooks -kills 10 -points
	go -C test run ./webhooks -kills 50 -instances 3 -postgres
	CGO_ENABLED=1 go test -race $(NORACE) -count=1 -timeout 60m $(MODELS) ./server/store/postgres -rapid.checks=100

check: test lint generated apidiff ## What CI runs

lint: $(TOOLS)/golangci-lint ## Vet, format and lint
	go vet ./...
	golangci-lint run
	go -C test vet ./...
	cd test && golangci-lint run

generate: $(TOOLS)/sqlc ## Regenerate the generated files
	cd server/store/internal/sqlstore && sqlc generate

generated: generate ## Fail if a generated file differs from its source
	git diff --exit-code --stat -- server/store/internal/sqlstore
	bash test/npm.sh contracts
	cd contracts && npm run --silent check
	go run ./contracts/gen -check

apidiff: $(TOOLS)/apidiff ## Compare the public API with the last tagged version
	bash test/apidiff.sh

bench: ## Print the benchmark tables: ratios to a baseline of the same run, and their aims
	go run ./bench
	go run ./bench/ledger
	go run ./bench/ledger -market
	PAYWARRANT_DASHBOARD_SPEED=1 go test ./server -count=1 -run TestDashboardIsFastWith100000Charges -v
	go test ./cmd/paywarrant/internal/gateproxy -run NONE -bench Proxy

mutants: ## Plant small bugs where an error costs money; fail if the tests miss one
	bash test/npm.sh contracts
	go -C test run ./mutants

fuzz: ## Run every fuzz target for FUZZTIME (default 30s)
	bash test/fuzz.sh $(FUZZTIME)

contracts: ## Fuzz the contracts 10,000 times a function, with coverage and gas
	PAYWARRANT_REQUIRE=node PAYWARRANT_FUZZ_RUNS=10000 go -C test test ./solidity -count=1 -timeout 20m -run TestSolidity -v

cover: ## Write coverage.html
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -html=coverage.out -o coverage.html
	go tool cover -func=coverage.out | tail -1

$(TOOLS)/golangci-lint:
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)

$(TOOLS)/sqlc:
	GOBIN=$(TOOLS) go install github.com/sqlc-dev/sqlc/cmd/sqlc@$(SQLC)

$(TOOLS)/apidiff:
	GOBIN=$(TOOLS) go install golang.org/x/exp/cmd/apidiff@$(APIDIFF)

.PHONY: help demo dev build test drills check lint generate generated apidiff bench mutants fuzz contracts cover
