#!/usr/bin/env bash
# Lists the C and C++ sources of the tree, one a line.
cd "$(dirname "$0")/.." && git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp'
