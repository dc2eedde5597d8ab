# heaplapse finds what grows in a native heap.
# `make demo` needs Go only. `make test` installs the tools that the tests need (scripts/deps.sh).

export CGO_ENABLED = 0

BIN      := bin/heaplapse
OUT      := out
FUZZTIME ?= 60s
FAULTS   ?= 1
LINTER   := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

SHELL       := bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

## --- build ---

.PHONY: build
build: ## build bin/heaplapse
	go build -o $(BIN) ./cmd/heaplapse

.PHONY: demo
demo: build ## judge a bundled series, convert it for pprof, and show it in go tool pprof
	@scripts/demo.sh $(BIN) $(OUT)/demo

## --- check ---

.PHONY: test
test: deps ## run the tests, and list the slowest ones
	@scripts/test.sh

.PHONY: test-race
test-race: deps ## run the tests of what has goroutines under the race detector (needs a C compiler)
	@scripts/race.sh

.PHONY: test-full
test-full: export HEAPLAPSE_FULL = 1
test-full: deps ## run the long tests too: every combination, large binaries, repetitions, fuzzing; writes out/test-full.txt
	@mkdir -p $(OUT)
	{ scripts/test.sh -v -timeout 2h && scripts/platforms.sh; } 2>&1 | scripts/summary.sh | tee $(OUT)/test-full.txt
	scripts/languages.sh 2>&1 | tee -a $(OUT)/test-full.txt
	scripts/harm/all.sh 2>&1 | tee -a $(OUT)/test-full.txt
	scripts/fuzz.sh 60s 2>&1 | tee -a $(OUT)/test-full.txt

.PHONY: lint
lint: ## build for each platform, run gofmt, go vet, golangci-lint, clang-format, clang-tidy, axe-core on the page, the schemas of workflows and examples, and the links of the site
	@scripts/lint.sh $(LINTER)

.PHONY: fleet-check
fleet-check: ## run the questions about a fleet on DuckDB, and parse them for other engines (needs Python 3 and PyPI)
	@scripts/fleet/quick.sh

.PHONY: faults
faults: deps ## let file operations of every command fail, one by one: one of FAULTS (default 1: all)
	HEAPLAPSE_FAULTS=$(FAULTS) go test -count 1 -timeout 60m -run 'Faults$$' ./cmd/heaplapse

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (default 60s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## run the benchmarks; some compare with google/pprof and other tools
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: blind
blind: build ## record programs drawn at random from SEED in OUT, and judge them once (needs root; half an hour); commit the result
	@scripts/blind/run.sh $(abspath $(BIN)) "$(SEED)" $(abspath $(OUT))/blind-$(SEED)

.PHONY: release
release: ## make the files of the release VERSION=v0.2.0 in out/release, and check them; PUBLISH=--publish publishes
	scripts/dist/release.sh $(VERSION) $(PUBLISH)

.PHONY: dist
dist: ## build archives, packages, image, checksums, lists of modules and provenance into out/dist
	scripts/dist/dist.sh $(OUT)/dist

.PHONY: dist-check
dist-check: ## build the packages twice, and install, use and remove the .deb on a fresh Debian (needs root)
	scripts/fresh.sh scripts/dist/check.sh

.PHONY: container-check
container-check: ## build the root directory of the container image twice, and run the program in it (needs root)
	scripts/dist/container.sh

.PHONY: site
site: ## build the site of the manual in out/site, and check its links (needs Python 3 and PyPI)
	@scripts/site/build.sh

## --- maintain ---

.PHONY: deps
deps: ## install the tools that the tests need, or print what to install
	@scripts/deps.sh

.PHONY: fixtures
fixtures: ## record the fixtures of testdata/ again (changes them; needs root)
	scripts/fixtures/all.sh

.PHONY: assets
assets: ## build the report page's script from internal/report/page/web (needs Node and npm); commit the result
	cd internal/report/page/web && npm ci --no-audit --no-fund && npm run -s build

.PHONY: engine
engine: ## build the built-in engine and the adapter from engine/src (needs clang and lld); commit the result
	engine/build.sh

.PHONY: model
model: ## fit the models of the detector to simulated processes (needs Python 3 and PyPI; an hour or more); commit the result
	scripts/model/fit.sh $(OUT)/model

.PHONY: golden
golden: ## rewrite the expected outputs of the tests; review the diff
	go test $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n1 dirname | sed 's,^,./,') -update

.PHONY: clean
clean: ## remove build outputs
	rm -rf bin $(OUT)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^## ---/ {gsub(/[#-]/, ""); print $$0} /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
