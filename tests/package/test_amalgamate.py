#!/usr/bin/env python3
"""The two files, of a small tree: what is renamed and what is not, where includes and macros end up."""
import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import amalgamate  # noqa: E402

TREE = {
    "LICENSE": "Free.\n",
    "include/mica/config.h": '#pragma once\n#include <stdint.h>\n#define MICA_VERSION_TEXT "1.2.3"\n',
    "include/mica/mica.h": "#pragma once\n#include <mica/config.h>\nint mica_one(void);\n",
    "src/CMakeLists.txt": "set(MICA_SOURCES\n    base/one.c\n    base/two.c)\n",
    "src/base/shared.h": "#pragma once\n#ifdef DEEP\n#include <assert.h>\n#endif\nstruct mi_shared { int find; };\n",
    "src/base/one.c": '#define _DEFAULT_SOURCE\n#include "base/shared.h"\n#include <mica/mica.h>\n#include <string.h>\n'
                      "#define ROOM 4\n#define GONE 5\n#undef GONE\n"
                      "enum { LIMIT = 2 };\n"
                      "typedef struct cell { int find; struct cell *cell; } cell;\n"
                      "// find is for cells\n"
                      "static int room(void) { return ROOM; }\n"
                      "static int find(const struct mi_shared *in, cell c) { return in->find + c.find + LIMIT + ROOM; }\n"
                      'int mica_one(void) { const char *t = "find"; return find(&(struct mi_shared){.find = 1}, (cell){0}) + *t; }\n',
    "src/base/two.c": '#define _DEFAULT_SOURCE\n#include "base/shared.h"\n#include <string.h>\n'
                      "#define LIMIT 9\n"
                      "typedef int (*room)(int cell);\n"
                      "static int find(int cell) { return cell + LIMIT; }\n"
                      "static int alone(void) { room none = 0; return none == 0; }\n"
                      "int mi_two(void) { return find(alone()); }\n",
}


class Amalgamation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in TREE.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            amalgamate.ROOT, amalgamate.PUBLIC, amalgamate.SOURCES = root, root / "include", root / "src"
            sys.argv = ["amalgamate.py", folder]
            amalgamate.main()
            cls.header, cls.source = (root / "mica.h").read_text(), (root / "mica.c").read_text()

    def test_names_that_meet_get_the_name_of_their_file(self):
        self.assertIn("static int one_find(const struct mi_shared *in, one_cell c)", self.source)
        self.assertIn("static int two_find(int cell) { return cell + TWO_LIMIT; }", self.source)
        self.assertIn("enum { ONE_LIMIT = 2 };", self.source)
        self.assertIn("#define TWO_LIMIT 9", self.source)

    def test_types_of_pointers_to_functions_are_names_too(self):
        self.assertIn("typedef int (*two_room)(int cell);", self.source)

    def test_names_of_one_file_alone_stay(self):
        self.assertIn("static int alone(void)", self.source)
        self.assertIn("#define ROOM 4", self.source)

    def test_members_comments_and_strings_stay(self):
        self.assertIn("typedef struct one_cell { int find; struct one_cell *cell; } one_cell;", self.source)
        self.assertIn("return in->find + c.find + ONE_LIMIT + ROOM;", self.source)
        self.assertIn("(struct mi_shared){.find = 1}", self.source)
        self.assertIn("// find is for cells", self.source)
        self.assertIn('"find"', self.source)

    def test_a_source_leaves_no_macro_behind(self):
        self.assertEqual(self.source.count("#undef ROOM"), 1)
        self.assertEqual(self.source.count("#undef TWO_LIMIT"), 1)
        self.assertEqual(self.source.count("#undef GONE"), 1)

    def test_includes_stand_once_and_first_unless_they_hang_on_a_condition(self):
        self.assertEqual(self.source.count("#include <string.h>"), 1)
        self.assertLess(self.source.index("#include <string.h>"), self.source.index("src/base/shared.h ="))
        self.assertLess(self.source.index("#define _DEFAULT_SOURCE"), self.source.index("#include"))
        self.assertEqual(self.source.count("#define _DEFAULT_SOURCE"), 1)  # though two sources ask for it
        self.assertNotIn("__DEFAULT_SOURCE", self.source)
        self.assertLess(self.source.index("#ifdef DEEP"), self.source.index("#include <assert.h>"))
        self.assertEqual(self.header.count("#include"), 1)
        for text in (self.header, self.source):
            self.assertNotIn("#pragma once", text)
            self.assertNotIn("mica/mica.h>", text)

    def test_version_and_licence_stand_in_both(self):
        for text in (self.header, self.source):
            self.assertTrue(text.startswith("// Mica 1.2.3: "))
            self.assertIn("// Free.\n", text)


if __name__ == "__main__":
    sys.exit(unittest.main())
