"""`kernsmith evaluate` of OpenCL candidates on PoCL, as users run it. Skipped (77) where there is no OpenCL device."""
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
PROBLEM = """
name = "softmax"
[axes]
B = 256
N = 300
[inputs.x]
shape = ["B", "N"]
dtype = "f32"
[outputs.y]
shape = ["B", "N"]
dtype = "f32"
[definition]
text = \"\"\"
m[b]   = max(n: x[b,n])
e[b,n] = exp(x[b,n] - m[b])
s[b]   = sum(n: e[b,n])
y[b,n] = e[b,n] / s[b]
\"\"\"
"""


def main():
    kernel = (ROOT / "tests/opencl/kernels/softmax.cl").read_text()
    with tempfile.TemporaryDirectory(prefix="kernsmith-opencl-") as name:
        folder = pathlib.Path(name)
        (folder / "softmax.toml").write_text(PROBLEM)

        def evaluated(source, *more):
            (folder / "kernel.cl").write_text(source)
            command = [PROGRAM, "evaluate", folder / "softmax.toml", folder / "kernel.cl", "--target", "opencl", "--json", folder / "e.json", "--data",
                       folder / "data", *more]
            (folder / "e.json").unlink(missing_ok=True)
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240)
            if not (folder / "e.json").exists():
                return done.returncode, done.stdout + done.stderr, None
            e = json.loads((folder / "e.json").read_text())
            return e["outcome"], e["detail"], e

        outcome, detail, e = evaluated(kernel, "--quick")
        if outcome == 3:
            print("SKIPPED:", detail)
            return 77
        assert outcome == "passed", (outcome, detail)
        assert e["target"] == "opencl/cpu" and e["verification"]["timed_outputs"] > 0, e
        # Every shape and content, eight launches; edge shapes need the device's functions for small and for large grids.
        outcome, detail, e = evaluated(kernel)
        assert outcome == "passed", (outcome, detail)
        assert e["verification"]["cases"] > 5, e["verification"]

        def broken(old, new):
            assert old in kernel, old
            return evaluated(kernel.replace(old, new), "--quick")

        for wanted, old, new in [("wrong_values", "const float scale = 1 / part[0]", "const float scale = 1"),
                                 ("build_failed", "fmax(largest, x[j])", "fmaxx(largest, x[j])"),
                                 ("build_failed", "__attribute__((reqd_work_group_size(GROUP, 1, 1)))", ""),
                                 ("refused", 'commands.run("softmax_rows"', 'commands.run("softmax_row"')]:
            outcome, detail, _ = broken(old, new)
            print(f"{new or 'no group size'}: {outcome}: {detail[:100]}")
            assert outcome == wanted, (new, outcome, detail)
    print("OpenCL candidates from the command line: ok")
    return 0


sys.exit(main())
