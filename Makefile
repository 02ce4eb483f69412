# Every target installs what it needs (scripts/setup.sh), then calls one tool. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10
PREFIX ?= /usr/local
DESTDIR ?=

# A clone in another folder finds what this one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export JOBS
export ASAN_SYMBOLIZER_PATH := /usr/bin/llvm-symbolizer-19
export UBSAN_OPTIONS := print_stacktrace=1
# A daemon with a race ends at once, and with it the test that met it.
export TSAN_OPTIONS := halt_on_error=1:external_symbolizer_path=$(ASAN_SYMBOLIZER_PATH)

# $(call configure,<preset>,<options>): again when the presets have changed; Ninja sees to the rest.
configure = [ build/$(1)/build.ninja -nt CMakePresets.json -a -z "$(2)" ] || \
  { cmake --preset $(1) $(2) --log-level=WARNING >/dev/null && touch build/$(1)/build.ninja; }
compile = cmake --build --preset $(1) -j $(JOBS)

.PHONY: help build demo test lint asan tsan race fuzz model soak bench format install clean

help: ## This list
	@sed -nE 's/^([a-z]+): .*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

build: ## The daemon: build/release/agentd
	@scripts/setup.sh build
	@$(call configure,release)
	@$(call compile,release) --target agentd

demo: build ## A daemon runs a workflow that reports on this folder; every event is shown
	@build/release/agentd demo

test: ## Unit and end-to-end tests, with assertions on (build/dev)
	@scripts/setup.sh build test
	@$(call configure,dev)
	@$(call compile,dev)
	@scripts/run_tests.py build/dev --jobs $(JOBS)

lint: ## Format, layers, left-overs, shell and clang-tidy
	@scripts/setup.sh build test lint
	@$(call configure,dev)
	@$(call compile,dev) --target generated
	@scripts/lint.sh

# Sanitizers slow a daemon down: of the end-to-end tests those that pass through every folder, and none that races a clock.
SMOKE ?= card.test.mjs errors.test.mjs feed.test.mjs soak.test.mjs tasks.test.mjs work.test.mjs

asan tsan: export AGENTD_E2E_MEMORY := ignore
asan: ## Unit tests and SMOKE under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh build test sanitize
	@$(call configure,asan)
	@$(call compile,asan)
	@scripts/run_tests.py build/asan --jobs $(JOBS) --e2e "$(SMOKE)"

tsan: ## Unit tests and SMOKE under ThreadSanitizer
	@scripts/setup.sh build test sanitize
	@$(call configure,tsan)
	@$(call compile,tsan)
	@scripts/run_tests.py build/tsan --jobs $(JOBS) --e2e "$(SMOKE)"

race: ## Of tsan the feed under load, and the server that sends it: what CI runs
	@scripts/setup.sh build test sanitize
	@$(call configure,tsan)
	@$(call compile,tsan) --target feed_test http_test
	@scripts/run_tests.py build/tsan --jobs $(JOBS) --units '^(feed|http)$$' --e2e ""

fuzz: ## Every fuzz target for FUZZ_SECONDS each (10)
	@scripts/setup.sh build sanitize
	@$(call configure,fuzz)
	@$(call compile,fuzz) --target fuzz_all
	@scripts/fuzz.sh $(FUZZ_SECONDS)

model: ## The proof of the feed with Spin, and that it can fail (model/README.md)
	@scripts/model.sh

soak: ## Thousands of subscribers, a million events and a kill; SOAK="--messages 10000" for less
	@scripts/setup.sh build test
	@$(call configure,release)
	@$(call compile,release) --target agentd
	@node tests/soak/main.mjs $(SOAK)

bench: ## What docs/performance.md measures, beside its peers; writes bench/results.json (9 minutes)
	@scripts/setup.sh build test bench
	@$(call configure,release,-DAGENTD_BENCH=ON)
	@$(call compile,release) --target agentd bench_all
	@bench/run.py build/release

format: ## clang-format over the tracked sources
	@scripts/setup.sh lint
	@git ls-files -z -- '*.cc' '*.h' | xargs -0 -r clang-format-19 -i

install: build ## The daemon, its licence and its documents under DESTDIR and PREFIX (/usr/local)
	@install -Dm755 build/release/agentd $(DESTDIR)$(PREFIX)/bin/agentd
	@install -Dm644 -t $(DESTDIR)$(PREFIX)/share/doc/agentd LICENSE README.md ARCHITECTURE.md
	@[ ! -d examples ] || cp -R examples $(DESTDIR)$(PREFIX)/share/doc/agentd/

clean: ## Everything that was built
	@rm -rf build
