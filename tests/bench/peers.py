#!/usr/bin/python3
"""Times kernels that a search found against peers, interleaved in one process: PyTorch eager on the same cores, and a copy of the same bytes.

Every leg walks through several sets of tensors, together larger than four times the last-level cache, so that all of them work on memory and not
on what a cache happened to keep.

    tests/bench/peers.py OUT [--rounds 40]     OUT: a folder with one result folder per example (as `optimize --out OUT` leaves it)

Needs `scripts/setup --with pytorch`. Prints a markdown table: ratios from medians over interleaved rounds; above 1 the kernel is faster than the peer.
"""
import argparse
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", f"-I{ROOT}/backends/harness"]
DTYPE = {"f64": 0, "f32": 1, "f16": 2, "bf16": 3, "i64": 6, "i32": 7, "u8": 10}
MOST_SETS = 24
THREADS = len(__import__("os").sched_getaffinity(0))


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Launch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t), ("device", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("axes", ctypes.POINTER(ctypes.c_int64)), ("n_axes", ctypes.c_int32)]


def build(source, folder):
    library = pathlib.Path(folder) / (source.parent.name + "-" + source.stem + ".so")
    subprocess.run(["g++", *FLAGS, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library)).launch


def tensor(t, dtype):
    shape = (ctypes.c_int64 * max(1, t.dim()))(*t.shape)
    strides = (ctypes.c_int64 * max(1, t.dim()))(*t.stride())
    wrapped = Tensor(t.data_ptr(), DTYPE[dtype], t.dim(), shape, strides)
    wrapped.keep = (t, shape, strides)
    return wrapped


def last_level_cache():
    sizes = pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(size.read_text().strip().rstrip("K")) << 10 for size in sizes), default=32 << 20)


class Rotating:
    """One leg: the same work on the next set of tensors at every call."""

    def __init__(self, calls):
        self.calls, self.next = calls, 0

    def __call__(self):
        self.next = (self.next + 1) % len(self.calls)
        return self.calls[self.next]()


class Kernel:
    """A compiled kernel bound to its tensors."""

    def __init__(self, launch, inputs, outputs, axes):
        self.launch, self.inputs, self.outputs = launch, inputs, outputs
        self.ins = (Tensor * len(inputs))(*inputs)
        self.outs = (Tensor * len(outputs))(*outputs)
        self.workspace = torch.empty(64 << 20, dtype=torch.uint8)
        self.axes = (ctypes.c_int64 * len(axes))(*axes)
        self.context = Launch(None, self.workspace.data_ptr(), 64 << 20, 0, THREADS, self.axes, len(axes))

    def __call__(self):
        if self.launch(self.ins, len(self.inputs), self.outs, len(self.outputs), ctypes.byref(self.context)) != 0:
            raise RuntimeError("the kernel refused")


def interleaved(legs, rounds):
    """Median seconds of each leg, the legs taking turns in a changing order."""
    for leg in legs:
        leg()
        leg()
    times = [[] for _ in legs]
    for r in range(rounds):
        order = range(len(legs)) if r % 2 == 0 else reversed(range(len(legs)))
        for i in order:
            start = time.perf_counter()
            legs[i]()
            times[i].append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float32)


# Example -> (inputs with dtypes, outputs with dtypes, axes, eager PyTorch or None). Shapes are those of the examples' first workloads.
def softmax():
    x = rand(4096, 1024)
    return [(x, "f32")], [(torch.empty_like(x), "f32")], [4096, 1024], lambda: torch.softmax(x, 1)


def layernorm():
    x, g, b = rand(4096, 1024), rand(1024), rand(1024)
    return [(x, "f32"), (g, "f32"), (b, "f32")], [(torch.empty_like(x), "f32")], [4096, 1024], lambda: torch.nn.functional.layer_norm(x, (1024,), g, b, 1e-5)


def rmsnorm():
    x, w = rand(2048, 4096), rand(4096)
    return [(x, "f32"), (w, "f32")], [(torch.empty_like(x), "f32")], [2048, 4096], lambda: x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * w


def residual_rmsnorm():
    x, r, w = rand(2048, 4096), rand(2048, 4096), rand(4096)

    def eager():
        s = x + r
        return s, s * torch.rsqrt((s * s).mean(1, keepdim=True) + 1e-6) * w

    return [(x, "f32"), (r, "f32"), (w, "f32")], [(torch.empty_like(x), "f32"), (torch.empty_like(x), "f32")], [2048, 4096], eager


def linear_gelu():
    x, w, b = rand(256, 768).bfloat16(), (rand(1024, 768) * 0.04).bfloat16(), rand(1024).bfloat16()
    out = torch.empty(256, 1024, dtype=torch.bfloat16)
    return [(x, "bf16"), (w, "bf16"), (b, "bf16")], [(out, "bf16")], [256, 1024, 768], lambda: torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))


