#!/usr/bin/env bash
# Compiles every public header alone, as C11 and as C++17, with each compiler at hand and for each width of the handle.
# All warnings are errors.
set -uo pipefail
cd "$(dirname "$0")/.."

flags=(-fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude)
for folder in modules/*/include; do
    [ ! -d "$folder" ] || flags+=("-I$folder")
done

status=0 count=0
check() {
    local header=$1
    shift
    count=$((count + 1))
    if ! printf '#include <%s>\n' "$header" | "$@" "${flags[@]}" -; then
        echo "check-headers: <$header> does not stand alone: $*" >&2
        status=1
    fi
}

for path in include/mica/*.h modules/*/include/mica/*.h; do
    [ -f "$path" ] || continue
    header=mica/${path##*/}
    for bits in 64 32; do
        for compiler in gcc clang; do
            check "$header" "$compiler" -x c -std=c11 "-DMICA_ENTITY_BITS=$bits"
        done
        for compiler in g++ clang++; do
            check "$header" "$compiler" -x c++ -std=c++17 "-DMICA_ENTITY_BITS=$bits"
        done
    done
done
if [ $count -eq 0 ]; then
    echo "check-headers: no public header found" >&2
    exit 1
fi
exit $status
