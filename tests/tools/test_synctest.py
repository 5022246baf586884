#!/usr/bin/env python3
"""`mica run --synctest`: plugins that do not repeat themselves are found out, and others are left alone."""

import unittest

from program import ProgramTest, plugin

SCENE = {"mica": 1, "entities": [
    {"id": 1, "name": "still", "components": {"Transform": {}}},
    {"id": 2, "name": "gauge", "components": {"Gauge": {}}},
]}


class SyncTest(ProgramTest):
    def found(self, name, system, ticks_back=2):
        """The plugin does not pass, and its system, component and field are named."""
        self.refused(1, [f'in system "{system}"', "Gauge", "level"], "run", self.write("s.json", SCENE), "--plugin",
                     plugin(name), "--ticks", "8", "--synctest", ticks_back)

    def test_a_static_counter_is_found(self):
        self.found("static_counter", "count")
        self.found("static_counter", "count", 1)

    def test_random_numbers_of_the_c_library_are_found(self):
        self.found("c_random", "roll")

    def test_an_address_is_found(self):
        self.found("address", "look")

    def test_padding_is_left_alone(self):
        out = self.path("out.json")
        self.done("run", self.write("s.json", SCENE), "--plugin", plugin("padding"), "--ticks", "8", "--synctest", "3",
                  "--out", out)
        self.assertEqual([entity["components"]["Gauge"] for entity in self.dump(out, "--plugin", plugin("padding"))
                          if "Gauge" in entity["components"]], [{"flag": 0, "level": 8}])

    def test_what_passes_ends_as_without_the_test(self):
        scene = {"mica": 1, "entities": [
            {"id": 1, "components": {"Transform": {}, "Counter": {"note": "x"}, "Grip": {}}},
            {"id": 2, "components": {"ChildOf": {"parent": 1}, "Transform": {}, "Counter": {}}}]}
        texts = []
        for arguments in ([], ["--synctest", "1"], ["--synctest", "5"]):
            self.done("run", self.write("s.json", scene), "--plugin", plugin("counter"), "--ticks", "20", "--out",
                      "out.json", *arguments)
            with open(self.path("out.json"), encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])

    def test_wrong_usage(self):
        scene = self.write("s.json", SCENE)
        self.refused(2, "at most 64", "run", scene, "--synctest", "65")
        self.refused(2, "--synctest", "run", scene, "--synctest", "-1")
        self.refused(2, "exclude each other", "run", scene, "--synctest", "1", "--journal", "j")


if __name__ == "__main__":
    unittest.main()
