"""Reductions, softmax and its kin, norms of vectors, scans."""
from math import prod

import torch
from registry import lowers, shaped
from values import Refusal, Value, Var, number_text


def listed(dim, rank):
    if dim is None or (isinstance(dim, (list, tuple)) and len(dim) == 0):
        return list(range(rank))
    return sorted({int(d) % max(1, rank) for d in (dim if isinstance(dim, (list, tuple, torch.Size)) else [dim])})


def extents(value, dims):
    """The number of elements that a reduction goes over, as factors: sizes stay sizes."""
    factors = [str(n) for d in dims for n in value.dims[d]]
    return " * ".join(factors) if factors else "1"


def reduced(c, value, dims, reducer, body=lambda x: x, finish=lambda x: x, keepdim=False, dtype=None):
    """finish(reducer over dims of body(element))"""
    g = c.graph
    if value.base is None:
        value = g.filled(value)
    loops = g.whole(value)
    bound = [v for d in dims for v in loops[d]]
    dtype = dtype or c.dtype
    read = g.real if dtype.is_floating_point else g.read
    text = g.over(reducer, bound, body(read(value, loops)))
    out = [[] if d in dims else loops[d] for d in range(value.rank) if keepdim or d not in dims]
    return g.emit(out, finish(text), dtype, bound)


def simple(reducer):
    def lower(c, x, dim=None, keepdim=False, **more):
        return reduced(c, x, listed(dim, x.rank), reducer, keepdim=keepdim)
    return lower


lowers("sum")(simple("sum"))
lowers("amax")(simple("max"))
lowers("amin")(simple("min"))
lowers("prod")(simple("prod"))


@lowers("mean")
def mean(c, x, dim=None, keepdim=False, **more):
    dims = listed(dim, x.rank)
    n = extents(x, dims)
    return reduced(c, x, dims, "sum", finish=lambda t: f"{t} / {n if '*' not in n else f'({n})'}", keepdim=keepdim)


@lowers("all")
def all_(c, x, dim=None, keepdim=False):
    return reduced(c, x, listed(dim, x.rank), "all", lambda t: t if x.kind() != "real" else f"{t} != 0", keepdim=keepdim)


@lowers("any")
def any_(c, x, dim=None, keepdim=False):
    return reduced(c, x, listed(dim, x.rank), "any", lambda t: t if x.kind() != "real" else f"{t} != 0", keepdim=keepdim)


def extreme(reducer):
    def lower(c, x, *args, dim=None, keepdim=False, other=None):
        from pointwise import combined
        if args and isinstance(args[0], Value):
            other = args[0]
        if other is not None:
            return combined(c, [x, other], lambda a, b: f"{reducer}({a}, {b})")
        dim = args[0] if args else dim
        keepdim = args[1] if len(args) > 1 else keepdim
        if dim is None:
            return reduced(c, x, list(range(x.rank)), reducer)
        dims = listed(dim, x.rank)
        return [reduced(c, x, dims, reducer, keepdim=keepdim), position(c, x, dims, "arg" + reducer, keepdim)]
    return lower


lowers("max")(extreme("max"))
lowers("min")(extreme("min"))


def position(c, x, dims, reducer, keepdim):
    g = c.graph
    for d in dims:
        if not x.dims[d]:
            return Value([(n,) for n in (x.shape[:d] + [1] * keepdim + x.shape[d + 1:])], torch.int64, constant=0)
    loops = g.whole(x)
    bound = [v for d in dims for v in loops[d]]
    out = [[] if d in dims else loops[d] for d in range(x.rank) if keepdim or d not in dims]
    return g.emit(out, g.over(reducer, bound, g.read(x, loops)), torch.int64, bound)


@lowers("argmax")
def argmax(c, x, dim=None, keepdim=False):
    return position(c, x, listed(dim, x.rank), "argmax", keepdim)


@lowers("argmin")
def argmin(c, x, dim=None, keepdim=False):
    return position(c, x, listed(dim, x.rank), "argmin", keepdim)


