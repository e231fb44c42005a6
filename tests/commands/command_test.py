#!/usr/bin/env python3
"""The built program as users run it: a search from problem file to verified kernel, kill -9 and resume, bad input, exit codes, documents.

    command_test.py KERNSMITH SOURCE_DIR
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
LIMIT_S = 300

SCALE = """
name = "scale"
[axes]
N = 200000
[inputs.x]
shape = ["N"]
dtype = "f32"
[inputs.w]
shape = ["N"]
dtype = "f32"
[outputs.y]
shape = ["N"]
dtype = "f32"
[definition]
text = "y[n] = exp(x[n]) * w[n]"
"""
WRONG = """
#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  for (int64_t i = 0; i < in[0].shape[0]; ++i) static_cast<float*>(out[0].data)[i] = static_cast<const float*>(in[0].data)[i];
  return 0;
}
"""
RIGHT = """
#include <cmath>
#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const float* x = static_cast<const float*>(in[0].data);
  const float* w = static_cast<const float*>(in[1].data);
  for (int64_t i = 0; i < in[0].shape[0]; ++i) static_cast<float*>(out[0].data)[i] = std::exp(x[i]) * w[i];
  return 0;
}
"""


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernsmith-commands-"))
        self.environment = {**os.environ, "KERNSMITH_DATA": str(self.folder / "data"), "NO_COLOR": "1"}
        self.problem = self.write("scale.toml", SCALE)

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_program(self, *arguments, environment=None):
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment or self.environment, capture_output=True, text=True, timeout=LIMIT_S)

    def optimize(self, *arguments, expect=(0, 1)):
        done = self.run_program("optimize", self.problem, "--publish", "off", "--out", self.folder / "out", *arguments)
        self.assertIn(done.returncode, expect, done.stdout + done.stderr)
        return json.loads((self.folder / "out/result.json").read_text())

    def test_a_search_leaves_a_verified_kernel_and_valid_documents(self):
        result = self.optimize("--budget", 4)
        self.assertEqual(result["evaluations"]["total"], 4)
        self.assertEqual(result["stopped_by"], "budget")
        best = result["best"]
        self.assertIsNotNone(best)
        self.assertGreater(best["verification"]["cases"], 5)
        self.assertGreater(best["verification"]["timed_outputs"], 0)
        self.assertTrue(all(h["wall_s"] is not None for h in result["history"]))
        self.assertIn("launch", (self.folder / "out" / best["source"]).read_text())
        self.assertIn(best["candidate"], (self.folder / "out/report.md").read_text())
        check = subprocess.run([sys.executable, "-c", "import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))",
                                str(self.folder / "out/result.json"), str(SOURCE / "docs/schemas/result.schema.json")], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stderr)
        shown = self.run_program("show", best["candidate"][:10])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("launch", shown.stdout)
        # What limits the winner: in the documents, the report and the store.
        profiles = [p for p in result["profiling"]["profiles"] if p["candidate"] == best["candidate"]]
        self.assertEqual([p["failure"] for p in profiles], [None] * len(profiles), result["profiling"])
        self.assertTrue(profiles)
        self.assertIn(best["diagnosis"]["confidence"], ("clear", "likely", "unclear"))
        self.assertIn("## What limits it", (self.folder / "out/report.md").read_text())
        self.assertIn("bottleneck    " + best["diagnosis"]["bottleneck"], shown.stdout)
        profile = json.loads(self.run_program("show", best["candidate"], "--json").stdout)["profile"]
        jsonschema.Draft7Validator(json.loads((SOURCE / "docs/schemas/profile.schema.json").read_text())).validate(profile)
        self.assertEqual((profile["candidate"], profile["diagnosis"]["bottleneck"]), (best["candidate"], best["diagnosis"]["bottleneck"]))
        ids = [h["candidate"] for h in result["history"] if h["effort"] == "search"]
        compared = self.run_program("diff", ids[0], ids[1])
        self.assertEqual(compared.returncode, 0, compared.stderr)

        # Nothing that was built is built again.
        before = {e["candidate"] for e in json.loads((self.folder / "out/evidence/evaluations.json").read_text())}
        again = self.optimize("--budget", 4, "--profile", "off")
        self.assertEqual(again["profiling"]["profiles"], [])
        seen = [e for e in json.loads((self.folder / "out/evidence/evaluations.json").read_text()) if e["candidate"] in before]
        self.assertTrue(seen)
        for evaluation in seen:
            self.assertEqual(evaluation["cost"]["build_s"], 0, evaluation["candidate"])
        self.assertNotEqual(again["session"], result["session"])

    def test_kill_and_resume(self):
        run = subprocess.Popen([PROGRAM, "optimize", str(self.problem), "--publish", "off", "--profile", "off", "--budget", "6", "--out", str(self.folder / "out")], cwd=self.folder, env=self.environment,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
        evaluated = []
        for line in run.stdout:
            match = re.match(r"\[(\d+)/6\] (\w+).*(cand-\w+)", line)
            if match:
                evaluated.append(match.group(3))
            if len(evaluated) == 3:
                break
        os.kill(run.pid, signal.SIGKILL)
        run.stdout.close()
        run.wait()
        self.assertFalse((self.folder / "out/result.json").exists())
        result = self.optimize("--budget", 6, "--resume")
        history = [h["candidate"] for h in result["history"] if h["effort"] == "search"]
        self.assertEqual(history[:3], evaluated)
        self.assertEqual(result["evaluations"]["total"], 6)
        self.assertEqual(result["state"], "finished")

    def test_interruption_says_how_to_go_on(self):
        run = subprocess.Popen([PROGRAM, "optimize", str(self.problem), "--publish", "off", "--profile", "off", "--budget", "500", "--out", str(self.folder / "out")], cwd=self.folder, env=self.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in run.stdout:
            if line.startswith("[1/500]"):
                break
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 4, stderr)
        self.assertIn("--resume", stderr)

    def test_evaluate_tells_right_from_wrong(self):
        wrong = self.run_program("evaluate", self.problem, self.write("wrong.cpp", WRONG), "--quick", "--json")
        self.assertEqual(wrong.returncode, 1, wrong.stderr)
        verdict = json.loads(wrong.stdout)
        self.assertEqual(verdict["outcome"], "wrong_values")
        self.assertEqual(verdict["schema"], "kernsmith.evaluation/1")
        right = self.run_program("evaluate", self.problem, self.write("right.cpp", RIGHT), "--quick", "--json")
        self.assertEqual(right.returncode, 0, right.stderr + right.stdout)
        self.assertEqual(json.loads(right.stdout)["outcome"], "passed")
        broken = self.run_program("evaluate", self.problem, self.write("broken.cpp", "int launch("), "--quick", "--json")
        self.assertEqual(broken.returncode, 1, broken.stderr)
        self.assertEqual(json.loads(broken.stdout)["outcome"], "build_failed")

    def test_doctor(self):
        done = self.run_program("doctor", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["ok"])
        self.assertGreaterEqual(sum(c["name"].startswith("sandbox") for c in report["checks"]), 5)

    def refused(self, expect_code, fragment, *arguments, environment=None):
        done = self.run_program(*arguments, environment=environment)
        self.assertEqual(done.returncode, expect_code, done.stdout + done.stderr)
        self.assertIn(fragment, done.stderr)
        self.assertFalse((self.folder / "kernsmith-out").exists(), "something was left behind")

    def changed(self, old, new):
        self.assertIn(old, SCALE)
        return self.write("changed.toml", SCALE.replace(old, new))

    def test_bad_problems_are_refused_with_place_and_remedy(self):
        for old, new, fragment in [
            ('name = "scale"', 'nam = "scale"', "changed.toml:2:1: unknown key 'nam'"),
            ('dtype = "f32"', 'dtype = "f23"', "did you mean 'f32'"),
            ("N = 200000", "N = 0", "changed.toml:4:5: axis 'N' is 0"),
            ("N = 200000", "N = 1099511627776", "elements"),
            ("x[n])", "x[n+1])", "declare 'pad' on 'x'"),
            ("exp(x[n])", "exp(z[n])", "'z'"),
        ]:
            with self.subTest(new):
                self.refused(2, fragment, "optimize", self.changed(old, new))
        self.refused(2, "UTF-8", "optimize", self.write("binary.toml", b"\xff\xfe"))
        self.refused(2, "no such file", "optimize", "absent.toml")
        self.refused(2, "another name", "optimize", self.problem, self.write("twin.toml", SCALE))
        self.refused(2, "did you mean 'mcts'", "optimize", self.problem, "--policy", "mtcs")
        self.refused(2, "did you mean 'winner'", "optimize", self.problem, "--profile", "winer")
        self.refused(2, "median latency only", "optimize", self.changed('name = "scale"', 'name = "scale"\nobjective.metric = "p99"'))
        self.refused(2, "unknown target 'vulkan'", "optimize", self.problem, "--target", "vulkan")

    def test_what_is_missing_here_is_named(self):
        self.refused(3, "KERNSMITH_CXX", "optimize", self.problem, "--publish", "off", environment={**self.environment, "KERNSMITH_CXX": "/nonexistent/g++"})
        blocked = self.write("file-in-the-way", "")
        self.refused(3, "file-in-the-way", "optimize", self.problem, "--publish", "off", "--data", blocked)
        self.refused(3, "file-in-the-way", "optimize", self.problem, "--publish", "off", "--out", blocked / "out")

    def test_a_data_directory_has_one_owner(self):
        run = subprocess.Popen([PROGRAM, "optimize", str(self.problem), "--publish", "off", "--budget", "500"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
        for line in run.stdout:
            if line.startswith("[1/500]"):
                break
        second = self.run_program("optimize", self.problem, "--publish", "off")
        os.kill(run.pid, signal.SIGKILL)
        run.stdout.close()
        run.wait()
        self.assertEqual(second.returncode, 3, second.stderr)
        self.assertIn("in use", second.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
