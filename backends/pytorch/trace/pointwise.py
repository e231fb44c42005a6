"""Operators that work element by element, with broadcasting."""
import math

import torch
from registry import lowers
from values import Refusal, Value, number_text

SQRT_HALF, SQRT_2_OVER_PI = 0.7071067811865476, 0.7978845608028654


def is_real(dtype):
    return dtype.is_floating_point


def aligned(c, values, shape):
    """Loops over `shape`, and for each value the loops of its own dimensions, counted from the right."""
    rank = len(shape)
    loops = []
    for d in range(rank):
        atoms = [v.dims[d - rank + v.rank] for v in values if d - rank + v.rank >= 0]
        loops.append(c.graph.loops(*[a for a in atoms if a]))
    return loops, [loops[rank - v.rank:] for v in values]


def combined(c, operands, text, dtype=None, shape=None):
    """One statement: text(*operands' texts). Operands are Values or python scalars. Texts of reals are reals."""
    g = c.graph
    dtype = dtype or c.dtype
    values = [v for v in operands if isinstance(v, Value)]
    shape = c.shape if shape is None else shape
    if all(v.base is None for v in values):
        folded = folded_constant(operands, text)
        if folded is not None:
            return Value([(n,) for n in shape], dtype, constant=folded)
    loops, places = aligned(c, values, shape)
    # A dimension that no operand has beside extents of one can't be told from the values: expand() gives those.
    mixed = is_real(dtype) or any(v.kind() == "real" for v in values) or any(isinstance(o, float) for o in operands)
    at = iter(places)
    texts = [(g.real if mixed else g.read)(o, next(at)) if isinstance(o, Value) else number_text(o) for o in operands]
    return g.emit(loops, text(*texts), dtype)


def folded_constant(operands, text):
    """The value of an operation on constants alone, where python says it like the language does."""
    scalars = [o.constant if isinstance(o, Value) else o for o in operands]
    if any(isinstance(s, bool) for s in scalars):
        return None
    try:
        return eval(text(*[repr(s) if s >= 0 else f"({s!r})" for s in scalars]), {"__builtins__": {}}, {})
    except Exception:
        return None


def scaled(alpha, text):
    return text if alpha == 1 else f"{number_text(alpha)} * {text}"


def to_bool(kind, text):
    return text


@lowers("add", "__add__", "__radd__", "add_", "__iadd__")
def add(c, a, b, alpha=1):
    if c.dtype == torch.bool:
        return combined(c, [a, b], lambda x, y: f"{x} or {y}")
    return combined(c, [a, b], lambda x, y: f"{x} + {scaled(alpha, y)}")


@lowers("sub", "__sub__", "sub_", "__isub__", "subtract")
def sub(c, a, b, alpha=1):
    return combined(c, [a, b], lambda x, y: f"{x} - {scaled(alpha, y)}")


@lowers("rsub", "__rsub__")
def rsub(c, a, b, alpha=1):
    return combined(c, [a, b], lambda x, y: f"{y} - {scaled(alpha, x)}")


@lowers("mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply")
def mul(c, a, b):
    if c.dtype == torch.bool:
        return combined(c, [a, b], lambda x, y: f"{x} and {y}")
    return combined(c, [a, b], lambda x, y: f"{x} * {y}")


@lowers("div", "__truediv__", "div_", "true_divide", "divide", "__itruediv__")
def div(c, a, b, rounding_mode=None):
    if rounding_mode == "floor":
        return floor_divide(c, a, b)
    if rounding_mode == "trunc":
        return combined(c, [a, b], lambda x, y: whole(c, f"select({x} / {y} < 0, ceil({x} / {y}), floor({x} / {y}))"))
    return combined(c, [a, b], lambda x, y: f"{x} / {y}")


@lowers("__rtruediv__", "__rdiv__")
def rdiv(c, a, b):
    return combined(c, [a, b], lambda x, y: f"{y} / {x}")


def whole(c, text):
    return text if is_real(c.dtype) else f"i64({text})"


@lowers("floor_divide", "__floordiv__", "floor_divide_")
def floor_divide(c, a, b):
    return combined(c, [a, b], lambda x, y: whole(c, f"floor({x} / {y})"))


