#!/usr/bin/env bash
# A program compiled for other handles than the library does not link, and a shared object does not load; the message names
# the handles that were expected.
source "$(dirname "$0")/common.sh"

include=-I$MICA_SOURCE_DIR/include

# refuse_link NAME DEFINITION...: the program must not link with either library.
refuse_link() {
    local library name=$1
    shift
    for library in "$MICA_BINARY_DIR/libmica.a" "$MICA_BINARY_DIR/libmica.so"; do
        if "$MICA_C_COMPILER" -std=c11 "${flags[@]}" "$include" "$@" "$sources/first_world.c" -o "$work/program" \
            "$library" -pthread -lm >"$work/log" 2>&1; then
            fail "a program for other handles ($*) links with $library"
        fi
        grep -q "undefined reference to .$name'" "$work/log" || { cat "$work/log" >&2; fail "the linker does not name $name"; }
    done
}

if [ "$MICA_ENTITY_BITS" = 64 ]; then
    other=32
    refuse_link mica_abi_handles_of_32_bits_with_index_of_22 -DMICA_ENTITY_BITS=32
    refuse_link mica_abi_handles_of_32_bits_with_index_of_20 -DMICA_ENTITY_BITS=32 -DMICA_INDEX_BITS=20
else
    other=64
    refuse_link mica_abi_handles_of_64_bits_with_index_of_32 -DMICA_ENTITY_BITS=64
    refuse_link "mica_abi_handles_of_32_bits_with_index_of_$((MICA_INDEX_BITS ^ 1))" \
        -DMICA_ENTITY_BITS=32 "-DMICA_INDEX_BITS=$((MICA_INDEX_BITS ^ 1))"
fi

[ -x "$MICA_PROGRAM" ] || exit 0
quietly "$MICA_C_COMPILER" -std=c11 "${flags[@]}" "$include" "-DMICA_ENTITY_BITS=$other" -shared -fPIC \
    "$sources/plugin.c" -o "$work/plugin.so"
echo '{"mica": 1, "entities": []}' >"$work/scene.json"
status=0
"$MICA_PROGRAM" run "$work/scene.json" --plugin "$work/plugin.so" --ticks 1 >"$work/out" 2>"$work/log" || status=$?
[ $status -eq 1 ] || { cat "$work/log" >&2; fail "a plugin for other handles ends the program with $status, expected 1"; }
for word in plugin.so "$other" "$MICA_ENTITY_BITS"; do
    grep -q "$word" "$work/log" || { cat "$work/log" >&2; fail "the refusal of the plugin does not name $word"; }
done
