#!/usr/bin/env python3
"""Writes the complete C programs and plugins that stand in Markdown files to files of their own, as printed there.

A fenced block marked `c` is a program when it defines main, a plugin when it defines mica_plugin, else a fragment, which
is left out. Prints "program NAME PATH" or "plugin NAME PATH" for each. A file is written only when its text has changed.
Usage: extract-programs.py OUTPUT-FOLDER MARKDOWN-FILE...
"""
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```c\n(.*?)^```$", re.S | re.M)
KINDS = {"program": re.compile(r"^int main\(", re.M), "plugin": re.compile(r"^(?:MICA_\w+ )?mica_result mica_plugin\(", re.M)}


def main():
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        source = Path(name)
        number = 0
        for code in BLOCK.findall(source.read_text()):
            for kind, pattern in KINDS.items():
                if not pattern.search(code):
                    continue
                number += 1
                stem = f"{source.stem.lower()}_{number}"
                path = output / f"{stem}.c"
                if not path.exists() or path.read_text() != code:
                    path.write_text(code)
                print(kind, stem, path)
                break


if __name__ == "__main__":
    main()
