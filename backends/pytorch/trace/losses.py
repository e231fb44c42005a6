"""Losses: element by element, then the mean or the sum."""
import torch
from pointwise import combined
from reductions import extents, grouped, log_softmax, exponentials, reduced
from registry import Call, lowers
from values import Refusal, Value, Var, number_text


class Shape:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def unweighted(weight):
    if weight is not None:
        raise Refusal("weights of elements")


def settled(c, x, reduction):
    """Element losses to what `reduction` asks for."""
    reduction = {0: "none", 1: "mean", 2: "sum"}.get(reduction, reduction)
    if reduction == "none":
        return x
    dims = list(range(x.rank))
    n = grouped(extents(x, dims))
    if reduction == "batchmean":
        n = str(x.shape[0])
    return reduced(c, x, dims, "sum", finish=(lambda t: t) if reduction == "sum" else (lambda t: f"{t} / {n}"))


def elements(c, operands, text, reduction):
    shape = list(torch.broadcast_shapes(*[tuple(o.shape) for o in operands if isinstance(o, Value)]))
    return settled(c, combined(c, operands, text, operands[0].dtype if operands[0].dtype.is_floating_point else c.dtype, shape), reduction)


@lowers("mse_loss")
def mse_loss(c, a, b, size_average=None, reduce=None, reduction="mean", weight=None):
    unweighted(weight)
    reduction = size_average if isinstance(size_average, int) else reduction
    return elements(c, [a, b], lambda x, y: f"({x} - {y}) * ({x} - {y})", reduction)


@lowers("l1_loss")
def l1_loss(c, a, b, size_average=None, reduce=None, reduction="mean", weight=None):
    unweighted(weight)
    return elements(c, [a, b], lambda x, y: f"abs({x} - {y})", reduction)


@lowers("smooth_l1_loss")
def smooth_l1_loss(c, a, b, size_average=None, reduce=None, reduction="mean", beta=1.0):
    if isinstance(size_average, int):
        reduction = size_average
        beta = reduce if reduce is not None else beta
    n = number_text(float(beta))
    if beta == 0:
        return l1_loss(c, a, b, reduction=reduction)
    return elements(c, [a, b], lambda x, y: f"select(abs({x} - {y}) < {n}, 0.5 * ({x} - {y}) * ({x} - {y}) / {n}, abs({x} - {y}) - 0.5 * {n})", reduction)


@lowers("huber_loss")
def huber_loss(c, a, b, reduction="mean", delta=1.0, weight=None):
    unweighted(weight)
    n = number_text(float(delta))
    return elements(c, [a, b], lambda x, y: f"select(abs({x} - {y}) <= {n}, 0.5 * ({x} - {y}) * ({x} - {y}), {n} * (abs({x} - {y}) - 0.5 * {n}))", reduction)


@lowers("kl_div")
def kl_div(c, a, b, size_average=None, reduce=None, reduction="mean", log_target=False):
    if isinstance(size_average, int):
        reduction = size_average
    if log_target:
        return elements(c, [a, b], lambda x, y: f"exp({y}) * ({y} - {x})", reduction)
    return elements(c, [a, b], lambda x, y: f"select({y} > 0, {y} * log({y}), {y} * 0.0) - {y} * {x}", reduction)


@lowers("binary_cross_entropy")
def binary_cross_entropy(c, a, b, weight=None, size_average=None, reduce=None, reduction="mean"):
    if weight is not None:
        raise Refusal("weights in binary_cross_entropy")
    return elements(c, [a, b], lambda x, y: f"-({y} * max(log({x}), -100.0) + (1 - {y}) * max(log1p(-{x}), -100.0))", reduction)


