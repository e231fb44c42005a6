"""Rewrites of what a module says to the same thing for less work.

Every rule here is exact algebra for all finite inputs and all parameter values: nothing depends on how inputs are distributed, on values that
parameters happen to have, or on a tolerance. (Values that are not finite may come out differently where a rule leaves out a subtraction of
something from itself.) The proof at admission holds for the rewritten definition: it is compared with the module itself on signed, scaled,
heavy-tailed and structured contents.

A rule looks at an operator's operands, which remember what they come from (`origin`) and between which bounds they lie (`low`, `high`). It
gives the value that stands for the operator's result, or None. What is no longer read goes by itself.
"""
from math import inf, prod

from contractions import product
from norms import batch_norm, instance_norm
from pointwise import combined
from reductions import extents, grouped, listed
from registry import LOWERINGS, Call
from values import Refusal, Value, Var, number_text, reshaped
from views import squeeze, squeeze_to
from windows import conv, conv_transpose, max_pool, tuple_of

RULES = {}  # operator -> [(name, function)]


def rewrites(name, *operators):
    def register(function):
        for operator in operators:
            RULES.setdefault(operator, []).append((name, function))
        return function
    return register


def rewritten(call, args, kwargs):
    """The value of a rule that fits, after noting the rule; None when none does."""
    for name, rule in RULES.get(call.name, ()):
        try:
            value = rule(call, *args, **kwargs)
        except (TypeError, Refusal):  # a form of the call that the rule doesn't know
            continue
        if value is not None:
            call.graph.rewrites.append({"rule": name, "line": call.graph.line, "value": value})
            return value
    return None


# -- what a value comes from

BOUNDS = {
    "relu": (0, inf), "relu6": (0, 6), "sigmoid": (0, 1), "tanh": (-1, 1), "hardsigmoid": (0, 1), "abs": (0, inf), "exp": (0, inf), "softmax": (0, 1), "_softmax": (0, 1),
    "softplus": (0, inf), "sqrt": (0, inf), "square": (0, inf), "cos": (-1, 1), "sin": (-1, 1),
}
PRODUCTS = {"linear", "matmul", "__matmul__", "mm", "addmm"}
CONVOLUTIONS = {"conv1d": conv, "conv2d": conv, "conv3d": conv, "conv_transpose1d": conv_transpose, "conv_transpose2d": conv_transpose, "conv_transpose3d": conv_transpose}
# Never decreasing, so that the largest argument has the largest value.
MONOTONE = {"relu", "relu6", "sigmoid", "tanh", "leaky_relu", "elu", "selu", "celu", "softplus", "hardsigmoid", "hardtanh", "clamp", "logsigmoid", "softsign"}


def remember(call, value, args, kwargs):
    """Notes at a fresh value what made it."""
    name = call.name.rstrip("_") if not call.name.startswith("__") else call.name
    if name in BOUNDS:
        value.low, value.high = BOUNDS[name]
    if name in ("clamp", "hardtanh"):
        value.low, value.high = clamp_bounds(name, args[1:], kwargs)
    if name in PRODUCTS or name in CONVOLUTIONS or name in MONOTONE or name in ("max_pool1d", "max_pool2d", "max_pool3d", "diag"):
        value.origin = (name, args, kwargs)
    shift = scaling(name, args, kwargs)
    if shift is not None:
        value.origin = ("scaled", shift, {})


def clamp_bounds(name, rest, kwargs):
    keys = ("min", "max") if name == "clamp" else ("min_val", "max_val")
    bounds = dict(zip(keys, (None, None) if name == "clamp" else (-1.0, 1.0)))
    bounds.update(zip(keys, rest))
    bounds.update({k: v for k, v in kwargs.items() if k in keys})
    low, high = (bounds[k] for k in keys)
    number = lambda b, otherwise: otherwise if b is None else b if isinstance(b, (int, float)) else None
    low, high = number(low, -inf), number(high, inf)
    return (low, high) if low is not None and high is not None and low <= high else (-inf, inf)


def scaling(name, args, kwargs):
    """(value, factor, shift) of value * factor + shift by numbers."""
    if len(args) != 2 or kwargs:
        return None
    a, b = args
    if isinstance(b, Value) and not isinstance(a, Value):
        a, b, swapped = b, a, True
    else:
        swapped = False
    if not isinstance(a, Value) or isinstance(b, (Value, bool)) or not isinstance(b, (int, float)) or a.kind() != "real":
        return None
    if name in ("mul", "__mul__", "__rmul__"):
        return a, b, 0
    if name in ("div", "__truediv__", "true_divide") and not swapped and b != 0:
        return a, 1 / b, 0
    if name in ("add", "__add__", "__radd__"):
        return a, 1, b
    if name in ("sub", "__sub__"):
        return (a, -1, b) if swapped else (a, 1, -b)
    if name in ("rsub", "__rsub__"):
        return a, -1, b
    return None


