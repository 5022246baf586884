#!/usr/bin/env python3
"""`mica run`: ticks, plugins, statistics, and the scene that comes out."""

import json
import os
import pty
import re
import shutil
import subprocess
import unittest

from program import PROGRAM, ProgramTest, plugin

SCENE = {"mica": 1, "entities": [
    {"id": 10, "name": "still", "components": {"Transform": {"position": [1, 2, 3]}}},
    {"id": 20, "name": "moving", "components": {
        "ChildOf": {"parent": 10}, "Transform": {}, "Counter": {"friend_of": 30, "note": "hello world"}}},
    {"id": 30, "components": {"ChildOf": {"parent": 20}, "Transform": {"position": [0, 0, 5]}}},
]}


class Run(ProgramTest):
    def run_scene(self, *arguments):
        """Runs the scene with the counter, and returns what comes out, by name."""
        out = self.path("out.json")
        self.done("run", self.write("s.json", SCENE), "--plugin", plugin("counter"), "--out", out, *arguments)
        with open(out, encoding="utf-8") as file:
            self.out = json.load(file)
        return {entity.get("name"): entity["components"] for entity in self.out["entities"]}

    def test_600_ticks_at_60_hz_unless_told_otherwise(self):
        moving = self.run_scene()["moving"]
        self.assertEqual(moving["Counter"]["ticks"], 600)
        self.assertAlmostEqual(moving["Counter"]["seconds"], 10, delta=1e-5)
        self.assertEqual(moving["Transform"]["position"], [600, 0, 0])

    def test_ticks_and_rate_are_taken(self):
        moving = self.run_scene("--ticks", "7", "--hz", "4")["moving"]
        self.assertEqual(moving["Counter"]["ticks"], 7)
        self.assertEqual(moving["Counter"]["seconds"], 1.75)
        self.assertIn("Odd", moving)
        self.assertNotIn("Odd", self.run_scene("--ticks", "8")["moving"])

    def test_no_ticks_leave_the_scene(self):
        moving = self.run_scene("--ticks", "0")["moving"]
        self.assertEqual(moving["Counter"], {"ticks": 0, "seconds": 0, "friend_of": 2, "note": "hello world"})

    def test_what_comes_out_goes_on_as_if_it_had_not_stopped(self):
        whole = self.run_scene("--ticks", "100")
        self.run_scene("--ticks", "60")
        first = shutil.copy(self.path("out.json"), self.path("first.json"))
        second = self.path("second.json")
        self.done("run", first, "--plugin", plugin("counter"), "--ticks", "40", "--out", second)
        with open(second, encoding="utf-8") as file:
            halves = {entity.get("name"): entity["components"] for entity in json.load(file)["entities"]}
        self.assertEqual(halves, whole)

    def test_what_comes_out_is_the_same_when_it_is_loaded_and_written_again(self):
        self.run_scene("--ticks", "3")
        self.done("run", "out.json", "--plugin", plugin("counter"), "--ticks", "0", "--out", "again.json")
        with open(self.path("out.json"), "rb") as one, open(self.path("again.json"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        both = [self.dump(name, "--world", "--plugin", plugin("counter")) for name in ("out.json", "again.json")]
        self.assertEqual(both[0], both[1])
        self.assertEqual([entity["parent"] for entity in both[0]], [-1, 0, 1])

    def checksum(self, *arguments):
        """The checksum after a run of the scene with the counter."""
        output = self.done("run", self.write("s.json", SCENE), "--plugin", plugin("counter"), "--checksum", *arguments)
        self.assertRegex(output, r"^checksum: [0-9a-f]{16}\n$")
        return output

    def test_the_checksum_tells_states_apart(self):
        self.assertEqual(self.checksum("--ticks", "7"), self.checksum("--ticks", "7"))
        sums = [self.checksum("--ticks", str(count)) for count in range(4)]
        self.assertEqual(len(set(sums)), 4)

    def test_a_system_that_looks_through_an_address_that_it_has_kept_is_named(self):
        scene = self.write("s.json", {"mica": 1, "entities": [{"id": 1, "components": {"Door": {}, "Safe": {"coins": 5}}}]})
        arguments = ["run", scene, "--plugin", plugin("prying"), "--ticks", "3"]
        self.done(*arguments)
        self.refused(1, ["s.json: tick 0: ", 'a raw pointer: system "pry" reads Safe of entity ', "has not declared"],
                     *arguments, "--check-access")

    def test_checks_of_access_change_nothing(self):
        self.assertEqual(self.checksum("--ticks", "20", "--check-access"), self.checksum("--ticks", "20"))
        for threads in (["--threads", "2"], ["--check-threads"]):
            self.refused(2, "--check-access runs one system at a time", "run", "s.json", "--check-access", *threads)

    def test_components_of_a_plugin_that_is_not_there_are_named(self):
        result = self.mica("run", self.write("s.json", SCENE), "--ticks", "1")
        self.assertEqual(result.returncode, 0)
        self.assertIn("mica: warning: " + self.path("s.json") +
                      ": /entities/1/components/Counter: the component is not known", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_world_matrices_follow_the_systems(self):
        self.run_scene("--ticks", "5")
        world = [entity["world"][12:15] for entity in self.dump("out.json", "--world")]
        self.assertEqual(world, [[1, 2, 3], [6, 2, 3], [6, 2, 8]])

    def test_a_plugin_is_found_in_the_current_folder(self):
        shutil.copy(plugin("counter"), self.path("here.so"))
        self.done("run", self.write("s.json", SCENE), "--plugin", "here.so", "--ticks", "1")

    def test_plugins_that_cannot_be_loaded_are_refused(self):
        scene = self.write("s.json", SCENE)
        text = self.write("text.so", "no library")
        for path, messages in (
            ("nowhere.so", ["mica: nowhere.so: the plugin cannot be loaded: ", "nowhere.so"]),
            (text, [text + ": the plugin cannot be loaded: "]),
            (plugin("no_entry"), ["no_entry.so: expected a plugin, which exports mica_plugin: ", "undefined symbol"]),
            (plugin("refusing"), ["refusing.so: the plugin refused: ", "version 2.0.0", "version 0.1.0"]),
        ):
            with self.subTest(path):
                self.refused(1, messages, "run", scene, "--plugin", path, "--out", "out.json")
                self.assertFalse(os.path.exists(self.path("out.json")))

    def test_a_plugin_given_twice_is_refused(self):
        self.refused(1, ["counter.so: the plugin refused: ", "count"], "run", self.write("s.json", SCENE),
                     "--plugin", plugin("counter"), "--plugin", plugin("counter"))

    def test_a_system_that_fails_ends_the_run_without_a_scene(self):
        scene = self.write("s.json", SCENE)
        out = self.write("out.json", "old")
        self.refused(1, [scene + ": tick 3: ", "engine", "the engine is on fire"], "run", scene, "--plugin",
                     plugin("failing"), "--out", out, "--stats")
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.done("run", scene, "--plugin", plugin("failing"), "--ticks", "3", "--out", out)

    def test_a_scene_from_a_pipe_is_refused(self):
        reader, writer = os.pipe()
        os.write(writer, json.dumps(SCENE).encode())
        os.close(writer)
        result = self.mica("run", f"/dev/fd/{reader}", pass_fds=[reader])
        os.close(reader)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"mica: /dev/fd/{reader}: cannot be sought, as a regular file can: Illegal seek\n")

    def test_a_scene_that_cannot_be_written_is_a_failure(self):
        scene = self.write("s.json", SCENE)
        self.refused(1, "/nowhere/out.json: could not be created: ", "run", scene, "--out", "/nowhere/out.json")
        self.refused(1, "/dev/full: could not be written: No space left", "run", scene, "--out", "/dev/full")

    def test_statistics_are_a_table(self):
        lines = self.done("run", self.write("s.json", SCENE), "--plugin", plugin("counter"), "--ticks", "50",
                          "--stats").splitlines()
        counts = {match[1]: int(match[2]) for match in (re.match(r"([a-z]+) +(\d+)$", line) for line in lines) if match}
        self.assertEqual(counts["ticks"], 50)
        self.assertEqual(counts["entities"], 3)
        self.assertGreaterEqual(counts["tables"], 3)
        purposes = [int(line.split()[1]) for line in lines[:lines.index("")] if line.startswith("  ")]
        self.assertEqual(counts["bytes"], sum(purposes))
        head = next(i for i, line in enumerate(lines) if line.startswith("system "))
        self.assertEqual(lines[head].split(), ["system", "stage", "runs", "us/tick", "commands", "skipped", "over"])
        rows = {line.split()[0]: line.split()[1:] for line in lines[head + 1:]}
        self.assertEqual(list(rows), ["count", "resolve_transforms"])
        self.assertEqual(rows["count"][:2] + rows["count"][3:], ["update", "50", "50", "0", "0"])
        self.assertEqual(rows["resolve_transforms"][:2], ["resolve", "50"])
        self.assertGreater(float(rows["count"][2]), 0)
        self.assertEqual(len({len(line) for line in lines[head:]}), 1)

    def test_diagnoses_say_what_never_ran_and_what_matches_nobody(self):
        scene = self.write("s.json", SCENE)
        lines = self.done("run", scene, "--plugin", plugin("idle"), "--ticks", "5", "--diagnose").splitlines()
        self.assertEqual(lines, [
            'query: the query (Cargo) of system "load" matches nobody: no entity has had Cargo so far; look whether that '
            'is the name under which it is added',
            'system: system "sail" has not run in any of 5 ticks since it was added: it is disabled; mica_system_enable '
            'lets it run',
        ])

    def test_diagnoses_are_printed_after_a_tick_that_failed(self):
        result = self.mica("run", self.write("s.json", SCENE), "--plugin", plugin("failing"), "--plugin", plugin("idle"),
                           "--diagnose")
        self.assertEqual(result.returncode, 1)
        self.assertIn('system: system "sail" has not run in any of 4 ticks', result.stdout)

    def test_statistics_tell_of_each_pool(self):
        scene = {"mica": 1, "entities": [
            {"id": 1, "components": {"Grip": {"what": 2}}},
            {"id": 2, "components": {"Transform": {}, "Counter": {}, "Grip": {"what": 1}}},
        ]}
        arguments = ["run", self.write("s.json", scene), "--plugin", plugin("counter"), "--stats", "--ticks"]
        for ticks, expected in (("9", ["2", "0"]), ("10", ["1", "1"])):
            lines = self.done(*arguments, ticks).splitlines()
            head = next(i for i, line in enumerate(lines) if line.startswith("pool "))
            self.assertEqual(lines[head].split(), ["pool", "entities", "tombstones", "bytes"])
            rows = {line.split()[0]: line.split()[1:] for line in lines[head + 1:lines.index("", head)]}
            self.assertEqual(list(rows), sorted(rows))
            self.assertEqual(rows["Grip"][:2], expected)
            self.assertGreater(int(rows["Grip"][2]), 0)

    def test_statistics_tell_of_each_table_and_what_is_filled(self):
        scene = {"mica": 1, "entities": [{"id": i + 1, "components": {"Transform": {}}} for i in range(20)] +
                                        [{"id": 21, "components": {"Transform": {}, "Counter": {}}}]}
        lines = self.done("run", self.write("s.json", scene), "--plugin", plugin("counter"), "--ticks", "1",
                          "--stats").splitlines()
        head = next(i for i, line in enumerate(lines) if line.endswith("  table"))
        self.assertEqual(lines[head].split(), "rows capacity chunks row size chunk bytes own bytes table".split())
        rows = {line.split(maxsplit=6)[6]: [int(field) for field in line.split()[:6]]
                for line in lines[head + 1:lines.index("", head)]}
        transforms = {name: row for name, row in rows.items() if "Transform" in name}
        self.assertEqual(sum(row[0] for row in transforms.values()), 21)
        pools = {line.split()[0] for line in lines if line}
        self.assertTrue(any("Counter" in name.split(", ") for name in transforms) or "Counter" in pools)
        for rows_used, capacity, chunks, row_size, chunk_bytes, _ in rows.values():
            self.assertGreaterEqual(capacity, rows_used)
            self.assertGreaterEqual(chunk_bytes, capacity * row_size)
            self.assertGreaterEqual(capacity, chunks)
        filled = {line[:20].strip(): line[20:].split() for line in lines[lines.index("") + 1:] if line.endswith(" %")}
        self.assertEqual(int(filled["rows"][0]), sum(row[0] for row in rows.values()))
        self.assertEqual(int(filled["rows"][1]), sum(row[1] for row in rows.values()))
        self.assertEqual(int(filled["chunk bytes"][1]), sum(row[4] for row in rows.values()))
        self.assertGreater(int(filled["blocks of chunks"][1]), int(filled["blocks of chunks"][0]))

    def test_memory_is_dumped_without_running_anything(self):
        lines = self.done("dump", self.write("s.json", SCENE), "--plugin", plugin("counter"), "--memory").splitlines()
        self.assertEqual(lines[0].split()[0], "bytes")
        self.assertTrue(any(line.startswith("bytes an entity ") for line in lines))
        self.assertTrue(any(line.endswith("  table") for line in lines))
        self.assertFalse(any(line.startswith("system ") for line in lines))

    def test_a_component_in_a_stable_pool_comes_out_and_goes_in_again(self):
        scene = {"mica": 1, "entities": [
            {"id": 1, "name": "a", "components": {"Grip": {"what": 2}}},
            {"id": 2, "name": "b", "components": {"Transform": {}, "Grip": {"what": 1}}},
        ]}
        self.done("run", self.write("s.json", scene), "--plugin", plugin("counter"), "--ticks", "1", "--out", "one.json")
        self.done("run", "one.json", "--plugin", plugin("counter"), "--ticks", "0", "--out", "two.json")
        with open(self.path("two.json"), encoding="utf-8") as file:
            out = {entity["name"]: (entity["id"], entity["components"]) for entity in json.load(file)["entities"]}
        self.assertEqual(out["a"][1]["Grip"]["what"], out["b"][0])
        self.assertEqual(out["b"][1]["Grip"]["what"], out["a"][0])

    def test_no_bar_is_drawn_unless_somebody_watches(self):
        self.assertEqual(self.mica("run", self.write("s.json", SCENE)).stderr.count("\r"), 0)
        primary, secondary = pty.openpty()
        process = subprocess.Popen([PROGRAM, "run", self.write("e.json", {"mica": 1, "entities": []}), "--ticks", "200"],
                                   stderr=secondary, stdout=subprocess.PIPE)
        os.close(secondary)
        drawn = b""
        try:
            while chunk := os.read(primary, 4096):
                drawn += chunk
        except OSError:  # the other end is closed
            pass
        os.close(primary)
        self.assertEqual(process.communicate()[0], b"")
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"%  tick 100 of 200", drawn)
        self.assertLessEqual(drawn.count(b"\r"), 102)


if __name__ == "__main__":
    unittest.main()
