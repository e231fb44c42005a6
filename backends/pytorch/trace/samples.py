"""What the module itself computes, in float64 and on small inputs of several kinds: what a trace is held against."""
import base64

import torch
from loading import parts_of
from torch.overrides import TorchFunctionMode
from tracing import flattened, listed
from values import Refusal

KINDS = ["own", "signed", "scaled", "heavy", "structured"]


class InFloat64(TorchFunctionMode):
    """What asks for a narrower float by name gets float64: rounding in between is no part of what a module means."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        wide = lambda a: torch.float64 if isinstance(a, torch.dtype) and a.is_floating_point else a
        args = tuple(wide(a) for a in args)
        kwargs = {k: wide(v) for k, v in kwargs.items()}
        if name == "cdist":  # a product of matrices instead would round differences away
            kwargs["compute_mode"] = "donot_use_mm_for_euclid_dist"
            args = args[:3]
        if name in ("float", "half", "bfloat16") and args and isinstance(args[0], torch.Tensor):
            return args[0].double()
        return func(*args, **kwargs)


def contents(tensor, kind, generator):
    """New contents of a float tensor."""
    n = tensor.numel()
    shape = tensor.shape
    normal = lambda: torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == "signed":
        return normal()
    if kind == "scaled":
        return normal() * 3 + 1
    if kind == "heavy":
        return (normal() / (torch.rand(shape, generator=generator, dtype=torch.float64) + 0.02)).clamp(-300, 300)
    order = torch.arange(n, dtype=torch.float64).reshape(shape)
    return torch.sin(order * 0.7) * (1 + order % 5)


def run(source, overrides, document):
    """[{kind, inputs, outputs}]: contents as base64 of float64 or int64, in the order of the document."""
    out = []
    torch.set_default_dtype(torch.float64)
    try:
        for number, kind in enumerate(KINDS):
            try:
                out.append(one(source, overrides, document, kind, number))
            except Exception:  # contents that the module refuses (a probability above 1)
                if kind == "own":
                    raise
    finally:
        torch.set_default_dtype(torch.float32)
    return out


def one(source, overrides, document, kind, number):
    torch.manual_seed(1000 + number)
    generator = torch.Generator().manual_seed(77 + number)
    with torch.no_grad(), InFloat64():
        module = source.run(overrides)
        make, get_inputs, get_init_inputs = parts_of(module, source)
        model = make(*listed(get_init_inputs(), "get_init_inputs", source)).double()
        given = [g.double() if isinstance(g, torch.Tensor) and g.is_floating_point() else g for g in listed(get_inputs(), "get_inputs", source)]
        state = model.state_dict(keep_vars=True)
        taken = []
        for entry in document["inputs"]:
            tensor = given[entry["key"]] if entry["role"] == "argument" else state.get(entry["key"])
            if tensor is None:
                tensor = attribute(model, entry["key"])
            if tensor.is_floating_point() and kind != "own":
                fresh = contents(tensor, kind, generator)
                if entry["role"] == "parameter":
                    fresh = fresh.clamp(-3, 3)
                    if "var" in entry["key"].split(".")[-1]:
                        fresh = fresh.abs() + 0.1
                if entry.get("init", {}).get("kind") == "sorted":
                    fresh = fresh.sort(-1).values
                tensor.copy_(fresh)
            taken.append(packed(tensor))
        before = [g.clone() if isinstance(g, torch.Tensor) else g for g in given]
        result = model(*given)
        again = model(*before) if kind == "own" else result
    if not all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(tensors_of(result), tensors_of(again))):
        raise Refusal("forward gives other results when it is called again with the same inputs: it keeps something from call to call", source.line_of("Model", "forward"), "state")
    results = tensors_of(result)
    return {"kind": kind, "inputs": taken, "outputs": [packed(r) for r in results]}


def tensors_of(result):
    return list(result.values()) if isinstance(result, dict) else flattened(result) if isinstance(result, (tuple, list)) else [result]


def attribute(model, path):
    thing = model
    for name in path.split("."):
        thing = getattr(thing, name) if not name.isdigit() else thing[int(name)]
    return thing


def packed(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    wide = flat.to(torch.float64) if flat.is_floating_point() else flat.to(torch.int64)
    return base64.b64encode(bytes(wide.numpy().tobytes())).decode() if wide.numel() else ""
