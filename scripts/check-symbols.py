#!/usr/bin/env python3
"""Compares what the library exports with what the public headers declare.

The shared library exports mica_... alone; every function declared with MICA_API is there; and nothing is exported that no
header declares. Names in the static library that others could clash with begin with mica_ or mi_.
Usage: check-symbols.py BUILD-FOLDER
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"\bMICA_API\b[^;{}]*?\b(mica_\w+)\s*(?:\(|;|\[)", re.S)
ABI_PREFIX = "mica_abi_"  # config.h makes this name from the width of the handles
DEFINED_ELSEWHERE = {"mica_plugin"}  # by each plugin
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def defined_symbols(path, *options):
    lines = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", *options, path], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0].split("@")[0] for line in lines if len(line.split()) >= 2}


def declared_names(folder):
    names = set()
    for header in folder.glob("*.h"):
        lines = COMMENT.sub("", header.read_text()).splitlines()
        code = "\n".join(line for line in lines if not re.match(r"\s*#", line))
        names |= set(DECLARATION.findall(code))
    return names - DEFINED_ELSEWHERE


def main():
    build = Path(sys.argv[1])
    faults = []
    libraries = {"mica": ROOT / "include/mica"}
    for module in sorted(ROOT.glob("modules/*/include/mica")):
        libraries[f"mica_{module.parent.parent.name}"] = module
    for name, headers in libraries.items():
        shared = build / f"lib{name}.so"
        static = build / f"lib{name}.a"
        exported = defined_symbols(shared, "--dynamic")
        declared = declared_names(headers)
        if not declared:
            faults.append(f"{headers.relative_to(ROOT)}: no declaration found")
        for symbol in sorted(exported):
            if not symbol.startswith("mica_"):
                faults.append(f"{shared.name} exports {symbol}, which does not begin with mica_")
            elif symbol not in declared and not symbol.startswith(ABI_PREFIX):
                faults.append(f"{shared.name} exports {symbol}, which no public header declares with MICA_API")
        faults += [f"{shared.name} lacks {symbol}, which a public header declares" for symbol in sorted(declared - exported)]
        faults += [f"{static.name} defines {symbol}, which begins neither with mica_ nor with mi_"
                   for symbol in sorted(defined_symbols(static)) if not re.match(r"mica_|mi_", symbol)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
