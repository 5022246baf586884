#!/usr/bin/env bash
# Looks over the sources without running them. Prints nothing but what is wrong.
# Usage: lint.sh CHECK...   with the checks format, cppcheck, tidy, layers, headers, or all
set -uo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
status=0

check_format() { scripts/list-sources.sh | xargs clang-format --dry-run -Werror; }

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
[ "$*" != all ] || set -- format layers headers cppcheck tidy
for check in "$@"; do
    if ! "check_$check"; then
        echo "lint: $check failed" >&2
        status=1
    fi
done
exit $status
