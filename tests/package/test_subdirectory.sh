#!/usr/bin/env bash
# A project of somebody else's takes Mica in as a part of itself: it gets the library, for the handles it asks for, and nothing
# else is built.
source "$(dirname "$0")/common.sh"

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(takes_mica_in LANGUAGES C)
add_subdirectory("$MICA_SOURCE_DIR" mica)
add_executable(first_world "$sources/first_world.c")
target_link_libraries(first_world PRIVATE mica::mica)
END
quietly cmake -S "$work" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug "-DMICA_ENTITY_BITS=$MICA_ENTITY_BITS" \
    "-DMICA_INDEX_BITS=$( ((MICA_ENTITY_BITS == 32)) && echo "$MICA_INDEX_BITS" || echo 22)" \
    "-DCMAKE_C_COMPILER=$MICA_C_COMPILER"
quietly cmake --build "$work/build" --parallel 2
said=$("$work/build/first_world") || fail "first_world failed"
[[ $said == "$MICA_ENTITY_BITS bits, version "* ]] || fail "first_world says '$said'"
for unwanted in mica libmica_gltf.so libmica_save.so tests plugins; do
    found=$(find "$work/build/mica" -mindepth 1 -maxdepth 1 -name "$unwanted")
    [ -z "$found" ] || fail "built without being asked for: $found"
done
