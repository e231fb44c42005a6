"""Lookups by value: rows of ones, bags of embeddings, places among sorted borders, and tensors written out as numbers."""
import torch
from registry import lowers, shaped
from values import Affine, Refusal, Value, Var, number_text

MAX_WRITTEN_NUMBERS = 256


@shaped("one_hot")
def one_hot_result(x, num_classes=-1):
    return x.new_empty(list(x.shape) + [max(1, num_classes)])


@lowers("one_hot")
def one_hot(c, x, num_classes=-1):
    if num_classes < 0:
        raise Refusal("without a number of classes the result's size depends on the elements; give num_classes")
    g = c.graph
    loops = g.whole(x)
    v = [Var(num_classes)] if num_classes > 1 else []
    return g.emit(loops + [v], f"i64({g.read(x, loops)} == {g.index(v[0]) if v else '0'})", c.dtype)


@lowers("embedding_bag")
def embedding_bag(c, index, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    from views import places_of
    if c.builtin or offsets is not None or index.rank != 2:
        raise Refusal("bags that offsets give: their sizes depend on the elements")
    if max_norm is not None:
        raise Refusal("max_norm, which changes the table")
    g = c.graph
    weight = g.single(weight, 0)
    weight = weight if weight.is_whole() else g.copied(weight)
    bags, members = loops = g.whole(index)
    row = [Var(a) for a in weight.dims[1]]
    place = g.read(index, loops)
    element = g.gathered(weight, [Affine(), row], 0, place) if weight.dims[0] else g.read(weight, [[], row])
    if per_sample_weights is not None:
        element = f"{element} * {g.real(per_sample_weights, [places_of(l, d) for l, d in zip(loops, per_sample_weights.dims)])}"
    count = str(index.shape[1])
    if padding_idx is not None:
        padding_idx %= weight.shape[0]
        absent = {"max": "(-1.0 / 0.0)"}.get(mode, "0.0")
        element = f"select({place} != {padding_idx}, {element}, {absent})"
        count = g.over("sum", members, f"i64({place} != {padding_idx})")
    total = g.over("max" if mode == "max" else "sum", members, element)
    if mode == "mean":
        total = f"{total} / {count if padding_idx is None else f'max(1, {count})'}"
    elif mode == "max" and padding_idx is not None:
        total = f"select({count} > 0, {total}, 0.0)"
    made = g.emit([bags, row], total, c.dtype, members)
    return made if len(c.results) == 1 else [made] + [None] * (len(c.results) - 1)


# -- sorted borders


@shaped("searchsorted")
def searchsorted_result(sequence, values, *ignored, out_int32=False, **more):
    return sequence.new_empty(values.shape if isinstance(values, torch.Tensor) else [], dtype=torch.int32 if out_int32 else torch.int64)


@shaped("bucketize")
def bucketize_result(values, boundaries, *ignored, **more):
    return searchsorted_result(boundaries, values, **more)


@lowers("searchsorted")
def searchsorted(c, sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        raise Refusal("a sequence that is sorted by an index")
    return counted(c, sequence, values, right or side == "right")


@lowers("bucketize")
def bucketize(c, values, boundaries, *, out_int32=False, right=False):
    return counted(c, boundaries, values, right)


def counted(c, sequence, values, right):
    """How many borders lie below a value, or not above it: its place in a sorted sequence."""
    g = c.graph
    keep_sorted(sequence)
    values = values if isinstance(values, Value) else Value([], sequence.dtype, constant=values)
    last = sequence.rank - 1
    loops = g.whole(values)
    for d in range(last):
        loops[d] = g.loops(*[v.dims[d] for v in (sequence, values) if v.dims[d]])
    borders = [Var(a) for a in sequence.dims[last]]
    text = f"{g.read(sequence, [*loops[:last], borders])} {'<=' if right else '<'} {g.read(values, loops)}"
    return g.emit(loops, g.over("sum", borders, text) if borders else f"i64({text})", c.dtype, borders)


def keep_sorted(sequence):
    """Inputs that are searched stay sorted, whatever they are filled with."""
    base = sequence.base
    if base is None or base.role != "input" or not sequence.dims[-1]:
        return
    along = set(sequence.numbers(sequence.rank - 1))
    places = [k for k, p in enumerate(sequence.positions) if along & set(p.terms)]
    if places != [len(base.shape) - 1] or any(sequence.positions[-1].terms[n] < 0 for n in along):
        raise Refusal("the sequence must be sorted along its last dimension as it is given")
    base.sorted = True


# -- numbers


def written(c, numbers):
    """A tensor of the given numbers (all of them, row-major)."""
    if len(set(numbers)) == 1:
        return Value([(n,) for n in c.shape], c.dtype, constant=numbers[0])
    if not 0 < len(numbers) <= MAX_WRITTEN_NUMBERS:
        raise Refusal(f"a tensor of {len(numbers)} numbers in forward; more than {MAX_WRITTEN_NUMBERS} belong into a buffer")
    g = c.graph
    v = Var(len(numbers))
    return g.reshape(g.emit([[v]], halved(g.index(v), numbers, 0), c.dtype), c.shape)


def halved(index, numbers, first):
    if len(numbers) == 1:
        return number_text(numbers[0])
    half = len(numbers) // 2
    return f"select({index} < {first + half}, {halved(index, numbers[:half], first)}, {halved(index, numbers[half:], first + half)})"
