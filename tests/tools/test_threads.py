#!/usr/bin/env python3
"""`mica run --threads`: what comes of a run, its journal and its SyncTest is the same on any number of threads."""

import json
import os
import re
import unittest

from program import SOURCE_DIR, ProgramTest, plugin

THREADS = ("1", "2", "3", "4", "8")

GOLDEN = "aa2bed1f95e206f9"  # of the orrery after 200 ticks, in every build


class Threads(ProgramTest):
    def checksum(self, *arguments):
        return re.search("^checksum: ([0-9a-f]{16})$", self.done(*arguments, "--checksum"), re.MULTILINE)[1]

    def counters(self):
        return self.write("s.json", {"mica": 1, "entities": [
            {"id": i + 1, "components": {"Transform": {}, "Counter": {"note": str(i)}}} for i in range(200)]})

    @unittest.skipUnless(os.path.exists(plugin("orrery")), "no orrery was built: libpng is missing")
    def test_the_orrery_comes_to_the_golden_checksum(self):
        with open(os.path.join(SOURCE_DIR, "examples", "orrery", "orrery.json"), encoding="utf-8") as file:
            scene = json.load(file)
        for entity in scene["entities"]:
            if "Belt" in entity["components"]:
                entity["components"]["Belt"]["count"] = 2000
        path = self.write("orrery.json", scene)
        for count in THREADS:
            with self.subTest(count):
                self.assertEqual(self.checksum("run", path, "--plugin", plugin("orrery"), "--ticks", "200",
                                               "--threads", count), GOLDEN)

    def test_all_cores_can_be_asked_for(self):
        arguments = ["run", self.counters(), "--plugin", plugin("counter"), "--ticks", "20"]
        expected = self.checksum(*arguments)
        for count in ("0", "all"):
            self.assertEqual(self.checksum(*arguments, "--threads", count), expected)

    def test_a_journal_of_several_threads_replays_on_one(self):
        arguments = [self.counters(), "--plugin", plugin("counter"), "--ticks", "20"]
        expected = self.checksum("run", *arguments)
        self.assertEqual(self.checksum("run", *arguments, "--threads", "3", "--journal", "run.journal"), expected)
        self.assertIn(f"checksum: {expected}", self.done("replay", "run.journal", "--plugin", plugin("counter")))

    def test_statistics_and_the_synctest_work_beside_it(self):
        arguments = ["run", self.counters(), "--plugin", plugin("counter"), "--ticks", "20", "--threads", "3"]
        self.assertRegex(self.done(*arguments, "--stats"), r"(?m)^count +update +20 ")
        self.assertEqual(self.checksum(*arguments, "--synctest", "2"), self.checksum(*arguments))

    def test_a_system_that_hangs_on_its_thread_is_named(self):
        scene = self.write("s.json", {"mica": 1, "entities": [
            {"id": 1, "name": "racer", "components": {"Left": {}, "Right": {}}}]})
        for threads in ([], ["--threads", "2"]):
            self.refused(1, ["s.json: tick 2: ", "tick 1 did something else on several threads", '"right"',
                             "Right.thread is 0 in the first and 1 in the second"],
                         "run", scene, "--plugin", plugin("racing"), "--check-threads", *threads)

    def test_systems_that_do_the_same_pass_the_check(self):
        arguments = ["run", self.counters(), "--plugin", plugin("counter"), "--ticks", "20"]
        self.assertEqual(self.checksum(*arguments, "--check-threads"), self.checksum(*arguments))

    def test_a_trace_tells_of_every_tick_and_run(self):
        self.done("run", self.counters(), "--plugin", plugin("counter"), "--ticks", "20", "--threads", "3", "--trace",
                  "trace.json")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual(rows[0], "thread 0 (steps the world)")
        done = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(done) + len(rows), len(events))
        self.assertEqual({event["tid"] for event in done}, set(rows))
        ticks = [event for event in done if event["cat"] == "tick"]
        self.assertEqual([event["args"]["tick"] for event in ticks], list(range(20)))
        runs = [event for event in done if event["cat"] == "system"]
        self.assertEqual(sum(event["name"] == "count" for event in runs), 20)
        self.assertEqual(sum(event["name"] == "resolve_transforms" for event in runs), 20)
        for event in runs:  # what a tick has run lies within it; times are rounded
            tick = ticks[event["args"]["tick"]]
            self.assertGreaterEqual(event["ts"], tick["ts"] - 0.01)
            self.assertLessEqual(event["ts"] + event["dur"], tick["ts"] + tick["dur"] + 0.01)

    def test_hardware_is_counted_or_said_once_to_have_no_counters(self):
        result = self.mica("run", self.counters(), "--plugin", plugin("counter"), "--ticks", "20", "--hardware",
                           "--stats", "--trace", "trace.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("trace.json"), encoding="utf-8") as file:
            runs = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "system"]
        self.assertEqual(len(runs), 40)
        has_counters = "warning" not in result.stderr
        self.assertEqual(result.stderr.count("hardware counters"), 0 if has_counters else 1)
        self.assertEqual("instr/run" in result.stdout, has_counters)
        for event in runs:
            self.assertEqual(event["args"].get("instructions", 0) > 0, has_counters)

    def test_a_trace_that_cannot_be_written_is_a_failure(self):
        scene = self.counters()
        for path, message in (("/nowhere/t.json", "could not be created: "), ("/dev/full", "could not be written: ")):
            self.refused(1, f"{path}: {message}", "run", scene, "--plugin", plugin("counter"), "--ticks", "3", "--trace",
                         path)

    def test_wrong_usage(self):
        scene = self.counters()
        self.refused(2, "at least 2 threads", "run", scene, "--check-threads", "--threads", "1")
        for arguments in (["--journal", "j"], ["--synctest", "1"]):
            self.refused(2, "--check-threads excludes", "run", scene, "--check-threads", *arguments)


if __name__ == "__main__":
    unittest.main()
