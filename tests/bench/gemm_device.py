#!/usr/bin/env python3
"""Matrix products of the CUDA rules on a device: right against float64 at awkward shapes, and timed beside PyTorch (cuBLAS).

    gemm_device.py emit EMIT FOLDER [PATTERN]   here: sources by EMIT (the program emit_rules) into FOLDER; PATTERN: of labels
    gemm_device.py compile FOLDER               here or there: by nvcc, on all cores
    gemm_device.py check FOLDER                 on the device: every layout, odd shapes, epilogues, infinities and NaNs
    gemm_device.py time FOLDER                  on the device: a table of microseconds, TFLOP/s and the ratio to PyTorch
    gemm_device.py sweep FOLDER                 on the device: hand-picked decisions beside each other
    gemm_device.py architectures EMIT           here: products of warps compile for every architecture that nvcc knows; registers and spills

Several at once: check+time FOLDER. FOLDER is all that has to travel, beside this file. Times are medians of interleaved replays of CUDA graphs over three sets of buffers with
random contents; errors are ||y - ref|| / ||ref|| with a float64 reference.
"""
import concurrent.futures
import ctypes
import itertools
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

FLAGS = ["-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", "-cudart", "shared", "-shared", "-Xcompiler", "-fPIC"]

# name: axes (in file order), inputs, outputs (name, dimensions, dtype), definition
PLAIN = "MNK"


def product(left, right, operands, result):
    a, b = ("MK" if left == "n" else "KM"), ("KN" if right == "n" else "NK")
    text = f"c[m,n] = sum(k: a[{','.join(a.lower())}] * b[{','.join(b.lower())}])"
    return PLAIN, [("a", a, operands), ("b", b, operands)], [("c", "MN", result)], text, ""


GELU = "h[m,n] = s[m] * sum(k: a[m,k] * w[n,k]) + bias[n]\ny[m,n] = 0.5 * h[m,n] * (1 + erf(h[m,n] * 0.7071067811865476)) + r[m,n]"
PROBLEMS = {f"bf16_{l}{r}": product(l, r, "bf16", "bf16") for l in "nt" for r in "nt"}
PROBLEMS |= {f"f32_{l}{r}": product(l, r, "f32", "f32") for l in "nt" for r in "nt"}
PROBLEMS |= {f"f64_{l}{r}": product(l, r, "f64", "f64") for l in "nt" for r in "nt"}
PROBLEMS |= {
    "f64_relu": (PLAIN, [("a", "MK", "f64"), ("b", "KN", "f32"), ("bias", "N", "f64")], [("y", "MN", "f64")],
                 "y[m,n] = max(sum(k: a[m,k] * b[k,n]) + bias[n], 0)", ""),
    "f16_nt": product("n", "t", "f16", "f32"),
    "f8_nt": product("n", "t", "f8e4m3", "bf16"),
    "gelu": (PLAIN, [("a", "MK", "bf16"), ("w", "NK", "bf16"), ("bias", "N", "f32"), ("r", "MN", "bf16"), ("s", "M", "f32")],
             [("y", "MN", "bf16")], GELU, '[intermediates.h]\ndtype = "f32"\n'),
    "flat": ("BSKN", [("x", "BSK", "bf16"), ("w", "KN", "bf16"), ("bias", "N", "bf16")], [("y", "BSN", "bf16")],
             "y[b,s,n] = max(sum(k: x[b,s,k] * w[k,n]) + bias[n], 0)", ""),
    "batched": ("HSTD", [("q", "HSD", "bf16"), ("k", "HTD", "bf16")], [("c", "HST", "bf16")],
                "c[h,s,t] = 0.125 * sum(d: q[h,s,d] * k[h,t,d])", ""),
    "heads": ("BSTHD", [("q", "BSHD", "bf16"), ("k", "BTHD", "bf16")], [("c", "BHST", "f32")],
              "c[b,h,s,t] = sum(d: q[b,s,h,d] * k[b,t,h,d])", ""),
    "int8": (PLAIN, [("a", "MK", "i8"), ("b", "NK", "i8"), ("r", "M", "f32"), ("s", "N", "f32")], [("y", "MN", "f32")],
             "acc[m,n] = i32(sum(k: i32(a[m,k]) * i32(b[n,k])))\ny[m,n] = f32(acc[m,n]) * r[m] * s[n]", '[intermediates.acc]\ndtype = "i32"\n'),
    # No tensor core does these.
    "minplus": (PLAIN, [("a", "MK", "f32"), ("b", "KN", "f32")], [("c", "MN", "f32")], "c[m,n] = min(k: a[m,k] + b[k,n])", ""),
    "distance": (PLAIN, [("a", "MK", "f32"), ("b", "NK", "f32"), ("bias", "N", "f32")], [("c", "MN", "f32")],
                 "d[m,n] = sum(k: (a[m,k] - b[n,k]) * (a[m,k] - b[n,k]))\nc[m,n] = sqrt(d[m,n]) + bias[n]", ""),
}