@lowers("remainder", "__mod__", "fmod_", "remainder_")
def remainder(c, a, b):
    return combined(c, [a, b], lambda x, y: whole(c, f"{x} - {y} * floor({x} / {y})"))


@lowers("pow", "__pow__", "pow_", "__ipow__")
def power(c, a, b):
    if isinstance(b, (int, float)) and not isinstance(b, bool):
        if b in (2, 3):
            return combined(c, [a], lambda x: " * ".join([x] * int(b)))
        if b == 0.5:
            return combined(c, [a], lambda x: f"sqrt({x})")
        if b == -0.5:
            return combined(c, [a], lambda x: f"rsqrt({x})")
        if b == 1:
            return combined(c, [a], lambda x: x)
        if b == -1:
            return combined(c, [a], lambda x: f"1 / {x}")
    return combined(c, [a, b], lambda x, y: whole(c, f"pow({x}, {y})"))


@lowers("__rpow__")
def rpow(c, a, b):
    return combined(c, [a, b], lambda x, y: whole(c, f"pow({y}, {x})"))


@lowers("square", "square_")
def square(c, a):
    return combined(c, [a], lambda x: f"{x} * {x}")


@lowers("addcmul", "addcmul_")
def addcmul(c, a, b, d, value=1):
    return combined(c, [a, b, d], lambda x, y, z: f"{x} + {scaled(value, y)} * {z}")


@lowers("addcdiv", "addcdiv_")
def addcdiv(c, a, b, d, value=1):
    return combined(c, [a, b, d], lambda x, y, z: f"{x} + {scaled(value, y)} / {z}")


@lowers("lerp")
def lerp(c, a, b, weight):
    return combined(c, [a, b, weight], lambda x, y, w: f"{x} + {w} * ({y} - {x})")


# Functions of one value: the text with x for the value.
UNARY = {
    "neg": "-{x}", "__neg__": "-{x}", "negative": "-{x}", "abs": "abs({x})", "__abs__": "abs({x})", "absolute": "abs({x})",
    "exp": "exp({x})", "exp2": "pow(2.0, {x})", "expm1": "expm1({x})", "log": "log({x})", "log2": "log({x}) / 0.6931471805599453",
    "log10": "log({x}) / 2.302585092994046", "log1p": "log1p({x})", "sqrt": "sqrt({x})", "rsqrt": "rsqrt({x})", "reciprocal": "1 / {x}",
    "tanh": "tanh({x})", "sigmoid": "sigmoid({x})", "erf": "erf({x})", "erfc": "1 - erf({x})", "sin": "sin({x})", "cos": "cos({x})",
    "tan": "sin({x}) / cos({x})", "sinh": "0.5 * (exp({x}) - exp(-{x}))", "cosh": "0.5 * (exp({x}) + exp(-{x}))", "floor": "floor({x})",
    "ceil": "ceil({x})", "round": "round({x})", "trunc": "select({x} < 0, ceil({x}), floor({x}))", "frac": "{x} - select({x} < 0, ceil({x}), floor({x}))",
    "relu": "max({x}, 0)", "relu6": "min(max({x}, 0), 6)", "silu": "{x} * sigmoid({x})", "logsigmoid": "min({x}, 0) - log1p(exp(-abs({x})))",
    "softsign": "{x} / (1 + abs({x}))", "tanhshrink": "{x} - tanh({x})", "hardsigmoid": "min(max({x} + 3, 0), 6) / 6",
    "hardswish": "{x} * min(max({x} + 3, 0), 6) / 6", "sgn": "select({x} > 0, 1.0, select({x} < 0, -1.0, {x}))",
    "sign": "select({x} > 0, 1.0, select({x} < 0, -1.0, 0.0))", "logit": "log({x} / (1 - {x}))",
    "selu": "1.0507009873554805 * select({x} > 0, {x}, 1.6732632423543772 * expm1({x}))",
    "mish": "{x} * tanh(select({x} > 20, {x}, log1p(exp({x}))))",
}


def unary(template):
    def lower(c, x, inplace=False, **ignored):
        # Real functions of integers are real; the statement's own text must then be real, too.
        return combined(c, [x], lambda text: template.replace("{x}", text))
    return lower