def unscaled(value):
    """(inner, factor, shift): value = factor * inner + shift by numbers."""
    factor, shift = 1, 0
    while value.origin and value.origin[0] == "scaled":
        inner, f, s = value.origin[1]
        factor, shift = factor * f, factor * s + shift
        value = inner
    return value, factor, shift


class Shape:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def call_for(call, name, shape):
    made = Call(call.graph, [Shape(shape, call.dtype)])
    made.name, made.builtin, made.is_method = name, call.builtin, call.is_method
    return made


# -- rules


def operands(value):
    """(left, right, inner dimension of right, outer dimension of right, bias) of a product with a matrix on the right."""
    name, args, kwargs = value.origin
    if kwargs.get("alpha", 1) != 1 or kwargs.get("beta", 1) != 1:
        return None
    if name == "linear":
        bias = args[2] if len(args) > 2 else kwargs.get("bias")
        return (args[0], args[1], 1, 0, bias) if args[1].rank == 2 else None
    if name == "addmm":
        return (args[1], args[2], 0, 1, args[0]) if args[0].rank == 1 and args[1].rank == 2 else None
    return (args[0], args[1], 0, 1, None) if args[0].rank >= 2 and args[1].rank == 2 else None


@rewrites("sum over a product's columns: one product with the sum of the columns", "sum", "mean")
def collapse(c, x, dim=None, keepdim=False, **ignored):
    inner, factor, shift = unscaled(x)
    if not inner.origin or inner.origin[0] not in PRODUCTS or listed(dim, x.rank) != [x.rank - 1] or x.rank < 2:
        return None
    found = operands(inner)
    if found is None:
        return None
    left, right, k, o, bias = found
    g = c.graph
    outer, columns = [Var(a) for a in right.dims[o]], [Var(a) for a in right.dims[k]]
    if not outer or not columns or left.base is None or right.base is None:
        return None
    at = [None, None]
    at[k], at[o] = columns, outer
    op, g.op = g.op, "columns"
    weights = g.emit([columns], g.over("sum", outer, g.real(right, at)), c.dtype, outer)
    added = None
    if bias is not None:
        b = [Var(a) for a in bias.dims[0]]
        added = g.emit([], g.over("sum", b, g.real(bias, [b])), c.dtype, b)
    g.op = op
    rows = [[Var(a) for a in d] for d in left.dims[:-1]]
    inside = g.loops(left.dims[-1], weights.dims[0])
    total = g.over("sum", inside, f"{g.real(left, rows + [inside])} * {g.real(weights, [inside])}")
    if added is not None:
        total += f" + {g.real(added, [])}"
    count = grouped(extents(x, [x.rank - 1]))
    if c.name == "mean":
        total = f"({total}) / {count}"
        last = shift
    else:
        last = shift
    text = total if factor == 1 else f"{number_text(factor)} * ({total})"
    if last:
        text += f" + {number_text(last)}" + (f" * {count}" if c.name == "sum" else "")
    return g.emit(rows + ([[]] if keepdim else []), text, c.dtype, inside)


def without_bias(c, value):
    """The convolution or product that made `value` without its bias; None where it has none."""
    if not value.origin:
        return None
    name, args, kwargs = value.origin
    bias = args[2] if len(args) > 2 else kwargs.get("bias")
    if bias is None or name not in CONVOLUTIONS and name != "linear":
        return None
    args = args[:2] + (None,) + args[3:] if len(args) > 2 else args
    kwargs = {k: v for k, v in kwargs.items() if k != "bias"}
    op, c.graph.op = c.graph.op, name
    made = (LOWERINGS["linear"] if name == "linear" else CONVOLUTIONS[name])(call_for(c, name, value.shape), *args, **kwargs)
    c.graph.op = op
    return made


@rewrites("a constant per channel before normalisation by the batch cancels", "batch_norm")
def batch_norm_bias(c, x, *args, **kwargs):
    names = ["running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"] if not c.builtin else ["weight", "bias", "running_mean", "running_var", "training"]
    bound = {**dict(zip(names, args)), **kwargs}
    if not bound.get("training") and bound.get("running_mean") is not None:
        return None
    inner = shifted_away(c, x)
    return None if inner is None else batch_norm(c, inner, *args, **kwargs)


@rewrites("a constant per channel before normalisation by the instance cancels", "instance_norm")
def instance_norm_bias(c, x, *args, **kwargs):
    inner = shifted_away(c, x)
    if inner is None or x.origin[0] == "linear" or args[4:5] == (False,) or kwargs.get("use_input_stats") is False:
        return None
    return instance_norm(c, inner, *args, **kwargs)