def moments(c, x, dims, correction, keepdim):
    centre = reduced(c, x, dims, "sum", finish=lambda t: f"{t} / {grouped(extents(x, dims))}", keepdim=True)
    g = c.graph
    loops = g.whole(x)
    bound = [v for d in dims for v in loops[d]]
    m = g.real(centre, [l if centre.dims[d] else [] for d, l in enumerate(loops)])
    e = f"({g.real(x, loops)} - {m})"
    count = grouped(extents(x, dims)) if correction == 0 else f"({extents(x, dims)} - {number_text(correction)})"
    out = [[] if d in dims else loops[d] for d in range(x.rank) if keepdim or d not in dims]
    return centre, out, bound, f"{g.over('sum', bound, f'{e} * {e}')} / {count}"


def grouped(text):
    return f"({text})" if "*" in text else text


def correction_of(args, more):
    """(dim, correction, keepdim) of var and std, whose arguments come in several forms."""
    args = list(args)
    dim = more.get("dim")
    unbiased = more.get("unbiased", True)
    keepdim = more.get("keepdim", False)
    if args and isinstance(args[0], bool):
        unbiased = args.pop(0)
    elif args:
        dim = args.pop(0)
        if args:
            unbiased = args.pop(0)
        if args:
            keepdim = args.pop(0)
    correction = more.get("correction", 1 if unbiased else 0)
    return dim, 1 if correction is None else correction, keepdim


@lowers("var")
def var(c, x, *args, **more):
    dim, correction, keepdim = correction_of(args, more)
    _, out, bound, text = moments(c, x, listed(dim, x.rank), correction, keepdim)
    return c.graph.emit(out, text, c.dtype, bound)


@lowers("std")
def std(c, x, *args, **more):
    dim, correction, keepdim = correction_of(args, more)
    _, out, bound, text = moments(c, x, listed(dim, x.rank), correction, keepdim)
    return c.graph.emit(out, f"sqrt({text})", c.dtype, bound)


@lowers("var_mean")
def var_mean(c, x, *args, **more):
    dim, correction, keepdim = correction_of(args, more)
    dims = listed(dim, x.rank)
    centre, out, bound, text = moments(c, x, dims, correction, keepdim)
    return [c.graph.emit(out, text, c.dtype, bound), centre if keepdim else mean(c, x, dims)]


@lowers("std_mean")
def std_mean(c, x, *args, **more):
    dim, correction, keepdim = correction_of(args, more)
    dims = listed(dim, x.rank)
    centre, out, bound, text = moments(c, x, dims, correction, keepdim)
    return [c.graph.emit(out, f"sqrt({text})", c.dtype, bound), centre if keepdim else mean(c, x, dims)]


@lowers("norm", "vector_norm", "linalg_vector_norm", "linalg_norm", "frobenius_norm")
def norm(c, x, p=2, dim=None, keepdim=False, ord=None, **more):
    p = 2 if p is None else p
    p = ord if ord is not None else p
    dims = listed(dim, x.rank)
    if p in ("fro", 2):
        return reduced(c, x, dims, "sum", lambda t: f"{t} * {t}", lambda t: f"sqrt({t})", keepdim)
    if p == 1:
        return reduced(c, x, dims, "sum", lambda t: f"abs({t})", keepdim=keepdim)
    if p == float("inf"):
        return reduced(c, x, dims, "max", lambda t: f"abs({t})", keepdim=keepdim)
    if p == float("-inf"):
        return reduced(c, x, dims, "min", lambda t: f"abs({t})", keepdim=keepdim)
    if isinstance(p, str):
        raise Refusal(f"the norm '{p}'")
    n = number_text(p)
    return reduced(c, x, dims, "sum", lambda t: f"pow(abs({t}), {n})", lambda t: f"pow({t}, 1.0 / {n})", keepdim)