# What is timed: problem, extents of its axes, decisions beside the preferred ones. WARPS: as for devices without units of sm_90a.
WARPS = ["architecture=sm_90"]
TIMED = [("bf16_nn", s, []) for s in [(4096,) * 3, (8192,) * 3, (2048,) * 3, (1024,) * 3, (512,) * 3, (256,) * 3, (4096, 4096, 1024), (512, 8192, 4096), (4095,) * 3]]
TIMED += [("bf16_nt", s, []) for s in [(4096,) * 3, (16, 8192, 8192), (16, 4096, 4096), (32, 4096, 4096), (64, 4096, 4096), (8, 1024, 8192)]]
TIMED += [("bf16_tn", (4096,) * 3, []), ("bf16_tt", (4096,) * 3, [])]
TIMED += [("f32_nn", s, []) for s in [(4096,) * 3, (8192,) * 3, (2048,) * 3, (1024,) * 3, (4096, 4096, 1024)]] + [("f32_nt", (4096,) * 3, [])]
TIMED += [("gelu", (4096,) * 3, []), ("gelu", (8192, 4096, 1024), []), ("flat", (4, 1024, 4096, 4096), [])]
TIMED += [("batched", (32, 1024, 1024, 128), []), ("batched", (256, 64, 64, 64), []), ("int8", (4096,) * 3, []), ("f8_nt", (4096,) * 3, [])]
TIMED += [("f64_nn", s, []) for s in [(4096,) * 3, (2048,) * 3, (1024,) * 3, (512,) * 3, (64, 4096, 4096), (4095,) * 3]]
TIMED += [(f"f64_{l}", (4096,) * 3, []) for l in ("nt", "tn", "tt", "relu")]
TIMED += [("bf16_nn", s, WARPS) for s in [(4096,) * 3, (8192,) * 3, (2048,) * 3, (1024,) * 3, (512,) * 3, (256,) * 3, (4096, 4096, 1024), (512, 8192, 4096), (4095,) * 3]]
TIMED += [("bf16_nt", s, WARPS) for s in [(4096,) * 3, (16, 8192, 8192), (16, 4096, 4096), (32, 4096, 4096), (64, 4096, 4096), (8, 1024, 8192)]]
TIMED += [("bf16_tn", (4096,) * 3, WARPS), ("bf16_tt", (4096,) * 3, WARPS), ("f16_nt", (4096,) * 3, WARPS)]
TIMED += [("f32_nn", s, WARPS) for s in [(4096,) * 3, (2048,) * 3, (1024,) * 3]]
TIMED += [("gelu", (4096,) * 3, WARPS), ("batched", (32, 1024, 1024, 128), WARPS), ("batched", (256, 64, 64, 64), WARPS), ("int8", (4096,) * 3, WARPS)]
# The ordinary arithmetic units.
CORES = ["units=2"]
TIMED += [(f"f32_{l}", (4096,) * 3, CORES) for l in ("nn", "nt", "tn", "tt")]
TIMED += [("f32_nn", s, CORES) for s in [(8192,) * 3, (2048,) * 3, (1024,) * 3, (512,) * 3, (256,) * 3, (4096, 4096, 1024), (64, 4096, 4096), (4095,) * 3]]
TIMED += [("f32_nn", s, []) for s in [(512,) * 3, (256,) * 3, (64, 4096, 4096), (16, 4096, 4096)]]
TIMED += [("f64_nn", (4096,) * 3, CORES), ("minplus", (4096,) * 3, []), ("minplus", (1024,) * 3, []), ("distance", (4096,) * 3, []), ("distance", (4096, 4096, 64), [])]

