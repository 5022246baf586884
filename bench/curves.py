#!/usr/bin/env python3
"""Draws what `mica bench --json RESULTS` measured as diagrams, both axes logarithmic.

Usage: curves.py table-or-pool RESULTS PICTURE   walking with another component, walking alone, and adding or removing, each
                                                 by the share of the entities that have the component
       curves.py sizes RESULTS PICTURE           the main operations, each by the number of entities
`make curves` measures and draws both.
"""
import json
import math
import sys
from pathlib import Path

WORLD_COUNT = 100000  # entities of the worlds of curve/


def share_text(exponent):
    return f"{100 * 10 ** exponent / WORLD_COUNT:g} %"


def count_text(exponent):
    return f"1e{exponent}"


class Picture:
    """What a picture is made of: its diagrams, as rows of the benchmarks with a title and a unit, the lines of each, as
    keys of a row with a style and a label, and what is told about the numbers along the bottom."""

    def __init__(self, panels, lines, columns, bottom, tick_text):
        self.panels = panels
        self.lines = lines
        self.columns = columns
        self.bottom = bottom
        self.tick_text = tick_text


PICTURES = {
    "table-or-pool": Picture([
        ("curve/walk/both", "walk, with another component", "ns an entity"),
        ("curve/walk/alone", "walk, alone", "ns an entity"),
        ("curve/change", "add or remove", "ns a change"),
    ], [("limit", "first", "in tables"), ("mica", "second", "in a pool")], 3, "entities that have the component", share_text),
    "sizes": Picture([
        ("create/one", "create one by one", "ns an entity"),
        ("create/bulk", "create in bulk", "ns an entity"),
        ("destroy/order", "destroy in order", "ns an entity"),
        ("destroy/random", "destroy at random", "ns an entity"),
        ("walk/2", "walk two components", "ns an entity"),
        ("walk/mixed", "walk eight mixes", "ns an entity"),
        ("get/random", "get at random", "ns an entity"),
        ("has/random", "has at random", "ns an entity"),
        ("change/table/order", "change in a table, in order", "ns a change"),
        ("change/table/random", "change in a table, at random", "ns a change"),
        ("change/pool/order", "change in a pool, in order", "ns a change"),
        ("change/pool/random", "change in a pool, at random", "ns a change"),
    ], [("limit", "first", "hand-written C"), ("mica", "second", "Mica")], 4, "entities", count_text),
}

PANEL_WIDTH, PANEL_HEIGHT = 230, 200
LEFT, TOP, GAP, BOTTOM = 56, 44, 70, 78
ROW_GAP = 66

STYLE = """
    text { font: 12px sans-serif; fill: #24292f; }
    .title { font-weight: bold; text-anchor: middle; }
    .x { text-anchor: middle; }
    .y { text-anchor: end; }
    .grid { stroke: #8c959f; stroke-opacity: 0.35; }
    .line { fill: none; stroke-width: 2.5; }
    .first { stroke: #0969da; fill: #0969da; }
    .second { stroke: #cf6b00; fill: #cf6b00; }
    polyline.first, polyline.second { fill: none; }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3; }
        .first { stroke: #58a6ff; fill: #58a6ff; }
        .second { stroke: #f0983a; fill: #f0983a; }
    }"""


class Panel:
    """One diagram."""

    def __init__(self, picture, index, rows):
        name, self.title, self.unit = picture.panels[index]
        self.picture = picture
        self.left = LEFT + index % picture.columns * (PANEL_WIDTH + GAP)
        self.top = TOP + index // picture.columns * (PANEL_HEIGHT + ROW_GAP)
        self.rows = sorted((row for row in rows if row["row"] == name and row["variant"] == "main" and row["mica"]
                            and row["limit"]), key=lambda row: row["n"])
        if not self.rows:
            raise SystemExit(f"{name} has not been measured")
        values = [row[key] for row in self.rows for key, _, _ in picture.lines]
        self.decade_first = math.floor(math.log10(min(values)))
        self.decade_last = max(math.ceil(math.log10(max(values))), self.decade_first + 1)
        self.x_first = math.log10(self.rows[0]["n"])
        self.x_last = math.log10(self.rows[-1]["n"])

    def x(self, n):
        length = self.x_last - self.x_first
        return self.left + PANEL_WIDTH * ((math.log10(n) - self.x_first) / length if length else 1)

    def y(self, value):
        part = (math.log10(value) - self.decade_first) / (self.decade_last - self.decade_first)
        return self.top + PANEL_HEIGHT * (1 - part)

    def axes(self):
        right, below = self.left + PANEL_WIDTH, self.top + PANEL_HEIGHT
        yield f'<text class="title" x="{self.left + PANEL_WIDTH / 2:.1f}" y="{self.top - 22}">{self.title}</text>'
        yield f'<text x="{self.left - 44}" y="{self.top - 8}">{self.unit}</text>'
        for decade in range(self.decade_first, self.decade_last + 1):
            y = self.y(10 ** decade)
            yield f'<line class="grid" x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            yield f'<text class="y" x="{self.left - 6}" y="{y + 4:.1f}">{10 ** decade:g}</text>'
        for exponent in range(math.ceil(self.x_first - 1e-9), math.floor(self.x_last + 1e-9) + 1):
            x = self.x(10 ** exponent)
            yield f'<line class="grid" x1="{x:.1f}" y1="{self.top}" x2="{x:.1f}" y2="{below}"/>'
            yield f'<text class="x" x="{x:.1f}" y="{below + 18}">{self.picture.tick_text(exponent)}</text>'

    def lines(self):
        for key, style, _ in self.picture.lines:
            points = [(self.x(row["n"]), self.y(row[key])) for row in self.rows]
            yield f'<polyline class="line {style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
            for x, y in points:
                yield f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'


def draw(picture, rows):
    row_count = -(-len(picture.panels) // picture.columns)
    width = LEFT + picture.columns * (PANEL_WIDTH + GAP) - GAP + 20
    below = TOP + row_count * (PANEL_HEIGHT + ROW_GAP) - ROW_GAP
    height = below + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{STYLE}\n</style>",
    ]
    for index in range(len(picture.panels)):
        panel = Panel(picture, index, rows)
        parts += [*panel.axes(), *panel.lines()]
    middle = width / 2
    parts.append(f'<text class="x" x="{middle:.1f}" y="{below + 42}">{picture.bottom}</text>')
    for index, (_, style, label) in enumerate(picture.lines):
        x, y = middle - 110 + 130 * index, height - 10
        parts.append(f'<line class="line {style}" x1="{x:.1f}" y1="{y - 4}" x2="{x + 24:.1f}" y2="{y - 4}"/>')
        parts.append(f'<text x="{x + 30:.1f}" y="{y}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in PICTURES:
        raise SystemExit(f"usage: curves.py {'|'.join(PICTURES)} RESULTS PICTURE")
    Path(sys.argv[3]).write_text(draw(PICTURES[sys.argv[1]], json.loads(Path(sys.argv[2]).read_text())))


if __name__ == "__main__":
    main()