for _name, _template in UNARY.items():
    lowers(_name, _name + "_")(unary(_template))
lowers("log_sigmoid", "log_sigmoid_forward")(lambda c, x: unary(UNARY["logsigmoid"])(c, x))


@lowers("gelu", "gelu_")
def gelu(c, x, approximate="none"):
    if approximate == "tanh":
        return combined(c, [x], lambda t: f"0.5 * {t} * (1 + tanh({SQRT_2_OVER_PI} * ({t} + 0.044715 * {t} * {t} * {t})))")
    return combined(c, [x], lambda t: f"0.5 * {t} * (1 + erf({t} * {SQRT_HALF}))")


@lowers("leaky_relu", "leaky_relu_")
def leaky_relu(c, x, negative_slope=0.01, inplace=False):
    return combined(c, [x], lambda t: f"select({t} > 0, {t}, {number_text(negative_slope)} * {t})")


@lowers("elu", "elu_")
def elu(c, x, alpha=1.0, scale=1, input_scale=1, inplace=False):
    inner = f"{number_text(input_scale)} * " if input_scale != 1 else ""
    body = lambda t: f"select({t} > 0, {t}, {scaled(alpha, f'expm1({inner}{t})')})"
    return combined(c, [x], lambda t: body(t) if scale == 1 else f"{number_text(scale)} * {body(t)}")


@lowers("celu", "celu_")
def celu(c, x, alpha=1.0, inplace=False):
    return combined(c, [x], lambda t: f"max({t}, 0) + min(0, {scaled(alpha, f'expm1({t} / {number_text(alpha)})')})")


@lowers("softplus")
def softplus(c, x, beta=1, threshold=20):
    b = number_text(beta)
    return combined(c, [x], lambda t: f"select({scaled(beta, t)} > {number_text(threshold)}, {t}, log1p(exp({scaled(beta, t)})){'' if beta == 1 else ' / ' + b})")


@lowers("hardtanh", "hardtanh_")
def hardtanh(c, x, min_val=-1.0, max_val=1.0, inplace=False):
    return combined(c, [x], lambda t: f"min(max({t}, {number_text(min_val)}), {number_text(max_val)})")


@lowers("hardshrink")
def hardshrink(c, x, lambd=0.5):
    return combined(c, [x], lambda t: f"select(abs({t}) > {number_text(lambd)}, {t}, 0.0)")


@lowers("softshrink")
def softshrink(c, x, lambd=0.5):
    n = number_text(lambd)
    return combined(c, [x], lambda t: f"select({t} > {n}, {t} - {n}, select({t} < -{n}, {t} + {n}, 0.0))")


@lowers("threshold", "threshold_")
def threshold(c, x, threshold, value, inplace=False):
    return combined(c, [x], lambda t: f"select({t} > {number_text(threshold)}, {t}, {number_text(value)})")


@lowers("prelu", "_prelu_kernel")
def prelu(c, x, weight):
    if weight.rank == 1 and weight.shape[0] != 1 and x.rank > 1:
        weight = c.graph.reshape(weight, [weight.shape[0]] + [1] * (x.rank - 2))
    return combined(c, [x, weight], lambda t, w: f"select({t} > 0, {t}, {w} * {t})")


@lowers("glu")
def glu(c, x, dim=-1):
    from views import sliced
    dim %= x.rank
    half = x.shape[dim] // 2
    return combined(c, [sliced(c, x, dim, 0, half), sliced(c, x, dim, half, half)], lambda a, b: f"{a} * sigmoid({b})")


@lowers("clamp", "clamp_", "clip", "clip_", "hardclamp")
def clamp(c, x, min=None, max=None):
    operands = [x] + [b for b in (min, max) if b is not None]
    def text(t, *bounds):
        bounds = list(bounds)
        if min is not None:
            t = f"max({t}, {bounds.pop(0)})"
        return f"min({t}, {bounds.pop(0)})" if max is not None else t
    return combined(c, operands, text)


@lowers("clamp_min", "clamp_min_")
def clamp_min(c, x, bound):
    return clamp(c, x, bound, None)