ODD = [(1, 1, 1), (17, 129, 33), (129, 1027, 17), (1025, 129, 1000), (64, 256, 64), (300, 200, 4095), (4096, 8, 8), (8, 4096, 4096)]
ODD_OF = {
    "batched": [(1, 1, 1, 1), (3, 17, 129, 33), (5, 200, 72, 64)],
    "heads": [(1, 1, 1, 1, 1), (2, 65, 130, 3, 33), (2, 130, 65, 2, 64)],
    "flat": [(1, 1, 1, 1), (3, 77, 129, 65), (2, 256, 512, 264)],
}
# Decisions that together walk every path of the emitter; checked for each problem that has them.
WAYS = [
    [],
    ["tile=128128", "turns=1", "cluster=2", "stages=4", "band=2"],
    ["tile=64128", "turns=1", "cluster=4", "stages=3", "promote=2"],
    ["tile=128192", "turns=0", "cluster=2", "stages=2", "splits=4"],
    ["tile=192128", "turns=0", "cluster=1", "tile_k=32", "splits=3"],
    ["tile=256128", "turns=0", "cluster=2", "band=1"],
    ["tile=64128", "schedule=1", "stages=4"],
    ["tile=128256", "schedule=1", "band=2"],
]
WARP_WAYS = [
    ["units=1"],
    ["units=1", "tile=64064", "warp=32032", "stages=3", "band=2"],
    ["units=1", "tile=16128", "warp=16032", "stages=5", "promote=2"],
    ["units=1", "tile=128128", "warp=64032", "stages=2", "splits=4"],
    ["units=1", "tile=256128", "warp=64064", "tile_k=32", "promote=4", "splits=3"],
]
CORES_WAYS = [
    [],
    ["tile=128128", "own=8008", "depth=8", "slots=4", "band=1"],
    ["tile=64128", "own=16008", "depth=32", "slots=2", "splits=3"],
    ["tile=128256", "own=8016", "depth=16", "band=4"],
    ["tile=32064", "own=4008", "depth=8", "slots=3", "splits=16"],
    ["tile=128128", "own=8008", "depth=16", "copies=0"],
    ["tile=64064", "own=8004", "depth=8", "copies=0", "splits=2"],
]
WIDE_WAYS = [
    [],
    ["tile=64064", "stages=3", "band=2", "instruction=804"],
    ["tile=128128", "stages=2", "splits=4", "instruction=1604"],
    ["tile=64032", "tile_k=16", "stages=5", "instruction=1608"],
    ["tile=64128", "tile_k=32", "splits=3", "instruction=1616"],
]
# Decisions to look at beside each other.
def every(*choices):
    """["a=1 b=2", ...] x ... as lists of decisions."""
    return [" ".join(c).split() for c in itertools.product(*choices)]


BLOCKS = ["tile=128128 warp=64064", "tile=128256 warp=64064", "tile=256128 warp=64064", "tile=64128 warp=32064", "tile=128064 warp=32064", "tile=64064 warp=32032"]
SMALL = ["tile=64128 warp=32064", "tile=64128 warp=32032", "tile=64064 warp=32032", "tile=64064 warp=16032", "tile=32064 warp=16032"]
FLAT = ["tile=16128 warp=16032", "tile=32064 warp=16032", "tile=32128 warp=16032", "tile=64064 warp=32032", "tile=64128 warp=32032"]
WIDE_BLOCKS = ["tile=128128", "tile=64128", "tile=128064", "tile=64064", "tile=32064", "tile=64032"]
LARGE = ["tile=128128 own=8008", "tile=128128 own=16008", "tile=128128 own=8016", "tile=128256 own=8016", "tile=256128 own=16008"]
MIDDLE = ["tile=128128 own=8008", "tile=64128 own=8008", "tile=128064 own=8008", "tile=64064 own=8008", "tile=64064 own=8004", "tile=32064 own=4008", "tile=32064 own=8008"]
SPLIT = ["splits=1", "splits=2", "splits=4"]
STAGES = ["stages=3", "stages=4"]
SWEPT = {
    ("f64_nn", (4096,) * 3): every(WIDE_BLOCKS[1:4], ["tile_k=16", "tile_k=32"], STAGES),
    ("f64_nt", (4096,) * 3): every(WIDE_BLOCKS[1:4], ["tile_k=16", "tile_k=32"], STAGES),
    ("bf16_nn", (4096,) * 3): every(["units=1"], BLOCKS[:3], STAGES),
    ("bf16_nn", (1024,) * 3): every(["units=1"], SMALL, STAGES) + [[]],
    ("bf16_nn", (512,) * 3): every(["units=1"], SMALL[2:], STAGES + ["stages=6"]) + [[]],
    ("bf16_nt", (32, 4096, 4096)): every(["units=1"], FLAT[1:4], ["stages=4", "stages=8"], SPLIT) + [[]],
    ("batched", (32, 1024, 1024, 128)): every(["units=1"], BLOCKS, ["stages=2"] + STAGES) + [[]],
    ("f16_nt", (4096,) * 3): every(["units=1"], ["tile=128128 warp=32064", "tile=128128 warp=64032", "tile=128256 warp=32064", "tile=256128 warp=64032"], STAGES) + [[]],
}


