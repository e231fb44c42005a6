#!/usr/bin/env python3
"""Checks the problem files of tests/problems: what a problem must be so that "correct and faster" says something about it.

    check_problems.py [--times] [--sizes NAME] [FILE...]

Each file is imported and run with PyTorch's interpreter. It must name its parts, agree with itself under one seed, and make outputs that are
finite, not constant, and out of reach for answers which were never computed: zeros, the mean of the outputs, the answer to another seed's
inputs, the answer to inputs whose second half is missing. `--times` prints how long each takes. Exits with 77 where PyTorch is missing.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import sys
import time

try:
    import torch
    import torch.nn as nn
except ImportError:
    system_python = "/usr/bin/python3"  # where scripts/setup --with pytorch puts it
    if os.path.exists(system_python) and not os.path.samefile(sys.executable, system_python):
        os.execv(system_python, [system_python, *sys.argv])
    print("SKIPPED: PyTorch is not installed for this interpreter")
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "problems"
TOLERANCE = 1e-4
CATEGORIES = ("activation", "attention", "conv", "convchain", "gemmchain", "loss", "matmul", "model", "norm", "pool", "reduce", "scan")
LEAST_FILES = 60
MAX_WORKING_SET_BYTES = 200 << 20


class Wrong(Exception):
    """A file is not what a problem must be."""


def load(path, axes):
    """The file's names, with its constants overridden by `axes`."""
    names = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), names)
    for axis, value in axes.items():
        if axis not in names:
            raise Wrong(f"sizes.toml sets {axis}, which the file does not have")
        names[axis] = value
    return names


def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else list(value)


def answer(names, seed, model_seed=1, change=None):
    """Outputs for the inputs of `seed`. The model has the parameters of `model_seed` and is in training mode, as it is when measured."""
    torch.manual_seed(model_seed)
    model = names["Model"](*names["get_init_inputs"]())
    torch.manual_seed(seed)
    inputs = names["get_inputs"]()
    if change:
        inputs = [change(x) if isinstance(x, torch.Tensor) else x for x in inputs]
    with torch.no_grad():
        outputs = tensors(model(*inputs))
    size = sum(x.numel() * x.element_size() for x in [*inputs, *outputs, *model.parameters()] if isinstance(x, torch.Tensor))
    return outputs, size


