"""Matrix products, linear layers, einsum, distances of all pairs, attention."""
import math

from registry import lowers, shaped
from values import Refusal, Value, Var, number_text
from views import permuted, squeeze_to, transpose


def product(c, a, b, a_batch, b_batch, rows, columns, sums, bias=None, scale=1, bias_scale=1):
    """out[batch.., rows.., columns..] = sum over sums of a * b. Each argument lists dimensions: batch as pairs (either may be None)."""
    g = c.graph
    at_a, at_b, out = [None] * a.rank, [None] * b.rank, []
    for da, db in zip(a_batch, b_batch):
        loops = g.loops(*[v.dims[d] for v, d in ((a, da), (b, db)) if d is not None and v.dims[d]])
        if da is not None:
            at_a[da] = loops
        if db is not None:
            at_b[db] = loops
        out.append(loops)
    for d in rows:
        at_a[d] = [Var(n) for n in a.dims[d]]
        out.append(at_a[d])
    for d in columns:
        at_b[d] = [Var(n) for n in b.dims[d]]
        out.append(at_b[d])
    bound = []
    for da, db in sums:
        loops = g.loops(a.dims[da], b.dims[db])
        at_a[da] = at_b[db] = loops
        bound += loops
    text = g.over("sum", bound, f"{g.real(a, at_a)} * {g.real(b, at_b)}")
    text = text if bound or (scale == 1 and bias is None) else f"({text})"
    if scale != 1:
        text = f"{number_text(scale)} * {text}"
    if bias is not None and bias_scale != 0:
        lead = len(out) - bias.rank
        for d, atoms in enumerate(bias.dims):  # the bias may be split elsewhere than the product's own dimensions
            if atoms and refined_otherwise(out[d + lead], atoms):
                bias = g.single(bias, d)
        b_text = g.real(bias, [out[d + lead] if bias.dims[d] else [] for d in range(bias.rank)])
        text += f" + {b_text}" if bias_scale == 1 else f" + {number_text(bias_scale)} * {b_text}"
    kind = c.dtype
    if not kind.is_floating_point:
        text = text.replace("f32(", "(")
    return g.emit(out, text, kind, bound)


def refined_otherwise(loops, atoms):
    from values import cuts
    return not cuts(atoms) <= cuts([v.extent for v in loops])


@lowers("linear")
def linear(c, x, weight, bias=None):
    n = x.rank
    return product(c, x, weight, [], [], range(n - 1), [0] if weight.rank == 2 else [], [(n - 1, weight.rank - 1)], bias)


@lowers("matmul", "__matmul__", "mm", "bmm", "mv", "dot", "__rmatmul__", "inner", "vdot")
def matmul(c, a, b):
    if a.rank == 1 and b.rank == 1:
        return product(c, a, b, [], [], [], [], [(0, 0)])
    if b.rank == 1:
        return product(c, a, b, [], [], range(a.rank - 1), [], [(a.rank - 1, 0)])
    if a.rank == 1:
        batch = range(b.rank - 2)
        return product(c, a, b, [None] * len(batch), list(batch), [], [b.rank - 1], [(0, b.rank - 2)])
    count = max(a.rank, b.rank) - 2
    pick = lambda v: [d - count + v.rank - 2 if d - count + v.rank - 2 >= 0 else None for d in range(count)]
    return product(c, a, b, pick(a), pick(b), [a.rank - 2], [b.rank - 1], [(a.rank - 1, b.rank - 2)])


@lowers("addmm", "baddbmm", "addmv", "addbmm", "addmm_")
def addmm(c, bias, a, b, *ignored, beta=1, alpha=1):
    if b.rank == 1:
        return product(c, a, b, [], [], [0], [], [(1, 0)], bias, alpha, beta)
    batch = [0] if a.rank == 3 else []
    return product(c, a, b, batch, batch, [a.rank - 2], [b.rank - 1], [(a.rank - 1, b.rank - 2)], bias, alpha, beta)


@lowers("outer", "ger")
def outer(c, a, b):
    return product(c, a, b, [], [], [0], [0], [])


@lowers("bilinear")
def bilinear(c, x, y, weight, bias=None):
    g = c.graph
    o = [Var(n) for n in weight.dims[0]]
    rows = [g.loops(*[v.dims[d] for v in (x, y) if v.dims[d]]) for d in range(x.rank - 1)]
    left, right = g.loops(x.dims[-1], weight.dims[1]), g.loops(y.dims[-1], weight.dims[2])
    body = f"{g.real(x, rows + [left])} * {g.real(weight, [o, left, right])} * {g.real(y, rows + [right])}"
    text = g.over("sum", left + right, body) + (f" + {g.real(bias, [o])}" if bias is not None else "")
    return g.emit(rows + [o], text, c.dtype, left + right)