def shifted_away(c, x):
    inner, factor, shift = unscaled(x)
    if factor == 1 and shift != 0:
        bare = without_bias(c, inner)
        return inner if bare is None else bare
    return without_bias(c, x)


@rewrites("already within these bounds", "relu", "relu_", "abs", "leaky_relu", "relu6", "clamp", "clamp_", "hardtanh", "clamp_min")
def within(c, x, *args, **kwargs):
    name = c.name.rstrip("_")
    low, high = {"relu": (0, inf), "abs": (0, inf), "leaky_relu": (0, inf), "relu6": (0, 6)}.get(name, (None, None))
    if name in ("clamp", "hardtanh"):
        low, high = clamp_bounds(name, args, kwargs)
        if low == -inf and high == inf:
            return None
    if name == "clamp_min":
        low, high = (args[0], inf) if isinstance(args[0], (int, float)) else (None, None)
    if low is None or not (x.low >= low and x.high <= high):
        return None
    return x


@rewrites("a function that never decreases goes behind the maximum", "max_pool1d", "max_pool2d", "max_pool3d")
def monotone_before_max(c, x, *args, **kwargs):
    if not x.origin or len(c.results) != 1:
        return None
    name, given, more = x.origin
    if name == "scaled":
        inner, factor, shift = given
        if factor <= 0:
            return None
        top = max_pool(c, inner, *args, **kwargs)
        return combined(c, [top], lambda t: (t if factor == 1 else f"{number_text(factor)} * {t}") + (f" + {number_text(shift)}" if shift else ""))
    if name not in MONOTONE or any(isinstance(a, Value) for a in given[1:]) or any(isinstance(a, Value) for a in more.values()):
        return None
    if name in ("leaky_relu",) and (given[1] if len(given) > 1 else more.get("negative_slope", 0.01)) < 0:
        return None
    if name in ("elu", "celu") and (given[1] if len(given) > 1 else more.get("alpha", 1.0)) < 0:
        return None
    if name in ("clamp", "hardtanh") and (x.low, x.high) == (-inf, inf):
        return None
    top = max_pool(c, given[0], *args, **kwargs)
    op, c.graph.op = c.graph.op, name
    made = LOWERINGS[name](call_for(c, name, c.shape), top, *given[1:], **more)
    c.graph.op = op
    return made


@rewrites("a maximum of maxima is one maximum", "max_pool1d", "max_pool2d", "max_pool3d")
def joined_pools(c, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if not x.origin or x.origin[0] != c.name or len(c.results) != 1:
        return None
    n = int(next(ch for ch in c.name if ch.isdigit()))
    _, args, kwargs = x.origin
    first = dict(zip(["kernel_size", "stride", "padding", "dilation", "ceil_mode"], args[1:]))
    first.update(kwargs)
    k1, k2 = tuple_of(first["kernel_size"], n), tuple_of(kernel_size, n)
    s1 = tuple_of(first["stride"], n) if first.get("stride") else k1
    s2 = tuple_of(stride, n) if stride else k2
    plain = lambda p, d, ceil: all(v == 0 for v in tuple_of(p, n)) and all(v == 1 for v in tuple_of(d, n)) and not ceil
    if not plain(padding, dilation, ceil_mode) or not plain(first.get("padding", 0), first.get("dilation", 1), first.get("ceil_mode", False)):
        return None
    if any(s > k for s, k in zip(s1, k1)):  # the first leaves elements out between its windows
        return None
    whole = [a + (b - 1) * s for a, b, s in zip(k1, k2, s1)]
    return max_pool(c, args[0], whole, [a * b for a, b in zip(s1, s2)])


@rewrites("of one element: itself", "logsumexp")
def of_one(c, x, dim, keepdim=False):
    dims = listed(dim, x.rank)
    return squeeze(c, x) if all(not x.dims[d] for d in dims) else None


@rewrites("a product with a diagonal matrix scales rows or columns", "matmul", "__matmul__", "mm")
def diagonal_product(c, a, b):
    if a.rank != 2 or b.rank != 2:
        return None
    if a.origin and a.origin[0] == "diag" and a.origin[1][0].rank == 1 and len(a.origin[1]) == 1:
        return combined(c, [squeeze_to(a.origin[1][0], [a.shape[0], 1]), b], lambda x, y: f"{x} * {y}")
    if b.origin and b.origin[0] == "diag" and b.origin[1][0].rank == 1 and len(b.origin[1]) == 1:
        return combined(c, [a, squeeze_to(b.origin[1][0], [1, b.shape[1]])], lambda x, y: f"{x} * {y}")
    return None