def without_second_half(x):
    """`x` with zeros where a candidate that stops half-way along the first dimension would not have looked."""
    if x.dim() == 0 or x.shape[0] < 2:
        return x
    x = x.clone()
    x[x.shape[0] // 2:] = 0
    return x


def passes(outputs, candidate):
    """Would `candidate` be taken for right at the tolerance that such problems are usually checked with?"""
    return all(a.shape == b.shape and torch.allclose(b.double(), a.double(), atol=TOLERANCE, rtol=TOLERANCE) for a, b in zip(outputs, candidate))


def check_text(path):
    text = path.read_text()
    first = text.split("\n", 1)[0]
    if not re.fullmatch(r'""".+\."""', first):
        raise Wrong("the first line is not a docstring of one line")
    if path.stem.split("_")[0] not in CATEGORIES:
        raise Wrong(f"the name begins with none of the categories {', '.join(CATEGORIES)}")
    if not re.search(r"^[A-Z][A-Z0-9_]* = \d+$", text, re.M):
        raise Wrong("there is no integer constant to change the sizes by")


def check_answers(names):
    for part in ("Model", "get_inputs", "get_init_inputs"):
        if part not in names:
            raise Wrong(f"there is no {part}")
    if not issubclass(names["Model"], nn.Module):
        raise Wrong("Model is not a torch.nn.Module")
    outputs, size = answer(names, 11)
    if size > MAX_WORKING_SET_BYTES:
        raise Wrong(f"inputs, parameters and outputs take {size >> 20} MiB")
    again, _ = answer(names, 11)
    if not all(torch.equal(a, b) for a, b in zip(outputs, again)):
        raise Wrong("two runs with one seed differ")
    for number, output in enumerate(outputs):
        if output.is_floating_point() and not torch.isfinite(output).all():
            raise Wrong(f"output {number} is not finite")
        if output.numel() > 1 and (output == output.flatten()[0]).all():
            raise Wrong(f"output {number} is constant")
    others = {
        "zeros": [torch.zeros_like(x) for x in outputs],
        "another seed's answer": answer(names, 12)[0],
        "the answer to half of the inputs": answer(names, 11, change=without_second_half)[0],
    }
    if any(x.numel() > 1 for x in outputs):  # of one number the mean is the answer
        others["the mean"] = [torch.full_like(x.double(), x.double().mean().item()) for x in outputs]
    for what, candidate in others.items():
        if passes(outputs, candidate):
            raise Wrong(f"{what} passes at {TOLERANCE}")
    if not passes(outputs, [x.clone() for x in outputs]):
        raise Wrong("the right answer does not pass")


def read_sizes(which):
    """The axes of each problem from sizes.toml, whose form is so plain that interpreters without a TOML reader can read it."""
    sizes, axes = {}, None
    for number, line in enumerate((FOLDER / "sizes.toml").read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if table := re.fullmatch(r"\[(\w+)\.(\w+)\]", line):
            axes = sizes.setdefault(table.group(2), {}).setdefault(table.group(1), {})
        elif entry := re.fullmatch(r"(\w+) = (\d+)", line):
            axes[entry.group(1)] = int(entry.group(2))
        else:
            raise Wrong(f"sizes.toml:{number}: neither [problem.sizes] nor NAME = number")
    return sizes.get(which, {}) if which else sizes


def median_ms(names):
    torch.manual_seed(1)
    model = names["Model"](*names["get_init_inputs"]())
    inputs = names["get_inputs"]()
    samples = []
    with torch.no_grad():
        for _ in range(7):
            start = time.perf_counter()
            model(*inputs)
            samples.append(1e3 * (time.perf_counter() - start))
    return sorted(samples)[len(samples) // 2]


def check_sizes(files):
    """Every problem has sizes for a GPU, and they name constants that are there."""
    sizes = read_sizes(None)
    stems = {path.stem for path in files}
    for which, tables in sizes.items():
        for stem in tables:
            if stem not in stems:
                raise Wrong(f"sizes.toml: [{stem}.{which}] belongs to no file")
    for path in files:
        if not sizes.get("gpu", {}).get(path.stem):
            raise Wrong(f"sizes.toml: {path.stem} has no sizes for a GPU")
        for axes in (tables.get(path.stem, {}) for tables in sizes.values()):
            load(path, axes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="names or patterns of problems (default: all)")
    parser.add_argument("--times", action="store_true", help="print how long each takes, in milliseconds")
    parser.add_argument("--sizes", help="check at these sizes of sizes.toml")
    options = parser.parse_args()
    everything = sorted(FOLDER.glob("*.py"))
    files = [p for p in everything if not options.files or any(fnmatch.fnmatch(p.stem, pathlib.Path(f).stem) for f in options.files)]
    failures = []
    try:
        check_sizes(everything)
        axes = read_sizes(options.sizes) if options.sizes else {}
    except Wrong as why:
        failures.append(str(why))
        axes = {}
    if not options.files and len(files) < LEAST_FILES:
        failures.append(f"there are {len(files)} problems, fewer than {LEAST_FILES}")
    if not files:
        failures.append("no problem was examined")
    for path in files:
        try:
            check_text(path)
            names = load(path, axes.get(path.stem, {}))
            check_answers(names)
            if options.times:
                print(f"{median_ms(names):9.2f} ms  {path.stem}", flush=True)
        except Exception as why:  # whatever a file raises is its failure
            failures.append(f"{path.name}: {type(why).__name__}: {why}")
    print(f"{len(files)} problems examined with PyTorch {torch.__version__}, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
