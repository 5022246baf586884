#!/usr/bin/env bash
# A project of somebody else's finds an installed, moved Mica with CMake and with pkg-config, links each kind of library, and
# is compiled for the same width of handles without asking for it.
source "$(dirname "$0")/common.sh"

quietly cmake --install "$MICA_BINARY_DIR" --prefix "$work/elsewhere"
mv "$work/elsewhere" "$work/prefix"

# build NAME OPTION...: configures, builds and runs the project.
build() {
    local name=$1
    shift
    quietly cmake -S "$sources" -B "$work/$name" "-DCMAKE_C_COMPILER=$MICA_C_COMPILER" "-DCMAKE_C_FLAGS=${flags[*]}" \
        "-DMODULES=$MICA_MODULES" "$@"
    quietly cmake --build "$work/$name"
    check "$work/$name/first_world"
    [ ! -e "$work/$name/scenes" ] || check "$work/$name/scenes"
}

for kind in mica static shared; do
    build $kind -DKIND=$kind "-DCMAKE_PREFIX_PATH=$work/prefix"
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

if [ -e "$PKG_CONFIG_PATH/mica-gltf.pc" ] && [ -e "$PKG_CONFIG_PATH/mica-save.pc" ]; then
    read -ra modules <<<"$(pkg-config --cflags --libs mica-gltf mica-save)"
    quietly "$MICA_C_COMPILER" -std=c11 "${flags[@]}" "$sources/scenes.c" -o "$work/pc-scenes" "${modules[@]}" \
        "-Wl,-rpath,$libraries"
    check "$work/pc-scenes"
fi
