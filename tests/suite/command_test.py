#!/usr/bin/env python3
"""`kernsmith bench suite` as users run it: a folder with problems that work and problems that don't.

    command_test.py KERNSMITH SOURCE_DIR
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
LIMIT_S = 300

SCALE = """{comment}
name = "{name}"
[axes]
N = 60000
[inputs.x]
shape = ["N"]
dtype = "f32"
[outputs.y]
shape = ["N"]
dtype = "f32"
[definition]
text = "y[n] = exp(x[n]) * {factor}"
"""


class Suite(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernsmith-suite-"))
        self.environment = {**os.environ, "KERNSMITH_DATA": str(self.folder / "data"), "NO_COLOR": "1"}
        self.problems = self.folder / "problems"
        self.problems.mkdir()
        self.write("map_double.toml", SCALE.format(comment="", name="double", factor="2.0"))
        self.write("map_triple.toml", SCALE.format(comment="# category: threes", name="triple", factor="3.0"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        (self.problems / name).write_text(text)

    def arguments(self, *more, budget=2):
        return [PROGRAM, "bench", "suite", str(self.problems), "--budget", str(budget), "--profile", "off", "--out", str(self.folder / "out"), *map(str, more)]

    def run_suite(self, *more, budget=2):
        return subprocess.run(self.arguments(*more, budget=budget), cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S)

    def document(self):
        document = json.loads((self.folder / "out/suite.json").read_text())
        jsonschema.Draft7Validator(json.loads((SOURCE / "docs/schemas/suite.schema.json").read_text())).validate(document)
        return document

    def test_a_problem_that_is_refused_costs_itself_only(self):
        self.write("bad_syntax.toml", "name = \n")
        self.write("bad_empty.toml", 'name = "empty"\n')
        self.write("sizes.toml", "")
        self.write("notes.txt", "not a problem")
        done = self.run_suite("--json", self.folder / "copy.json")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        document = self.document()
        self.assertEqual(document, json.loads((self.folder / "copy.json").read_text()))
        self.assertEqual(document["state"], "finished")
        by_file = {e["file"]: e for e in document["entries"]}
        self.assertEqual(sorted(by_file), ["bad_empty.toml", "bad_syntax.toml", "map_double.toml", "map_triple.toml"])
        for name in ("bad_syntax.toml", "bad_empty.toml"):
            self.assertEqual(by_file[name]["status"], "refused")
            self.assertIn(name, by_file[name]["reason"])
        for name, category in (("map_double.toml", "map"), ("map_triple.toml", "threes")):
            entry = by_file[name]
            self.assertEqual((entry["status"], entry["category"], entry["evaluations"]), ("correct", category, 2), entry)
            result = json.loads((self.folder / "out" / entry["folder"] / "result.json").read_text())
            self.assertEqual(entry["speedup"], result["best"]["speedup"]["geomean"])
        everything = document["summaries"][0]
        self.assertEqual((everything["problems"], everything["correct"], everything["refused"]), (4, 2, 2))
        self.assertLessEqual(everything["fast"][0]["share"], 0.5)
        report = (self.folder / "out/suite.md").read_text()
        self.assertIn("2 of 4 problems correct; 2 refused", report)
        self.assertIn("| bad_syntax | refused |", report)
        self.assertRegex(done.stdout, r"(?m)^\[3/4\] map_double: \d")
        self.assertRegex(done.stdout, r"(?m)^all +4 +2 ")

    def test_filter_and_resume(self):
        first = self.run_suite("--filter", "map_d*")
        self.assertNotEqual(self.document()["entries"], [])
        self.assertEqual([e["file"] for e in self.document()["entries"]], ["map_double.toml"], first.stderr)
        kept = self.document()["entries"][0]
        second = self.run_suite("--resume")
        self.assertIn("(of an earlier run)", second.stdout, second.stderr)
        entries = self.document()["entries"]
        self.assertEqual(entries[0], kept)
        self.assertEqual(entries[1]["file"], "map_triple.toml")
        # Another budget is another question.
        third = self.run_suite("--resume", "--filter", "map_d*", budget=3)
        self.assertNotIn("(of an earlier run)", third.stdout, third.stderr)
        self.assertEqual(self.document()["entries"][0]["evaluations"], 3)

    def test_interruption_keeps_what_has_ended(self):
        run = subprocess.Popen(self.arguments("--filter", "map_*", budget=500), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
        log = self.folder / "out/map_double.toml/log.txt"
        while run.poll() is None and not (log.exists() and "[1/500]" in log.read_text()):
            try:
                run.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 4, stderr)
        self.assertIn("--resume", stderr)
        document = self.document()
        self.assertEqual(document["state"], "interrupted")
        self.assertEqual([e["status"] for e in document["entries"]], ["interrupted"])
        self.assertEqual(document["summaries"][0]["problems"], 0)

    def test_a_problem_that_takes_too_long_is_ended(self):
        done = self.run_suite("--limit", "3", "--filter", "map_d*", budget=500)
        self.assertEqual(done.returncode, 1, done.stderr)
        entry = self.document()["entries"][0]
        self.assertEqual(entry["status"], "failed")
        self.assertIn("longer than 3 s", entry["reason"])

    def refused(self, words, *more):
        done = self.run_suite(*more)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(words, done.stderr)

    def test_requests_that_are_wrong(self):
        self.refused("none of 2 problem files matches --filter nothing*", "--filter", "nothing*")
        self.refused("sizes.toml: can't be read", "--sizes", "gpu")
        self.refused("unknown target 'vulkan'", "--target", "vulkan")
        shutil.rmtree(self.problems)
        self.refused("is not a folder")
        self.problems.mkdir()
        self.refused("holds no problem files")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
