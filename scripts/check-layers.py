#!/usr/bin/env python3
"""Holds the order of the folders: a file includes only what lies in its own folder or in one before it.

It also holds how things are included (<mica/x.h> for the public face, "folder/x.h" for the rest), and that the core needs
nothing but the C library and threads. Prints each line that breaks a rule; exits with 1 if there is one.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The program runs the benchmarks, so that they come before it.
LAYERS = ["include/mica", "src/base", "src/store", "src/world", "src/state", "src/run", "src/scene", "modules", "bench",
          "tools"]
C_HEADERS = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "iso646.h", "limits.h", "locale.h",
    "math.h", "setjmp.h", "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
    "stdio.h", "stdlib.h", "stdnoreturn.h", "string.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "wchar.h", "wctype.h",
}
CPP_HEADERS = {"atomic", "initializer_list", "new", "tuple", "type_traits", "utility"}
# The core: in src/base alone. The sanitizer's header is the compiler's, and is included in instrumented builds only.
SYSTEM_HEADERS = {"fcntl.h", "pthread.h", "sched.h", "unistd.h", "sys/mman.h", "sys/stat.h", "sys/syscall.h",
                  "linux/perf_event.h", "windows.h", "sanitizer/asan_interface.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    for index, folder in enumerate(LAYERS):
        if path.is_relative_to(folder):
            return index
    return None


def refusal(path, layer, form, name):
    """Why the file may not include that, or None."""
    folder = LAYERS[layer]
    core = folder.startswith(("include", "src"))
    if form == "<":
        if name.startswith("mica/"):
            if (ROOT / "include" / name).is_file():
                return None
            module = next((m for m in ROOT.glob("modules/*") if (m / "include" / name).is_file()), None)
            if module is None:
                return "there is no such public header"
            return f"it belongs to {module.relative_to(ROOT)}, which comes after {folder}" if core else None
        if not core or name in C_HEADERS or (layer == 0 and name in CPP_HEADERS):
            return None
        if name in SYSTEM_HEADERS and folder == "src/base":
            return None
        return "the core depends on the C library alone, and on the system in src/base alone"
    if ".." in name.split("/"):
        return "includes are written from the root of the sources"
    if layer == 0:
        return "a public header includes <mica/...> only"
    if not core and (ROOT / path.parent / name).is_file():
        return None
    target = Path(name) if name.startswith("bench/") else Path("src") / name
    if not (ROOT / target).is_file():
        return "there is no such file in src/"
    theirs = layer_of(target)
    if theirs is None:
        return "that folder has no place in the order"
    if theirs > layer:
        return f"{LAYERS[theirs]} comes after {folder}"
    return None


def main():
    faults = []
    count = 0
    for top in ("include", "src", "modules", "bench", "tools"):
        for absolute in sorted((ROOT / top).rglob("*.[ch]")):
            path = absolute.relative_to(ROOT)
            layer = layer_of(path)
            count += 1
            if layer is None:
                faults.append(f"{path}: this folder has no place in the order")
                continue
            for number, line in enumerate(absolute.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and refusal(path, layer, match[1], match[2])
                if reason:
                    faults.append(f"{path}:{number}: includes {match[2]}: {reason}")
    if count == 0:
        faults.append("no sources found")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
