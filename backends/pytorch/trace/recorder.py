"""Follows a module's forward call by call and lowers each: PyTorch's own functions first, what they are made of where there is no lowering."""
import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import columns, contractions, losses, norms, pointwise, reductions, resampling, tables, views, windows  # noqa: F401,E401  (they register their lowerings)
from graph import Graph
from registry import LOWERINGS, SHAPED, Call
from rewrites import remember, rewritten
from values import Refusal, Value

RANDOM = {
    "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "bernoulli", "bernoulli_", "normal", "normal_", "uniform_",
    "multinomial", "poisson", "exponential_", "random_", "cauchy_", "log_normal_", "geometric_", "native_dropout", "_fused_dropout", "rrelu", "rrelu_with_noise",
    "gumbel_softmax",
}
DROPOUT = {"dropout", "dropout_", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "feature_alpha_dropout"}
# What reads a tensor's elements into python: the graph would depend on them.
LOOKS = {"__bool__", "__float__", "__int__", "item", "__index__", "tolist", "numpy", "__array__", "nonzero", "__contains__", "equal", "allclose", "_local_scalar_dense",
         "is_nonzero", "unique", "masked_select"}
# Properties and questions that have nothing to do with elements.
FACTS = {
    "shape", "dtype", "device", "layout", "ndim", "is_sparse", "is_cuda", "requires_grad", "grad", "grad_fn", "is_leaf", "names", "is_quantized", "is_mps", "is_meta",
    "is_nested", "is_cpu", "is_xpu", "size", "dim", "numel", "nelement", "stride", "is_contiguous", "is_floating_point", "is_complex", "__len__", "storage_offset", "data_ptr",
    "element_size", "ndimension", "is_same_size", "__repr__", "__str__", "__format__", "__hash__", "get_device", "_version", "name", "itemsize", "nbytes", "is_inference",
    "__reduce_ex__", "__deepcopy__", "is_conj", "is_neg", "_is_view", "_base", "output_nr", "volatile", "is_signed", "is_tensor", "broadcast_shapes", "result_type", "finfo",
    "promote_types", "can_cast", "is_grad_enabled", "get_default_dtype", "is_autocast_enabled", "set_grad_enabled", "_is_zerotensor", "retains_grad", "untyped_storage", "storage",
    "is_distributed", "has_names",
}
GIVES_ITSELF = {"data", "detach", "detach_", "contiguous", "requires_grad_", "cpu"}


def name_of(func):
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return name


