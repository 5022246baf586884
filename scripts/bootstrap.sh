#!/usr/bin/env bash
# Installs the Debian packages that a purpose needs and that are missing.
# Usage: bootstrap.sh PURPOSE...   with the purposes build, test, lint, count, draw
set -euo pipefail

packages=() reasons=()

# need PACKAGE REASON COMMAND...: the package is wanted unless the command succeeds.
need() {
    local package=$1 reason=$2
    shift 2
    if ! "$@" >/dev/null 2>&1; then
        packages+=("$package")
        reasons+=("$reason")
    fi
}

have() { command -v "$1"; }
have_library() { have pkg-config && pkg-config --exists "$1"; }
have_clang_sanitizers() { have clang && test -e "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a)"; }
have_cmake() {
    local version
    have cmake && version=$(cmake --version | sed -n '1s/.* //p') && [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

for purpose in "$@"; do
    case $purpose in
    build)
        need cmake "describes the build (3.25 or newer)" have_cmake
        need pkg-config "finds libraries" have pkg-config
        need gcc "compiles C" have cc
        need libc6-dev "headers of the C library" test -e /usr/include/stdio.h
        need libjansson-dev "reads and writes JSON, in the program and the scene modules" have_library jansson
        need libpng-dev "writes the picture of the demo" have_library libpng
        ;;
    test)
        need gcc "compiles C" have gcc
        need g++ "compiles the test that uses Mica from C++" have g++
        need libcmocka-dev "runs the unit tests" have_library cmocka
        need assimp-testmodels "glTF scenes that the tests load" test -d /usr/share/assimp/models/glTF2
        need python3 "runs the tests of the program" have python3
        need valgrind "counts the instructions of what must grow linearly" have valgrind
        need binutils "lists the symbols of the library" have nm
        ;;
    lint)
        need clang "the second compiler" have clang
        need libclang-rt-dev "its sanitizers" have_clang_sanitizers
        need clang-tidy "static analysis" have clang-tidy
        need clang-format "the format of the sources" have clang-format
        need cppcheck "static analysis" have cppcheck
        ;;
    count)
        need python3 "runs the counting and writes its table" have python3
        need valgrind "counts instructions and cache misses" have valgrind
        ;;
    draw)
        need graphviz "draws the plans of schedules" have dot
        ;;
    *)
        echo "bootstrap.sh: unknown purpose '$purpose'; expected build, test, lint, count or draw" >&2
        exit 2
        ;;
    esac
done

[ ${#packages[@]} -gt 0 ] || exit 0

echo "Mica needs packages that are not installed:"
for i in "${!packages[@]}"; do
    printf '  %-18s %s\n' "${packages[i]}" "${reasons[i]}"
done

refuse() {
    echo "$1 Install them with your package manager and start again; on Debian:" >&2
    echo "  apt-get install ${packages[*]}" >&2
    exit 1
}

have apt-get >/dev/null || refuse "There is no apt-get here to install them with."
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    have sudo >/dev/null || refuse "Only root may install them, and there is no sudo."
    as_root=(sudo)
fi
echo "Installing them with ${as_root[*]:+${as_root[*]} }apt-get."
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" </dev/null
}
mkdir -p build
log=build/bootstrap.log
if ! { "${as_root[@]}" apt-get update -q </dev/null && install; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    refuse "apt-get failed (all that it said: $log)."
fi