def on_cores(way):
    """Decisions for the ordinary units, as they are called where the problem can choose between those and tensor cores."""
    return CORES + ["cores_" + decision for decision in way]


SWEPT |= {
    ("f32_nn", (4096,) * 3): [on_cores(w) for w in every(LARGE, ["depth=8", "depth=16"], ["slots=3"]) + every(LARGE[:3], ["depth=8", "depth=16"], ["copies=0"])
                              + every(LARGE[:1], ["depth=8", "depth=16"], ["slots=2", "slots=4"]) + every(LARGE[1:2], ["depth=8"], ["slots=3"], ["band=1", "band=4", "band=16"])
                              + every(["tile=64128 own=8008", "tile=128064 own=8008"], ["depth=8", "depth=16"], ["slots=3"])],
    ("f32_nt", (4096,) * 3): [on_cores(w) for w in every(LARGE[:4], ["depth=8", "depth=16"], ["copies=0", "copies=1"])],
    ("f32_tn", (4096,) * 3): [on_cores(w) for w in every(LARGE[:4], ["depth=8", "depth=16"], ["slots=3"])],
    ("f32_nn", (1024,) * 3): [on_cores(w) for w in every(MIDDLE, ["depth=16"], SPLIT)],
    ("f32_nn", (512,) * 3): [on_cores(w) for w in every(MIDDLE[3:], ["depth=16"], SPLIT + ["splits=8"])],
    ("f32_nn", (64, 4096, 4096)): [on_cores(w) for w in every(MIDDLE[1:6], ["depth=16"], ["splits=2", "splits=4", "splits=8"])],
    ("f32_nn", (16, 4096, 4096)): every(["tile=16064 own=4008", "tile=32064 own=4008", "tile=32032 own=4004"], ["depth=16", "depth=32"], ["splits=4", "splits=8", "splits=16"]),
    ("f32_tt", (4096,) * 3): [on_cores(w) for w in every(LARGE[:4], ["depth=16"], ["copies=0", "copies=1"])],
    ("minplus", (2048,) * 3): every(LARGE[:3], ["depth=8", "depth=16"]),
    ("minplus", (4096,) * 3): every(LARGE, ["depth=8", "depth=16"]),
    ("distance", (4096,) * 3): every(LARGE, ["depth=8", "depth=16"]),
}

GROUPS = ["tile=64128 stages=8", "tile=128128 stages=7", "tile=128256 stages=4"]
BOTH, TOGETHER = ["schedule=0", "schedule=1"], ["units=0 turns=0 cluster=1"]
for s in [(2048,) * 3, (1024,) * 3, (512,) * 3]:
    SWEPT[("bf16_nn", s)] = SWEPT.get(("bf16_nn", s), []) + every(TOGETHER, GROUPS, BOTH) + every(TOGETHER, GROUPS[:2], ["schedule=0"], ["splits=2", "splits=4"])
for s in [(4096,) * 3, (4096, 4096, 1024), (3072,) * 3, (8192,) * 3, (2560, 2560, 8192), (2560,) * 3]:
    SWEPT[("bf16_nn", s)] = SWEPT.get(("bf16_nn", s), []) + every(TOGETHER, GROUPS[1:], BOTH) + [[]]
