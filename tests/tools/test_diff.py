#!/usr/bin/env python3
"""`mica diff`: the first difference between two scenes."""

import copy
import unittest

from program import ProgramTest, plugin

SCENE = {"mica": 1, "entities": [
    {"id": 1, "name": "lamp", "components": {"Transform": {"position": [1, 2, 3]}}},
    {"id": 2, "components": {"ChildOf": {"parent": 1}, "Transform": {}}},
    {"id": 3, "name": "moon", "components": {"Counter": {"note": "full"}}},
]}


class Diff(ProgramTest):
    def diff(self, change):
        """What is printed of two scenes, of which the second one was changed."""
        changed = copy.deepcopy(SCENE)
        change(changed["entities"])
        result = self.mica("diff", self.write("a.json", SCENE), self.write("b.json", changed),
                           "--plugin", plugin("counter"))
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 1 if result.stdout else 0)
        return result.stdout

    def test_equal_scenes_have_none_whatever_the_file_looks_like(self):
        self.assertEqual(self.diff(lambda entities: None), "")
        self.assertEqual(self.diff(lambda entities: entities[0].update(id=77) or
                                   entities[1]["components"]["ChildOf"].update(parent=77)), "")

    def test_fields_are_named_with_both_values(self):
        text = self.diff(lambda entities: entities[0]["components"]["Transform"].update(position=[1, 5, 3]))
        self.assertEqual(text, "entity 1:0: Transform.position[1] is 2 in the first and 5 in the second "
                               "(node 0, \"lamp\")\n")
        text = self.diff(lambda entities: entities[2]["components"]["Counter"].update(note="new"))
        self.assertEqual(text, "entity 2:0: Counter.note is \"full\" in the first and \"new\" in the second "
                               "(node 2, \"moon\")\n")

    def test_names_components_and_entities_are_compared(self):
        self.assertEqual(self.diff(lambda entities: entities[2].update(name="sun")),
                         "entity 2:0: Name is \"moon\" in the first and \"sun\" in the second "
                         "(node 2, \"moon\")\n")
        self.assertEqual(self.diff(lambda entities: entities[2]["components"].pop("Counter")),
                         "entity 2:0 has Counter in the first alone (node 2, \"moon\")\n")
        self.assertEqual(self.diff(lambda entities: entities.append({"id": 4, "components": {
            "ChildOf": {"parent": 2}, "Transform": {}}})), "entity 4:0 is alive in the second alone (node 3)\n")

    def test_what_cannot_be_read_is_named(self):
        scene = self.write("a.json", SCENE)
        self.refused(1, ["none.json"], "diff", scene, "none.json", "--plugin", plugin("counter"))
        self.refused(2, ["mica diff: expected a FILE"], "diff", scene)
        self.refused(2, ["mica diff: expected no more than two files"], "diff", scene, scene, scene)
        self.assertIn("mica diff FILE FILE", self.done("diff", "--help"))


if __name__ == "__main__":
    unittest.main()
