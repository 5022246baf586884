#!/usr/bin/env bash
# A project of somebody else's finds an installed, moved Mica with CMake and with pkg-config, links each kind of library, and
# is compiled for the same width of handles without asking for it.
source "$(dirname "$0")/common.sh"

quietly cmake --install "$MICA_BINARY_DIR" --prefix "$work/elsewhere"
mv "$work/elsewhere" "$work/prefix"
expected="$MICA_ENTITY_BITS bits, version "

check() {
    local said
    said=$("$1") || fail "$1 failed"
    [[ $said == "$expected"* ]] || fail "$1 says '$said', expected '$expected...'"
}

for kind in mica static shared; do
    quietly cmake -S "$sources" -B "$work/$kind" -DKIND=$kind "-DCMAKE_PREFIX_PATH=$work/prefix" \
        "-DCMAKE_C_COMPILER=$MICA_C_COMPILER" "-DCMAKE_C_FLAGS=${flags[*]}"
    quietly cmake --build "$work/$kind"
    check "$work/$kind/first_world"
done

pc=$(find "$work/prefix" -name mica.pc)
export PKG_CONFIG_PATH=${pc%/*}
libraries=$(pkg-config --variable=libdir mica)
read -ra cflags <<<"$(pkg-config --cflags mica)"
read -ra shared <<<"$(pkg-config --libs mica)"
read -ra static <<<"$(pkg-config --libs --static mica)"
quietly "$MICA_C_COMPILER" -std=c11 "${flags[@]}" "${cflags[@]}" "$sources/first_world.c" -o "$work/pc-shared" \
    "${shared[@]}" "-Wl,-rpath,$libraries"
check "$work/pc-shared"
quietly "$MICA_C_COMPILER" -std=c11 "${flags[@]}" "${cflags[@]}" "$sources/first_world.c" -o "$work/pc-static" \
    "${static[@]/#-lmica/-l:libmica.a}"
check "$work/pc-static"