SWEPT |= {
    ("bf16_nt", (64, 4096, 4096)): every(TOGETHER, ["tile=64064 stages=8", "tile=64128 stages=8", "tile=64256 stages=5"], BOTH) + [[]]
    + every(TOGETHER, ["schedule=0 tile=64128 stages=8"], ["splits=2", "splits=4"]) + every(["units=1 tile=64064 warp=32032 stages=6"], ["splits=2", "splits=4"]),
    ("bf16_nt", (128, 4096, 4096)): every(TOGETHER, GROUPS[:2], BOTH) + [[]],
    ("gelu", (4096,) * 3): every(TOGETHER, ["tile=128256 stages=4"], BOTH),
    ("f32_nn", (2048,) * 3): every(TOGETHER, ["tile=128128 stages=2", "tile=128064 stages=3"], BOTH) + [on_cores(w) for w in every(LARGE, ["depth=8", "depth=16"])],
}


def problem_text(name, extents):
    axes, inputs, outputs, text, more = PROBLEMS[name]
    lines = [f'name = "{name}"', "[axes]"] + [f"{a} = {n}" for a, n in zip(axes, extents)]
    for kind, tensors in (("inputs", inputs), ("outputs", outputs)):
        for tensor, shape, dtype in tensors:
            lines += [f"[{kind}.{tensor}]", "shape = [" + ", ".join(f'"{d}"' for d in shape) + "]", f'dtype = "{dtype}"']
    return "\n".join(lines) + f'\n[definition]\ntext = """\n{text}\n"""\n{more}'


def jobs():
    """(label, problem, extents, decisions)"""
    for name, s, decided in TIMED:
        yield f"time-{name}-{'x'.join(map(str, s))}{''.join('-' + d for d in decided)}", name, s, decided
    for (name, s), ways in SWEPT.items():
        for i, way in enumerate(ways):
            yield f"sweep-{name}-{'x'.join(map(str, s))}-{i}", name, s, way
    for name in PROBLEMS:
        if name in ("minplus", "distance"):
            families = {"cores": CORES_WAYS}
        else:
            families = {"warps": WIDE_WAYS} if name.startswith("f64") else {"groups": WAYS, "warps": WARP_WAYS}
            if name.startswith(("f32", "f64")):
                families["cores"] = [on_cores(w) for w in CORES_WAYS]
        for family, ways in families.items():
            for i, way in enumerate(ways):
                if name[-2:] != "tt" or i < 2:
                    yield f"check-{name}-{family}{i}", name, (256,) * len(PROBLEMS[name][0]), way


def emit(program, folder, pattern=""):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(pathlib.Path(__file__).resolve().parents[2] / "backends" / "harness" / "kernsmith_kernel.h", folder)
    listing, sources = [], {}
    for label, name, extents, way in jobs():
        if not re.search(pattern, label):
            continue
        toml, source = folder / f"{label}.toml", folder / f"{label}.cu"
        toml.write_text(problem_text(name, extents))
        known = [w for w in way if name != "int8" or not w.startswith(("splits", "promote", "tile_k"))]
        decided = subprocess.run([program, toml, source, *known], check=True, text=True, capture_output=True).stdout.split(": ", 1)[1].strip()
        toml.unlink()
        same = sources.setdefault(source.read_text(), label)  # sources don't depend on extents
        if same != label:
            source.unlink()
        listing.append(f"{label}\t{same}\t{name}\t{','.join(map(str, extents))}\t{decided}")
    (folder / "listing").write_text("\n".join(listing) + "\n")


def compile_all(folder):
    def one(source):
        done = subprocess.run(["nvcc", *FLAGS, f"-I{folder}", "-o", source.with_suffix(".so"), source], capture_output=True, text=True)
        return f"{source.name}: {done.stderr}" if done.returncode else ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [w for w in pool.map(one, sorted(folder.glob("*.cu"))) if w]
    print("\n".join(wrong))
    return bool(wrong)


