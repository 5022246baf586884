#!/usr/bin/env python3
"""The command line: what is printed where, and exit codes."""

import os
import subprocess
import unittest

from program import PROGRAM, ProgramTest

EMPTY = {"mica": 1, "entities": []}


class Usage(ProgramTest):
    def test_help_is_a_result(self):
        text = self.done("--help")
        for command in ("mica run SCENE", "mica dump FILE", "mica --version"):
            self.assertIn(command, text)
        for code in ("0 done", "1 an input or a run failed", "2 wrong usage"):
            self.assertIn(code, text)
        self.assertEqual(self.done("-h"), text)

    def test_commands_have_their_own_help(self):
        text = self.done("run", "--help")
        for option in ("--plugin LIB", "--ticks N", "--hz N", "--out FILE", "--diagnose", "--stats"):
            self.assertIn(option, text)
        self.assertIn("--world", self.done("dump", "--help"))

    def test_version_and_handle_width(self):
        text = self.done("--version")
        self.assertRegex(text, r"^mica \d+\.\d+\.\d+ ")
        self.assertIn(f"handles of {os.environ['MICA_ENTITY_BITS']} bits", text)

    def test_wrong_usage_ends_with_2(self):
        scene = self.write("s.json", EMPTY)
        for arguments, message in (
            ((), "expected a command"),
            (("walk",), "unknown command 'walk'"),
            (("--help", "x"), "expected nothing after it, found 'x'"),
            (("--version", "x"), "expected nothing after it, found 'x'"),
            (("run",), "mica run: expected a SCENE"),
            (("dump",), "mica dump: expected a FILE"),
            (("run", scene, scene), "expected one SCENE, found"),
            (("dump", scene, "other"), f"expected one FILE, found '{scene}' and 'other'"),
            (("run", "--fast", scene), "mica run: unknown option '--fast'"),
            (("run", "--stats=1", scene), "unknown option '--stats=1'"),
            (("run", "-", scene), "unknown option '-'"),
            (("dump", "--ticks", "1", scene), "mica dump: unknown option '--ticks'"),
            (("run", scene, "--ticks"), "--ticks: expected N after it"),
            (("run", scene, "--out"), "--out: expected FILE after it"),
            (("run", scene, "--out="), "--out: expected FILE after it"),
            (("run", scene, "--out", ""), "--out: expected FILE after it"),
            (("run", scene, "--plugin"), "--plugin: expected LIB after it"),
            (("run", scene, "--ticks", "-1"), "--ticks: expected a whole number from 0 to 2147483647, found '-1'"),
            (("run", scene, "--ticks", "ten"), "found 'ten'"),
            (("run", scene, "--ticks", "1.5"), "found '1.5'"),
            (("run", scene, "--ticks", ""), "--ticks: expected N after it"),
            (("run", ""), "mica run: expected a SCENE"),
            (("run", scene, "--ticks", "2147483648"), "found '2147483648'"),
            (("run", scene, "--ticks", "99999999999999999999"), "found '99999999999999999999'"),
            (("run", scene, "--threads", "-1"), "--threads: expected a whole number from 0 to 256, found '-1'"),
            (("run", scene, "--threads", "257"), "found '257'"),
            (("run", scene, "--threads", "some"), "found 'some'"),
            (("run", scene, "--hz", "0"), "--hz: expected a number from 0.001 to 1000000, found '0'"),
            (("run", scene, "--hz", "-60"), "found '-60'"),
            (("run", scene, "--hz", "nan"), "found 'nan'"),
            (("run", scene, "--hz", "inf"), "found 'inf'"),
            (("run", scene, "--hz", "60x"), "found '60x'"),
            (("run", scene, "--hz", "1e9"), "found '1e9'"),
        ):
            with self.subTest(arguments):
                self.refused(2, message, *arguments)

    def test_values_may_stand_behind_an_equals_sign_or_before_the_scene(self):
        scene = self.write("s.json", EMPTY)
        for arguments in (("--ticks=3", "--stats", scene), (scene, "--stats", "--ticks", "3")):
            self.assertRegex(self.done("run", *arguments), r"(?m)^ticks +3$")

    def test_two_dashes_end_the_options(self):
        self.write("-s.json", EMPTY)
        self.done("run", "--ticks", "1", "--", "-s.json")

    def test_results_that_cannot_be_written_are_a_failure(self):
        scene = self.write("s.json", EMPTY)
        large = self.write("large.json", {"mica": 1, "entities": [{"id": i} for i in range(5000)]})
        for arguments in (("--help",), ("--version",), ("dump", scene), ("dump", large), ("run", scene, "--stats")):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                result = self.mica(*arguments, stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertIn("standard output: could not be written", result.stderr)

    def test_a_reader_that_goes_away_is_a_failure(self):
        large = self.write("large.json", {"mica": 1, "entities": [{"id": i} for i in range(5000)]})
        with subprocess.Popen([PROGRAM, "dump", large], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            message = process.stderr.read().decode()
        self.assertEqual(process.returncode, 1)
        self.assertIn("standard output: could not be written", message)

    def test_bench_is_passed_on(self):
        result = self.mica("bench", "--list")
        if "unknown command" in result.stderr:
            self.skipTest("built without benchmarks")
        self.assertEqual(result.returncode, 0)
        self.refused(2, "mica bench: unknown option --no-such", "bench", "--no-such")


if __name__ == "__main__":
    unittest.main()
