"""`kernsmith optimize` and `evaluate` on the emulated RISC-V core, as users run them. Skipped (77) where the emulator is missing."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
EXAMPLES = ROOT / "docs/examples/external"


def run(*words, expect):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=240)
    assert done.returncode == expect, f"{words}: exit {done.returncode}, not {expect}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def main():
    for tool in ("qemu-system-riscv64", "clang-15", "riscv64-unknown-elf-gcc"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: {tool} is missing; scripts/setup --with external installs it")
            return 77
    with tempfile.TemporaryDirectory(prefix="kernsmith-external-") as folder:
        folder = pathlib.Path(folder)
        data = ("--data", folder / "data")
        said = run("optimize", EXAMPLES / "softmax.toml", "--target", "riscv-vector", "--budget", 4, "--publish", "off", "--out", folder / "out", *data,
                   expect=0)
        assert "x fewer instructions" in said, said
        result = json.loads((folder / "out/result.json").read_text())
        assert result["target"] == "external/riscv-vector"
        assert result["baseline"]["unit"] == "instructions" and result["best"]["unit"] == "instructions"
        assert result["best"]["language"] == "c" and result["best"]["source"] == "best.c"
        assert result["control"]["verdict"] == "no_difference" and result["control"]["ratio"] == 1
        report = (folder / "out/report.md").read_text()
        assert "times fewer instructions than" in report and " us " not in report, report
        # The winner again, by the target's file: the same count to the instruction.
        target = EXAMPLES / "riscv-vector/target.toml"
        run("evaluate", EXAMPLES / "softmax.toml", folder / "out/best.c", "--target", target, "--json", folder / "again.json", *data, expect=0)
        again = json.loads((folder / "again.json").read_text())
        for before, after in zip(result["best"]["workloads"], again["workloads"]):
            assert before["median_ns"] == after["median_ns"], (before, after)
        said = run("optimize", EXAMPLES / "softmax.toml", "--target", "riscv-vectr", *data, expect=2)
        assert "did you mean 'riscv-vector'" in said, said
    print("external targets from the command line: ok")
    return 0


sys.exit(main())
