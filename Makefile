# The front door. Each target does all that it needs; CONTRIBUTING.md tells how to work with CMake directly.

JOBS := $(shell nproc 2>/dev/null || echo 2)
# What is drawn by the number of entities.
SIZES := 1000,3000,10000,30000,100000,300000,1000000,3000000,10000000
SIZED := create/one create/bulk destroy/order destroy/random walk/2 walk/mixed get/random has/random \
    change/table/order change/table/random change/pool/order change/pool/random

.PHONY: release demo test bench bench-narrow bench-o2 counts counts-check curves performance plan-picture dist lint format clean help \
    FORCE

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

build/%/mica: FORCE
	@scripts/bootstrap.sh build
	@scripts/configure.sh $*
	@cmake --build build/$* -j $(JOBS) --target mica_program

bench-o2: build/o2/mica ## the same with everything compiled at -O2 for any x86-64
	@build/o2/mica bench

bench-narrow: build/narrow/mica ## what entities take with handles of 4 bytes
	@build/narrow/mica bench memory/

performance: release build/o2/mica build/narrow/mica ## measure everything and write the tables of docs/performance.md
	@build/release/mica bench --json build/bench.json
	@build/o2/mica bench --quick --json build/bench-o2.json
	@build/narrow/mica bench memory/ --json build/bench-narrow.json
	@bench/table.py docs/performance.md measured build/release/mica build/bench.json
	@bench/table.py docs/performance.md o2 build/o2/mica build/bench-o2.json build/bench.json
	@bench/table.py docs/performance.md narrow build/narrow/mica build/bench-narrow.json

counts: build/counted/mica ## count the instructions and cache misses of all benchmarks into docs/counts.md
	@scripts/bootstrap.sh count
	@bench/counts.py build/counted/mica docs/counts.md

counts-check: build/counted/mica ## count them and compare with docs/counts.md
	@scripts/bootstrap.sh count
	@bench/counts.py --check build/counted/mica docs/counts.md

curves: release ## measure and draw docs/images/table_or_pool.svg and sizes.svg, some minutes
	@build/release/mica bench curve/ --quick --json build/curves.json
	@bench/curves.py table-or-pool build/curves.json docs/images/table_or_pool.svg
	@build/release/mica bench --quick --main --sizes $(SIZES) --json build/sizes.json $(SIZED)
	@bench/curves.py sizes build/sizes.json docs/images/sizes.svg

plan-picture: release ## draw docs/images/orrery_plan.svg, with Graphviz
	@scripts/bootstrap.sh draw
	@build/release/mica plan examples/orrery/orrery.json --plugin build/release/plugins/orrery.so --graph \
		| dot -Tsvg >docs/images/orrery_plan.svg

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
