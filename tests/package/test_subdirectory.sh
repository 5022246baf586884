#!/usr/bin/env bash
# A project of somebody else's takes Mica in as a part of itself: it gets the library, for the handles it asks for, and the
# modules it asks for; nothing else is built.
source "$(dirname "$0")/common.sh"

# build OPTION...: configures and builds the project.
build() {
    quietly cmake -S "$sources" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DKIND=mica "-DMICA=$MICA_SOURCE_DIR" \
        "-DMICA_ENTITY_BITS=$MICA_ENTITY_BITS" "-DMICA_INDEX_BITS=$MICA_INDEX_BITS" \
        "-DCMAKE_C_COMPILER=$MICA_C_COMPILER" "-DCMAKE_C_FLAGS=${flags[*]}" "$@"
    quietly cmake --build "$work/build" --parallel 2
}

build -DMODULES=
check "$work/build/first_world"
for unwanted in mica libmica_gltf.so libmica_save.so tests plugins; do
    found=$(find "$work/build/mica" -mindepth 1 -maxdepth 1 -name "$unwanted")
    [ -z "$found" ] || fail "built without being asked for: $found"
done

[[ $MICA_MODULES == *gltf* && $MICA_MODULES == *save* ]] || exit 0
build "-DMODULES=$MICA_MODULES" -DMICA_MODULE_GLTF=ON -DMICA_MODULE_SAVE=ON
check "$work/build/scenes"
