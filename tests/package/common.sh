# What the tests of the installed package share. Each takes the build folder's Mica, its compiler and its instrumentation
# from the environment.
set -euo pipefail

sources=$MICA_SOURCE_DIR/tests/package
work=$MICA_BINARY_DIR/tests/package/$(basename "$0" .sh)
read -ra flags <<<"${MICA_INSTRUMENTATION:-}"
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "$*" >&2
    exit 1
}

# quietly COMMAND...: shows what it said only when it failed.
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }
}

# check PROGRAM: it runs and says that its handles are those of the library.
check() {
    local said
    said=$("$1") || fail "$1 failed"
    [[ $said == "$MICA_ENTITY_BITS bits, "* ]] || fail "$1 says '$said', expected '$MICA_ENTITY_BITS bits, ...'"
}
