#!/usr/bin/env python3
"""Times kernels that searches on a GPU found, beside what PyTorch gives for the same problem and beside a copy of the same bytes.

    peers_device.py OUT [--only NAME,NAME] [--rounds 15] [--warm]

OUT has one result folder for each problem of docs/examples/gpu, as `kernsmith optimize ... --out OUT` leaves them. Every leg takes turns over two sets
of tensors, each larger than the second-level cache; a sample is six calls between two events, so that the host runs ahead; the legs of a round come in
random order. PyTorch runs eagerly and through torch.compile. Prints a markdown table of medians; above 1 the kernel is faster. `--warm` only compiles,
which fills torch's cache on disk. Needs nvcc and torch; each kernel's outputs are compared with PyTorch's first.
"""
import argparse
import concurrent.futures
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys

import torch

from rows_device import Problem

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALLS = 6
functional = torch.nn.functional


def group_quantise(x):
    wide = x.float()
    scale = wide.abs().amax(-1).clamp(min=1e-12) / 448
    return scale, (wide / scale[..., None]).to(torch.float8_e4m3fn)


def residual_rmsnorm(x, r, w):
    total = x + r
    wide = total.float()
    return total, (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * w.float()).to(x.dtype)


def masked_mean(x, valid):
    return (x.float() * valid[..., None]).sum(1) / valid.sum(1).clamp(min=1)[:, None]


def utility(logit, beta, alpha, boost):
    return ((torch.sigmoid(logit) + beta) ** alpha).prod(-1) * boost


# Each problem as a user of PyTorch would write it.
WAYS = {
    "add": lambda a, b: (a * 0.5 + b).relu(),
    "gelu": functional.gelu,
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax_bf16": lambda x: torch.softmax(x, -1),
    "layernorm": lambda x, g, b: functional.layer_norm(x, x.shape[-1:], g, b, 1e-5),
    "residual_rmsnorm": residual_rmsnorm,
    "column_sum": lambda x: x.sum(0),
    "sum": lambda x: x.sum(),
    "cumsum": lambda x: x.cumsum(-1),
    "embedding_bag": lambda table, ids: functional.embedding_bag(ids, table, mode="sum").float(),
    "bucketise": lambda x, border: torch.bucketize(x, border, right=True, out_int32=True),
    "utility": utility,
    "group_quantise": group_quantise,
    "masked_mean": masked_mean,
    "transpose": lambda x: (0.5 * x.t()).contiguous(),
    "top2": lambda x: tuple(v.contiguous() for v in x.topk(2, -1).values.unbind(-1)),
    "matmul": torch.matmul,
    "matmul_bf16": torch.matmul,
    "matmul_f64": torch.matmul,
    "batched_matmul": lambda q, k: 0.125 * torch.matmul(q, k.transpose(1, 2)),
    "linear_gelu": lambda x, w, b: functional.gelu(functional.linear(x, w, b)),
}


def build(source):
    library = source.with_suffix(".so")
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90a,code=sm_90a", f"-I{ROOT}/backends/harness",
                    source, "-o", library], check=True, stderr=subprocess.DEVNULL)
    return library


def sample(call):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for k in range(CALLS):
        call(k)
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) / CALLS


def of_torch(way, problem):
    inputs = [[t for t, _ in one[0]] for one in problem.sets]
    return lambda k: way(*inputs[k % 2])


def check(name, problem, way):
    """The kernel's outputs, already there, against PyTorch's."""
    expected = way(*[t for t, _ in problem.sets[0][0]])
    for (got, _), want in zip(problem.sets[0][1], expected if isinstance(expected, tuple) else (expected,)):
        wide, reference = got.float(), want.float()
        difference = ((wide - reference).abs().max() / reference.abs().max().clamp(min=1e-30)).item()
        if not difference < 0.075:  # f8 results may round to neighbours, 32 of 448 away
            raise SystemExit(f"{name}: differs from PyTorch by {difference:.2g} of the largest value")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm", action="store_true")
    arguments = parser.parse_args()
    names = [n for n in WAYS if (not arguments.only or n in arguments.only.split(",")) and (arguments.warm or (arguments.out / n / "best.cu").exists())]
    torch.backends.cuda.matmul.allow_tf32 = False
    libraries = {}
    if not arguments.warm:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            libraries = dict(zip(names, pool.map(build, [arguments.out / n / "best.cu" for n in names])))
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
        print("| problem | GB | kernel ms | GB/s of a copy's | eager ms | ratio | torch.compile ms | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    eager_ratios, compiled_ratios = [], []
    for name in names:
        torch.cuda.empty_cache()
        problem = Problem(ROOT / "docs/examples/gpu" / f"{name}.toml", {})
        compiled = torch.compile(WAYS[name], dynamic=False)
        legs = {"eager": of_torch(WAYS[name], problem), "compiled": of_torch(compiled, problem)}
        for leg in legs.values():
            leg(0), leg(1)
        torch.cuda.synchronize()
        if arguments.warm:
            continue
        legs["kernel"] = problem.caller(libraries[name])
        check(name, problem, WAYS[name])
        source, target = (torch.empty(max(1, problem.bytes // 2), dtype=torch.uint8, device="cuda") for _ in range(2))
        legs["copy"] = lambda k: target.copy_(source)
        samples = {leg: [] for leg in legs}
        for _ in range(arguments.rounds):
            for leg in random.sample(list(legs), len(legs)):
                samples[leg].append(sample(legs[leg]))
        ms = {leg: statistics.median(values) for leg, values in samples.items()}
        eager_ratios.append(ms["eager"] / ms["kernel"])
        compiled_ratios.append(ms["compiled"] / ms["kernel"])
        print(f"| {name} | {problem.bytes / 1e9:.2f} | {ms['kernel']:.3f} | {ms['copy'] / ms['kernel']:.2f} | {ms['eager']:.3f} | {eager_ratios[-1]:.2f} | "
              f"{ms['compiled']:.3f} | {compiled_ratios[-1]:.2f} |", flush=True)
        del problem, legs, source, target
    if eager_ratios:
        mean = lambda ratios: math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"| geometric mean | | | | | {mean(eager_ratios):.2f} | | {mean(compiled_ratios):.2f} |")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests/bench"))
    main()
