#!/usr/bin/env python3
"""The picture of the guide's page "Table or pool?": lines stand where the results say, and what is missing is refused."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["curve/walk/both", "curve/walk/alone", "curve/change"]


def results(names=None, pool=(20.0, 2.0, 200.0)):
    rows = []
    for name in NAMES if names is None else names:
        for n, time in zip((100, 1000, 100000), pool):
            rows.append({"row": name, "variant": "main", "n": n, "unit": "ns", "mica": time, "limit": 20.0})
    return rows


def points(line):
    return [tuple(float(part) for part in point.split(",")) for point in line.get("points").split()]


class Curves(unittest.TestCase):
    def draw(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            source, picture = Path(folder) / "results.json", Path(folder) / "picture.svg"
            source.write_text(json.dumps(rows))
            done = subprocess.run([sys.executable, ROOT / "bench/curves.py", source, picture], capture_output=True, text=True)
            return done, ElementTree.fromstring(picture.read_text()) if picture.exists() else None

    def lines(self, rows, style):
        done, picture = self.draw(rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [points(line) for line in picture.iter(f"{SVG}polyline") if style in line.get("class").split()]

    def test_each_diagram_has_a_line_for_each_storage(self):
        for style in ("table", "pool"):
            self.assertEqual([len(line) for line in self.lines(results(), style)], [3, 3, 3])

    def test_slower_is_higher_and_more_is_further_right(self):
        for line in self.lines(results(), "pool"):
            (x_first, y_first), (x_second, y_second), (x_third, y_third) = line
            self.assertLess(x_first, x_second)
            self.assertLess(x_second, x_third)
            self.assertLess(y_third, y_first)
            self.assertLess(y_first, y_second)
            # Logarithmic both: one decade of three, and as far up as down.
            self.assertAlmostEqual(3 * (x_second - x_first), x_third - x_first, delta=0.2)
            self.assertAlmostEqual(y_second - y_first, y_first - y_third, delta=0.2)

    def test_equal_times_lie_on_each_other(self):
        rows = results(pool=(20.0, 20.0, 20.0))
        self.assertEqual(self.lines(rows, "pool"), self.lines(rows, "table"))

    def test_rows_without_figures_are_left_out(self):
        rows = results()
        rows[0]["mica"] = rows[0]["limit"] = None
        self.assertEqual([len(line) for line in self.lines(rows, "table")], [2, 3, 3])

    def test_a_diagram_without_rows_is_refused_by_name(self):
        done, picture = self.draw(results(NAMES[1:]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("curve/walk/both has not been measured", done.stderr)
        self.assertIsNone(picture)

    def test_the_picture_of_the_page_is_one_of_these(self):
        picture = ElementTree.parse(ROOT / "docs/images/table_or_pool.svg").getroot()
        self.assertEqual(len(list(picture.iter(f"{SVG}polyline"))), 2 * len(NAMES))


if __name__ == "__main__":
    unittest.main()
