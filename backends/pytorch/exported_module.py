# ---- From here on: the kernel that Kernsmith verified, and when it is used ----
#
# ModelNew is Model with another forward. It calls the kernel for the shapes in _KS_WORKLOADS, on which the kernel was verified and measured
# faster; for everything else (other shapes, dtypes and devices, tensors that are not contiguous, gradients, autocast, evaluation mode of
# a module that depends on it) it calls Model's own forward. The kernel is compiled at its first use with the flags it was measured with,
# into $KERNSMITH_KERNELS, by default ~/.cache/kernsmith/kernels. Without a compiler Model's own forward does all the work.
import ctypes as _ks_ctypes
import hashlib as _ks_hashlib
import os as _ks_os
import shutil as _ks_shutil
import subprocess as _ks_subprocess
import tempfile as _ks_tempfile
import warnings as _ks_warnings

import torch


class _KsTensor(_ks_ctypes.Structure):
    _fields_ = [("data", _ks_ctypes.c_void_p), ("dtype", _ks_ctypes.c_int32), ("rank", _ks_ctypes.c_int32),
                ("shape", _ks_ctypes.POINTER(_ks_ctypes.c_int64)), ("strides", _ks_ctypes.POINTER(_ks_ctypes.c_int64))]


class _KsLaunch(_ks_ctypes.Structure):
    _fields_ = [("stream", _ks_ctypes.c_void_p), ("workspace", _ks_ctypes.c_void_p), ("workspace_bytes", _ks_ctypes.c_size_t),
                ("device", _ks_ctypes.c_int32), ("threads", _ks_ctypes.c_int32),
                ("axes", _ks_ctypes.POINTER(_ks_ctypes.c_int64)), ("n_axes", _ks_ctypes.c_int32)]


_KS_WORKSPACE_BYTES = 64 << 20
_KS_ALIGNMENT = 64
_KS_ON_DEVICE = _KS_LANGUAGE == "cuda"
_ks_state = {"launch": None, "ready": False}
_ks_plans = {}


def _ks_compiler():
    if not _KS_ON_DEVICE:
        return _ks_os.environ.get("CXX") or _ks_shutil.which("g++") or _ks_shutil.which("c++")
    home = _ks_os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    at_home = _ks_os.path.join(home, "bin", "nvcc")
    return at_home if _ks_os.access(at_home, _ks_os.X_OK) else _ks_shutil.which("nvcc")


def _ks_processor():
    """What -march=native means here: a folder of kernels may be shared by machines."""
    if _KS_ON_DEVICE or not _ks_os.access("/proc/cpuinfo", _ks_os.R_OK):
        return ""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return "".join(sorted({line for line in file if line.startswith(("model name", "flags"))}))


def _ks_folder():
    base = _ks_os.environ.get("XDG_CACHE_HOME") or _ks_os.path.join(_ks_os.path.expanduser("~"), ".cache")
    folder = _ks_os.environ.get("KERNSMITH_KERNELS") or _ks_os.path.join(base, "kernsmith", "kernels")
    parent = folder
    while not _ks_os.path.isdir(parent):
        parent = _ks_os.path.dirname(parent)
    if _ks_os.access(parent, _ks_os.W_OK):
        _ks_os.makedirs(folder, mode=0o700, exist_ok=True)
        found = _ks_os.stat(folder)
        if found.st_uid == _ks_os.getuid() and not found.st_mode & 0o022:
            return folder
    return _ks_tempfile.mkdtemp(prefix="kernsmith-")  # nobody else may put a library where it would be loaded from


def _ks_function(library):
    function = _ks_ctypes.CDLL(library).launch
    function.argtypes = [_ks_ctypes.c_void_p, _ks_ctypes.c_int, _ks_ctypes.c_void_p, _ks_ctypes.c_int, _ks_ctypes.c_void_p]
    function.restype = _ks_ctypes.c_int
    return function


