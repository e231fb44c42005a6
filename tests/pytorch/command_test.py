"""Candidates in Python, PyTorch baselines and exported modules, as users run them. Skipped (77) where there is no PyTorch."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
PROBLEMS, CONDUCT = ROOT / "tests/pytorch/problems", ROOT / "tests/pytorch/conduct"


def main():
    with tempfile.TemporaryDirectory(prefix="kernsmith-pytorch-") as name:
        folder = pathlib.Path(name)

        def run(*words, **variables):
            command = [PROGRAM, *map(str, words), "--data", str(folder / "data")]
            return subprocess.run(command, capture_output=True, text=True, timeout=500, env={**os.environ, **variables})

        def python_with_torch():
            for program in (shutil.which("python3"), "/usr/bin/python3"):
                if program and subprocess.run([program, "-c", "import torch"], capture_output=True).returncode == 0:
                    return program
            return None

        # Without PyTorch: what is missing, and how to get it.
        done = run("evaluate", PROBLEMS / "affine.toml", CONDUCT / "must_pass/launch.py", "--target", "pytorch/cpu", KERNSMITH_PYTHON="/bin/false")
        assert done.returncode == 3 and "KERNSMITH_PYTHON" in done.stderr, (done.returncode, done.stderr)
        python = python_with_torch()
        if python is None:
            print("SKIPPED: there is no PyTorch; scripts/setup --with pytorch installs it")
            return 77

        # A candidate in Python, right and wrong.
        done = run("evaluate", PROBLEMS / "affine.toml", CONDUCT / "must_pass/launch.py", "--target", "pytorch/cpu", "--quick", "--json", folder / "e.json")
        e = json.loads((folder / "e.json").read_text())
        assert done.returncode == 0 and e["outcome"] == "passed" and e["target"] == "pytorch/cpu", (done.stderr, e["outcome"], e["detail"])
        assert "PyTorch" in e["fingerprint"]["compiler"] and "eager: PyTorch" in e["fingerprint"]["flags"], e["fingerprint"]
        done = run("evaluate", PROBLEMS / "affine.toml", CONDUCT / "must_fail/raises.py", "--target", "pytorch/cpu", "--quick", "--json", folder / "e.json")
        e = json.loads((folder / "e.json").read_text())
        assert done.returncode == 1 and e["outcome"] == "crashed" and "(candidate.py:" in e["detail"], e["detail"]

        # A search over a module, and the module that comes of it.
        done = run("optimize", PROBLEMS / "chain.toml", "--budget", "4", "--quiet", "--publish", "off", "--out", folder / "out")
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        result = json.loads((folder / "out/result.json").read_text())
        assert result["baseline"]["name"] == "eager", result["baseline"]
        exported = folder / "chain_fast.py"
        done = run("export", "solution", folder / "out", "--format", "modelnew", "--out", exported, "--json", folder / "x.json")
        assert done.returncode == 0, done.stderr
        told = json.loads((folder / "x.json").read_text())
        # 32 elements hardly ever pay for calling a kernel, but what a call costs depends on the machine.
        assert told["workloads"] == 2 and told["workloads_with_kernel"] in (1, 2), told
        by_id = folder / "by_id.py"
        done = run("export", "solution", result["best"]["candidate"], "--problem", PROBLEMS / "chain.toml", "--out", by_id)
        assert done.returncode == 0 and by_id.read_text() == exported.read_text(), done.stderr

        # What a stranger makes of the file: nothing but PyTorch is imported.
        done = subprocess.run([python, ROOT / "tests/pytorch/exported_loop.py", exported, PROBLEMS / "chain.py"], capture_output=True, text=True, timeout=300,
                              env={"PATH": "/usr/bin:/bin", "HOME": name, "KERNSMITH_KERNELS": str(folder / "kernels")})
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["same_state"] and told["built"] and not told["warnings"], told
        right_with_kernel, right_without = [True, True], [True, False]
        for case in ("plain", "again", "copied", "changed", "restored", "evaluation_mode"):
            assert told[case] == right_with_kernel, (case, told[case])
        for case in ("other_shape", "not_contiguous", "other_dtype", "misaligned", "gradients"):
            assert told[case] == right_without, (case, told[case])
        # Without a compiler the module still works.
        done = subprocess.run([python, ROOT / "tests/pytorch/exported_loop.py", exported, PROBLEMS / "chain.py"], capture_output=True, text=True, timeout=300,
                              env={"PATH": "/nowhere", "HOME": name, "KERNSMITH_KERNELS": str(folder / "none")})
        told = json.loads(done.stdout)
        assert not told["built"] and told["plain"] == right_without and "no C++ compiler" in told["warnings"][0], told

        # The other forms, and what can't be had.
        assert run("export", "solution", folder / "out", "--format", "source", "--out", folder / "plain").returncode == 0
        assert {f.name for f in (folder / "plain").iterdir()} == {"kernel.cpp", "kernsmith_kernel.h", "README.md"}
        assert run("export", "solution", folder / "out", "--format", "flashinfer", "--out", folder / "s.json").returncode == 0
        solution = json.loads((folder / "s.json").read_text())
        assert solution["definition"] == "chain" and solution["spec"]["entry_point"] == "main.py::run", solution["spec"]
        assert run("export", "solution", folder / "out", "--format", "extension", "--out", folder / "package").returncode == 0
        for part in ("setup.py", "chain/__init__.py"):
            compile((folder / "package" / part).read_text(), part, "exec")
        done = run("export", "solution", folder / "out", "--problem", PROBLEMS / "affine.toml")
        assert done.returncode == 2 and "made for problem" in done.stderr, done.stderr
        done = run("export", "solution", "cand-nothing")
        assert done.returncode == 2, (done.returncode, done.stderr)
    return 0


sys.exit(main())
