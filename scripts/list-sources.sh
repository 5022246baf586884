#!/usr/bin/env bash
# Lists the C and C++ sources of the tree, one a line.
cd "$(dirname "$0")/.." && find include src modules tools bench examples tests fuzz \( -name '*.[ch]' -o -name '*.cpp' \) -print | sort
