#!/usr/bin/env python3
"""`kernsmith profile` as users run it: the diagnosis, its document, a kernel that does not pass, tools that are not there.

    profile_test.py KERNSMITH SOURCE_DIR
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
PROFILES = SOURCE / "tests/backends/profiles"
LIMIT_S = 300


class Profile(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernsmith-profile-"))
        self.environment = {**os.environ, "KERNSMITH_DATA": str(self.folder / "data"), "NO_COLOR": "1"}

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def profile(self, problem, source, *arguments, environment=None):
        return subprocess.run([PROGRAM, "profile", str(problem), str(source), *map(str, arguments)], cwd=self.folder, env=environment or self.environment,
                              capture_output=True, text=True, timeout=LIMIT_S)

    def test_a_diagnosis_with_its_document(self):
        document = self.folder / "profile.json"
        done = self.profile(PROFILES / "serial.toml", PROFILES / "serial.cpp", "--json", document, "--signals")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("bottleneck", "roofline", "time", "signals", "not read"):
            self.assertIn(word, done.stdout)
        profile = json.loads(document.read_text())
        jsonschema.Draft7Validator(json.loads((SOURCE / "docs/schemas/profile.schema.json").read_text())).validate(profile)
        self.assertTrue(profile["diagnosis"]["knowledge"])
        self.assertGreater(profile["signals"]["one_thread_ns"]["value"], 0)
        for name, signal in profile["signals"].items():
            self.assertEqual(profile["diagnosis"]["signals"][name], signal["value"])
        if len(os.sched_getaffinity(0)) == 2:  # two threads, one of which has fifteen sixteenths of the work
            self.assertEqual(profile["diagnosis"]["bottleneck"], "load_imbalance", done.stdout)

    def test_json_goes_to_stdout_alone(self):
        done = self.profile(PROFILES / "tiny.toml", PROFILES / "tiny.cpp", "--json", "--threads", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(done.stdout)
        self.assertEqual(profile["schema"], "kernsmith.profile/1")
        self.assertNotIn("parallel_efficiency", profile["signals"])  # one thread has nothing to compare with

    def test_tools_that_are_not_there_are_said_to_be_missing(self):
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "g++").symlink_to(shutil.which("g++"))
        document = self.folder / "profile.json"
        done = self.profile(PROFILES / "copy.toml", PROFILES / "copy.cpp", "--json", document, environment={**self.environment, "PATH": str(tools)})
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(document.read_text())
        missing = {m["tool"]: m for m in profile["missing"]}
        self.assertIn("valgrind", missing)
        self.assertIn("--with profilers", missing["valgrind"]["remedy"])
        self.assertFalse([name for name, s in profile["signals"].items() if s["tool"] in ("callgrind", "llvm-mca")])
        self.assertIn("roofline_fraction", profile["signals"])

    def test_a_wrong_kernel_has_no_diagnosis(self):
        wrong = self.folder / "wrong.cpp"
        wrong.write_text((PROFILES / "copy.cpp").read_text().replace("2 * x[i]", "3 * x[i]"))
        done = self.profile(PROFILES / "tiny.toml", wrong)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("does not pass: wrong_values", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_bad_requests(self):
        self.assertEqual(self.profile(PROFILES / "tiny.toml", self.folder / "none.cpp").returncode, 2)
        self.assertEqual(self.profile(PROFILES / "tiny.toml", PROFILES / "tiny.cpp", "--target", "cobol").returncode, 2)
        self.assertEqual(self.profile(PROFILES / "tiny.toml", PROFILES / "tiny.cpp", "--frobnicate").returncode, 2)

    def knowledge(self, *arguments):
        return subprocess.run([PROGRAM, "knowledge", *arguments], capture_output=True, text=True, timeout=LIMIT_S)

    def test_what_a_diagnosis_names_can_be_read(self):
        listed = self.knowledge("list", "--bottleneck", "spills", "--target", "cpp", "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual([e["id"] for e in json.loads(listed.stdout)], ["cpu-spills"])
        shown = self.knowledge("show", "cpu-spi")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("Keep fewer values alive", shown.stdout)
        self.assertIn("source", shown.stdout)
        self.assertEqual(self.knowledge("show", "cpu-").returncode, 2)
        self.assertEqual(self.knowledge("show", "none-such").returncode, 2)
        self.assertIn("there are: memory_bandwidth", self.knowledge("list", "--bottleneck", "slowness").stderr)

    def test_help_has_an_example(self):
        done = subprocess.run([PROGRAM, "profile", "--help"], capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0)
        self.assertIn("Example: kernsmith profile", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
