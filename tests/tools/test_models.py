#!/usr/bin/env python3
"""Scenes that others made, and scenes made to break loaders."""

import glob
import json
import os
import struct
import unittest

from program import MODELS_DIR, SOURCE_DIR, ProgramTest

# What is wrong with the files of the package that are refused.
REFUSED = {
    "RecursiveNodes/RecursiveNodes.gltf": "/nodes/0: ",
    "SchemaFailures/sceneWrongType.gltf": "/scene: ",
    "wrongTypes/badString.gltf": "/scenes/0/name: ",
}


def container(text):
    """A binary container with this JSON text."""
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


class Models(ProgramTest):
    def models(self):
        paths = sorted(path for ending in ("gltf", "glb")
                       for path in glob.glob(os.path.join(MODELS_DIR, "**", "*." + ending), recursive=True))
        self.assertGreaterEqual(len(paths), 40, "scripts/bootstrap.sh installs assimp-testmodels")
        return [(os.path.relpath(path, MODELS_DIR), path) for path in paths]

    def test_sound_ones_run_and_come_back_the_same(self):
        for name, path in self.models():
            if name in REFUSED:
                continue
            with self.subTest(name):
                result = self.mica("run", path, "--ticks", "2", "--out", "one.json")
                self.assertEqual(result.returncode, 0, result.stderr)
                for line in result.stderr.splitlines():
                    self.assertTrue(line.startswith("mica: warning: " + path + ": "), line)
                self.assertEqual(self.done("run", "one.json", "--ticks", "0", "--out", "two.json"), "")
                with open(self.path("one.json"), "rb") as one, open(self.path("two.json"), "rb") as two:
                    self.assertEqual(one.read(), two.read())
                self.assertEqual(self.dump("one.json", "--world"), self.dump("two.json", "--world"))

    def test_hostile_ones_are_refused_with_their_place(self):
        for name, place in REFUSED.items():
            with self.subTest(name):
                path = os.path.join(MODELS_DIR, name)
                self.refused(1, f"mica: {path}: {place}", "run", path, "--ticks", "1", "--out", "out.json")
                self.refused(1, f"mica: {path}: {place}", "dump", path)
                self.assertFalse(os.path.exists(self.path("out.json")))

    def test_world_matrices_are_those_of_another_library(self):
        with open(os.path.join(SOURCE_DIR, "tests/gltf/data/world.json"), encoding="utf-8") as file:
            expected_files = json.load(file)
        self.assertGreaterEqual(len(expected_files), 10)
        for name, expected in expected_files.items():
            with self.subTest(name):
                found = self.dump(os.path.join(MODELS_DIR, os.path.relpath(name, "glTF2")), "--world")
                for keys in ("node", "name", "parent"):
                    self.assertEqual([one[keys] for one in found], [one[keys] for one in expected])
                for one, other in zip(found, expected):
                    self.assertEqual(len(one["world"]), 16)
                    limit = 1e-5 * max(map(abs, other["world"]))
                    for a, b in zip(one["world"], other["world"]):
                        self.assertLessEqual(abs(a - b), limit, one["node"])

    def test_extensions_that_are_not_read_do_not_stop_an_import(self):
        result = self.mica("dump", os.path.join(MODELS_DIR, "draco/2CylinderEngine.gltf"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("mica: warning: ", result.stderr)
        self.assertIn("KHR_draco_mesh_compression", result.stderr)
        self.assertGreater(len(json.loads(result.stdout)["entities"]), 10)

    def test_a_file_without_scenes_gives_all_its_nodes(self):
        result = self.mica("dump", os.path.join(MODELS_DIR, "TestNoRootNode/NoScene.gltf"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("the file has no scenes", result.stderr)

    def test_nodes_refer_to_what_they_show(self):
        nodes = self.dump(os.path.join(MODELS_DIR, "cameras/Cameras.gltf"))
        cameras = [node["components"]["Camera"]["index"] for node in nodes if "Camera" in node["components"]]
        self.assertEqual(cameras, [0, 1])

    def test_nodes_that_are_not_shown_keep_their_numbers(self):
        path = self.write("s.gltf", {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [3]}],
                                     "nodes": [{"name": "hidden"}, {"name": "leaf"}, {}, {"children": [1]}]})
        self.assertEqual([(node["node"], node["parent"]) for node in self.dump(path)], [(1, 3), (3, -1)])
        self.assertEqual(self.dump(path)[0]["components"]["ChildOf"], {"parent": 3})

    def test_the_format_is_told_by_the_content(self):
        gltf = json.dumps({"asset": {"version": "2.0"}, "nodes": [{"name": "a"}]}).encode()
        scene = {"entities": [{"id": 5, "name": "a", "components": {"Transform": {"scale": [0, 0, 0]}}}], "mica": 1}
        for name, content in (("wrong.glb", gltf), ("wrong.json", gltf), ("wrong.gltf", container(gltf)),
                              ("marked.json", b"\xef\xbb\xbf" + gltf), ("scene.gltf", scene),
                              ("key.json", json.dumps({"entities": [{"id": 1, "name": "\"asset\":"}], "mica": 1}))):
            with self.subTest(name):
                self.assertEqual(len(self.dump(self.write(name, content))), 1)

    def test_what_is_no_scene_is_refused_with_its_place(self):
        for name, content, message in (
            ("empty.json", "", "empty.json: line 1, column 0: "),
            ("text.json", "hello", "text.json: line 1, column 5: "),
            ("list.json", "[1, 2]", "list.json: /: expected a member \"asset\""),
            ("none.json", {"version": 1}, "none.json: /: expected a member \"asset\""),
            ("inner.json", {"a": {"mica": 1, "asset": 1}}, "inner.json: /: expected a member \"asset\""),
            ("cut.json", '{"mica": 1, "entities": [', "cut.json: line 1, column 25: "),
            ("new.json", {"mica": 2, "entities": []}, "new.json: /mica: format 2, expected 1"),
            ("one.gltf", {"asset": {"version": "1.0"}, "nodes": {}}, "glTF 1.0"),
            ("one.glb", struct.pack("<4sIIII", b"glTF", 1, 24, 4, 0) + b"{}  ", "glTF 1.0"),
            ("cycle.json", {"mica": 1, "entities": [{"id": 0, "components": {"ChildOf": {"parent": 0}}}]},
             "cycle.json: /entities/0/components/ChildOf: "),
        ):
            with self.subTest(name):
                path = self.write(name, content)
                self.refused(1, ["mica: " + self.folder, message], "dump", path)
                self.refused(1, ["mica: " + self.folder, message], "run", path)
        self.refused(1, "mica: nowhere.gltf: cannot be opened: No such file", "run", "nowhere.gltf")
        self.refused(1, "cannot be read: Is a directory", "run", self.folder)

    def test_nesting_without_end_is_refused(self):
        for name, content in (("a.json", "[" * 200000), ("b.json", '{"a":' * 200000),
                              ("c.json", '{"mica": 1, "entities": ' + "[" * 200000),
                              ("d.gltf", '{"asset": {"version": "2.0"}, "extras": ' + "[" * 200000)):
            with self.subTest(name):
                self.refused(1, name + ": line 1, column ", "run", self.write(name, content))

    def test_numbers_beyond_float_are_written_as_documented(self):
        path = self.write("s.json", {"mica": 1, "entities": [
            {"id": 0, "components": {"Transform": {"scale": [1e38, 1, 1]}}},
            {"id": 1, "components": {"Transform": {"scale": [1e38, 1, 1]}, "ChildOf": {"parent": 0}}},
            {"id": 2}]})
        nodes = self.dump(path, "--world")
        self.assertEqual(nodes[1]["world"][0], "Infinity")
        self.assertIsNone(nodes[2]["world"])
        self.assertNotIn("world", self.dump(path)[0])


if __name__ == "__main__":
    unittest.main()
