"""Normalisation layers, and weights that are normalised."""
from registry import lowers, shaped
from reductions import extents, grouped, listed
from values import Refusal, Value, Var, number_text


def normalised(c, x, dims, eps, weight=None, bias=None, parameter_dim=None):
    """(x - mean) * rsqrt(var + eps) over dims, then the affine part along one dimension (a function of the loops)."""
    g = c.graph
    loops = g.whole(x)
    bound = [v for d in dims for v in loops[d]]
    kept = [[] if d in dims else loops[d] for d in range(x.rank)]
    n = grouped(extents(x, dims))
    op = g.op
    g.op = "mean"
    m = g.emit(kept, f"{g.over('sum', bound, g.real(x, loops))} / {n}", c.dtype, bound)
    g.op = "var"
    second = g.whole(x)
    inner = [v for d in dims for v in second[d]]
    e = f"({g.real(x, second)} - {g.real(m, [[] if d in dims else l for d, l in enumerate(second)])})"
    v = g.emit([[] if d in dims else second[d] for d in range(x.rank)], f"{g.over('sum', inner, f'{e} * {e}')} / {n}", c.dtype, inner)
    g.op = op
    third = g.whole(x)
    at = [[] if d in dims else l for d, l in enumerate(third)]
    text = f"({g.real(x, third)} - {g.real(m, at)}) * rsqrt({g.real(v, at)} + {number_text(eps)})"
    if weight is not None:
        text += f" * {g.real(weight, parameter_dim(third, weight))}"
    if bias is not None:
        text += f" + {g.real(bias, parameter_dim(third, bias))}"
    return g.emit(third, text, c.dtype), m, v


@lowers("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional", "cudnn_batch_norm")
def batch_norm(c, x, *args, **more):
    g = c.graph
    tensors = list(args)
    if c.name == "batch_norm" and not c.builtin:  # F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
        names = ["running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"]
        bound = {"weight": None, "bias": None, "training": False, "momentum": 0.1, "eps": 1e-5, **dict(zip(names, tensors)), **more}
    else:  # aten: (x, weight, bias, running_mean, running_var, training, momentum, eps)
        names = ["weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"]
        bound = {**dict(zip(names, tensors)), **more}
    channel = lambda loops, v: [loops[1]]
    if bound["training"] or bound["running_mean"] is None:
        dims = [d for d in range(x.rank) if d != 1]
        out = normalised(c, x, dims, bound["eps"], bound["weight"], bound["bias"], channel)[0]
    else:
        loops = g.whole(x)
        text = f"({g.real(x, loops)} - {g.real(bound['running_mean'], [loops[1]])}) * rsqrt({g.real(bound['running_var'], [loops[1]])} + {number_text(bound['eps'])})"
        if bound["weight"] is not None:
            text += f" * {g.real(bound['weight'], [loops[1]])}"
        if bound["bias"] is not None:
            text += f" + {g.real(bound['bias'], [loops[1]])}"
        out = g.emit(loops, text, c.dtype)
    return out if len(c.results) == 1 else [out] + [None] * (len(c.results) - 1)


@lowers("instance_norm")
def instance_norm(c, x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5, *ignored):
    if not use_input_stats:
        raise Refusal("instance normalisation by running statistics")
    return normalised(c, x, list(range(2, x.rank)), eps, weight, bias, lambda loops, v: [loops[1]])[0]


@lowers("layer_norm", "native_layer_norm")
def layer_norm(c, x, shape, weight=None, bias=None, eps=1e-5, *ignored):
    dims = list(range(x.rank - len(shape), x.rank))
    out = normalised(c, x, dims, eps, weight, bias, lambda loops, v: loops[x.rank - len(shape):])[0]
    return out if len(c.results) == 1 else [out] + [None] * (len(c.results) - 1)


@lowers("group_norm", "native_group_norm")
def group_norm(c, x, *args, **more):
    g = c.graph
    if c.name == "group_norm":
        names = ["num_groups", "weight", "bias", "eps"]
        bound = {"weight": None, "bias": None, "eps": 1e-5, **dict(zip(names, args)), **more}
        groups, weight, bias, eps = (bound[n] for n in names)
    else:
        weight, bias, groups, eps = args[0], args[1], args[5], args[6]
    channels = x.shape[1]
    split = g.reshape(x, [x.shape[0], groups, channels // groups] + x.shape[2:])
    joined = lambda loops, v: [loops[1] + loops[2]]
    out = normalised(c, split, list(range(2, split.rank)), eps, weight, bias, joined)[0]
    out = g.reshape(out, x.shape)
    return out if len(c.results) == 1 else [out] + [None] * (len(c.results) - 1)


@lowers("rms_norm")
def rms_norm(c, x, shape, weight=None, eps=None):
    g = c.graph
    eps = 2.220446049250313e-16 if eps is None and "64" in str(x.dtype) else 1.1920928955078125e-07 if eps is None else eps
    dims = list(range(x.rank - len(shape), x.rank))
    from reductions import reduced
    n = grouped(extents(x, dims))
    s = reduced(c, x, dims, "sum", lambda t: f"{t} * {t}", lambda t: f"{t} / {n}", keepdim=True)
    loops = g.whole(x)
    text = f"{g.real(x, loops)} * rsqrt({g.real(s, [l if s.dims[d] else [] for d, l in enumerate(loops)])} + {number_text(eps)})"
    if weight is not None:
        text += f" * {g.real(weight, loops[x.rank - len(shape):])}"
    return g.emit(loops, text, c.dtype)


@lowers("local_response_norm")
def local_response_norm(c, x, size, alpha=1e-4, beta=0.75, k=1.0):
    from values import Affine
    g = c.graph
    x = g.padded(g.single(x, 1), 0, [1])
    loops = g.whole(x)
    w = Var(size)
    around = g.real(x, [loops[0], Affine.of(loops[1][0]) + Affine.of(w) + -(size // 2)] + loops[2:])
    text = f"{g.real(x, loops)} / pow({number_text(k)} + {number_text(alpha)} * {g.over('sum', [w], f'{around} * {around}')} / {size}, {number_text(beta)})"
    return g.emit(loops, text, c.dtype, [w])


@shaped("_weight_norm")
def weight_norm_result(v, scale, dim=0):
    return v.new_empty(v.shape)


@lowers("_weight_norm", "_weight_norm_interface")
def weight_norm(c, v, scale, dim=0):
    """A direction with its length (over all dimensions but one, or over all) replaced by `scale`."""
    from pointwise import combined
    from reductions import reduced
    dims = [d for d in range(v.rank) if dim == -1 or d != dim]
    length = reduced(c, v, dims, "sum", lambda t: f"{t} * {t}", lambda t: f"sqrt({t})", keepdim=True)
    made = combined(c, [v, scale, length], lambda a, b, n: f"{a} * ({b} / {n})", shape=v.shape)
    return made if len(c.results) == 1 else [made, length]