def utility():
    z, beta, alpha, boost = rand(262144, 8), torch.rand(8) * 0.09 + 0.01, torch.rand(8) * 1.3 + 0.2, torch.rand(262144) + 0.5
    return ([(z, "f32"), (beta, "f32"), (alpha, "f32"), (boost, "f32")], [(torch.empty(262144), "f32")], [262144, 8],
            lambda: ((torch.sigmoid(z) + beta) ** alpha).prod(1) * boost)


def cumsum():
    x = torch.randn(512, 8192, dtype=torch.float64)
    return [(x, "f64")], [(torch.empty_like(x), "f64")], [512, 8192], lambda: torch.cumsum(x, 1)


def gemv():
    a, x = rand(4096, 4096), rand(4096)
    return [(a, "f32"), (x, "f32")], [(torch.empty(4096), "f32")], [4096, 4096], lambda: a @ x


def column_sum():
    x = rand(8192, 1000)
    return [(x, "f32")], [(torch.empty(1000), "f32")], [8192, 1000], lambda: x.sum(0)


def tunable_transpose():
    x = rand(2048, 3072)
    return [(x, "f32")], [(torch.empty(3072, 2048), "f32")], [2048, 3072], lambda: (0.5 * x).t().contiguous()


EXAMPLES = [softmax, layernorm, rmsnorm, residual_rmsnorm, linear_gelu, utility, cumsum, gemv, column_sum, tunable_transpose]
TORCH_SET = {"softmax", "layernorm", "linear_gelu", "residual_rmsnorm", "utility"}
MEMORY_BOUND = {"softmax", "layernorm", "rmsnorm", "residual_rmsnorm", "cumsum", "gemv", "column_sum"}


def copies_of(bytes_moved, launch, sets):
    """The same traffic as a copy: half of the bytes read, half written; ordinary and streaming stores."""
    pairs = [(torch.ones(bytes_moved // 2, dtype=torch.uint8), torch.ones(bytes_moved // 2, dtype=torch.uint8)) for _ in range(sets)]
    return [Rotating([Kernel(launch, [tensor(source, "u8")], [tensor(target, "u8")], [streaming]) for source, target in pairs]) for streaming in (0, 1)]


def legs_of(example, launch, name):
    """Kernel and PyTorch on as many sets as it takes to leave the caches, and the bytes that one call moves."""
    kernels, eagers, bytes_moved, sets = [], [], 0, 1
    while len(kernels) < sets:
        inputs, outputs, axes, eager = example()
        kernel = Kernel(launch, [tensor(*i) for i in inputs], [tensor(*o) for o in outputs], axes)
        kernel()
        expected = eager()
        expected = expected if isinstance(expected, tuple) else (expected,)
        for (got, _), want in zip(outputs, expected):
            if not torch.allclose(got.double(), want.double().reshape(got.shape), rtol=2e-2, atol=2e-2):
                sys.exit(f"{name}: the kernel and PyTorch disagree")
        kernels.append(kernel)
        eagers.append(eager)
        bytes_moved = sum(t.numel() * t.element_size() for t, _ in inputs + outputs)
        sets = min(MOST_SETS, max(2, -(-4 * last_level_cache() // bytes_moved)))
    return Rotating(kernels), Rotating(eagers), bytes_moved, sets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    examined, torch_ratios = 0, []
    print(f"PyTorch {torch.__version__}, {THREADS} cores, medians over {options.rounds} interleaved rounds\n")
    print("| example | kernel, ms | PyTorch eager, ms | speed-up over PyTorch | copy of the same bytes, ms | fraction of copy bandwidth |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        copy = build(ROOT / "tests/bench/copy_kernel.cpp", folder)
        for example in EXAMPLES:
            name = example.__name__
            source = options.out / name / "best.cpp"
            if not source.exists():
                print(f"| {name} | no result | | | | |")
                continue
            kernel, eager, bytes_moved, sets = legs_of(example, build(source, folder), name)
            seconds = interleaved([kernel, eager, *copies_of(bytes_moved, copy, sets)], options.rounds)
            best_copy = min(seconds[2:])
            ratio = seconds[1] / seconds[0]
            if name in TORCH_SET:
                torch_ratios.append(ratio)
            fraction = f"{best_copy / seconds[0]:.2f}" if name in MEMORY_BOUND else "-"
            print(f"| {name} | {seconds[0] * 1e3:.3f} | {seconds[1] * 1e3:.3f} | {ratio:.2f} | {best_copy * 1e3:.3f} | {fraction} |", flush=True)
            examined += 1
    if not examined:
        sys.exit("no example was measured")
    if torch_ratios:
        print(f"\nGeometric mean over {len(torch_ratios)} of {len(TORCH_SET)} ({', '.join(sorted(TORCH_SET))}): {statistics.geometric_mean(torch_ratios):.2f}")


main()
