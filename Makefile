# The front door. Each target does all that it needs; see CONTRIBUTING.md for working with CMake directly.

BUILD := build
JOBS := $(shell nproc 2>/dev/null || echo 2)
# Ninja where it is there, else make. Asked when used, since bootstrap may just have installed it.
CONFIGURE = cmake $(if $(shell command -v ninja),,-G "Unix Makefiles") --preset

.PHONY: release demo test bench lint format clean help

release: ## the libraries and the program, in build/release/
	@scripts/bootstrap.sh build
	@$(CONFIGURE) release
	@cmake --build --preset release -j $(JOBS)

demo: release ## run the orrery: a scene, a plugin, a picture
	@scripts/demo.sh

test: ## all tests, under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/bootstrap.sh build test
	@$(CONFIGURE) dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

bench: release ## all benchmarks, each beside its hand-written C
	@$(BUILD)/release/mica bench

lint: ## clang-tidy, cppcheck and the format
	@scripts/bootstrap.sh build test lint
	@scripts/lint.sh

format: ## format all sources in place
	@scripts/bootstrap.sh lint
	@scripts/list-sources.sh | xargs clang-format -i

clean: ## remove everything that was built
	@rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' Makefile
