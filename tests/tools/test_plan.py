#!/usr/bin/env python3
"""`mica plan`: the plan of a scene's systems as text and as a graph."""

import os
import shutil
import subprocess
import unittest

from program import ProgramTest, plugin

EMPTY = {"mica": 1, "entities": []}


class Plan(ProgramTest):
    def setUp(self):
        super().setUp()
        self.scene = self.write("s.json", EMPTY)

    def plan(self, *options):
        return self.done("plan", self.scene, "--plugin", plugin("orrery"), *options)

    @unittest.skipUnless(os.path.exists(plugin("orrery")), "the orrery is not built")
    def test_the_plan_and_what_is_said_of_it(self):
        text = self.plan()
        self.assertIn("stage first\n  grow_belts (exclusive)\n  barrier\n", text)
        self.assertIn("stage update\n  turn_pages\n  work_out_orbits\n  barrier\n  follow_orbits\n  barrier\n", text)
        text = self.plan("--explain")
        self.assertIn("  grow_belts: is exclusive, for it has neither a query nor access\n", text)
        self.assertIn("  turn_pages: conflicts with nobody\n", text)
        self.assertIn("  barrier: follow_orbits comes after work_out_orbits\n", text)
        self.assertEqual(self.plan("--ambiguities"), "")

    @unittest.skipUnless(os.path.exists(plugin("orrery")), "the orrery is not built")
    def test_the_graph_is_one_that_graphviz_reads(self):
        text = self.plan("--graph")
        self.assertIn('[label="follow_orbits"];', text)
        if shutil.which("dot") is None:
            self.skipTest("Graphviz is not installed")
        drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
        self.assertEqual(drawn.stderr, "")
        self.assertIn(">draw_trails</text>", drawn.stdout)

    def test_systems_of_the_library_are_in_it_without_plugins(self):
        self.assertRegex(self.done("plan", self.scene), r"^stage resolve\n  \w")

    def test_wrong_usage(self):
        self.refused(2, ["mica plan: expected a SCENE"], "plan")
        self.refused(1, ["none.json"], "plan", "none.json")
        self.assertIn("--ambiguities", self.done("plan", "--help"))


if __name__ == "__main__":
    unittest.main()
