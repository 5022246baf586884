#!/usr/bin/env bash
# Configures a preset: with the generator that its folder has already, else with Ninja where it is there, else with make.
# Usage: configure.sh PRESET [CMAKE-ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
folder=build/$preset
mkdir -p "$folder"
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
if [ -z "$generator" ]; then
    generator='Unix Makefiles'
    ! command -v ninja >/dev/null || generator=Ninja
fi
if ! cmake --preset "$preset" -G "$generator" "$@" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    exit 1
fi