def architectures(program):
    """One compilation for each architecture and problem; returns whether one failed."""
    known = subprocess.run(["nvcc", "--list-gpu-code"], check=True, text=True, capture_output=True).stdout.split()
    header, failed = pathlib.Path(__file__).resolve().parents[2] / "backends" / "harness", False

    def one(job):
        architecture, name, folder = job
        path = pathlib.Path(folder) / f"{architecture}-{name}"
        axes = PROBLEMS[name][0]
        path.with_suffix(".toml").write_text(problem_text(name, (1024,) * 3 if len(axes) == 3 else (64,) * len(axes)))
        way = ["units=1"] if architecture == "sm_90a" and not name.startswith("f64") else []
        subprocess.run([program, path.with_suffix(".toml"), path.with_suffix(".cu"), f"architecture={architecture}", *way], check=True, capture_output=True)
        assert "mma.sync" in path.with_suffix(".cu").read_text()
        done = subprocess.run(["nvcc", "-cubin", "-O3", "-std=c++17", "-Xptxas", "-v", f"-arch={architecture}", f"-I{header}", "-o", path.with_suffix(".cubin"),
                               path.with_suffix(".cu")], text=True, capture_output=True)
        about = done.stderr[done.stderr.find("gemm_kernel"):]
        found = [re.search(pattern, about) for pattern in (r"Used (\d+) registers", r"(\d+) bytes spill stores")]
        return done.returncode, f"{architecture:8s} {name:9s} " + (", ".join(f.group(0) for f in found if f) if done.returncode == 0 else "FAILED " + done.stderr[:300])

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_jobs = [(a, n, folder) for a in ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120") if a in known or a.rstrip("a") in known
                    for n in ("bf16_nt", "f16_nt", "f32_nn", "f64_nn", "f64_tt", "int8", "gelu", "heads", "f64_relu")]
        for code, line in pool.map(one, all_jobs):
            print(line, flush=True)
            failed |= code != 0
    return failed


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Launch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t), ("device", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("axes", ctypes.POINTER(ctypes.c_int64)), ("n_axes", ctypes.c_int32)]