@lowers("einsum")
def einsum(c, equation, *operands):
    g = c.graph
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    equation = equation.replace(" ", "")
    if "." in equation:
        raise Refusal("einsum with an ellipsis")
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if "->" not in equation:
        right = "".join(sorted(x for x in set(left.replace(",", "")) if left.count(x) == 1))
    if len(operands) > 2:  # pairwise, as PyTorch does it: the others' letters stay
        rest = set("".join(terms[2:]) + right)
        middle = "".join(x for x in dict.fromkeys(terms[0] + terms[1]) if x in rest)
        first = einsum(c, f"{terms[0]},{terms[1]}->{middle}", operands[0], operands[1])
        return einsum(c, ",".join([middle] + terms[2:]) + "->" + right, first, *operands[2:])
    loops = {}
    for letter in dict.fromkeys("".join(terms)):
        atoms = [v.dims[d] for term, v in zip(terms, operands) for d, x in enumerate(term) if x == letter and v.dims[d]]
        loops[letter] = g.loops(*atoms)
    body = " * ".join(g.real(v, [loops[x] if v.dims[d] else [] for d, x in enumerate(term)]) for term, v in zip(terms, operands))
    bound = [v for letter, vs in loops.items() if letter not in right for v in vs]
    return g.emit([loops[x] for x in right], g.over("sum", bound, body), c.dtype, bound)


@lowers("tensordot")
def tensordot(c, a, b, dims=2, out=None):
    if isinstance(dims, int):
        dims = (list(range(a.rank - dims, a.rank)), list(range(dims)))
    left, right = [d % a.rank for d in dims[0]], [d % b.rank for d in dims[1]]
    return product(c, a, b, [], [], [d for d in range(a.rank) if d not in left], [d for d in range(b.rank) if d not in right], list(zip(left, right)))


@shaped("cdist")
def cdist_result(a, b, *ignored, **more):
    import torch
    return a.new_empty([*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2]])


@lowers("cdist", "_cdist_forward", "_euclidean_dist")
def cdist(c, a, b, p=2.0, compute_mode=None):
    g = c.graph
    at_a, at_b = [[Var(n) for n in d] for d in a.dims], [[Var(n) for n in d] for d in b.dims]
    batch = []
    for k in range(3, len(c.shape) + 1):
        loops = g.loops(*[v.dims[-k] for v in (a, b) if k <= v.rank and v.dims[-k]])
        for v, at in ((a, at_a), (b, at_b)):
            if k <= v.rank:
                at[-k] = loops if v.dims[-k] else []
        batch.insert(0, loops)
    at_a[-1] = at_b[-1] = bound = g.loops(*[v.dims[-1] for v in (a, b)])
    difference = f"{g.real(a, at_a)} - {g.real(b, at_b)}"
    n = number_text(float(p))
    forms = {0: ("sum", f"f32({difference} != 0)", "{}"), 1: ("sum", f"abs({difference})", "{}"), 2: ("sum", f"({difference}) * ({difference})", "sqrt({})"),
             math.inf: ("max", f"abs({difference})", "{}")}
    reducer, body, finish = forms.get(p, ("sum", f"pow(abs({difference}), {n})", f"pow({{}}, 1.0 / {n})"))
    return g.emit([*batch, at_a[-2], at_b[-2]], finish.format(g.over(reducer, bound, body)), c.dtype, bound)


@lowers("scaled_dot_product_attention", "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu")
def attention(c, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    from pointwise import combined, where
    from reductions import softmax
    if dropout_p:
        raise Refusal("live randomness: attention with dropout", kind="randomness")
    if enable_gqa and k.shape[-3] != q.shape[-3]:
        raise Refusal("attention with grouped queries")
    from registry import Call
    import torch

    class Shape:
        def __init__(self, shape, dtype):
            self.shape, self.dtype = shape, dtype

    batch = c.shape[:-2]
    scores_call = Call(c.graph, [Shape(batch + [q.shape[-2], k.shape[-2]], c.dtype)])
    count = len(batch)
    pick = lambda x: [d - count + x.rank - 2 if d - count + x.rank - 2 >= 0 else None for d in range(count)]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = product(scores_call, q, k, pick(q), pick(k), [q.rank - 2], [k.rank - 2], [(q.rank - 1, k.rank - 1)], scale=scale)
    if is_causal:
        g = c.graph
        loops = g.whole(g.single(g.single(scores, scores.rank - 1), scores.rank - 2))
        text = f"select({g.index(loops[-1][0])} <= {g.index(loops[-2][0])}, {g.read(scores, loops)}, {number_text(float('-inf'))})"
        scores = g.emit(loops, text, c.dtype)
    if attn_mask is not None:
        if attn_mask.kind() == "bool":
            scores = where(scores_call, attn_mask, scores, float("-inf"))
        else:
            scores = combined(scores_call, [scores, attn_mask], lambda x, y: f"{x} + {y}")
    weights = softmax(scores_call, scores, -1)
    return product(c, weights, v, pick(weights), pick(v), [weights.rank - 2], [v.rank - 1], [(weights.rank - 1, v.rank - 2)])