@lowers("binary_cross_entropy_with_logits")
def bce_with_logits(c, a, b, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    if weight is not None or pos_weight is not None:
        raise Refusal("weights in binary_cross_entropy_with_logits")
    return elements(c, [a, b], lambda x, y: f"(1 - {y}) * {x} + max(-{x}, 0) + log(exp(-max(-{x}, 0)) + exp(-{x} - max(-{x}, 0)))", reduction)


@lowers("hinge_embedding_loss")
def hinge_embedding_loss(c, a, b, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    n = number_text(float(margin))
    return elements(c, [a, b], lambda x, y: f"select({y} != -1, {x}, 0.0) + select({y} != 1, max(0, {n} - {x}), 0.0)", reduction)


@lowers("soft_margin_loss")
def soft_margin_loss(c, a, b, size_average=None, reduce=None, reduction="mean"):
    return elements(c, [a, b], lambda x, y: f"log1p(exp(-{y} * {x}))", reduction)


@lowers("margin_ranking_loss")
def margin_ranking_loss(c, a, b, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    n = number_text(float(margin))
    return elements(c, [a, b, target], lambda x, y, t: f"max(0, -{t} * ({x} - {y}) + {n})", reduction)


@lowers("poisson_nll_loss")
def poisson_nll_loss(c, a, b, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    if full:
        raise Refusal("poisson_nll_loss with Stirling's term")
    if log_input:
        return elements(c, [a, b], lambda x, y: f"exp({x}) - {y} * {x}", reduction)
    return elements(c, [a, b], lambda x, y: f"{x} - {y} * log({x} + {number_text(eps)})", reduction)


@lowers("nll_loss", "nll_loss_nd", "nll_loss_forward", "nll_loss2d_forward")
def nll_loss(c, x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    if weight is not None:
        raise Refusal("class weights")
    if "forward" in c.name:
        reduction, ignore_index = size_average, ignore_index
    out = settled(c, chosen(c, x, target, lambda e, loops: f"-{e}"), reduction)
    return out if len(c.results) == 1 else [out, None]


def chosen(c, x, target, text):
    """text(x[n, target[n, ..], ..]) for every place of the target."""
    g = c.graph
    dim = 1 if x.rank > 1 else 0
    x = g.single(x, dim)
    if not x.is_whole():
        x = g.copied(x)
    loops = [g.loops(*[d for d in (t, a) if d]) for t, a in zip(target.dims, x.dims[:dim] + x.dims[dim + 1:])]
    at = loops[:dim] + [[]] + loops[dim:]
    at[dim] = None
    position = [k for k, p in enumerate(x.positions) if set(p.terms) & set(x.numbers(dim))]
    from values import Affine
    mark = g.read(x, [Affine() if k == dim else l for k, l in enumerate(at)])
    g.reads[int(mark[1:-1])].positions[position[0]] = g.read(target, loops)
    return g.emit(loops, text(mark, loops), x.dtype)


@lowers("cross_entropy", "cross_entropy_loss")
def cross_entropy(c, x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    g = c.graph
    if weight is not None:
        raise Refusal("class weights in cross_entropy")
    dim = 1 if x.rank > 1 else 0
    if target.kind() == "real":
        logs = log_softmax(Call(g, [Shape(x.shape, x.dtype)]), x, dim)
        if label_smoothing:
            n = x.shape[dim]
            text = lambda a, b: f"-{a} * ({number_text(1 - label_smoothing)} * {b} + {number_text(label_smoothing)} / {n})"
        else:
            text = lambda a, b: f"-{a} * {b}"
        every = combined(c, [logs, target], text, x.dtype, x.shape)
        return settled(c, reduced(c, every, [dim], "sum", dtype=x.dtype), reduction)
    m, s = exponentials(c, x, [dim])
    squeezed = lambda loops: [[] if k == dim else l for k, l in zip(range(x.rank), loops[:dim] + [[]] + loops[dim:])]
    def text(e, loops):
        return f"log({g.real(s, squeezed(loops))}) + {g.real(m, squeezed(loops))} - {e}"
    if label_smoothing:
        logs = log_softmax(Call(g, [Shape(x.shape, x.dtype)]), x, dim)
        all_of = reduced(c, logs, [dim], "sum", dtype=x.dtype)
        eps = number_text(label_smoothing)
        each = chosen(c, x, target, lambda e, loops: f"{number_text(1 - label_smoothing)} * ({text(e, loops)}) - {eps} * {g.real(all_of, loops)} / {x.shape[dim]}")
    else:
        each = chosen(c, x, target, text)
    return settled(c, each, reduction)


@lowers("cosine_similarity")
def cosine_similarity(c, a, b, dim=1, eps=1e-8):
    from reductions import norm
    shape = list(torch.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    dim %= len(shape)
    products = combined(c, [a, b], lambda x, y: f"{x} * {y}", a.dtype, shape)
    dot = reduced(c, products, [dim], "sum", keepdim=True)
    n = number_text(eps)
    left, right = norm(c, a, 2, dim - len(shape), True), norm(c, b, 2, dim - len(shape), True)
    whole = combined(c, [dot, left, right], lambda d, x, y: f"{d} / (max({x}, {n}) * max({y}, {n}))", shape=shape[:dim] + [1] + shape[dim + 1:])
    from views import squeeze
    return squeeze(c, whole)


@lowers("pairwise_distance")
def pairwise_distance(c, a, b, p=2.0, eps=1e-6, keepdim=False):
    return distance(c, a, b, p, eps, keepdim)


def distance(c, a, b, p, eps, keepdim=False):
    from reductions import norm
    shape = list(torch.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    d = combined(c, [a, b], lambda x, y: f"{x} - {y} + {number_text(float(eps))}", a.dtype, shape)
    return norm(c, d, p, -1, keepdim)


@lowers("triplet_margin_loss")
def triplet_margin_loss(c, anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    near, far = distance(c, anchor, positive, p, eps), distance(c, anchor, negative, p, eps)
    if swap:
        other = distance(c, positive, negative, p, eps)
        far = combined(c, [far, other], lambda x, y: f"min({x}, {y})", anchor.dtype, far.shape)
    return elements(c, [near, far], lambda x, y: f"max({x} - {y} + {number_text(float(margin))}, 0)", {0: "none", 1: "mean", 2: "sum"}.get(reduction, reduction))


@lowers("cosine_embedding_loss")
def cosine_embedding_loss(c, a, b, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    dim = a.rank - 1
    from reductions import reduced as r
    from values import Value as V
    eps = number_text(1e-12)
    ab = r(c, combined(c, [a, b], lambda x, y: f"{x} * {y}", a.dtype, a.shape), [dim], "sum", dtype=a.dtype)
    aa = r(c, a, [dim], "sum", lambda t: f"{t} * {t}", lambda t: f"{t} + {eps}", dtype=a.dtype)
    bb = r(c, b, [dim], "sum", lambda t: f"{t} * {t}", lambda t: f"{t} + {eps}", dtype=a.dtype)
    cos = combined(c, [ab, aa, bb], lambda x, y, z: f"{x} / sqrt({y} * {z})", a.dtype, ab.shape)
    n = number_text(float(margin))
    return elements(c, [cos, target], lambda x, t: f"select({t} == 1, 1 - {x}, select({t} == -1, max(0, {x} - {n}), 0.0))",
                    {0: "none", 1: "mean", 2: "sum"}.get(reduction, reduction))
