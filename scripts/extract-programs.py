#!/usr/bin/env python3
"""Writes the code that stands in Markdown files to files of their own, as printed there, for the tests to compile.

Marks of fenced blocks:

    ```c               a program if it defines main, a plugin if it defines mica_plugin, otherwise declarations
    ```c statements    the body of a function that is given `world`, `entity`, `commands` and `run`
    ```cpp             a program in C++
    ```text output     what the program above it prints
    ```json scene      a scene for the plugin above it, which is run over it for a second of 32 ticks ...
    ```json output     ... and the scene that comes out

Blocks with other marks are not for here: "c two files" is compiled by tests/package/test_two_files.sh.

A comment that opens with `<!-- c` holds declarations that are compiled and not shown. Declarations and statements of one
page are fragments: they become one file, in the order of the page, in which <mica/mica.h> and <stdio.h> are included.

Prints a line for each file, its parts separated by tabs: "program", "plugin" or "fragments", a name made of the page's
path, the file, and the files with the scene and the output that belong to it. A file is written only when its text changes.
Usage: extract-programs.py OUTPUT-FOLDER MARKDOWN-FILE...
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^(?:```(?P<mark>(?:c|cpp|c statements|text output|json scene|json output))\n(?P<text>.*?)^```|<!-- c\n(?P<hidden>.*?)^-->)$",
                   re.S | re.M)
MAIN = re.compile(r"^int main\(", re.M)
PLUGIN = re.compile(r"^(?:MICA_PLUGIN\(|(?:MICA_\w+ )?mica_result mica_plugin\()", re.M)
ATTACHED = {
    "text output": ("program", "_output.txt"),
    "json scene": ("plugin", "_scene.json"),
    "json output": ("plugin", "_output.json"),
}
FRAGMENTS_START = """#include <mica/mica.h>

#include <stdio.h>

// Fragments name what they do not use.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
"""
PARAMETERS = "mica_world *world, mica_entity entity, mica_commands *commands, mica_run *run"
USES = "    (void)world;\n    (void)entity;\n    (void)commands;\n    (void)run;\n"


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


class Page:
    """What one Markdown file is taken apart into."""

    def __init__(self, source, output):
        relative = source.resolve().relative_to(ROOT).with_suffix("")
        self.name = "_".join(relative.parts).lower().replace("-", "_")
        self.output = output
        self.program_count = 0
        self.fragments = ""
        self.fragment_count = 0
        self.lines = []

    def whole(self, kind, extension, text):
        self.program_count += 1
        stem = f"{self.name}_{self.program_count}"
        path = self.output / f"{stem}{extension}"
        write(path, text)
        self.lines.append(f"{kind}\t{stem}\t{path}")

    def attach(self, kind, ending, text):
        if not self.lines or not self.lines[-1].startswith(f"{kind}\t"):
            sys.exit(f"{self.name}: {ending} without a {kind} above it")
        path = self.output / f"{self.name}_{self.program_count}{ending}"
        write(path, text)
        self.lines[-1] += f"\t{path}"

    def statements(self, text):
        self.fragment_count += 1
        body = "".join("    " + line if line.strip() else line for line in text.splitlines(keepends=True))
        self.fragments += f"\nstatic void fragment_{self.fragment_count}({PARAMETERS}) {{\n{USES}{body}}}\n"

    def block(self, mark, text):
        if mark in ATTACHED:
            self.attach(*ATTACHED[mark], text)
        elif mark == "c statements":
            self.statements(text)
        elif MAIN.search(text):
            self.whole("program", f".{mark}", text)
        elif mark == "cpp":
            sys.exit(f"{self.name}: C++ that is no program")
        elif PLUGIN.search(text):
            self.whole("plugin", ".c", text)
        else:
            self.fragments += f"\n{text}"

    def finish(self):
        if self.fragments:
            path = self.output / f"{self.name}_fragments.c"
            write(path, FRAGMENTS_START + self.fragments)
            self.lines.append(f"fragments\t{self.name}_fragments\t{path}")
        return self.lines


def main():
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        source = Path(name)
        page = Page(source, output)
        for match in BLOCK.finditer(source.read_text()):
            page.block(match["mark"] or "c", match["text"] if match["mark"] else match["hidden"])
        for line in page.finish():
            print(line)


if __name__ == "__main__":
    main()
