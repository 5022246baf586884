#!/usr/bin/env python3
"""Measured tables in pages: every figure comes from the results, and nothing else of the page is touched."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PAGE = "before\n<!-- quick -->\nold\n<!-- end quick -->\nbetween\n<!-- slow -->\nkept\n<!-- end slow -->\n"


def row(name="walk/2", mica=0.5, limit=0.25, ratio=2.0, variant="main", n=1000000):
    return {"row": name, "variant": variant, "n": n, "unit": "ns/entity", "mica": mica, "limit": limit, "ratio": ratio,
            "spread": 0.031}


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "page.md"
        self.page.write_text(PAGE)
        self.program = self.folder / "mica"
        self.program.write_text("#!/bin/sh\necho machine: an abacus\necho compiler: cc 1\n")
        self.program.chmod(0o755)

    def write(self, name, *results):
        paths = []
        for index, rows in enumerate(results):
            paths.append(self.folder / f"{index}.json")
            paths[-1].write_text(json.dumps(rows))
        return subprocess.run([sys.executable, ROOT / "bench/table.py", self.page, name, self.program, *paths],
                              capture_output=True, text=True)

    def expect(self, name, *results):
        done = self.write(name, *results)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.page.read_text()

    def test_rows_stand_in_their_place_alone(self):
        text = self.expect("quick", [row()])
        self.assertIn("| walk/2 | main | 1,000,000 | ns/entity | 0.50 | 0.25 | 2.00 | 0.031 |\n<!-- end quick -->", text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("before\n<!-- quick -->\n- machine: an abacus\n- compiler: cc 1\n- date: 2"))
        self.assertTrue(text.endswith("<!-- end quick -->\nbetween\n<!-- slow -->\nkept\n<!-- end slow -->\n"))

    def test_writing_again_changes_nothing(self):
        first = self.expect("quick", [row()])
        self.assertEqual(self.expect("quick", [row()]), first)

    def test_figures_that_do_not_exist_are_dashes(self):
        self.assertIn("| clear | main | 1,000,000 | ns/entity | 0.012 | - | - | 0.031 |",
                      self.expect("quick", [row("clear", 0.012, None, None)]))

    def test_beside_other_results_only_what_differs_is_shown(self):
        text = self.expect("slow", [row(mica=0.6), row("get", 1.05), row("has", 2, None, None), row("new")],
                           [row(mica=0.5), row("get", 1.0), row("has", None, None, None)])
        self.assertIn("| walk/2 | main | 1,000,000 | ns/entity | 0.60 | 0.50 | 2.00 | 2.00 |", text)
        for name in ("get", "has", "new"):
            self.assertNotIn(f"| {name} |", text)

    def test_a_page_without_the_place_is_refused_and_left(self):
        done = self.write("other", [row()])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("0 places for 'other'", done.stderr)
        self.assertEqual(self.page.read_text(), PAGE)


if __name__ == "__main__":
    unittest.main()
