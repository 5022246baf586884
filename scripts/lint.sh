#!/usr/bin/env bash
# Looks over the sources without running them. Prints nothing but what is wrong.
# Usage: lint.sh CHECK...   with the checks format, lists, layers, headers, cppcheck, tidy, or all
set -uo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
status=0

check_format() { scripts/list-sources.sh | xargs clang-format --dry-run -Werror; }

# A source that no list names is neither built nor tested.
check_lists() {
    local source folder status=0
    while read -r source; do
        folder=${source%/*}
        until [ -f "$folder/CMakeLists.txt" ]; do folder=${folder%/*}; done
        [ "${source%%/*}" != tests ] || [[ $source == */package/[!t]* ]] || folder=tests
        [ "${folder%%/*}" != modules ] || folder=${source%/*}
        grep -qwF -- "${source#"$folder"/}" "$folder"/CMakeLists.txt "${folder%%/*}"/CMakeLists.txt "$folder"/*.sh 2>/dev/null ||
            { echo "$source: no CMakeLists.txt names it"; status=1; }
    done < <(find src modules tools bench examples tests -name '*.c' -o -name '*.cpp' -o -name 'test_*.sh' -o -name 'test_*.py' | sort)
    return $status
}

check_cppcheck() {
    # Each width of the handle is a configuration of its own, so the defines are given and others not tried.
    scripts/list-sources.sh | grep -E '^(src|modules|tools|bench|examples)/.*\.c$' |
        cppcheck --file-list=- --quiet -j "$jobs" --error-exitcode=1 --std=c11 --language=c \
            --enable=warning,performance,portability --inline-suppr --suppressions-list=.cppcheck-suppressions \
            --template='{file}:{line}: {severity}: {message} [{id}]' \
            -DMICA_ENTITY_BITS=64 -D__GNUC__=12 -D__STDC_VERSION__=201710L -Iinclude -Isrc $(printf -- '-I%s ' modules/*/include)
}

check_tidy() {
    scripts/configure.sh clang || return 1
    # One file a run: with several, clang-tidy 14 loses sight of va_start. Its error stream counts what it leaves out.
    scripts/list-sources.sh | grep -E '^(src|modules|tools|bench|examples)/.*\.c$' |
        xargs -n 1 -P "$jobs" clang-tidy --quiet --warnings-as-errors='*' -p build/clang 2>build/tidy-errors.log ||
        { grep -v 'warnings\? generated\.$' build/tidy-errors.log; return 1; }
}

check_layers() { python3 scripts/check-layers.py; }
check_headers() { scripts/check-headers.sh; }

mkdir -p build
[ "$*" != all ] || set -- format lists layers headers cppcheck tidy
for check in "$@"; do
    if ! "check_$check"; then
        echo "lint: $check failed" >&2
        status=1
    fi
done
exit $status
