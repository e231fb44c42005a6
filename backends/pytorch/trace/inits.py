"""How the contents of a tensor were drawn, as the init of a problem's input says it."""
import math

import torch


def keep(inits, tensor, init):
    inits[id(tensor)] = (tensor, init)


def of(inits, tensor):
    found = inits.get(id(tensor))
    return found[1] if found else None


def numbers(args, kwargs, names, defaults):
    bound = dict(zip(names, defaults))
    bound.update(zip(names, args))
    bound.update({k: v for k, v in kwargs.items() if k in names})
    return [bound[n] for n in names]


def noted(inits, known, name, args, kwargs, result):
    if not isinstance(result, torch.Tensor):
        return
    bare = name.strip("_")
    first = args[0] if args and isinstance(args[0], torch.Tensor) else None
    rest = args[1:] if first is not None else args
    before = of(inits, first) if first is not None else None
    if name == "uniform_":
        lo, hi = numbers(rest, kwargs, ["from", "to"], [0.0, 1.0]) if "a" not in kwargs and "b" not in kwargs else numbers(rest, kwargs, ["a", "b"], [0.0, 1.0])
        return keep(inits, result, uniform(lo, hi))
    if name in ("normal_", "trunc_normal_"):
        mean, std = numbers(rest, kwargs, ["mean", "std"], [0.0, 1.0])
        return keep(inits, result, normal(mean, std))
    if name in ("fill_", "constant_"):
        value = numbers(rest, kwargs, ["value" if name == "fill_" else "val"], [0.0])[0]
        return keep(inits, result, {"kind": "constant", "value": value} if isinstance(value, (int, float)) else None)
    if name in ("zero_", "zeros_"):
        return keep(inits, result, {"kind": "constant", "value": 0})
    if name == "ones_":
        return keep(inits, result, {"kind": "constant", "value": 1})
    if name in ("kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_"):
        return keep(inits, result, by_fans(name, result, rest, kwargs))
    if name in ("rand", "rand_like"):
        return keep(inits, result, uniform(0.0, 1.0))
    if name in ("randn", "randn_like"):
        return keep(inits, result, normal(0.0, 1.0))
    if name == "randint":
        bounds = [a for a in args if isinstance(a, int) and not isinstance(a, bool)]
        low, high = kwargs.get("low", 0 if len(bounds) < 2 else bounds[0]), kwargs.get("high", bounds[-1] if bounds else 2)
        return keep(inits, result, {"kind": "integers", "lo": int(low), "hi": int(high) - 1})
    if name == "randperm":
        return keep(inits, result, {"kind": "integers", "lo": 0, "hi": max(0, result.numel() - 1)})
    if before is None and name not in ("copy_",):
        return
    if name == "copy_":
        source = args[1] if len(args) > 1 else None
        return keep(inits, result, of(inits, source) if isinstance(source, torch.Tensor) else None)
    if bare in ("to", "float", "long", "int", "clone", "detach", "contiguous", "requires_grad", "T", "transpose", "t", "view", "reshape", "unsqueeze", "triu", "tril"):
        return keep(inits, result, before if result.dtype.is_floating_point or before["kind"] in ("integers", "constant") else None)
    other = rest[0] if rest and isinstance(rest[0], (int, float)) and not isinstance(rest[0], bool) else None
    if other is not None:
        scale, shift = {"mul": (other, 0), "add": (1, other), "radd": (1, other), "rmul": (other, 0), "sub": (1, -other), "div": (1 / other if other else 1, 0),
                        "truediv": (1 / other if other else 1, 0), "rsub": (-1, other), "iadd": (1, other), "imul": (other, 0)}.get(bare, (None, None))
        if scale is not None:
            return keep(inits, result, mapped(before, scale, shift))
    if bare == "neg":
        return keep(inits, result, mapped(before, -1, 0))
    if bare in ("softmax",):
        return keep(inits, result, uniform(0.0, 2.0 / max(1, result.shape[-1] if result.dim() else 1)))
    if bare in ("log_softmax",):
        return keep(inits, result, normal(-math.log(max(2, result.shape[-1] if result.dim() else 2)), 0.3))
    if bare in ("sigmoid",):
        return keep(inits, result, uniform(0.2, 0.8))
    if bare in ("abs", "exp", "square", "sqrt"):
        return keep(inits, result, uniform(0.0, 2.0))
    if bare == "normalize":
        return keep(inits, result, normal(0.0, 1 / math.sqrt(max(1, result.shape[-1]))))
    keep(inits, result, None)


def uniform(lo, hi):
    return {"kind": "uniform", "lo": float(lo), "hi": float(hi)} if hi > lo else {"kind": "constant", "value": float(lo)}


def normal(mean, std):
    return {"kind": "normal", "mean": float(mean), "std": float(std)} if std > 0 else {"kind": "constant", "value": float(mean)}


def mapped(init, scale, shift):
    if init is None:
        return None
    if init["kind"] == "uniform":
        ends = sorted((init["lo"] * scale + shift, init["hi"] * scale + shift))
        return uniform(*ends)
    if init["kind"] == "normal":
        return normal(init["mean"] * scale + shift, abs(init["std"] * scale))
    if init["kind"] == "constant":
        return {"kind": "constant", "value": init["value"] * scale + shift}
    if init["kind"] == "integers" and isinstance(scale, int) and isinstance(shift, int):
        lo, hi = sorted((init["lo"] * scale + shift, init["hi"] * scale + shift))
        return {"kind": "integers", "lo": lo, "hi": hi}
    return None


def by_fans(name, tensor, rest, kwargs):
    size = 1
    for n in tensor.shape[2:]:
        size *= n
    inward, outward = (tensor.shape[1] * size, tensor.shape[0] * size) if tensor.dim() > 1 else (1, 1)
    if name.startswith("xavier"):
        gain = kwargs.get("gain", rest[0] if rest else 1.0)
        std = gain * math.sqrt(2.0 / (inward + outward))
    else:
        a = kwargs.get("a", rest[0] if rest else 0)
        kind = kwargs.get("nonlinearity", "leaky_relu")
        gain = torch.nn.init.calculate_gain(kind, a)
        std = gain / math.sqrt(inward if kwargs.get("mode", "fan_in") == "fan_in" else outward)
    return uniform(-math.sqrt(3) * std, math.sqrt(3) * std) if "uniform" in name else normal(0.0, std)
