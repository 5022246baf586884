#!/usr/bin/env python3
"""A chain and many siblings, in shuffled order, cost twice as much when they are twice as many.

Instructions are counted, so that the machine's load does not show. `MICA_SCALE_NODES=500000 test_scale.py` tries the
full size.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import unittest

from program import PROGRAM, ProgramTest

NODES = int(os.environ.get("MICA_SCALE_NODES", "40000"))
RATIO = 2.2


def shuffled_hierarchy(count):
    """Parents of nodes (-1: none): two fifths a chain, the rest siblings below its head; and their order."""
    shuffle = random.Random(count)
    nodes = list(range(count))
    shuffle.shuffle(nodes)
    chain, siblings = nodes[:count * 2 // 5], nodes[count * 2 // 5:]
    parents = [-1] * count
    for parent, child in zip(chain, chain[1:]):
        parents[child] = parent
    for sibling in siblings:
        parents[sibling] = chain[0]
    shuffle.shuffle(siblings)
    children = {parent: [child] for parent, child in zip(chain, chain[1:])}
    children.setdefault(chain[0], []).extend(siblings)
    return parents, children


class Scale(ProgramTest):
    def write_gltf(self, count):
        parents, children = shuffled_hierarchy(count)
        nodes = ",\n".join('{"translation": [1, 0, 0]%s}' % (', "children": %s' % children[i] if i in children else "")
                           for i in range(count))
        return self.write(f"{count}.gltf", '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [%d]}], "nodes": [%s]}' %
                          (parents.index(-1), nodes))

    def write_scene(self, count):
        parents, _ = shuffled_hierarchy(count)
        entities = ",\n".join('{"id": %d, "components": {"Transform": {}%s}}' %
                              (i, ', "ChildOf": {"parent": %d}' % parent if parent >= 0 else "")
                              for i, parent in enumerate(parents))
        return self.write(f"{count}.json", '{"mica": 1, "entities": [%s]}' % entities)

    def instructions(self, *arguments):
        counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        result = subprocess.run([*counter, PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, check=True)
        return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))

    def expect_linear(self, count, write, *arguments):
        half, whole = (self.instructions(arguments[0], write(n), *arguments[1:]) for n in (count // 2, count))
        print(f"{write.__name__} {' '.join(arguments)}: {half} instructions for {count // 2} nodes, {whole} for "
              f"{count}: {whole / half:.3f}")
        self.assertLessEqual(whole / half, RATIO)

    def test_a_scene_of_glTF_is_run_in_linear_time(self):
        self.expect_linear(NODES, self.write_gltf, "run", "--ticks", "1")

    def test_a_scene_of_mica_is_run_in_linear_time(self):
        self.expect_linear(NODES, self.write_scene, "run", "--ticks", "1")

    # Printing numbers costs far more than all else, so fewer will do.

    def test_a_world_is_written_in_linear_time(self):
        self.expect_linear(NODES // 4, self.write_gltf, "run", "--ticks", "0", "--out", self.path("out.json"))

    def test_a_dump_is_printed_in_linear_time(self):
        self.expect_linear(NODES // 4, self.write_gltf, "dump", "--world")


if __name__ == "__main__":
    if os.environ.get("MICA_INSTRUMENTATION"):
        print("valgrind cannot run what is instrumented; the builds without sanitizers count")
        sys.exit(77)
    if shutil.which("valgrind") is None:
        print("valgrind is not installed")
        sys.exit(77)
    unittest.main()
