# heaplapse: what grows in a native heap.
# `make demo` needs Go only; `make test` installs what the tests need (scripts/deps.sh).

export CGO_ENABLED = 0

BIN      := bin/heaplapse
OUT      := out
FUZZTIME ?= 60s
LINTER   := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.DEFAULT_GOAL := help

## --- build ---

.PHONY: build
build: ## build bin/heaplapse
	go build -o $(BIN) ./cmd/heaplapse

.PHONY: demo
demo: build ## run the main job on a bundled series: growth table, pprof files, what pprof says of them
	@scripts/demo.sh $(BIN) $(OUT)/demo

## --- check ---

.PHONY: test
test: deps ## every test, one case per axis; with the race detector where a C compiler is at hand
	@scripts/test.sh

.PHONY: test-full
test-full: deps ## everything: whole matrices, large binaries, repetitions (long); the output is kept in docs/test-full.txt
	HEAPLAPSE_FULL=1 RACE=off scripts/test.sh -v 2>&1 | scripts/summary.sh | tee docs/test-full.txt

.PHONY: lint
lint: ## gofmt, go vet, golangci-lint with the rules of the arrows between packages
	@scripts/lint.sh $(LINTER)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (default 60s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## benchmarks, beside google/pprof's reader and other tools
	go test -run '^$$' -bench . -benchmem ./...

## --- maintain ---

.PHONY: deps
deps: ## install what the tests need, or say what is missing
	@scripts/deps.sh

.PHONY: fixtures
fixtures: ## record the fixtures of testdata/ again (needs deps; changes them)
	scripts/fixtures/all.sh

.PHONY: assets
assets: ## build the script of the report page from internal/report/page/web (needs Node and npm; commit what changes)
	cd internal/report/page/web && npm ci --no-audit --no-fund && npm run -s build

.PHONY: agent
agent: ## build the recorder's agents again from internal/record/agent/src/agent.c (needs clang and lld)
	internal/record/agent/build.sh

.PHONY: golden
golden: ## rewrite the expected outputs of the tests; review the diff
	go test ./... -update

.PHONY: clean
clean: ## remove what was built
	rm -rf bin $(OUT)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^## ---/ {gsub(/[#-]/, ""); print $$0} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