class Recorder(TorchFunctionMode):
    """Inside of `with recorder:` every operator is lowered. Tensors without a known value are inputs, made when first read."""

    def __init__(self, graph, file, input_of, forward_only=True, device="meta"):
        super().__init__()
        self.graph, self.file, self.input_of, self.device = graph, file, input_of, device
        self.known = {}  # id(tensor) -> (tensor, Value)
        self.in_forward = False
        self.left_out = []  # what __init__ computes that the language doesn't say
        self.inside = 0  # above 0: an operator that is lowered already runs
        self.inits = {}

    # -- tensors and values

    def bind(self, tensor, value):
        if value is not None:
            if list(tensor.shape) != value.shape:
                raise Refusal(f"the lowering of {self.graph.op} gave the shape {value.shape} instead of {list(tensor.shape)}", self.graph.line, "bug")
            self.known[id(tensor)] = (tensor, value)

    def value(self, tensor):
        found = self.known.get(id(tensor))
        if found is None:
            value = self.input_of(tensor) if self.in_forward else None
            if value is None:
                raise Refusal(f"a tensor of unknown contents meets {self.graph.op}", self.graph.line)
            self.known[id(tensor)] = found = (tensor, value)
        return found[1]

    def values(self, thing):
        if isinstance(thing, torch.Tensor):
            return self.value(thing)
        if isinstance(thing, (tuple, list)) and not isinstance(thing, torch.Size):
            made = [self.values(t) for t in thing]
            return made if isinstance(thing, list) else tuple(made)
        return thing

    def line(self):
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    # -- calls

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = name_of(func)
        if name in FACTS or name == "__get__" or name == "__set__":
            return func(*args, **kwargs)
        self.graph.line = self.line() or self.graph.line
        self.check_device(kwargs)
        if not self.in_forward:
            return self.outside(func, name, args, kwargs)
        self.refuse_looks(name, args, kwargs)
        if name == "tensor" and not any(True for _ in tensors_in((args, kwargs))):
            return self.written(func, args, kwargs)
        if name in LOWERINGS:
            return self.lowered(func, name, args, kwargs, isinstance(func, type(torch.add)), type(func).__name__ in ("method_descriptor", "wrapper_descriptor"))
        return func(*args, **kwargs)  # followed by the operators that it is made of

    def check_device(self, kwargs):
        device = kwargs.get("device")
        if device is not None and str(device).split(":")[0] not in ("cpu", "meta"):
            raise Refusal(f"asks for the device '{device}'; a problem's tensors are made on the CPU and moved by whoever runs it: leave the device out", self.graph.line)

    def refuse_looks(self, name, args, kwargs):
        if name in LOOKS:
            raise Refusal(f"'{name}' reads a tensor's elements while the module runs; what it computes must not depend on them", self.graph.line)
        if name in RANDOM:
            raise Refusal(f"live randomness: '{name}' draws random numbers in forward, so no two runs agree", self.graph.line, "randomness")
        if name in DROPOUT:
            bound = dict(zip(["input", "p", "training", "inplace"], args))
            bound.update(kwargs)
            training = bound.get("training", bound.get("train", True))
            if bound.get("p", 0.5) and training:
                raise Refusal(f"live randomness: {name} with p = {bound.get('p', 0.5)} is active in training mode, so no two runs agree; set p to 0 or call eval()",
                              self.graph.line, "randomness")

    def lowered(self, func, name, args, kwargs, builtin, method):
        self.graph.op = name.strip("_")
        try:
            given, more = self.values(args), {k: self.values(v) for k, v in kwargs.items() if k not in ("dtype", "device", "layout", "memory_format", "pin_memory", "out")}
        except Refusal:
            if self.in_forward:
                raise
            return self.moved(func(*args, **self.placed(func, name, kwargs)))
        if kwargs.get("out") is not None:
            raise Refusal("an 'out' argument", self.graph.line)
        run = SHAPED.get(name, func) if self.device == "meta" else func
        self.inside += 1
        try:
            result = run(*args, **self.placed(func, name, kwargs))
        finally:
            self.inside -= 1
        target = args[0] if name == "__setitem__" else result
        results = [r for r in (target if isinstance(target, (tuple, list)) else [target]) if isinstance(r, torch.Tensor)]
        if not results:
            return result
        call = Call(self.graph, results)
        call.name, call.builtin, call.is_method = name, builtin, method
        try:
            made = rewritten(call, given, more) if self.graph.rewriting and self.in_forward else None
            if made is None:
                made = LOWERINGS[name](call, *given, **more)
                if isinstance(made, Value) and self.in_forward:
                    remember(call, made, given, more)
        except Refusal as r:
            raise Refusal(f"'{name}': {r.message}", r.line or self.graph.line, r.kind) from None
        except RecursionError:
            raise
        except (TypeError, IndexError, KeyError, AttributeError, ValueError, StopIteration, NotImplementedError) as e:
            if debugging():
                raise
            raise Refusal(f"'{name}' is called in a way that has no lowering ({type(e).__name__}: {e})", self.graph.line) from None
        made = made if isinstance(made, (tuple, list)) else [made]
        for tensor, value in zip(results, made):
            self.bind(tensor, value)
        return result

    def written(self, func, args, kwargs):
        """A tensor that forward writes out as numbers."""
        self.graph.op = "tensor"
        self.inside += 1
        try:
            result = func(*args, **kwargs)
            # The numbers as they stand in the file: rounding to a narrower type is no part of what a module means.
            numbers = (func(*args, **{**kwargs, "dtype": torch.float64}) if result.is_floating_point() else result).reshape(-1).tolist()
            result = result.to(self.device)
        finally:
            self.inside -= 1
        self.bind(result, tables.written(Call(self.graph, [result]), numbers))
        return result

    def placed(self, func, name, kwargs):
        if self.device == "meta" and name in MAKERS:
            return {**kwargs, "device": "meta"}
        return kwargs

    def moved(self, result):
        return result

    # -- before forward: constants are followed where that is possible, and where tensors come from is kept

    def outside(self, func, name, args, kwargs):
        if name in MAKERS and self.device == "meta" and not kwargs.get("device"):
            kwargs = {**kwargs, "device": "meta"}
        if self.device == "meta" and name in ("tensor", "as_tensor", "from_numpy"):
            made = func(*args, **kwargs)
            flat = made.reshape(-1)
            if made.numel() and bool((flat == flat[0]).all()) and name != "from_numpy":
                literal = flat[0].item()
                result = made.to("meta")
                self.bind(result, Value([(n,) for n in made.shape], made.dtype, constant=literal))
                return result
            return made.to("meta")
        if name in LOOKS and self.device == "meta":
            raise NeedsElements(name)
        lowering = name in LOWERINGS and all(id(t) in self.known for t in tensors_in((args, kwargs)))
        if lowering and not name.endswith("_") or name in ("__setitem__",) and lowering:
            keep = len(self.graph.statements)
            try:
                return self.lowered(func, name, args, kwargs, isinstance(func, type(torch.add)), type(func).__name__ in ("method_descriptor", "wrapper_descriptor"))
            except Refusal:
                del self.graph.statements[keep:]
        result = func(*args, **kwargs)
        self.note(name, args, kwargs, result)
        return result

    def note(self, name, args, kwargs, result):
        """How a tensor is filled: what its input's init will say."""
        if name in ("uniform_", "normal_", "fill_", "zero_", "ones_", "zeros_", "constant_", "trunc_normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
                    "xavier_normal_", "rand", "randn", "randint", "randn_like", "rand_like", "copy_", "mul_", "add_", "sub_", "div_", "mul", "add", "sub", "div", "__rsub__",
                    "__radd__", "__rmul__", "__mul__", "__add__", "__sub__", "__truediv__", "neg", "to", "float", "long", "int", "clone", "detach", "contiguous", "softmax",
                    "log_softmax", "sign", "abs", "sigmoid", "normalize", "randperm", "requires_grad_", "exp", "log", "sqrt", "rsqrt", "square", "triu", "tril", "T", "transpose", "t",
                    "view", "reshape", "unsqueeze", "gt", "lt", "ge", "le", "__gt__", "__lt__", "bool", "bernoulli", "eq", "round", "clamp", "tanh"):
            from inits import noted
            noted(self.inits, self.known, name, args, kwargs, result)
        if isinstance(result, torch.Tensor) and name.endswith("_") and id(result) in self.known:
            del self.known[id(result)]


