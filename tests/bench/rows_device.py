#!/usr/bin/env python3
"""Times what the rules write for docs/examples/gpu on a GPU, beside a copy of the same machine and torch, and checks it against float64.

    rows_device.py PLAN EMIT_RULES REPOSITORY WORK      makes sources in WORK, builds them with nvcc, runs them

Each line of PLAN is `problem [AXIS=extent ...] | [decision=value ...]`, e.g. `softmax B=4096 N=50257 | cluster=8`. Needs torch. Two sets of
buffers take turns, each larger than the L2 cache; times are medians of twelve launches between events.
"""
import concurrent.futures
import ctypes
import os
import pathlib
import subprocess
import sys
import tomllib

import torch

F64 = torch.float64
DTYPES = {"f64": (F64, 0), "f32": (torch.float32, 1), "f16": (torch.float16, 2), "bf16": (torch.bfloat16, 3), "f8e4m3": (torch.float8_e4m3fn, 4),
          "f8e5m2": (torch.float8_e5m2, 5), "i64": (torch.int64, 6), "i32": (torch.int32, 7), "i16": (torch.int16, 8), "i8": (torch.int8, 9),
          "u8": (torch.uint8, 10), "bool": (torch.bool, 11)}
WORKSPACE_BYTES = 64 << 20
LAUNCHES = 12


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64))]


class Launch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t), ("device", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("axes", ctypes.POINTER(ctypes.c_int64)), ("n_axes", ctypes.c_int32)]


def array(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def view(tensor, code):
    seen = Tensor(tensor.data_ptr(), code, tensor.dim(), array(tensor.shape), array(tensor.stride()))
    return seen


def contents(init, shape, dtype, generator):
    if dtype == torch.bool:
        return torch.rand(shape, device="cuda", generator=generator) < 0.5
    kind = init["kind"]
    if kind == "sorted":
        return contents(init["of"], shape, dtype, generator).sort(dim=-1).values
    if kind == "uniform":
        return (torch.rand(shape, device="cuda", generator=generator) * (init["hi"] - init["lo"]) + init["lo"]).to(dtype)
    if kind == "integers":
        return torch.randint(init["lo"], init["hi"] + 1, shape, device="cuda", generator=generator).to(dtype)
    return (torch.randn(shape, device="cuda", generator=generator) * init.get("std", 1) + init.get("mean", 0)).to(dtype)


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


def rmsnorm(x, r, w):
    total = x.to(F64) + r.to(F64)
    return [total, total * torch.rsqrt((total**2).mean(-1, keepdim=True) + 1e-6) * w.to(F64)]


def quantise(x):
    scale = x.to(F64).abs().amax(-1).clamp(min=1e-12) / 448
    return [scale, x.to(F64) / scale[..., None]]


# Per problem: the result in float64 of the first rows of every input that has them, how many rows, and torch's own way where it has one.
layer_norm, softmax = torch.nn.functional.layer_norm, torch.softmax
REFERENCES = {
    "gpu_add": (lambda a, b: [(a.to(F64) * 0.5 + b.to(F64)).clamp(min=0)], 1 << 22, None),
    "gpu_gelu": (lambda x: [gelu(x.to(F64))], 1 << 22, torch.nn.functional.gelu),
    "gpu_softmax": (lambda x: [softmax(x.to(F64), -1)], 512, lambda x: softmax(x, -1)),
    "gpu_softmax_bf16": (lambda x: [softmax(x.to(F64), -1)], 512, lambda x: softmax(x, -1)),
    "gpu_layernorm": (lambda x, g, b: [layer_norm(x.to(F64), x.shape[-1:], g.to(F64), b.to(F64), 1e-5)], 512,
                      lambda x, g, b: layer_norm(x, x.shape[-1:], g, b, 1e-5)),
    "gpu_residual_rmsnorm": (rmsnorm, 512, None),
    "gpu_column_sum": (lambda x: [x.to(F64).sum(0)], None, lambda x: x.sum(0)),
    "gpu_sum": (lambda x: [x.to(F64).sum()], None, torch.sum),
    "gpu_cumsum": (lambda x: [x.to(F64).cumsum(-1)], 512, lambda x: x.cumsum(-1)),
    "gpu_embedding_bag": (lambda t, i: [torch.stack([t[row].to(F64).sum(0) for row in i[:256]])], None,
                          lambda t, i: torch.nn.functional.embedding_bag(i, t, mode="sum")),
    "gpu_bucketise": (lambda x, b: [torch.searchsorted(b, x, right=True)], 1 << 22,
                      lambda x, b: torch.searchsorted(b, x, right=True, out_int32=True)),
    "gpu_utility": (lambda l, be, al, bo: [((torch.sigmoid(l.to(F64)) + be.to(F64)) ** al.to(F64)).prod(-1) * bo.to(F64)], 1 << 20, None),
    "gpu_group_quantise": (quantise, 1024, None),
    "gpu_masked_mean": (lambda x, v: [(x.to(F64) * v[..., None]).sum(1) / v.sum(1).clamp(min=1)[:, None]], 1024, None),
    "gpu_transpose": (lambda x: [0.5 * x.t()], None, None),
    "gpu_top2": (lambda x: list(x.topk(2, -1).values.unbind(-1)), 512, None),
}


def timed(call):
    for k in range(3):
        call(k)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(LAUNCHES)]
    for k, (start, stop) in enumerate(events):
        start.record()
        call(k)
        stop.record()
    torch.cuda.synchronize()
    return sorted(start.elapsed_time(stop) for start, stop in events)[LAUNCHES // 2] * 1e-3


class Problem:
    def __init__(self, path, axes):
        text = tomllib.loads(path.read_text())
        self.name, self.axes = text["name"], {**text["axes"], **axes}
        generator = torch.Generator("cuda").manual_seed(7)
        extents = lambda spec: [self.axes[d] if isinstance(d, str) else d for d in spec["shape"]]
        standard = {"kind": "normal"}
        self.sets = [([(contents(s.get("init", standard), extents(s), DTYPES[s["dtype"]][0], generator), DTYPES[s["dtype"]][1])
                       for s in text["inputs"].values()],
                      [(torch.empty(extents(s), dtype=DTYPES[s["dtype"]][0], device="cuda"), DTYPES[s["dtype"]][1])
                       for s in text["outputs"].values()]) for _ in range(2)]
        inputs, outputs = self.sets[0]
        self.bytes = sum(t.numel() * t.element_size() for t, _ in inputs + outputs)
        if self.name == "gpu_embedding_bag":  # only the rows that are asked for
            table, ids = inputs[0][0], inputs[1][0]
            self.bytes += ids.numel() * table.shape[1] * table.element_size() - table.numel() * table.element_size()

    def caller(self, library):
        function = ctypes.CDLL(str(library)).launch
        workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        axes = array(list(self.axes.values()))
        calls = []
        for inputs, outputs in self.sets:
            context = Launch(torch.cuda.current_stream().cuda_stream, workspace.data_ptr(), WORKSPACE_BYTES, 0, 1, axes, len(self.axes))
            seen = [[view(*t) for t in tensors] for tensors in (inputs, outputs)]
            calls.append(((Tensor * len(inputs))(*seen[0]), len(inputs), (Tensor * len(outputs))(*seen[1]), len(outputs), context, seen))

        def call(k):
            arguments = calls[k % len(calls)]
            if code := function(*arguments[:4], ctypes.byref(arguments[4])):
                raise RuntimeError(f"launch returned {code}")

        for _, outputs in self.sets:
            for tensor, _ in outputs:
                tensor.view(-1).view(torch.uint8).fill_(0xFF)
        call(0)
        torch.cuda.synchronize()
        return call

    def error(self):
        """Largest difference from float64, as a part of the largest value."""
        reference, rows, _ = REFERENCES[self.name]
        inputs = [t for t, _ in self.sets[0][0]]
        count = inputs[0].shape[0]
        cut = [t[:rows] if rows and t.dim() and t.shape[0] == count else t for t in inputs]
        worst = 0.0
        for (got, _), expected in zip(self.sets[0][1], reference(*cut)):
            got, expected = got[: expected.shape[0]].to(F64) if expected.dim() else got.to(F64), expected.to(F64)
            if not torch.isfinite(got).all():
                return float("inf")
            worst = max(worst, ((got - expected).abs().max() / expected.abs().max()).item())
        return worst


def read_plan(path):
    plan = {}
    for line in path.read_text().splitlines():
        head, bar, decisions = line.partition("|")
        words = head.split()
        if words and bar:
            plan.setdefault((words[0], tuple(words[1:])), []).append(decisions.split())
    return plan


def build(job):
    emit, problem, decisions, source, include = job
    subprocess.run([emit, problem, source, *decisions], check=True)
    library = source.with_suffix(".so")
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90a,code=sm_90a", f"-I{include}", source, "-o",
                    library], check=True)
    return library


