#!/usr/bin/env python3
"""The table of counts: what is written is read again, and each way in which a program can be worse than its table is told.

The program and valgrind are stand-ins that print what a case wants counted.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SCRIPT = ROOT / "bench/counts.py"

PROGRAM = """#!{python}
import json, sys
case = json.load(open({case!r}))
if sys.argv[2] == "--about":
    print("machine: any\\ncompiler: " + case["compiler"] + "\\nlibrary: -O3\\nbenchmarks: -O3\\nhandles: 64 bits")
else:
    for name, variant, sides in case["rows"]:
        print(name, variant, 1000, 1 if name == "frame" else 2000, "both" if "limit" in sides else "mica", sep="\\t")
"""
VALGRIND = """#!{python}
import json, sys
case = json.load(open({case!r}))
side, name, variant = sys.argv[-3:]
counts = [sides[side] for row, kind, sides in case["rows"] if (row, kind) == (name, variant)][0]
print("Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw", file=sys.stderr)
print("Collected :", *counts, file=sys.stderr)
"""


def counts(instructions, misses=0):
    """As callgrind prints them, for 2,000 operations; a third of the misses each is one of its three kinds."""
    return [round(2000 * instructions), 5, 5, 1, 1, 1] + [round(2000 * misses / 3)] * 3


def rows(mica=counts(100, 3), limit=counts(50, 3)):
    return [["walk/2", "main", {"mica": mica, "limit": limit}], ["clear", "a, b", {"mica": counts(20)}]]


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.table = self.folder / "counts.md"
        for name, text in (("mica", PROGRAM), ("valgrind", VALGRIND)):
            path = self.folder / name
            path.write_text(text.format(python=sys.executable, case=str(self.folder / "case.json")))
            path.chmod(0o755)

    def run_script(self, case_rows, *options, compiler="GNU 12"):
        (self.folder / "case.json").write_text(json.dumps({"compiler": compiler, "rows": case_rows}))
        return subprocess.run([sys.executable, SCRIPT, *options, self.folder / "mica", self.table], capture_output=True,
                              text=True, env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})

    def write(self, case_rows, **keywords):
        done = self.run_script(case_rows, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.table.read_text()

    def check(self, case_rows, **keywords):
        return self.run_script(case_rows, "--check", **keywords)

    def expect_failure(self, case_rows, *texts, **keywords):
        done = self.check(case_rows, **keywords)
        self.assertEqual(done.returncode, 1, done.stdout)
        for text in (*texts, "make counts"):
            self.assertIn(text, done.stdout)
        return done.stdout

    def test_a_few_misses_of_a_run_that_is_one_operation_say_nothing(self):
        def frame(misses):
            return [["frame", "main", {"mica": [100, 5, 5, 1, 1, 1, misses, 0, 0]}]]
        self.write(frame(6))
        self.assertEqual(self.check(frame(20)).returncode, 0)
        self.expect_failure(frame(30), "frame, main: 6.000 misses have become 30.000")

    def test_figures_are_of_one_operation(self):
        text = self.write(rows())
        self.assertIn("| walk/2 | main | 1,000 | 100.00 | 50.00 | 3.000 | 3.000 |", text)
        self.assertIn("| clear | a, b | 1,000 | 20.00 | - | 0.000 | - |", text)

    def test_the_build_is_named(self):
        text = self.write(rows())
        for line in ("- compiler: GNU 12", "- library: -O3", "- benchmarks: -O3", "- handles: 64 bits", "LL 131072,8,64"):
            self.assertIn(line, text)
        self.assertNotIn("machine", text.split("\n- ", 1)[1])

    def test_the_same_again_passes(self):
        self.write(rows())
        done = self.check(rows())
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_up_to_five_per_cent_more_passes(self):
        self.write(rows())
        self.assertEqual(self.check(rows(mica=counts(104.9, 3.14))).returncode, 0)

    def test_more_instructions_fail_with_both_figures(self):
        self.write(rows())
        self.expect_failure(rows(mica=counts(105.5, 3)), "walk/2, main: 100.00 instructions have become 105.50")

    def test_more_misses_fail_with_both_figures(self):
        self.write(rows())
        self.expect_failure(rows(mica=counts(100, 3.6)), "walk/2, main: 3.000 misses have become 3.600")

    def test_a_few_hundredths_more_of_almost_nothing_pass(self):
        self.write(rows(mica=counts(0.1)))
        self.assertEqual(self.check(rows(mica=counts(0.15, 0.015))).returncode, 0)
        self.expect_failure(rows(mica=counts(0.2)), "0.10 instructions have become 0.20")

    def test_fewer_pass(self):
        self.write(rows())
        self.assertEqual(self.check(rows(mica=counts(50, 1))).returncode, 0)

    def test_a_limit_that_has_changed_fails_either_way(self):
        self.write(rows())
        for instructions in (40, 60):
            self.expect_failure(rows(limit=counts(instructions, 3)), "walk/2, main: the limit's 50.00 instructions")

    def test_a_row_that_the_table_lacks_fails(self):
        self.write(rows()[:1])
        self.expect_failure(rows(), "clear, a, b: not in the table")

    def test_a_row_that_is_gone_fails(self):
        self.write(rows())
        self.expect_failure(rows()[:1], "clear, a, b: in the table alone")

    def test_a_limit_that_is_gone_fails(self):
        self.write(rows())
        without = rows()
        del without[0][2]["limit"]
        self.expect_failure(without, "walk/2, main: the limit has figures in the table or in the program alone")

    def test_another_compiler_is_told_before_anything_is_counted(self):
        self.write(rows())
        text = self.expect_failure(rows(mica=counts(200, 3)), "the table is of compiler 'GNU 12', this is 'GNU 13'",
                                   compiler="GNU 13")
        self.assertNotIn("walk/2", text)

    def test_a_table_without_rows_fails(self):
        self.table.write_text("# Counted\n")
        self.expect_failure(rows(), "the table has no rows")

    def test_a_run_without_counts_is_no_result(self):
        done = self.run_script(rows(mica=[0]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("walk/2, main, mica: nothing was counted", done.stderr)
        self.assertFalse(self.table.exists())


if __name__ == "__main__":
    unittest.main()