MAKERS = {"rand", "randn", "randint", "zeros", "ones", "full", "empty", "arange", "linspace", "eye", "randperm", "tril_indices", "triu_indices", "empty_strided", "normal", "logspace",
          "range", "hann_window", "hamming_window"}


UNSEEN = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "_assert_async"}


class NeedsElements(Exception):
    """Something before forward reads elements, which meta tensors don't have: trace with real ones."""


def tensors_in(thing):
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, (tuple, list)):
        for t in thing:
            yield from tensors_in(t)
    elif isinstance(thing, dict):
        for t in thing.values():
            yield from tensors_in(t)


def debugging():
    import os
    return bool(os.environ.get("KERNSMITH_TRACE_DEBUG"))


class Operators(TorchDispatchMode):
    """What reaches PyTorch's dispatcher without being lowered yet: operators of functions that have no lowering, and plain indexing, which
    some versions of PyTorch don't show to modes of functions."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__.split(".")[0]
        recorder = self.recorder
        if recorder.inside or name in FACTS or name.startswith(("sym_", "prim")) or name in UNSEEN:
            return func(*args, **kwargs)
        recorder.graph.line = recorder.line() or recorder.graph.line
        recorder.refuse_looks(name, args, kwargs)
        recorder.check_device(kwargs)
        if name not in LOWERINGS:
            if name.endswith("_") and name[:-1] in LOWERINGS:
                return recorder.lowered(func, name[:-1], args, kwargs, True, False)
            raise Refusal(f"the operator '{name}' ({func}) has no lowering", recorder.graph.line)
        return recorder.lowered(func, name, args, kwargs, True, False)
