#!/usr/bin/env python3
"""`mica run --journal` and `mica replay`: what was recorded is run again, or it is said where it is not the same."""

import os
import re
import unittest

from program import ProgramTest, plugin

COMPONENTS = {"counter": {"Counter": {"note": "x"}, "Grip": {}}}


def scene(plugins):
    components = {"Transform": {}}
    for name in plugins:
        components.update(COMPONENTS.get(name, {"Gauge": {}}))
    return {"mica": 1, "entities": [{"id": 1, "name": "first", "components": components},
                                    {"id": 2, "components": {"ChildOf": {"parent": 1}, "Transform": {}}}]}


class Replay(ProgramTest):
    def record(self, *plugins, ticks=30):
        arguments = [argument for name in plugins for argument in ("--plugin", plugin(name))]
        self.done("run", self.write("s.json", scene(plugins)), *arguments, "--ticks", ticks, "--journal", "run.journal")
        return arguments

    def test_a_journal_is_replayed(self):
        plugins = self.record("counter", "padding")
        output = self.done("replay", "run.journal", *plugins)
        self.assertRegex(output, r"^ticks: 0 to 30, as recorded\nchecksum: [0-9a-f]{16}\n$")
        part = self.done("replay", "run.journal", "--to", "12", *plugins)
        self.assertIn("ticks: 0 to 12, as recorded", part)
        rest = self.done("replay", "run.journal", "--from", "12", *plugins)
        self.assertEqual(re.search("checksum: .*", rest)[0], re.search("checksum: .*", output)[0])
        self.assertNotEqual(re.search("checksum: .*", part)[0], re.search("checksum: .*", output)[0])

    def test_recording_changes_nothing(self):
        self.record("counter")
        self.done("run", "s.json", "--plugin", plugin("counter"), "--ticks", "30", "--out", "plain.json")
        self.done("run", "s.json", "--plugin", plugin("counter"), "--ticks", "30", "--out", "recorded.json",
                  "--journal", "again.journal")
        for names in (("plain.json", "recorded.json"), ("run.journal", "again.journal")):
            contents = []
            for name in names:
                with open(self.path(name), "rb") as file:
                    contents.append(file.read())
            self.assertEqual(contents[0], contents[1], names)

    def test_what_does_not_repeat_itself_is_named(self):
        plugins = self.record("c_random", ticks=5)
        self.done("replay", "run.journal", *plugins)  # the C library begins with the same number
        self.refused(1, ["run.journal", "tick 2", 'in system "roll"', "Gauge", "level"], "replay", "run.journal",
                     "--from", "2", *plugins)

    def test_journals_are_compared(self):
        plugins = self.record("counter", "c_random", ticks=6)
        os.rename(self.path("run.journal"), self.path("first.journal"))
        self.record("counter", "c_random", ticks=6)
        self.assertEqual(self.done("diff", "first.journal", "run.journal", *plugins), "")
        self.done("run", "s.json", *plugins, "--ticks", "4", "--journal", "short.journal")
        result = self.mica("diff", "first.journal", "short.journal", *plugins)
        self.assertEqual((result.returncode, result.stdout), (1, "one ends with tick 6 and the other with tick 4\n"))
        self.done("run", "s.json", *plugins, "--ticks", "6", "--hz", "30", "--journal", "other.journal")
        result = self.mica("diff", "first.journal", "other.journal", *plugins)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stdout, "^tick 1: .*Counter.*seconds")

    def test_a_journal_that_was_cut_is_good_up_to_a_tick(self):
        plugins = self.record("counter")
        size = os.path.getsize(self.path("run.journal"))
        with open(self.path("run.journal"), "r+b") as file:
            file.truncate(size - 10)
        result = self.mica("replay", "run.journal", *plugins)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("good up to tick 29", result.stderr)
        self.assertIn("ticks: 0 to 29, as recorded", result.stdout)

    def test_what_cannot_be_replayed_is_named(self):
        plugins = self.record("counter", ticks=3)
        self.refused(1, ["run.journal", "tick 4"], "replay", "run.journal", "--to", "4", *plugins)
        self.refused(1, ["s.json", "no journal"], "replay", "s.json")
        self.refused(1, "none.journal", "replay", "none.journal")
        self.refused(1, "Counter", "replay", "run.journal")
        self.refused(1, "nowhere", "run", "s.json", *plugins, "--journal", "nowhere/run.journal")
        self.refused(2, "expected a FILE", "replay")


if __name__ == "__main__":
    unittest.main()
