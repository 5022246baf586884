#!/usr/bin/env bash
# Compiles the two files of the distribution with each compiler at hand: at -O2 with all warnings as errors, and as each
# kind of build. Prints the seconds that a core took for mica.c, and the bytes of the README's program with it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=build/check-dist
mkdir -p "$work"
python3 scripts/amalgamate.py "$work"
sed -n '/^```c$/,/^```$/{/^```/d;p}' README.md >"$work/main.c"
mkdir -p "$work/mica" && echo '#include "../mica.h"' >"$work/mica/mica.h"

warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
for compiler in gcc clang; do
    for language in "$compiler -x c -std=c11" "${compiler/%gcc/g++} -x c++ -std=c++17"; do
        for bits in 64 32; do
            ${language/clang -x c++/clang++ -x c++} "${warnings[@]}" -DMICA_ENTITY_BITS=$bits -fsyntax-only - <<<"#include \"$work/mica.h\""
        done
    done
    for kind in -DMICA_ENTITY_BITS=32 -DMI_DEBUG=1 -DMI_DEFAULT_STORAGE=1 -DMI_DEFAULT_STORAGE=2 -DMI_MOVE_ALWAYS=1 -DMICA_API= \
        -fsanitize=address -std=gnu17; do
        "$compiler" -std=c17 "${warnings[@]}" -Wmissing-prototypes -Wstrict-prototypes "$kind" -fsyntax-only "$work/mica.c"
    done
    TIMEFORMAT="$compiler -O2: %U s"
    time "$compiler" -std=c17 -O2 "${warnings[@]}" -c "$work/mica.c" -o "$work/mica-$compiler.o"
done

# The program alone with what it uses of Mica; the C library is the system's.
for level in -Os -O2; do
    gcc -std=c17 $level -ffunction-sections -fdata-sections -I"$work" "$work/main.c" "$work/mica.c" -pthread -lm \
        -Wl,--gc-sections -s -o "$work/main"
    "$work/main" >/dev/null
    echo "gcc $level, the README's program, stripped: $(stat -c %s "$work/main") bytes"
done