class Device:
    """The kernels under PyTorch's eyes; imported only where there is a device."""

    def __init__(self, folder):
        import torch
        self.torch, self.folder = torch, folder
        self.types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "i8": torch.int8}
        self.codes = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.float8_e4m3fn: 4, torch.int8: 9}
        self.workspace = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        torch.manual_seed(20)

    def listing(self, kind):
        for line in (self.folder / "listing").read_text().splitlines():
            label, source, name, extents, decided = line.split("\t")
            if label.startswith(kind):
                library = ctypes.CDLL(str((self.folder / f"{source}.so").resolve()))
                yield label, library, name, tuple(map(int, extents.split(","))), decided

    def inputs(self, name, extents):
        axes = dict(zip(PROBLEMS[name][0], extents))
        make = lambda shape, t: self.torch.randint(-128, 128, shape, device="cuda", dtype=t) if t == self.torch.int8 else self.torch.randn(shape, device="cuda").to(t)
        return [make([axes[d] for d in shape], self.types[t]) for _, shape, t in PROBLEMS[name][1]]

    def outputs(self, name, extents):
        """Poisoned, with poison behind."""
        axes, made = dict(zip(PROBLEMS[name][0], extents)), []
        for _, shape, t in PROBLEMS[name][2]:
            dims = [axes[d] for d in shape]
            count = 1
            for d in dims:
                count *= d
            whole = self.torch.full((count + 256,), float("nan"), device="cuda", dtype=self.types[t])
            made.append((whole, whole[:count].view(dims)))
        return made

    def call(self, library, name, extents, inputs, outputs):
        numbers = lambda v: (ctypes.c_int64 * len(v))(*v)
        wrap = lambda ts: (Tensor * len(ts))(*[Tensor(t.data_ptr(), self.codes[t.dtype], t.dim(), numbers(t.shape), numbers(t.stride())) for t in ts])
        ins, outs = wrap(inputs), wrap([o for _, o in outputs])
        launch = Launch(None, self.workspace.data_ptr(), self.workspace.numel(), 0, 1, numbers(extents), len(extents))

        def go():
            launch.stream = self.torch.cuda.current_stream().cuda_stream
            return library.launch(ins, len(ins), outs, len(outs), ctypes.byref(launch))
        go.keeps = inputs, outputs
        return go

    def reference(self, name, x):
        """The definition over the tensors as they are: float64 tensors give the reference, others what PyTorch makes of it."""
        torch = self.torch
        if name == "gelu":
            a, w, bias, r, s = x
            h = s[:, None] * (a @ w.t()) + bias
            return 0.5 * h * (1 + torch.erf(h * 0.7071067811865476)) + r
        if name == "f64_relu":
            return torch.clamp_min(x[0] @ x[1].to(x[0].dtype) + x[2], 0)
        if name == "flat":
            return torch.clamp_min(x[0] @ x[1] + x[2], 0)
        if name == "batched":
            return 0.125 * (x[0] @ x[1].transpose(1, 2))
        if name == "minplus":  # a few rows at a time
            return torch.cat([(rows[:, :, None] + x[1]).amin(1) for rows in x[0].split(max(1, (1 << 27) // x[1].numel()))])
        if name == "distance":
            return torch.cat([(rows[:, None] - x[1]).square().sum(-1) for rows in x[0].split(max(1, (1 << 27) // x[1].numel()))]).sqrt() + x[2]
        if name == "heads":
            return torch.einsum("bshd,bthd->bhst", x[0], x[1])
        if name == "int8":
            product_ = torch._int_mm(x[0], x[1].t()).float() if x[0].dtype == torch.int8 else x[0] @ x[1].t()
            return product_ * x[2][:, None] * x[3]
        layout = name.split("_")[1]
        return (x[0] if layout[0] == "n" else x[0].t()) @ (x[1] if layout[1] == "n" else x[1].t())

    def peer(self, name):
        """The fastest that PyTorch does without writing a kernel; None where it has nothing of the kind."""
        torch = self.torch
        if name == "gelu":
            return lambda a, w, bias, r, s: torch.nn.functional.gelu((a @ w.t()) * s[:, None] + bias).add_(r).bfloat16()
        if name == "f8_nt":
            one = torch.ones((), device="cuda")
            return lambda a, b: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
        if name == "batched":
            return lambda q, k: torch.baddbmm(self.zero, q, k.transpose(1, 2), beta=0, alpha=0.125)
        return None if name in ("heads", "minplus", "distance") else lambda *x: self.reference(name, x)

    def error(self, got, reference):
        return ((got.double() - reference).norm() / reference.norm().clamp_min(1e-30)).item()

    def check_one(self, library, name, extents):
        x, y = self.inputs(name, extents), self.outputs(name, extents)
        code = self.call(library, name, extents, x, y)()
        self.torch.cuda.synchronize()
        if code:
            return f"returned {code}"
        whole, got = y[0]
        if not self.torch.isnan(whole[got.numel():].float()).all():
            return "wrote past the end"
        reference = self.reference(name, [t.double() for t in x])
        if got.dtype == self.torch.float64:  # the reference rounds as well
            error = self.error(got, reference)
            return "" if error <= 1e-16 * (10 + extents[2] ** 0.5) else f"error {error:.1e}"
        usual = self.reference(name, [t.float() for t in x]) if got.dtype == self.torch.float32 else reference.to(got.dtype)
        mine, theirs = self.error(got, reference), self.error(usual, reference)
        # f32 from narrow operands: PyTorch's f32 product may be exact where K is tiny, so a floor of a few roundings.
        # On ordinary units one sum after the other is rounded, in PyTorch maybe those of parts of the depth.
        rounded = 2e-8 * extents[2] ** 0.5 if got.dtype == self.torch.float32 else 0
        return "" if mine <= 2 * theirs + 5e-7 + rounded else f"error {mine:.1e}, PyTorch {theirs:.1e}"

    def check_special(self, library, name, extents):
        x, y = self.inputs(name, extents), self.outputs(name, extents)
        x[0].clamp_(-1, 1)  # else the huge value overflows, before or after infinities are added to it
        x[0].view(-1)[3], x[0].view(-1)[2 * extents[2] + 1], x[1].view(-1)[5] = float("inf"), float("nan"), 3.3e38
        self.call(library, name, extents, x, y)()
        self.torch.cuda.synchronize()
        got, want = y[0][1], self.reference(name, x)
        close = (got == want) | (self.torch.isnan(got) & self.torch.isnan(want)) | ((got - want).abs() <= 1e-4 * want.abs() + 1e-4)
        return "" if close.all() else "infinities, NaNs or huge values differ"

    def check(self):
        wrong = 0
        for label, library, name, _, decided in self.listing("check"):
            found = [(e, self.check_one(library, name, e)) for e in ODD_OF.get(name, ODD)]
            if name.startswith("f32"):
                found.append(("special", self.check_special(library, name, (40, 50, 70))))
            bad = [f"{e}: {what}" for e, what in found if what]
            wrong += bool(bad)
            print(f"{label:20s} {'right at ' + str(len(found)) + ' shapes' if not bad else 'WRONG ' + '; '.join(bad)}  [{decided}]", flush=True)
        return wrong

    def sweep(self):
        """Medians of interleaved replays, every set of decisions beside PyTorch in the same rounds."""
        torch, rounds, buffers, groups = self.torch, 5, 2, {}
        self.zero = torch.zeros((), device="cuda", dtype=torch.bfloat16)
        for _, library, name, extents, decided in self.listing("sweep"):
            groups.setdefault((name, extents), []).append((library, decided))
        for (name, extents), ways in groups.items():
            sets = [(self.inputs(name, extents), self.outputs(name, extents)) for _ in range(buffers)]
            peer = self.peer(name)
            calls = [[(lambda x=x: peer(*x)) for x, _ in sets]] if peer else []
            calls += [[self.call(library, name, extents, x, y) for x, y in sets] for library, _ in ways]
            reference, errors = self.reference(name, [t.double() for t in sets[0][0]]), []
            for c in calls[-len(ways):]:
                code = c[0]()
                torch.cuda.synchronize()
                errors.append(float("inf") if code else self.error(sets[0][1][0][1], reference))
            del reference
            one = self.microseconds(self.graph(calls[0], 2), 2)
            count = max(4, min(60, int(6e3 / one)))
            graphs = [self.graph(c, count) for c in calls]
            samples = [[self.microseconds(g, count) for g in graphs] for _ in range(rounds + 1)][1:]
            times = [statistics.median(s[i] for s in samples) for i in range(len(graphs))]
            compared = times[0] if peer else min(times)
            print(f"{name} {'x'.join(map(str, extents))}: {'PyTorch' if peer else 'best'} {compared:.1f} us", flush=True)
            for (_, decided), t, e in sorted(zip(ways, times[-len(ways):], errors), key=lambda w: w[1]):
                print(f"  {compared / t:.3f}  {t:9.1f} us  error {e:.1e}  {decided}", flush=True)
        return 0

    def graph(self, calls, count):
        torch = self.torch
        for call in calls:
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(count):
                calls[i % len(calls)]()
        return graph

    def microseconds(self, graph, count):
        begin, end = self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)
        begin.record(), graph.replay(), end.record(), end.synchronize()
        return begin.elapsed_time(end) / count * 1e3

    def time(self):
        torch, rounds, buffers = self.torch, 7, 3
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
        print("| problem | shape | kernsmith us | TFLOP/s | PyTorch us | TFLOP/s | ratio | error | PyTorch's | decisions |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        self.zero = torch.zeros((), device="cuda", dtype=torch.bfloat16)
        for label, library, name, extents, decided in self.listing("time"):
            sets = [(self.inputs(name, extents), self.outputs(name, extents)) for _ in range(buffers)]
            mine, peer = [self.call(library, name, extents, x, y) for x, y in sets], self.peer(name)
            theirs = [(lambda x=x: peer(*x)) for x, _ in sets] if peer else mine
            flops = 2
            for n in extents:
                flops *= n
            code = mine[0]()
            torch.cuda.synchronize()
            reference = self.reference(name, [t.double() for t in sets[0][0]])
            error, usual = self.error(sets[0][1][0][1], reference), self.error(peer(*sets[0][0]), reference) if peer else float("nan")
            del reference
            one = self.microseconds(self.graph(mine, 2), 2)
            count = max(6, min(90, int(3e4 / one)))
            graphs = self.graph(mine, count), self.graph(theirs, count)
            for g in graphs:
                self.microseconds(g, count)
            samples = [[self.microseconds(g, count) for g in graphs] for _ in range(rounds)]
            a, b = (statistics.median(s[i] for s in samples) for i in (0, 1))
            beside = f"{b:.1f} | {flops / b / 1e6:.0f} | {b / a:.2f}" if peer else "- | - | -"
            print(f"| {name} | {'x'.join(map(str, extents))} | {a:.1f} | {flops / a / 1e6:.0f} | {beside} | {error:.1e} | {usual:.1e} | {decided}{' FAILED' if code else ''} |", flush=True)
            del graphs, sets, mine, theirs
        return 0


def main():
    if len(sys.argv) in (4, 5) and sys.argv[1] == "emit":
        emit(os.path.abspath(sys.argv[2]), pathlib.Path(sys.argv[3]), *sys.argv[4:])
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "architectures":
        return architectures(os.path.abspath(sys.argv[2]))
    if len(sys.argv) == 3 and sys.argv[1] == "compile":
        return compile_all(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 3 and set(sys.argv[1].split("+")) <= {"check", "time", "sweep"}:
        device = Device(pathlib.Path(sys.argv[2]))
        return 1 if sum(getattr(device, what)() for what in sys.argv[1].split("+")) else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