@lowers("normalize")
def normalize(c, x, p=2.0, dim=1, eps=1e-12, out=None):
    from pointwise import combined
    length = norm(c, x, p, dim, True)
    return combined(c, [x, length], lambda a, b: f"{a} / max({b}, {number_text(eps)})")


@lowers("softmin")
def softmin(c, x, dim=None, *ignored, **more):
    from pointwise import combined
    return softmax(c, combined(c, [x], lambda t: f"-{t}", shape=x.shape), dim)


@lowers("softmax", "_softmax", "_safe_softmax")
def softmax(c, x, dim=None, *ignored, **more):
    from pointwise import combined
    dims = listed(dim if dim is not None else 0 if x.rank in (0, 1, 3) else 1, x.rank)
    m = reduced(c, x, dims, "max", keepdim=True)
    e = combined(c, [x, m], lambda a, b: f"exp({a} - {b})", shape=x.shape)
    s = reduced(c, e, dims, "sum", keepdim=True)
    return combined(c, [e, s], lambda a, b: f"{a} / {b}", shape=x.shape)


@lowers("log_softmax", "_log_softmax")
def log_softmax(c, x, dim=None, *ignored, **more):
    from pointwise import combined
    dims = listed(dim if dim is not None else 0 if x.rank in (0, 1, 3) else 1, x.rank)
    m, s = exponentials(c, x, dims)
    return combined(c, [x, m, s], lambda a, b, d: f"{a} - {b} - log({d})", shape=x.shape)


def exponentials(c, x, dims):
    """The largest element along dims, and the sum of exp(x - largest)."""
    g = c.graph
    m = reduced(c, x, dims, "max", keepdim=True, dtype=x.dtype)
    loops = g.whole(x)
    bound = [v for d in dims for v in loops[d]]
    body = f"exp({g.real(x, loops)} - {g.real(m, [l if m.dims[d] else [] for d, l in enumerate(loops)])})"
    s = g.emit([[] if d in dims else loops[d] for d in range(x.rank)], g.over("sum", bound, body), x.dtype, bound)
    return m, s


@lowers("logsumexp")
def logsumexp(c, x, dim, keepdim=False):
    from pointwise import combined
    from views import squeeze
    dims = listed(dim, x.rank)
    m, s = exponentials(c, x, dims)
    return squeeze(c, combined(c, [s, m], lambda a, b: f"log({a}) + {b}", shape=m.shape))


def scan(name):
    def lower(c, x, dim=None, **more):
        g = c.graph
        dim %= max(1, x.rank)
        if not x.dims or not x.dims[dim]:
            return x
        x = g.single(x, dim)
        if x.base is None:
            x = g.filled(x)
        loops = g.whole(x)
        read = g.real if c.dtype.is_floating_point else g.read
        out = g.emit(loops, f"{name}({g.index(loops[dim][0])}: {read(x, loops)})", c.dtype)
        return out
    return lower


lowers("cumsum", "cumsum_")(scan("cumsum"))
lowers("cumprod", "cumprod_")(scan("cumprod"))


def running(name):
    def lower(c, x, dim):
        if len(c.results) > 1:
            return [scan(name)(c, x, dim), None]
        return scan(name)(c, x, dim)
    return lower


lowers("cummax")(running("cummax"))
lowers("cummin")(running("cummin"))


@shaped("logcumsumexp")
def logcumsumexp_result(x, dim):
    return x.new_empty(x.shape)


@lowers("logcumsumexp", "_logcumsumexp")
def logcumsumexp(c, x, dim):
    from pointwise import combined
    dim %= max(1, x.rank)
    if not x.dims or not x.dims[dim]:
        return x
    top = reduced(c, x, [dim], "max", keepdim=True)
    shares = combined(c, [x, top], lambda a, b: f"exp({a} - {b})", shape=x.shape)
    return combined(c, [scan("cumsum")(c, shares, dim), top], lambda a, b: f"log({a}) + {b}", shape=x.shape)
