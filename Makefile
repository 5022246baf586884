# The front door. Each target does all that it needs; CONTRIBUTING.md tells how to work with CMake directly.

JOBS := $(shell nproc 2>/dev/null || echo 2)

.PHONY: release demo test bench bench-o2 counts counts-check curves dist lint format clean help

release: ## the libraries, the program and the examples, in build/release/ (the default)
	@scripts/bootstrap.sh build
	@scripts/configure.sh release
	@cmake --build --preset release -j $(JOBS)

demo: release ## run the orrery: a scene, a plugin, a picture
	@scripts/demo.sh

test: ## all tests, under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/bootstrap.sh build test
	@scripts/configure.sh dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

bench: release ## all benchmarks, each beside its hand-written C
	@build/release/mica bench

bench-o2: ## the same with everything compiled at -O2 for any x86-64
	@scripts/bootstrap.sh build
	@scripts/configure.sh o2
	@cmake --build --preset o2 -j $(JOBS)
	@build/o2/mica bench

counts: ## count the instructions and cache misses of all benchmarks into docs/counts.md
	@scripts/bootstrap.sh build count
	@scripts/configure.sh counted
	@cmake --build --preset counted -j $(JOBS)
	@bench/counts.py build/counted/mica docs/counts.md

counts-check: ## count them and compare with docs/counts.md
	@scripts/bootstrap.sh build count
	@scripts/configure.sh counted
	@cmake --build --preset counted -j $(JOBS)
	@bench/counts.py --check build/counted/mica docs/counts.md

curves: release ## measure and draw docs/images/table_or_pool.svg
	@build/release/mica bench curve/ --json build/curves.json
	@bench/curves.py build/curves.json docs/images/table_or_pool.svg

dist: ## the core in two files, dist/mica.h and dist/mica.c
	@python3 scripts/amalgamate.py dist

lint: ## clang-tidy, cppcheck, the format, the order of the folders, headers on their own
	@scripts/bootstrap.sh build test lint
	@scripts/lint.sh all

format: ## format all sources in place
	@scripts/bootstrap.sh lint
	@scripts/list-sources.sh | xargs clang-format -i

clean: ## remove everything that was built
	@rm -rf build dist

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1: /p' Makefile
