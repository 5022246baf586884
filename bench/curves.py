#!/usr/bin/env python3
"""Draws what `mica bench curve/ --json RESULTS` measured as three diagrams: walking with another component, walking alone,
and adding or removing, each by the share of the entities that have the component. `make curves` does both.

Usage: curves.py RESULTS PICTURE
"""
import json
import math
import sys
from pathlib import Path

WORLD_COUNT = 100000
PANELS = [
    ("curve/walk/both", "walk, with another component", "ns an entity"),
    ("curve/walk/alone", "walk, alone", "ns an entity"),
    ("curve/change", "add or remove", "ns a change"),
]
# The keys of a row, as the benchmark fills them, and how the line is drawn and named.
LINES = [("limit", "table", "in tables"), ("mica", "pool", "in a pool")]

PANEL_WIDTH, PANEL_HEIGHT = 230, 200
LEFT, TOP, GAP, BOTTOM = 56, 44, 70, 78
WIDTH = LEFT + len(PANELS) * (PANEL_WIDTH + GAP) - GAP + 20
HEIGHT = TOP + PANEL_HEIGHT + BOTTOM

STYLE = """
    text { font: 12px sans-serif; fill: #24292f; }
    .title { font-weight: bold; text-anchor: middle; }
    .x { text-anchor: middle; }
    .y { text-anchor: end; }
    .grid { stroke: #8c959f; stroke-opacity: 0.35; }
    .line { fill: none; stroke-width: 2.5; }
    .table { stroke: #0969da; fill: #0969da; }
    .pool { stroke: #cf6b00; fill: #cf6b00; }
    polyline.table, polyline.pool { fill: none; }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3; }
        .table { stroke: #58a6ff; fill: #58a6ff; }
        .pool { stroke: #f0983a; fill: #f0983a; }
    }"""


def share_text(share):
    return f"{100 * share:g} %"


class Panel:
    """One diagram, both axes logarithmic."""

    def __init__(self, index, name, title, unit, rows):
        self.left = LEFT + index * (PANEL_WIDTH + GAP)
        self.title = title
        self.unit = unit
        self.rows = sorted((row for row in rows if row["row"] == name and row["mica"] and row["limit"]),
                           key=lambda row: row["n"])
        if not self.rows:
            raise SystemExit(f"{name} has not been measured")
        values = [row[key] for row in self.rows for key, _, _ in LINES]
        self.decade_first = math.floor(math.log10(min(values)))
        self.decade_last = max(math.ceil(math.log10(max(values))), self.decade_first + 1)
        self.share_first = math.log10(self.rows[0]["n"] / WORLD_COUNT)

    def x(self, share):
        return self.left + PANEL_WIDTH * (1 - math.log10(share) / self.share_first if self.share_first else 1)

    def y(self, value):
        part = (math.log10(value) - self.decade_first) / (self.decade_last - self.decade_first)
        return TOP + PANEL_HEIGHT * (1 - part)

    def axes(self):
        right = self.left + PANEL_WIDTH
        yield f'<text class="title" x="{self.left + PANEL_WIDTH / 2:.1f}" y="{TOP - 22}">{self.title}</text>'
        yield f'<text x="{self.left - 44}" y="{TOP - 8}">{self.unit}</text>'
        for decade in range(self.decade_first, self.decade_last + 1):
            y = self.y(10 ** decade)
            yield f'<line class="grid" x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            yield f'<text class="y" x="{self.left - 6}" y="{y + 4:.1f}">{10 ** decade:g}</text>'
        for exponent in range(math.ceil(self.share_first), 1):
            x = self.x(10 ** exponent)
            yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + PANEL_HEIGHT}"/>'
            yield f'<text class="x" x="{x:.1f}" y="{TOP + PANEL_HEIGHT + 18}">{share_text(10 ** exponent)}</text>'

    def lines(self):
        for key, style, _ in LINES:
            points = [(self.x(row["n"] / WORLD_COUNT), self.y(row[key])) for row in self.rows]
            yield f'<polyline class="line {style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
            for x, y in points:
                yield f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'


def draw(rows):
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        f"<style>{STYLE}\n</style>",
    ]
    for index, (name, title, unit) in enumerate(PANELS):
        panel = Panel(index, name, title, unit, rows)
        parts += [*panel.axes(), *panel.lines()]
    middle = WIDTH / 2
    parts.append(f'<text class="x" x="{middle:.1f}" y="{TOP + PANEL_HEIGHT + 42}">entities that have the component</text>')
    for index, (_, style, label) in enumerate(LINES):
        x, y = middle - 110 + 130 * index, HEIGHT - 10
        parts.append(f'<line class="line {style}" x1="{x:.1f}" y1="{y - 4}" x2="{x + 24:.1f}" y2="{y - 4}"/>')
        parts.append(f'<text x="{x + 30:.1f}" y="{y}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: curves.py RESULTS PICTURE")
    Path(sys.argv[2]).write_text(draw(json.loads(Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
