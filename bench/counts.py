#!/usr/bin/env python3
"""Counts the instructions and the last-level misses of each benchmark with valgrind, which gives the same on every machine
that runs the same code.

Usage: counts.py PROGRAM TABLE           counts all rows and writes the table
       counts.py --check PROGRAM TABLE   counts all rows and compares: exits with 1, naming the rows, when one is more than
                                         5 % worse than the table says, or when rows or the build are others
Rows are counted side by side, each side in a process of its own. `make counts` and `make counts-check` build what
PROGRAM is to be.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "131072,8,64"}
# What the C library chooses by the processor it finds is chosen here, so that copies are the same instructions everywhere.
TUNABLES = ":".join([
    "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load,-Prefer_ERMS",
    "glibc.cpu.x86_data_cache_size=32768",
    "glibc.cpu.x86_shared_cache_size=131072",
    "glibc.cpu.x86_non_temporal_threshold=4194304",
])
# A figure may be so much larger: a part of it, and besides so many an operation, below which a part says nothing.
PART = 0.05
SLACK = {"instructions": 0.05, "misses": 0.02}
# And so many misses a run, which come and go with the length of the program's path: that stands on the stack as well.
RUN_SLACK = {"instructions": 0, "misses": 16}
FIGURES = [("mica", "instructions"), ("limit", "instructions"), ("mica", "misses"), ("limit", "misses")]

TEXT = """# Counted