def main(plan_file, emit, repository, work):
    repository, work = pathlib.Path(repository), pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    plan = read_plan(pathlib.Path(plan_file))
    examples = repository / "docs/examples/gpu"
    jobs = [(emit, examples / f"{name}.toml", decisions, work / f"{name}-{len(axes)}-{n}.cu", repository / "backends/harness")
            for (name, axes), variants in plan.items() for n, decisions in enumerate(variants)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = iter(list(pool.map(build, jobs)))
    source, target = (torch.empty(1 << 28, device="cuda").normal_() for _ in range(2))
    copy = 2 * source.numel() * 4 / timed(lambda k: target.copy_(source)) / 1e9
    print(f"copy of 1 GiB: {copy:.0f} GB/s")
    del source, target
    for (name, axes), variants in plan.items():
        problem = Problem(examples / f"{name}.toml", {a.split("=")[0]: int(a.split("=")[1]) for a in axes})
        usual = REFERENCES[problem.name][2]
        torch_s = timed(lambda k: usual(*[t for t, _ in problem.sets[k % 2][0]])) if usual else None
        print(f"{problem.name} {' '.join(axes)}: {problem.bytes / 1e9:.2f} GB" + (f", torch {torch_s * 1e3:.3f} ms" if torch_s else ""))
        for decisions in variants:
            seconds = timed(problem.caller(next(libraries)))
            rate = problem.bytes / seconds / 1e9
            print(f"  {seconds * 1e3:8.3f} ms {rate:6.0f} GB/s {rate / copy:.3f} of copy, error {problem.error():.1e}  {' '.join(decisions) or 'first guess'}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
