#!/usr/bin/env python3
"""The pictures of measured curves: lines stand where the results say, and what is missing is refused."""
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

SIZED = ["create/one", "create/bulk", "destroy/order", "destroy/random", "walk/2", "walk/mixed", "get/random", "has/random",
         "change/table/order", "change/table/random", "change/pool/order", "change/pool/random"]


def results(names=None, pool=(20.0, 2.0, 200.0)):
    rows = []
    for name in NAMES if names is None else names:
        for n, time in zip((100, 1000, 100000), pool):
            rows.append({"row": name, "variant": "main", "n": n, "unit": "ns", "mica": time, "limit": 20.0})
    return rows


def points(line):
    return [tuple(float(part) for part in point.split(",")) for point in line.get("points").split()]


class Curves(unittest.TestCase):
    def draw(self, rows, kind="table-or-pool"):
        with tempfile.TemporaryDirectory() as folder:
            source, picture = Path(folder) / "results.json", Path(folder) / "picture.svg"
            source.write_text(json.dumps(rows))
            done = subprocess.run([sys.executable, ROOT / "bench/curves.py", kind, source, picture], capture_output=True, text=True)
            return done, ElementTree.fromstring(picture.read_text()) if picture.exists() else None

    def lines(self, rows, style, kind="table-or-pool"):
        done, picture = self.draw(rows, kind)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [points(line) for line in picture.iter(f"{SVG}polyline") if style in line.get("class").split()]

    def test_each_diagram_has_a_line_for_each_storage(self):
        for style in ("first", "second"):
            self.assertEqual([len(line) for line in self.lines(results(), style)], [3, 3, 3])

    def test_slower_is_higher_and_more_is_further_right(self):
        for line in self.lines(results(), "second"):
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
        self.assertEqual(self.lines(rows, "second"), self.lines(rows, "first"))

    def test_rows_without_figures_are_left_out(self):
        rows = results()
        rows[0]["mica"] = rows[0]["limit"] = None
        self.assertEqual([len(line) for line in self.lines(rows, "first")], [2, 3, 3])

    def test_a_diagram_without_rows_is_refused_by_name(self):
        done, picture = self.draw(results(NAMES[1:]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("curve/walk/both has not been measured", done.stderr)
        self.assertIsNone(picture)

    def test_only_main_variants_are_drawn(self):
        rows = results() + [dict(row, variant="other", n=500) for row in results()]
        self.assertEqual([len(line) for line in self.lines(rows, "first")], [3, 3, 3])

    def test_each_operation_has_a_diagram_by_the_number_of_entities(self):
        rows = [{"row": name, "variant": "main", "n": n, "unit": "ns", "mica": 4.0, "limit": 2.0}
                for name in SIZED for n in (1000, 100000, 10000000)]
        for style in ("first", "second"):
            lines = self.lines(rows, style, "sizes")
            self.assertEqual([len(line) for line in lines], [3] * len(SIZED))
            for (x_first, _), (x_second, _), (x_third, _) in lines:
                self.assertAlmostEqual(x_second - x_first, x_third - x_second, delta=0.2)
        places = {line[0] for line in self.lines(rows, "first", "sizes")}
        self.assertEqual(len(places), len(SIZED))

    def test_the_pictures_of_the_pages_are_of_these(self):
        for name, count in (("table_or_pool", len(NAMES)), ("sizes", len(SIZED))):
            picture = ElementTree.parse(ROOT / f"docs/images/{name}.svg").getroot()
            self.assertEqual(len(list(picture.iter(f"{SVG}polyline"))), 2 * count)

    def test_unknown_pictures_are_refused(self):
        done, _ = self.draw(results(), "shares")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("usage", done.stderr)


if __name__ == "__main__":
    unittest.main()