Instructions and last-level misses an operation, counted by valgrind: they do not depend on the machine, so that a change
of a few per cent is a change of the code. `make counts` writes this page; `.ci/run` counts again and fails where Mica
needs over 5 % more than stands here. [Performance](performance.md#counts) says how it is done and what the rows are.

{about}

| row | variant | n | instructions | limit | misses | limit |
|---|---|--:|--:|--:|--:|--:|
{rows}
"""
ABOUT = re.compile(r"^- ([A-Za-z0-9 -]+): (.*)$", re.M)
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d,]+) \|" + r" ([\d.]+|-) \|" * len(FIGURES) + "$", re.M)


class Failure(Exception):
    """What is said to the user in place of a result."""


def build_of(program):
    """What the figures depend on, as pairs of a name and a text."""
    lines = subprocess.run([program, "bench", "--about"], check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = [line.split(": ", 1) for line in lines]
    wanted = {"compiler", "library", "benchmarks", "handles"}
    build = {name: text for name, text in pairs if name in wanted}
    build["C library"] = os.confstr("CS_GNU_LIBC_VERSION")
    build["caches"] = "; ".join(f"{name} {shape}" for name, shape in CACHES.items())
    return build


def countable(program):
    """The rows as (name, variant) -> (n, operations, sides)."""
    lines = subprocess.run([program, "bench", "--countable"], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = {}
    for name, variant, n, operations, sides in (line.split("\t") for line in lines):
        rows[name, variant] = int(n), int(operations), ["mica", "limit"] if sides == "both" else ["mica"]
    return rows


def count(program, side, name, variant):
    """Instructions and last-level misses of one run of a side."""
    command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--toggle-collect=bench_once_counted",
               "--callgrind-out-file=/dev/null", *(f"--{cache}={shape}" for cache, shape in CACHES.items()),
               program, "bench", "--once", side, name, variant]
    # Nothing else of the environment: its size moves the stack, and with it what falls into which line of a cache.
    done = subprocess.run(command, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "GLIBC_TUNABLES": TUNABLES})
    events = re.search(r"Events +: (.*)", done.stderr)
    collected = re.search(r"Collected +: ([\d ]+)", done.stderr)
    if done.returncode != 0 or not events or not collected:
        raise Failure(f"{name}, {variant}, {side}: not counted:\n{done.stderr.strip()[-800:]}")
    counts = dict.fromkeys(events[1].split(), 0)  # zeros at the end are not printed
    counts.update(zip(counts, map(int, collected[1].split())))
    if not counts["Ir"]:
        raise Failure(f"{name}, {variant}, {side}: nothing was counted; is bench_once_counted still a function?")
    return {"instructions": counts["Ir"], "misses": counts["ILmr"] + counts["DLmr"] + counts["DLmw"]}


def count_all(program):
    """All rows as (name, variant) -> (n, {figure: an operation, or None}, operations)."""
    rows = countable(program)
    jobs = [(row, side) for row, (_, _, sides) in rows.items() for side in sides]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counted = dict(zip(jobs, pool.map(lambda job: count(program, job[1], *job[0]), jobs)))
    return {row: (n, {(side, event): counted[row, side][event] / operations if side in sides else None
                      for side, event in FIGURES}, operations)
            for row, (n, operations, sides) in rows.items()}


def figure_text(figure, event):
    if figure is None:
        return "-"
    return f"{figure:.2f}" if event == "instructions" else f"{figure:.3f}"


def table_text(build, rows):
    lines = [f"| {name} | {variant} | {n:,} | " +
             " | ".join(figure_text(figures[key], key[1]) for key in FIGURES) + " |"
             for (name, variant), (n, figures, _) in sorted(rows.items())]
    return TEXT.format(about="\n".join(f"- {name}: {text}" for name, text in build.items()), rows="\n".join(lines))


def table_read(text):
    """What `table_text` was given, but for operations."""
    rows = {}
    for name, variant, n, *figures in ROW.findall(text):
        values = (None if figure == "-" else float(figure) for figure in figures)
        rows[name, variant] = int(n.replace(",", "")), dict(zip(FIGURES, values))
    return dict(ABOUT.findall(text)), rows


def differs(then, now, event, operations):
    """-1, 0, 1: smaller, the same but for what is allowed, larger."""
    allowed = PART * then + max(SLACK[event], RUN_SLACK[event] / operations)
    return (now > then + allowed) - (now < then - allowed)


def compare_row(name, variant, then, now):
    """Complaints about a row that is in the table and in the program."""
    if then[0] != now[0]:
        return [f"{name}, {variant}: counted at n = {now[0]}, in the table at {then[0]}"]
    complaints = []
    for side, event in FIGURES:
        before, after = then[1][side, event], now[1][side, event]
        if (before is None) != (after is None):
            complaints.append(f"{name}, {variant}: the {side} has figures in the table or in the program alone")
        elif before is None:
            continue
        elif side == "mica" and differs(before, after, event, now[2]) > 0:
            complaints.append(f"{name}, {variant}: {figure_text(before, event)} {event} have become "
                              f"{figure_text(after, event)}")
        elif side == "limit" and differs(before, after, event, now[2]) != 0:
            complaints.append(f"{name}, {variant}: the limit's {figure_text(before, event)} {event} have become "
                              f"{figure_text(after, event)}, so the table is of other code")
    return complaints


def compare(table, build, rows):
    """Complaints about a table's text, none if the program is as it says."""
    build_then, rows_then = table_read(table)
    if not rows_then:
        return ["the table has no rows"]
    complaints = [f"the table is of {name} '{build_then.get(name)}', this is '{text}'"
                  for name, text in build.items() if build_then.get(name) != text]
    if complaints:
        return complaints
    complaints += [f"{name}, {variant}: not in the table" for name, variant in rows if (name, variant) not in rows_then]
    for row, then in rows_then.items():
        complaints += compare_row(*row, then, rows[row]) if row in rows else [f"{row[0]}, {row[1]}: in the table alone"]
    return complaints


def main(arguments):
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 2 + is_check:
        raise Failure("usage: counts.py [--check] PROGRAM TABLE")
    program, table = os.path.abspath(arguments[-2]), Path(arguments[-1])
    if not shutil.which("valgrind"):
        raise Failure("valgrind is not installed")
    build = build_of(program)
    if not is_check:
        table.write_text(table_text(build, count_all(program)))
        return 0
    text = table.read_text()
    # What was built otherwise need not be counted.
    complaints = [c for c in compare(text, build, {}) if c.startswith("the table")] or compare(text, build, count_all(program))
    for complaint in complaints:
        print(complaint)
    if complaints:
        print("If that is meant to be so, `make counts` writes the table anew.")
    return 1 if complaints else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"counts: {failure}")
