#!/usr/bin/env python3
"""Writes what `mica bench --json RESULTS` measured into a page, between the lines `<!-- NAME -->` and `<!-- end NAME -->`,
with the machine, the compiler and the flags that PROGRAM names.

Usage: table.py PAGE NAME PROGRAM RESULTS           all rows
       table.py PAGE NAME PROGRAM RESULTS OTHER     rows that differ by over a tenth from the results OTHER
`make performance` measures and writes all tables of docs/performance.md.
"""
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

PART = 0.1


def figure_text(value):
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:,.2f}"


def line_text(cells):
    return "| " + " | ".join(cells) + " |"


def identity(row):
    return row["row"], row["variant"], row["n"]


def table_of(results):
    lines = ["| row | variant | n | unit | mica | limit | ratio | spread |", "|---|---|--:|---|--:|--:|--:|--:|"]
    for row in results:
        figures = [figure_text(row[key]) for key in ("mica", "limit", "ratio", "spread")]
        lines.append(line_text([row["row"], row["variant"], f"{row['n']:,}", row["unit"], *figures]))
    return lines


def difference_of(results, others):
    """The rows in which Mica's figure is another than in `others`, by over a tenth."""
    known = {identity(row): row for row in others}
    lines = ["| row | variant | n | unit | mica | else | ratio | else |", "|---|---|--:|---|--:|--:|--:|--:|"]
    for row in results:
        other = known.get(identity(row))
        if not other or row["mica"] is None or other["mica"] is None:
            continue
        if abs(row["mica"] - other["mica"]) > PART * abs(other["mica"]):
            figures = [figure_text(figure) for figure in (row["mica"], other["mica"], row["ratio"], other["ratio"])]
            lines.append(line_text([row["row"], row["variant"], f"{row['n']:,}", row["unit"], *figures]))
    return lines


def about(program):
    lines = subprocess.run([program, "bench", "--about"], check=True, capture_output=True, text=True).stdout.splitlines()
    return [f"- {line}" for line in [*lines, f"date: {datetime.date.today().isoformat()}"]]


def replaced(page, name, lines):
    """The page with these lines between the marks of that name."""
    marks = re.compile(rf"^(<!-- {re.escape(name)} -->)\n.*?^(<!-- end {re.escape(name)} -->)$", re.S | re.M)
    text, count = marks.subn(lambda match: "\n".join([match[1], *lines, match[2]]), page)
    if count != 1:
        raise SystemExit(f"table: the page has {count} places for '{name}', not one")
    return text


def main(arguments):
    if len(arguments) not in (4, 5):
        raise SystemExit("usage: table.py PAGE NAME PROGRAM RESULTS [OTHER]")
    page, name, program = Path(arguments[0]), arguments[1], arguments[2]
    results = [json.loads(Path(path).read_text()) for path in arguments[3:]]
    table = table_of(results[0]) if len(results) == 1 else difference_of(*results)
    page.write_text(replaced(page.read_text(), name, [*about(program), "", *table]))


if __name__ == "__main__":
    main(sys.argv[1:])
