#!/usr/bin/env bash
# A project of somebody else's takes Mica as two files: the same text wherever and however often they are written, a program
# that is compiled as their page says, and a library that exports what the library of the build does.
source "$(dirname "$0")/common.sh"

(cd / && PYTHONHASHSEED=1 python3 "$MICA_SOURCE_DIR/scripts/amalgamate.py" "$work")
PYTHONHASHSEED=2 python3 "$MICA_SOURCE_DIR/scripts/amalgamate.py" "$work/again"
for file in mica.h mica.c; do
    cmp "$work/$file" "$work/again/$file"
    ! grep -n "$MICA_SOURCE_DIR" "$work/$file" || fail "$file names a folder of this machine"
done
if grep -E '^ *# *include *["<](base|store|world|run|scene|mica)/' "$work/mica.h" "$work/mica.c"; then
    fail "a file of the project is included"
fi

# The program of the page, and its output.
page=$MICA_SOURCE_DIR/docs/guide/two-files.md
sed -n '/^```c two files$/,/^```$/{/^```/d;p}' "$page" >"$work/main.c"
sed -n '/^```text output of two files$/,/^```$/{/^```/d;p}' "$page" >"$work/expected"
[ -s "$work/main.c" ] && [ -s "$work/expected" ] || fail "$page has no program with its output"
width=("-DMICA_ENTITY_BITS=$MICA_ENTITY_BITS")
[ "$MICA_ENTITY_BITS" = 64 ] || width+=("-DMICA_INDEX_BITS=$MICA_INDEX_BITS")
cd "$work"
quietly "$MICA_C_COMPILER" "${flags[@]}" "${width[@]}" main.c mica.c -pthread -lm -o main
./main >said
diff -u expected said

# What is exported, and what is kept. Sanitizers and coverage add symbols of their own.
exported() { nm --dynamic --defined-only --extern-only --format=posix "$1" | sed -n 's/^\(mi[a-z]*_[^ @]*\).*/\1/p' | sort; }
quietly "$MICA_C_COMPILER" "${flags[@]}" "${width[@]}" -fPIC -shared mica.c -pthread -lm -o libmica.so
exported libmica.so >exported
exported "$MICA_BINARY_DIR/libmica.so" >expected
[ -s expected ] || fail "nothing is exported by the library of the build"
diff -u expected exported
quietly "$MICA_C_COMPILER" "${width[@]}" -DMICA_API= -fvisibility=hidden -fPIC -shared mica.c -pthread -lm -o kept.so
[ -z "$(exported kept.so)" ] || fail "exported although MICA_API is empty: $(exported kept.so | head -n 3)"
