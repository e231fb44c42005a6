"""run_cases.py interpret|compile FOLDER: runs every case of the folder, or compiles its kernels for sm_90 without a device.

A case is a folder with source.py and case.json: {"inputs": [{"file", "dtype", "shape"}], "outputs": [...]}. Interpreted, the outputs are
written to their files. What goes wrong is written to the case's interpret.txt or compile.txt, which is empty otherwise.
"""
import json
import os
import pathlib
import sys
import traceback
import warnings

mode, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if mode == "interpret":
    os.environ["TRITON_INTERPRET"] = "1"
else:
    os.environ.pop("TRITON_INTERPRET", None)
warnings.filterwarnings("ignore")

import numpy  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402

numpy.seterr(all="ignore")
TYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool,
}
POINTERS = {
    torch.float64: "*fp64", torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16", torch.float8_e4m3fn: "*fp8e4nv",
    torch.float8_e5m2: "*fp8e5", torch.int64: "*i64", torch.int32: "*i32", torch.int16: "*i16", torch.int8: "*i8", torch.uint8: "*u8",
    torch.bool: "*i1",
}


def load_launch(path):
    # By import: Triton reads a kernel's source from its file.
    import importlib.util
    spec = importlib.util.spec_from_file_location("case_" + path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.launch


def tensor_of(place, described, filled):
    count = int(numpy.prod(described["shape"], dtype=numpy.int64))
    dtype = TYPES[described["dtype"]]
    if filled:
        raw = bytearray((place / described["file"]).read_bytes())
    else:
        raw = bytearray(b"\xff" * (count * torch.empty(0, dtype=dtype).element_size()))
        if dtype == torch.bool:
            raw = bytearray(b"\x01" * count)
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype).reshape(described["shape"])


def compile_kernel(self, *args, grid, warmup, **options):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    names = [p.name for p in self.params]
    given = dict(zip(names, args))
    given.update({k: v for k, v in options.items() if k in names})
    constants = {p.name: given[p.name] for p in self.params if p.is_constexpr}
    signature = {n: "constexpr" if n in constants else POINTERS[given[n].dtype] for n in names}
    source = ASTSource(fn=self, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32),
                          options={"num_warps": options.get("num_warps", 4), "num_stages": options.get("num_stages", 3)})
    shared = made.metadata.shared
    assert shared <= 232448, f"{self.__name__}: {shared} bytes of shared memory"
    assert len(made.asm["cubin"]) > 0


def run(place):
    described = json.loads((place / "case.json").read_text())
    launch = load_launch(place / "source.py")
    inputs = [tensor_of(place, t, True) for t in described["inputs"]]
    outputs = [tensor_of(place, t, False) for t in described["outputs"]]
    launch(inputs, outputs, None)
    if mode == "compile":
        return
    launch(inputs, outputs, None)  # what the first call left must not matter
    for t, output in zip(described["outputs"], outputs):
        (place / t["file"]).write_bytes(output.contiguous().view(-1).view(torch.uint8).numpy().tobytes())


if mode == "compile":
    triton.runtime.jit.JITFunction.run = compile_kernel
for place in sorted(folder.iterdir()):
    if not (place / "case.json").exists():
        continue
    wrong = ""
    try:
        run(place)
    except Exception:  # noqa: BLE001
        wrong = traceback.format_exc(limit=-4)
    (place / (mode + ".txt")).write_text(wrong)
