"""What the tests of the program share: running it, and scenes to run it on."""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["MICA_PROGRAM"]
BINARY_DIR = os.environ["MICA_BINARY_DIR"]
SOURCE_DIR = os.environ["MICA_SOURCE_DIR"]
MODELS_DIR = os.path.join(os.environ["MICA_MODELS_DIR"], "glTF2")
PLUGIN_DIR = os.path.join(BINARY_DIR, "plugins")

CPU_SECONDS = 5  # what a file may cost, also under the sanitizers
WALL_SECONDS = 120  # so that a hang ends, however busy the machine is


def limit_time():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def plugin(name):
    return os.path.join(PLUGIN_DIR, name + ".so")


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mica-test-")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Writes a text, bytes, or a value as JSON, and returns the file's path."""
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def mica(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, timeout=WALL_SECONDS, preexec_fn=limit_time, cwd=self.folder, **options)

    def done(self, *arguments):
        """Runs the program, expects it to be done, and returns its output."""
        result = self.mica(*arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        return result.stdout

    def refused(self, exit_code, messages, *arguments):
        """Runs the program and expects it to end with this code, each of the messages, and no output."""
        result = self.mica(*arguments)
        self.assertEqual(result.returncode, exit_code, f"{arguments}: {result.stderr}")
        for message in [messages] if isinstance(messages, str) else messages:
            self.assertIn(message, result.stderr, arguments)
        self.assertEqual(result.stdout, "", arguments)
        for line in result.stderr.splitlines():
            self.assertRegex(line, "^(mica: |mica bench: |usage:|  mica )", arguments)

    def dump(self, *arguments):
        return json.loads(self.done("dump", *arguments))["entities"]