def _ks_build():
    if _KS_PREBUILT is not None:
        return _ks_function(_KS_PREBUILT)
    compiler = _ks_compiler()
    if compiler is None:
        _ks_warnings.warn("kernsmith: no " + ("nvcc" if _KS_ON_DEVICE else "C++ compiler") + " here; ModelNew runs as Model does")
        return None
    version = _ks_subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    parts = [compiler, version, _ks_processor(), " ".join(_KS_FLAGS), _KS_HEADER, _KS_SOURCE]
    name = _ks_hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:32] + ".so"
    folder = _ks_folder()
    library = _ks_os.path.join(folder, name)
    if not _ks_os.path.exists(library):
        work = _ks_tempfile.mkdtemp(prefix="build-", dir=folder)
        source = _ks_os.path.join(work, "kernel.cu" if _KS_ON_DEVICE else "kernel.cpp")
        for path, text in ((source, _KS_SOURCE), (_ks_os.path.join(work, "kernsmith_kernel.h"), _KS_HEADER)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        made = _ks_os.path.join(work, name)
        command = [compiler, *_KS_FLAGS, "-I" + work, source, "-o", made, *_KS_LIBRARIES]
        built = _ks_subprocess.run(command, capture_output=True, text=True)
        if built.returncode == 0:
            _ks_os.replace(made, library)
        _ks_shutil.rmtree(work, ignore_errors=True)
        if built.returncode != 0:
            _ks_warnings.warn("kernsmith: the kernel does not build here, ModelNew runs as Model does: " + built.stderr[-2000:])
            return None
    return _ks_function(library)


def _ks_launch():
    if not _ks_state["ready"]:
        usable = not _KS_ON_DEVICE or torch.cuda.get_device_capability() == _KS_CAPABILITY
        _ks_state["launch"] = _ks_build() if usable else None
        _ks_state["ready"] = True
    return _ks_state["launch"]


class _KsPlan:
    """The arguments of calls with one choice of shapes, filled in but for addresses. One call uses it at a time."""

    def __init__(self, workload, device):
        self.kept = []
        self.inputs = self.described(workload["inputs"], _KS_INPUT_DTYPES)
        self.outputs = self.described(workload["outputs"], _KS_OUTPUT_DTYPES)
        self.workspace = torch.empty(_KS_WORKSPACE_BYTES, dtype=torch.uint8, device=device)
        self.context = _KsLaunch()
        axes = self.kept_extents(workload["axes"])
        self.context.axes, self.context.n_axes = axes, len(workload["axes"])
        self.context.workspace, self.context.workspace_bytes = self.workspace.data_ptr(), _KS_WORKSPACE_BYTES
        self.context.device = device.index or 0
        self.pointers = [_ks_ctypes.addressof(part) for part in (self.inputs, self.outputs, self.context)]

    def kept_extents(self, extents):
        made = (_ks_ctypes.c_int64 * max(len(extents), 1))(*extents)
        self.kept.append(made)
        return _ks_ctypes.cast(made, _ks_ctypes.POINTER(_ks_ctypes.c_int64))

    def described(self, shapes, dtypes):
        made = (_KsTensor * len(shapes))()
        for tensor, shape, (code, _) in zip(made, shapes, dtypes):
            strides = [1] * len(shape)
            for d in range(len(shape) - 2, -1, -1):
                strides[d] = strides[d + 1] * shape[d + 1]
            tensor.dtype, tensor.rank = code, len(shape)
            tensor.shape, tensor.strides = self.kept_extents(shape), self.kept_extents(strides)
        return made


def _ks_call(tensors, shapes, workload, outputs=None):
    """The kernel's outputs, new tensors or those given, or None where it is not to be used."""
    first = tensors[0]
    device = first.device
    if device.type != ("cuda" if _KS_ON_DEVICE else "cpu") or torch.is_autocast_enabled():
        return None
    needs_gradients = torch.is_grad_enabled()
    for tensor, (_, dtype) in zip(tensors, _KS_INPUT_DTYPES):
        if tensor.dtype is not dtype or not tensor.is_contiguous() or tensor.data_ptr() % _KS_ALIGNMENT or tensor.device != device:
            return None
        if needs_gradients and tensor.requires_grad:
            return None
    launch = _ks_state["launch"] if _ks_state["ready"] else _ks_launch()
    if launch is None:
        return None
    stream = 0
    if _KS_ON_DEVICE:
        if device.index != torch.cuda.current_device():
            return None
        stream = torch.cuda.current_stream().cuda_stream
    key = (shapes, device.index, stream)
    free = _ks_plans.get(key)
    if free is None:
        free = _ks_plans.setdefault(key, [])
    plan = free.pop() if free else _KsPlan(workload, device)
    if outputs is None:
        outputs = [torch.empty(shape, dtype=dtype, device=device) for shape, (_, dtype) in zip(workload["outputs"], _KS_OUTPUT_DTYPES)]
    for described, tensor in zip(plan.inputs, tensors):
        described.data = tensor.data_ptr()
    for described, tensor in zip(plan.outputs, outputs):
        described.data = tensor.data_ptr()
    plan.context.stream = stream
    plan.context.threads = torch.get_num_threads()
    code = launch(plan.pointers[0], len(tensors), plan.pointers[1], len(outputs), plan.pointers[2])
    free.append(plan)
    return outputs if code == 0 else None
