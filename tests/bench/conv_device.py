#!/usr/bin/env python3
"""Convolutions and pooling of the CUDA rules on a device: right against float64 at awkward shapes, and timed beside PyTorch (cuDNN).

    conv_device.py emit EMIT FOLDER     here: sources by EMIT (the program emit_rules) into FOLDER
    conv_device.py compile FOLDER       here or there: by nvcc, on all cores
    conv_device.py check FOLDER         on the device: strides, dilations, groups, one and three dimensions, odd shapes, infinities
    conv_device.py time FOLDER          on the device: a table of microseconds and the ratio to PyTorch
    conv_device.py registers FOLDER     here: registers and spills of the sources for sm_80 and sm_90a

FOLDER is all that has to travel, beside this file and gemm_device.py. Times are medians of interleaved replays of CUDA graphs over two sets of
buffers with random contents; errors are ||y - ref|| / ||ref|| with a float64 reference. PyTorch's convolutions are those that cuDNN's own search
finds (torch.backends.cudnn.benchmark), with TF32 off unless a row says otherwise.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import gemm_device

LETTERS = {1: ("Q", "S", "W"), 2: ("PQ", "RS", "HW"), 3: ("DPQ", "TRS", "ZHW")}


@dataclasses.dataclass(frozen=True)
class Window:
    """A convolution or pooling; sizes of the image, taps, stride, dilation and pad are the same in all dimensions."""
    kind: str  # conv, relu (bias and relu behind), grouped, depthwise, max, avg
    sizes: tuple  # N, C, K, then the image
    taps: int = 3
    stride: int = 1
    dilation: int = 1
    pad: int = 1
    dtype: str = "f32"
    last: bool = False  # channels last
    groups: int = 1

    @property
    def dims(self):
        return len(self.sizes) - 3

    @property
    def outputs(self):
        return [(s + 2 * self.pad - self.dilation * (self.taps - 1) - 1) // self.stride + 1 for s in self.sizes[3:]]

    @property
    def name(self):
        layout = "last" if self.last else "first"
        return f"{self.kind}{self.dims}d_{self.dtype}_{layout}_t{self.taps}s{self.stride}d{self.dilation}p{self.pad}"

    def axes(self):
        n, c, k = self.sizes[:3]
        outer, _, image = LETTERS[self.dims]
        channels = {"N": n, "C": c // self.groups}
        if self.kind in ("conv", "relu", "grouped"):
            channels["K"] = k // self.groups
        if self.kind == "grouped":
            channels["G"] = self.groups
        return channels | dict(zip(image, self.sizes[3:])) | dict(zip(outer, self.outputs))

    def text(self):
        outer, taps, image = LETTERS[self.dims]
        pooling = self.kind in ("max", "avg")
        groups = ["G"] if self.kind == "grouped" else []
        arrange = lambda channels, space: ["N", *space, *channels] if self.last else ["N", *channels, *space]
        one = "C" if pooling or self.kind == "depthwise" else "K"
        place = [f"{self.stride}*{o.lower()}+{self.dilation}*{t.lower()}-{self.pad}" for o, t in zip(outer, taps)]
        low = lambda names: [x.lower() for x in names]
        shape = {"x": arrange(groups + ["C"], list(image)), "y": arrange(groups + [one], list(outer))}
        x, y = ",".join(arrange(low(groups) + ["c"], place)).replace("N", "n", 1), ",".join(low(shape["y"]))
        window = ", ".join(f"{t.lower()} < {self.taps}" for t in taps)
        if one == "C":
            filters, w = ["C", *[self.taps] * self.dims], ["c", *low(taps)]
        elif self.last:
            filters, w = [*groups, "K", *[self.taps] * self.dims, "C"], [*low(groups), "k", *low(taps), "c"]
        else:
            filters, w = [*groups, "K", "C", *[self.taps] * self.dims], [*low(groups), "k", "c", *low(taps)]
        w = ",".join(w)
        if pooling:
            body = f"{'max' if self.kind == 'max' else 'sum'}({window}: x[{x}])"
            body = body if self.kind == "max" else f"{1 / self.taps**self.dims!r} * {body}"
        else:
            bound = ",".join((["c"] if one == "K" else []) + low(taps))
            body = f"sum({bound}: x[{x}] * w[{w}])"
            if self.kind == "relu":
                body = f"max(0, bias[k] + {body})"
        lines = [f'name = "{self.name}"', "[axes]"] + [f"{a} = {n}" for a, n in self.axes().items()]
        quoted = lambda dims: "[" + ", ".join(f'"{d}"' if isinstance(d, str) else str(d) for d in dims) + "]"
        lines += ["[inputs.x]", f"shape = {quoted(shape['x'])}", f'dtype = "{self.dtype}"', f"pad = {'-inf' if self.kind == 'max' else '0.0'}"]
        if not pooling:
            lines += ["[inputs.w]", f"shape = {quoted(filters)}", f'dtype = "{self.dtype}"']
        if self.kind == "relu":
            lines += ["[inputs.bias]", 'shape = ["K"]', 'dtype = "f32"']
        lines += ["[outputs.y]", f"shape = {quoted(shape['y'])}", f'dtype = "{self.dtype}"', "[definition]", f'text = "y[{y}] = {body}"']
        return "\n".join(lines) + "\n"

    def flops(self):
        n, c, k = self.sizes[:3]
        count = 2 * n * k * (c // self.groups)
        for extent in self.outputs:
            count *= extent * self.taps
        return count


BF16 = {"dtype": "bf16"}
CONVS = [
    Window("relu", (32, 64, 128, 56, 56)),
    Window("relu", (32, 64, 128, 56, 56), dtype="bf16"),
    Window("conv", (32, 128, 128, 56, 56)),
    Window("conv", (32, 128, 128, 56, 56), dtype="bf16"),
    Window("conv", (32, 128, 128, 56, 56), dtype="bf16", last=True),
    Window("conv", (32, 128, 128, 56, 56), last=True),
    Window("conv", (32, 256, 256, 28, 28), stride=2),
    Window("conv", (32, 256, 256, 14, 14)),
    Window("conv", (32, 256, 256, 14, 14), dtype="bf16"),
    Window("conv", (32, 512, 512, 7, 7), dtype="bf16", last=True),
    Window("conv", (32, 3, 64, 224, 224), taps=7, stride=2, pad=3),
    Window("conv", (32, 256, 512, 56, 56), taps=1, stride=2, pad=0),
    Window("grouped", (32, 256, 256, 28, 28), groups=4),
    Window("conv", (16, 256, 512, 4096), taps=5, pad=2, dtype="bf16"),
    Window("conv", (4, 64, 64, 16, 56, 56), dtype="bf16"),
]
WINDOWS = [
    Window("max", (32, 64, 64, 112, 112), stride=2),
    Window("max", (32, 64, 64, 112, 112), stride=2, dtype="bf16", last=True),
    Window("avg", (32, 192, 192, 56, 56)),
    Window("avg", (32, 256, 256, 56, 56), taps=2, stride=2, pad=0, dtype="bf16"),
    Window("depthwise", (32, 128, 128, 56, 56), groups=1),
    Window("depthwise", (32, 128, 128, 56, 56), dtype="bf16", last=True),
]
# What is swept beside the first guess, by whether the rules find a matrix product.
PRODUCTS = [["units=0", "tile=128128", "turns=1"], ["units=0", "tile=128128", "turns=0"], ["units=0", "tile=128256", "turns=0"], ["units=0", "tile=64256", "turns=1"],
            ["units=0", "tile=256128", "turns=0"], ["units=0", "tile=64128", "turns=1"], ["units=1", "tile=128128", "warp=64032"], ["units=1", "tile=128256", "warp=64064"],
            ["units=1", "tile=64128", "warp=32064"]]
THREADS = [["down=1", "across=1"], ["down=2"], ["down=4"], ["down=8"], ["across=4", "down=2"], ["down=4", "threads=128"]]
# Checked: shapes that end within tiles, all kinds of windows.
CHECKED = [
    Window("relu", (2, 19, 70, 13, 11)), Window("conv", (3, 72, 65, 9, 23), stride=2, last=True), Window("conv", (2, 5, 130, 17, 19), dilation=2, pad=2),
    Window("conv", (1, 64, 64, 14, 14), taps=1, stride=2, pad=0, dtype="bf16", last=True), Window("conv", (2, 3, 96, 31, 29), taps=7, stride=2, pad=3),
    Window("grouped", (2, 144, 192, 15, 15), groups=3), Window("conv", (2, 40, 72, 333), taps=5, pad=2, dtype="bf16"),
    Window("conv", (2, 24, 64, 5, 9, 11), dtype="bf16"), Window("conv", (2, 24, 64, 5, 9, 11), last=True), Window("max", (2, 5, 5, 33, 35), stride=2),
    Window("max", (2, 21, 21, 33, 35), stride=2, dtype="bf16", last=True), Window("avg", (2, 7, 7, 19, 23)), Window("depthwise", (2, 11, 11, 19, 23)),
    Window("depthwise", (2, 27, 27, 19, 23), dtype="bf16", last=True), Window("conv", (2, 128, 72, 8, 8), dtype="bf16"),
    Window("conv", (2, 128, 72, 8, 8), pad=0, dtype="bf16", last=True),
]


def jobs():
    """(label, window, decisions)"""
    for i, window in enumerate(CONVS + WINDOWS):
        yield f"time-{i}-first", window, []
        ways = PRODUCTS if window in CONVS else THREADS
        for n, way in enumerate(ways):
            yield f"time-{i}-{n}", window, way
    for i, window in enumerate(CHECKED):
        yield f"check-{i}-first", window, []
        yield f"check-{i}-warps", window, ["units=1", "tile=128128", "warp=32064", "splits=3"]
        yield f"check-{i}-groups", window, ["units=0", "tile=128128"]


def emit(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(pathlib.Path(__file__).resolve().parents[2] / "backends" / "harness" / "kernsmith_kernel.h", folder)
    listing, sources = [], {}
    for label, window, way in jobs():
        toml, source = folder / f"{label}.toml", folder / f"{label}.cu"
        toml.write_text(window.text())
        done = subprocess.run([program, toml, source, *way], text=True, capture_output=True)
        toml.unlink()
        if done.returncode:  # no such decision here
            if not way:
                raise RuntimeError(f"{label}: {done.stderr}")
            continue
        text = re.sub(r"^//.*\n", "", source.read_text(), flags=re.M)
        same = sources.setdefault(text, label)
        if same != label:
            source.unlink()
            if not label.endswith("first"):
                continue
        listing.append(f"{label}\t{same}\t{done.stdout.split(': ', 1)[1].strip()}")
    (folder / "listing").write_text("\n".join(listing) + "\n")
    print(f"{len(listing)} jobs, {len(sources)} sources")


def registers(folder):
    def one(job):
        source, architecture = job
        done = subprocess.run(["nvcc", "-cubin", "-O3", "-std=c++17", "-Xptxas", "-v", f"-arch={architecture}", f"-I{folder}", "-o", os.devnull, source], text=True,
                              capture_output=True)
        spills = [int(n) for n in re.findall(r"(\d+) bytes spill stores", done.stderr)]
        used = re.findall(r"Used (\d+) registers", done.stderr)
        return f"{source.stem:16s} {architecture} " + (f"registers {' '.join(used)}, spilled {max(spills, default=0)}" if done.returncode == 0 else f"FAILED {done.stderr[:400]}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(one, [(s, a) for s in sorted(folder.glob("*first.cu")) for a in ("sm_90a",)]):
            print(line, flush=True)


class Device(gemm_device.Device):
    def inputs(self, window):
        torch = self.torch
        n, c, k = window.sizes[:3]
        dtype = self.types[window.dtype]
        x = torch.randn((n, c, *window.sizes[3:]), device="cuda").to(dtype)
        made = [x]
        if window.kind not in ("max", "avg"):
            depth = 1 if window.kind == "depthwise" else c // window.groups
            made.append((torch.randn((k, depth, *[window.taps] * window.dims), device="cuda") * 0.05).to(dtype))
        if window.last:
            form = torch.channels_last if window.dims == 2 else torch.channels_last_3d
            made = [t.contiguous(memory_format=form) for t in made]
        if window.kind == "relu":
            made.append(torch.randn(k, device="cuda"))
        return made

    def apply(self, window, x):
        torch, dims = self.torch, window.dims
        f = torch.nn.functional
        if window.kind == "max":
            return getattr(f, f"max_pool{dims}d")(x[0], window.taps, window.stride, window.pad, window.dilation)
        if window.kind == "avg":
            return getattr(f, f"avg_pool{dims}d")(x[0], window.taps, window.stride, window.pad)
        bias = x[2].to(x[0].dtype) if window.kind == "relu" else None
        groups = x[0].shape[1] if window.kind == "depthwise" else window.groups
        y = getattr(f, f"conv{dims}d")(x[0], x[1], bias, window.stride, window.pad, window.dilation, groups)
        return y.relu_() if window.kind == "relu" else y

    def seen(self, window, tensors):
        """Tensors as the problem declares them: dense, in the order of its dimensions."""
        order = (0, *range(2, 2 + window.dims), 1)
        views = [t.permute(order) if window.last and t.dim() > 2 else t for t in tensors]
        if window.kind == "depthwise":  # [C, 1, taps] is [C, taps] of the problem
            views[1] = tensors[1].reshape(tensors[1].shape[0], *tensors[1].shape[2:]).contiguous()
        return views

    def output(self, window):
        torch = self.torch
        k, space = (window.sizes[1] if window.kind in ("max", "avg", "depthwise") else window.sizes[2]), window.outputs
        shape = (window.sizes[0], *space, k) if window.last else (window.sizes[0], k, *space)
        count = 1
        for extent in shape:
            count *= extent
        whole = torch.full((count + 256,), float("nan"), device="cuda", dtype=self.types[window.dtype])
        return whole, whole[:count].view(shape)

    def launcher(self, library, window, inputs, output):
        numbers = list(window.axes().values())
        return self.call(library, None, numbers, self.seen(window, inputs), [output])

    def listed(self, kind):
        windows = {label: window for label, window, _ in jobs()}
        import ctypes
        for line in (self.folder / "listing").read_text().splitlines():
            label, source, decided = line.split("\t")
            if label.startswith(kind):
                yield label, ctypes.CDLL(str((self.folder / f"{source}.so").resolve())), windows[label], decided

    def result(self, window, output):
        return output[1].permute(0, -1, *range(1, 1 + window.dims)) if window.last else output[1]

    def check(self):
        torch, wrong = self.torch, 0
        torch.backends.cudnn.allow_tf32 = False
        for label, library, window, decided in self.listed("check"):
            x, output = self.inputs(window), self.output(window)
            code = self.launcher(library, window, x, output)()
            torch.cuda.synchronize()
            reference = self.apply(window, [t.double() for t in x])
            usual = self.apply(window, x)
            mine, theirs = self.error(self.result(window, output), reference), self.error(usual, reference)
            bad = f"returned {code}" if code else "" if mine <= 2 * theirs + 5e-7 else f"error {mine:.1e}, PyTorch {theirs:.1e}"
            bad = bad or ("" if torch.isnan(output[0][output[1].numel():].float()).all() else "wrote past the end")
            if not bad and window.dtype == "f32" and window.kind in ("conv", "relu", "grouped"):
                x[0][(0, 0) + (0,) * window.dims] = float("inf")
                self.launcher(library, window, x, output)()
                torch.cuda.synchronize()
                got, want = self.result(window, output), self.apply(window, [t.double() for t in x]).float()
                close = (got == want) | (torch.isnan(got) & torch.isnan(want)) | ((got - want).abs() <= 1e-4 * want.abs() + 1e-4)
                bad = "" if close.all() else "an infinity went wrong"
            wrong += bool(bad)
            print(f"{label:18s} {window.name:32s} {'right' if not bad else 'WRONG ' + bad} ({mine:.1e}, PyTorch {theirs:.1e}) [{decided}]", flush=True)
        return wrong

    def time(self):
        torch, rounds = self.torch, 5
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
        groups = {}
        for label, library, window, decided in self.listed("time"):
            groups.setdefault(window, []).append((label, library, decided))
        for window, ways in groups.items():
            sets = [(self.inputs(window), self.output(window)) for _ in range(2)]
            bytes_ = sum(t.numel() * t.element_size() for t in [*sets[0][0], sets[0][1][1]])
            peers = [("PyTorch", False, sets)]
            if window.dtype == "f32" and window.kind in ("conv", "relu", "grouped"):
                peers.append(("TF32", True, sets))
            if not window.last and window.dims == 2:
                other = [([t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t for t in x], y) for x, y in sets]
                peers.append(("channels last", False, other))
            torch.backends.cudnn.allow_tf32 = False
            reference, errors = self.apply(window, [t.double() for t in sets[0][0]]), []
            calls = [[self.launcher(library, window, x, y) for x, y in sets] for _, library, _ in ways]
            for c in calls:
                code = c[0]()
                torch.cuda.synchronize()
                errors.append(float("inf") if code else self.error(self.result(window, sets[0][1]), reference))
            usual = self.error(self.apply(window, sets[0][0]), reference)
            del reference
            graphs, names = [], []
            torch.backends.cudnn.benchmark = True
            one = self.microseconds(self.graph(calls[0], 2), 2)
            count = max(4, min(40, int(6e3 / one)))
            for name, tf32, data in peers:
                torch.backends.cudnn.allow_tf32 = tf32
                graphs.append(self.graph([(lambda x=x: self.apply(window, x)) for x, _ in data], count))
                names.append(name)
            graphs += [self.graph(c, count) for c in calls]
            torch.backends.cudnn.benchmark = False
            samples = [[self.microseconds(g, count) for g in graphs] for _ in range(rounds + 1)][1:]
            times = [statistics.median(s[i] for s in samples) for i in range(len(graphs))]
            beside = ", ".join(f"{name} {t:.1f} us" for name, t in zip(names, times))
            print(f"{window.name} {'x'.join(map(str, window.sizes))}: {window.flops() / 1e9:.1f} GFLOP, {bytes_ / 1e6:.0f} MB; {beside} (error {usual:.1e})", flush=True)
            for (label, _, decided), t, e in sorted(zip(ways, times[len(names):], errors), key=lambda w: (not w[0][0].endswith("first"), w[1])):
                first = "first " if label.endswith("first") else "      "
                print(f"  {first}{times[0] / t:.3f}  {t:9.1f} us  {window.flops() / t / 1e6:6.1f} TFLOP/s {bytes_ / t / 1e3:6.0f} GB/s  error {e:.1e}  {decided}", flush=True)
            del graphs, sets, calls
        return 0


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "emit":
        emit(os.path.abspath(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "compile":
        return gemm_device.compile_all(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 3 and sys.argv[1] == "registers":
        return registers(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 3 and sys.argv[1] in ("check", "time"):
        return 1 if getattr(Device(pathlib.Path(sys.argv[2])), sys.argv[1])() else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