@lowers("clamp_max", "clamp_max_")
def clamp_max(c, x, bound):
    return clamp(c, x, None, bound)


@lowers("maximum")
def maximum(c, a, b):
    return combined(c, [a, b], lambda x, y: f"max({x}, {y})")


@lowers("minimum")
def minimum(c, a, b):
    return combined(c, [a, b], lambda x, y: f"min({x}, {y})")


@lowers("atan2", "atan", "asin", "acos", "erfinv", "lgamma", "digamma")
def missing(c, *args, **kwargs):
    raise Refusal("a function that the definition language doesn't have")


def comparison(symbol):
    return lambda c, a, b: combined(c, [a, b], lambda x, y: f"{x} {symbol} {y}", torch.bool)


for _symbol, _names in {"<": ("lt", "__lt__", "less"), "<=": ("le", "__le__", "less_equal"), ">": ("gt", "__gt__", "greater"),
                        ">=": ("ge", "__ge__", "greater_equal"), "==": ("eq", "__eq__"), "!=": ("ne", "__ne__", "not_equal")}.items():
    lowers(*_names)(comparison(_symbol))


def logical(c, operands, text):
    g = c.graph
    values = [v for v in operands if isinstance(v, Value)]
    loops, at = aligned(c, values, c.shape)
    at = iter(at)
    texts = [g.condition(o, next(at)) if isinstance(o, Value) else number_text(bool(o)) for o in operands]
    return g.emit(loops, text(*texts), torch.bool)


@lowers("logical_and", "__and__", "bitwise_and", "__iand__")
def logical_and(c, a, b):
    if c.dtype != torch.bool:
        raise Refusal("a bitwise operation on integers")
    return logical(c, [a, b], lambda x, y: f"{x} and {y}")


@lowers("logical_or", "__or__", "bitwise_or", "__ior__")
def logical_or(c, a, b):
    if c.dtype != torch.bool:
        raise Refusal("a bitwise operation on integers")
    return logical(c, [a, b], lambda x, y: f"{x} or {y}")


@lowers("logical_not", "__invert__", "bitwise_not")
def logical_not(c, a):
    if c.dtype != torch.bool:
        raise Refusal("a bitwise operation on integers")
    return logical(c, [a], lambda x: f"not {x}")


@lowers("isnan")
def isnan(c, a):
    return combined(c, [a], lambda x: f"{x} != {x}", torch.bool)


@lowers("where", "__where__")
def where(c, condition, a, b):
    g = c.graph
    operands = [condition, a, b]
    values = [v for v in operands if isinstance(v, Value)]
    loops, at = aligned(c, values, c.shape)
    at = iter(at)
    read = g.real if is_real(c.dtype) else g.read
    texts = [g.condition(condition, next(at))] + [read(o, next(at)) if isinstance(o, Value) else number_text(o) for o in (a, b)]
    return g.emit(loops, f"select({', '.join(texts)})", c.dtype)


@lowers("masked_fill", "masked_fill_")
def masked_fill(c, x, mask, value):
    return where(c, mask, value, x)


@lowers("_to_copy", "to", "float", "double", "int", "long", "half", "bfloat16", "bool", "type", "type_as", "clone", "contiguous", "detach", "alias", "data",
        "requires_grad_", "lift_fresh", "lift_fresh_copy", "positive", "__pos__", "cpu", "detach_", "identity", "resolve_conj", "resolve_neg", "as_tensor")
def converted(c, x, *args, **kwargs):
    if x.dtype == c.dtype:
        return Value(x.dims, x.dtype, x.base, x.positions, x.constant)
    to = c.dtype
    if x.base is None:
        constant = bool(x.constant) if to == torch.bool else float(x.constant) if is_real(to) else int(x.constant)
        return Value(x.dims, to, constant=constant)
    if to == torch.bool:
        return combined(c, [x], lambda t: f"{t} != 0")
    if is_real(to):
        return combined(c, [x], lambda t: t)
    from graph import dtype_name
    return combined(c, [x], lambda t: f"{dtype_name(to)}({t})")


@lowers("copy_")
def copy_(c, x, source, non_blocking=False):
    from views import expand
    return converted(c, expand(c, source, c.shape))
