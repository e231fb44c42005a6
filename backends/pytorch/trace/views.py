"""Operators that only move elements: views become positions; cat, stack, pad, roll and gathers become statements."""
from math import prod

import torch
from registry import lowers
from values import Affine, Refusal, Value, Var, number_text


def sizes(args):
    args = list(args)
    if len(args) == 1 and isinstance(args[0], (tuple, list, torch.Size)):
        args = list(args[0])
    return [int(a) for a in args]


@lowers("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as", "reshape_as", "_reshape_alias", "ravel")
def reshape(c, x, *ignored, **more):
    return c.graph.reshape(x, c.shape)


@lowers("permute")
def permute(c, x, *dims, **more):
    order = [d % x.rank for d in sizes(dims or [more["dims"]])]
    return permuted(x, order)


def permuted(x, order):
    dims = [x.dims[d] for d in order]
    mapping, new = {}, 0
    for d in order:
        for number in x.numbers(d):
            mapping[number] = Affine({new: 1})
            new += 1
    return x.with_view(dims, mapping)


@lowers("transpose", "swapaxes", "swapdims")
def transpose(c, x, dim0, dim1):
    order = list(range(x.rank))
    order[dim0 % x.rank], order[dim1 % x.rank] = order[dim1 % x.rank], order[dim0 % x.rank]
    return permuted(x, order)


@lowers("t", "T", "mT", "numpy_T", "H", "adjoint")
def transposed(c, x):
    if x.rank < 2:
        return x
    return transpose(c, x, -1, -2) if x.rank > 1 else x


@lowers("movedim", "moveaxis")
def movedim(c, x, source, destination):
    source = [s % x.rank for s in sizes([source])]
    destination = [d % x.rank for d in sizes([destination])]
    order = [d for d in range(x.rank) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return permuted(x, order)


@lowers("unsqueeze", "unsqueeze_", "squeeze", "squeeze_")
def squeeze(c, x, *ignored, **more):
    # Dimensions of extent 1 have no atoms: only their places change.
    kept = iter([d for d in x.dims if d])
    dims = [() if n == 1 else next(kept) for n in c.shape]
    return x.with_view(dims, {n: Affine({n: 1}) for n in range(len(x.atoms))})


@lowers("expand", "expand_as", "broadcast_to")
def expand(c, x, *ignored, **more):
    shape = sizes(ignored) if ignored and not isinstance(ignored[0], Value) else c.shape
    lead = len(shape) - x.rank
    dims, mapping, old, new = [], {}, 0, 0
    for d, n in enumerate(shape):
        source = x.dims[d - lead] if d >= lead else ()
        if source:
            for _ in source:
                mapping[old] = Affine({new: 1})
                old, new = old + 1, new + 1
            dims.append(source)
        else:
            n = 1 if n == -1 else n
            dims.append((n,))
            new += n != 1
    return x.with_view(dims, mapping)


def at_position(x, dim, form, extent):
    """`x` with dimension `dim` (one atom) read at `form` of its new atom (number 0 in `form`); no extent: the dimension goes."""
    dims, mapping, new = [], {}, 0
    for d, atoms in enumerate(x.dims):
        if d != dim:
            for number in x.numbers(d):
                mapping[number] = Affine({new: 1})
                new += 1
            dims.append(atoms)
            continue
        for number in x.numbers(d):
            mapping[number] = form.substitute({0: Affine({new: 1})}) if extent and extent > 1 else Affine({}, form.constant, form.extents)
        if extent is not None:
            dims.append((extent,))
            new += extent > 1
    return x.with_view(dims, mapping)


def sliced(c, x, dim, start, length, step=1):
    if length == x.shape[dim] and step == 1:
        return x
    if len(x.dims[dim]) > 1:
        outer, inner = x.dims[dim][0], prod(x.dims[dim][1:])
        if start % inner == 0 and length % inner == 0 and step == 1:  # whole blocks of a joined dimension
            split = Value(x.dims[:dim] + [(outer,), x.dims[dim][1:]] + x.dims[dim + 1:], x.dtype, x.base, x.positions, x.constant)
            part = at_position(split, dim, Affine({0: 1}, start // inner), length // inner)
            return Value(part.dims[:dim] + [part.dims[dim] + part.dims[dim + 1]] + part.dims[dim + 2:], x.dtype, part.base, part.positions, part.constant)
    return at_position(c.graph.single(x, dim), dim, Affine({0: step}, start), length)


@lowers("slice")
def slice_(c, x, dim=0, start=None, end=None, step=1):
    n = x.shape[dim % x.rank]
    begin, stop, step = slice(start, end, step).indices(n)
    return sliced(c, x, dim % x.rank, begin, len(range(begin, stop, step)), step)


@lowers("narrow")
def narrow(c, x, dim, start, length):
    return sliced(c, x, dim % x.rank, int(start) % x.shape[dim % x.rank] if start else 0, length)


@lowers("select")
def select(c, x, dim, index):
    dim %= x.rank
    return at_position(c.graph.single(x, dim), dim, Affine({}, int(index) % x.shape[dim]), None)


@lowers("unbind", "__iter__")
def unbind(c, x, dim=0):
    dim %= x.rank
    return [select(c, x, dim, k) for k in range(x.shape[dim])]


@lowers("split", "split_with_sizes", "chunk", "unsafe_split", "unsafe_chunk", "tensor_split", "unsafe_split_with_sizes")
def split(c, x, *args, dim=None, **more):
    dim = (args[1] if len(args) > 1 else 0) if dim is None else dim
    dim %= x.rank
    out, begin = [], 0
    for r in c.results:
        out.append(sliced(c, x, dim, begin, r.shape[dim]))
        begin += r.shape[dim]
    return out


@lowers("flip", "fliplr", "flipud")
def flip(c, x, *dims, **more):
    for d in sizes(dims or [more["dims"]]):
        d %= x.rank
        x = c.graph.single(x, d)
        n = x.shape[d]
        x = at_position(x, d, Affine({0: -1}, -1, {n: 1}), n)
    return x


@lowers("diagonal", "diag")
def diagonal(c, x, offset=0, dim1=0, dim2=1):
    g = c.graph
    if x.rank == 1:  # diag of a vector: a matrix
        i, j = Var(c.shape[0]), Var(c.shape[1])
        if offset:
            raise Refusal("diag with an offset")
        return g.emit([[i], [j]], f"select({g.index(i)} == {g.index(j)}, {g.real(g.single(x, 0), [[i]])}, 0.0)", c.dtype)
    dim1, dim2 = dim1 % x.rank, dim2 % x.rank
    x = g.single(g.single(x, dim1), dim2)
    n = c.shape[-1]
    order = [d for d in range(x.rank) if d not in (dim1, dim2)]
    dims, mapping, new = [], {}, 0
    for d in order:
        for number in x.numbers(d):
            mapping[number] = Affine({new: 1})
            new += 1
        dims.append(x.dims[d])
    for d, start in ((dim1, max(0, -offset)), (dim2, max(0, offset))):
        for number in x.numbers(d):
            mapping[number] = Affine({new: 1} if n > 1 else {}, start)
    return x.with_view(dims + [(n,)], mapping)


@lowers("diag_embed")
def diag_embed(c, x, offset=0, dim1=-2, dim2=-1):
    if offset or (dim1, dim2) != (-2, -1):
        raise Refusal("diag_embed with an offset")
    g = c.graph
    x = g.single(x, x.rank - 1)
    loops = g.whole(x)
    j = Var(c.shape[-1])
    return g.emit(loops + [[j]], f"select({g.index(loops[-1][0])} == {g.index(j)}, {g.real(x, loops)}, 0.0)", c.dtype)


@lowers("cat", "concat", "concatenate")
def cat(c, tensors, dim=0):
    g = c.graph
    tensors = [t for t in tensors if prod(t.shape) > 0]
    dim %= len(c.shape)
    v = Var(c.shape[dim])
    loops = [[v] if d == dim else g.loops(*[t.dims[d] for t in tensors if t.dims[d]]) for d in range(len(c.shape))]
    texts, limits, begin = [], [], Affine()
    for t in tensors:
        n = t.shape[dim]
        part = g.padded(g.single(t, dim), 0, [dim]) if t.base is not None and t.dims[dim] else t
        index = Affine.of(v) + begin * -1 if part.dims[dim] else []
        texts.append(g.read(part, [index if d == dim else places_of(loops[d], part.dims[d]) for d in range(len(loops))]))
        begin = begin + Affine({}, 0, {n: 1})
        limits.append(begin)
    text = texts[-1]
    for t, limit in zip(reversed(texts[:-1]), reversed(limits[:-1])):
        text = f"select({g.index(v)} < {limit.text()}, {t}, {text})"
    return g.emit(loops, text, c.dtype)


def places_of(loops, atoms):
    return loops if atoms else []


@lowers("stack")
def stack(c, tensors, dim=0):
    g = c.graph
    dim %= len(c.shape)
    v = Var(c.shape[dim])
    rank = len(c.shape) - 1
    loops = [g.loops(*[t.dims[d] for t in tensors if t.dims[d]]) for d in range(rank)]
    texts = [g.read(t, [places_of(loops[d], t.dims[d]) for d in range(rank)]) for t in tensors]
    if len(tensors) == 1:
        return squeeze(c, tensors[0])
    text = texts[-1]
    for k in reversed(range(len(texts) - 1)):
        text = f"select({g.index(v)} == {k}, {texts[k]}, {text})"
    return g.emit(loops[:dim] + [[v]] + loops[dim:], text, c.dtype)


@lowers("pad", "constant_pad_nd")
def pad(c, x, pad, mode="constant", value=0):
    g = c.graph
    value = 0 if value is None else value
    before = {x.rank - 1 - k: (pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)}
    before = {d: p for d, p in before.items() if p != (0, 0)}
    if mode != "constant":
        return border_pad(c, x, before, mode)
    for d in before:
        x = g.single(x, d)
    x = g.padded(x, value, list(before))
    loops = [[Var(c.shape[d])] if d in before else [Var(a) for a in x.dims[d]] for d in range(x.rank)]
    return g.emit(loops, g.read(x, [Affine.of(loops[d][0]) + -before[d][0] if d in before else loops[d] for d in range(x.rank)]), c.dtype)


def border_pad(c, x, before, mode):
    g = c.graph
    for d, (low, high) in before.items():
        x = g.single(x, d)
        n = x.shape[d]
        v = Var(n + low + high)
        k = f"({g.index(v)} - {low})"
        if mode == "replicate":
            text = k
        elif mode == "reflect":
            text = f"({n} - 1 - abs({n} - 1 - abs({k})))"
        else:
            text = f"({k} + select({k} < 0, {n}, 0) - select({k} >= {n}, {n}, 0))"
        table = g.emit([[v]], f"i32(min({n} - 1, max(0, {text})))", torch.int32)
        loops = [[v] if e == d else [Var(a) for a in x.dims[e]] for e in range(x.rank)]
        x = g.emit(loops, g.gathered(g.copied(x) if not x.is_whole() else x, loops, d, g.read(table, [[v]])), x.dtype)
    return x


@lowers("roll")
def roll(c, x, shifts, dims=None):
    g = c.graph
    for shift, d in zip(sizes([shifts]), sizes([dims])):
        d %= x.rank
        n = x.shape[d]
        shift %= n
        if shift == 0:
            continue
        x = g.padded(g.single(x, d), 0, [d])
        v = Var(n)
        loops = [[v] if e == d else [Var(a) for a in x.dims[e]] for e in range(x.rank)]
        parts = [g.read(x, [Affine.of(v) + offset if e == d else l for e, l in enumerate(loops)]) for offset in (-shift, n - shift)]
        x = g.emit(loops, f"select({g.index(v)} < {shift}, {parts[1]}, {parts[0]})", x.dtype)
    return x


@lowers("repeat", "tile")
def repeat(c, x, *counts, **more):
    g = c.graph
    counts = sizes(counts or [more.get("repeats", more.get("dims"))])
    counts = [1] * (len(c.shape) - len(counts)) + counts
    x = squeeze_to(x, [1] * (len(counts) - x.rank) + x.shape)
    dims, mapping, old, new = [], {}, 0, 0
    for d, n in enumerate(counts):
        new += n > 1
        for _ in x.dims[d]:
            mapping[old] = Affine({new: 1})
            old, new = old + 1, new + 1
        dims.append(((n,) if n > 1 else ()) + x.dims[d])
    from values import merged
    return merged(x.with_view(dims, mapping))


def squeeze_to(x, shape):
    kept = iter([d for d in x.dims if d])
    return x.with_view([() if n == 1 else next(kept) for n in shape], {n: Affine({n: 1}) for n in range(len(x.atoms))})


@lowers("repeat_interleave")
def repeat_interleave(c, x, repeats, dim=None, output_size=None):
    from values import merged
    if not isinstance(repeats, int):
        raise Refusal("repeat_interleave by a tensor")
    if dim is None:
        x, dim = c.graph.reshape(x, [prod(x.shape)]), 0
    dim %= x.rank
    dims, mapping, old, new = [], {}, 0, 0
    for d, atoms in enumerate(x.dims):
        for _ in atoms:
            mapping[old] = Affine({new: 1})
            old, new = old + 1, new + 1
        new += d == dim and repeats > 1
        dims.append(atoms + ((repeats,) if d == dim else ()))
    return merged(x.with_view(dims, mapping))


def triangle(keep):
    def lower(c, x, diagonal=0):
        g = c.graph
        x = g.single(g.single(x, x.rank - 1), x.rank - 2)
        if x.base is None:
            loops = [[Var(n)] for n in x.shape]
        else:
            loops = g.whole(x)
        row, column = loops[-2], loops[-1]
        left, right = g.index(row[0]) if row else "0", g.index(column[0]) if column else "0"
        limit = left if diagonal == 0 else f"{left} + {number_text(diagonal)}"
        zero = "0.0" if x.kind() == "real" else "0" if x.kind() == "int" else "(1 == 0)"
        text = g.read(x, [places_of(l, d) for l, d in zip(loops, x.dims)])
        if x.base is None and x.kind() == "real":
            text = f"f32({text})"
        return g.emit(loops, f"select({right} {keep} {limit}, {text}, {zero})", x.dtype)
    return lower


lowers("tril", "tril_")(triangle("<="))
lowers("triu", "triu_")(triangle(">="))


@lowers("getitem", "__getitem__")
def getitem(c, x, key):
    g = c.graph
    keys = list(key) if isinstance(key, tuple) else [key]
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if any(k is Ellipsis for k in keys):
        at = next(n for n, k in enumerate(keys) if k is Ellipsis)
        keys[at:at + 1] = [slice(None)] * (x.rank - used)
    keys += [slice(None)] * (x.rank - sum(1 for k in keys if k is not None))
    gathers = [k for k in keys if isinstance(k, (Value, list))]
    if gathers and (len(gathers) > 1 or not isinstance(gathers[0], Value)):
        return gather_many(c, x, keys)
    dim = 0
    for k in keys:
        if k is None:
            x = squeeze_to(x, x.shape[:dim] + [1] + x.shape[dim:]) if x.base is not None else Value(x.dims[:dim] + [()] + x.dims[dim:], x.dtype, constant=x.constant)
            dim += 1
        elif isinstance(k, slice):
            begin, stop, step = k.indices(x.shape[dim])
            x = sliced(c, x, dim, begin, len(range(begin, stop, step)), step)
            dim += 1
        elif isinstance(k, Value):
            x = index_select(c, x, dim, k)
            dim += k.rank
        else:
            x = at_position(g.single(x, dim), dim, Affine({}, int(k) % x.shape[dim]), None)
    return x


@lowers("index")
def index(c, x, indices):
    """aten's indexing: a tensor or nothing per dimension."""
    return getitem(c, x, tuple(slice(None) if i is None else i for i in indices))


def gather_many(c, x, keys):
    """x[a, b] with integer tensors that broadcast against each other, side by side."""
    from pointwise import aligned
    g = c.graph
    where = [d for d, k in enumerate(keys) if isinstance(k, Value)]
    if any(k is None or isinstance(k, list) for k in keys) or where != list(range(where[0], where[-1] + 1)) or any(
            not isinstance(k, Value) and k != slice(None) for k in keys):
        raise Refusal("this kind of indexing")
    index = [keys[d] for d in where]
    if any(i.kind() == "bool" for i in index):
        raise Refusal("a boolean mask as an index: its result's size depends on values")
    shape = c.shape[where[0]:where[0] + len(c.shape) - (x.rank - len(where))]
    loops, at = aligned(c, index, shape)
    x = x if x.is_whole() else g.copied(x)
    rest = [[Var(a) for a in atoms] for atoms in x.dims]
    mark = g.read(x, [Affine() if d in where else rest[d] for d in range(x.rank)])
    for d, i, places in zip(where, index, at):
        position = [p for p in range(len(x.positions)) if set(x.positions[p].terms) & set(x.numbers(d))]
        g.reads[int(mark[1:-1])].positions[position[0]] = g.read(i, places)
    return g.emit(rest[:where[0]] + loops + rest[where[-1] + 1:], mark, c.dtype)


@lowers("index_select")
def index_select(c, x, dim, index):
    g = c.graph
    dim %= x.rank
    if index.kind() == "bool":
        raise Refusal("a boolean mask as an index: its result's size depends on values")
    x = g.single(x, dim)
    if not x.is_whole():
        x = g.copied(x)
    loops = g.whole(index)
    rest = [[Var(a) for a in atoms] for atoms in x.dims]
    at = rest[:dim] + [Affine()] + rest[dim + 1:]
    return g.emit(rest[:dim] + loops + rest[dim + 1:], g.gathered(x, at, dim, g.read(index, loops)), x.dtype)


@lowers("embedding")
def embedding(c, a, b, padding_idx=-1, *ignored, **more):
    # torch.embedding(weight, indices), F.embedding(indices, weight)
    index, weight = (a, b) if a.kind() == "int" else (b, a)
    return index_select(c, weight, 0, index)


@lowers("gather")
def gather(c, x, dim, index, sparse_grad=False):
    g = c.graph
    dim %= x.rank
    x = x if x.is_whole() else g.copied(x)
    loops = [[Var(n)] if n > 1 else [] for n in c.shape]
    for d in range(x.rank):
        if d != dim and c.shape[d] != x.shape[d]:
            raise Refusal("a gather of fewer rows than there are")
    index = index if all(len(d) < 2 for d in index.dims) else g.joined(index, range(index.rank))
    x = x if all(len(d) < 2 for d in x.dims) else g.joined(x, range(x.rank))
    return g.emit(loops, g.gathered(x, [places_of(l, x.dims[d]) for d, l in enumerate(loops)], dim, g.read(index, loops)), c.dtype)


@lowers("__setitem__")
def setitem(c, x, key, value):
    """x[slices] = value, as a new value of x."""
    g = c.graph
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(k, (Value, list)) or k is None for k in keys):
        raise Refusal("an assignment to chosen elements")
    used = sum(1 for k in keys if k is not Ellipsis)
    if any(k is Ellipsis for k in keys):
        at = next(n for n, k in enumerate(keys) if k is Ellipsis)
        keys[at:at + 1] = [slice(None)] * (x.rank - used)
    keys += [slice(None)] * (x.rank - len(keys))
    if x.base is None:
        x = g.filled(x)
    for d in range(x.rank):
        x = g.single(x, d)
    x = x if all(x.dims) else g.copied(x)
    loops = [list(l) for l in g.whole(x)]
    conditions, positions = [], []
    for d, k in enumerate(keys):
        v = loops[d][0] if loops[d] else None
        name = g.index(v) if v else "0"
        if isinstance(k, slice):
            begin, stop, step = k.indices(x.shape[d])
            if step != 1:
                raise Refusal("an assignment to a slice with a step")
            if begin > 0:
                conditions.append(f"{name} >= {begin}")
            if stop < x.shape[d]:
                conditions.append(f"{name} < {stop}")
            positions.append((Affine.of(v) if v else Affine()) + -begin)
        else:
            conditions.append(f"{name} == {int(k) % x.shape[d]}")
            positions.append(None)
    if isinstance(value, Value) and value.base is not None:
        kept = [p for p in positions if p is not None]
        extents = [len(range(*k.indices(x.shape[d]))) for d, k in enumerate(keys) if isinstance(k, slice)]
        lead = len(kept) - value.rank
        padded_dims = []
        for d in range(value.rank):
            value = g.single(value, d)
            if value.dims[d] and (kept[d + lead].sole() is None or extents[d + lead] != kept[d + lead].sole().extent):
                padded_dims.append(d)
        if padded_dims:
            value = g.padded(value, 0, padded_dims)
        text = g.read(value, [kept[d + lead] if value.dims[d] else [] for d in range(value.rank)])
    else:
        text = number_text(value.constant if isinstance(value, Value) else value)
    old = g.read(x, loops)
    return g.emit(loops, f"select({' and '.join(conditions)}, {text}, {old})" if conditions else text, x.dtype)


@lowers("meshgrid")
def meshgrid(c, *tensors, indexing=None):
    tensors = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    out = []
    for k, t in enumerate(tensors):
        at = k if indexing != "xy" else {0: 1, 1: 0}.get(k, k)
        t = squeeze_to(t, [t.shape[0] if d == at else 1 for d in range(len(tensors))])
        out.append(expand(c, t, list(c.shape)))
    return out


# -- tensors made inside


@lowers("zeros", "zeros_like", "new_zeros", "zero_")
def zeros(c, *ignored, **more):
    return constant(c, 0)


@lowers("ones", "ones_like", "new_ones")
def ones(c, *ignored, **more):
    return constant(c, 1)


@lowers("full", "full_like", "new_full")
def full(c, size, fill_value=None, *ignored, **more):
    return constant(c, fill_value)


@lowers("fill_")
def fill(c, x, value):
    return constant(c, value.constant if isinstance(value, Value) else value)


@lowers("scalar_tensor")
def scalar_tensor(c, value, **more):
    return constant(c, value)


def constant(c, value):
    if isinstance(value, Value):
        if value.base is not None:
            raise Refusal("a tensor filled with a computed value")
        value = value.constant
    value = float(value) if c.dtype.is_floating_point else bool(value) if c.dtype == torch.bool else int(value)
    return Value([(n,) for n in c.shape], c.dtype, constant=value)


@lowers("arange", "range")
def arange(c, *bounds, start=0, end=None, step=1, **more):
    if len(bounds) > 1:
        start = bounds[0]
    if len(bounds) > 2:
        step = bounds[2]
    g = c.graph
    v = Var(c.shape[0])
    i = g.index(v) if not c.dtype.is_floating_point else f"f32({g.index(v)})"
    text = i if step == 1 else f"{number_text(step)} * {i}"
    return g.emit([[v]], text if start == 0 else f"{number_text(start)} + {text}", c.dtype)


@lowers("linspace")
def linspace(c, start, end, steps=None, **more):
    g = c.graph
    v = Var(c.shape[0])
    return g.emit([[v]], f"{number_text(float(start))} + f32({g.index(v)}) * {number_text((end - start) / max(1, c.shape[0] - 1))}", c.dtype)


@lowers("eye")
def eye(c, n, m=None, **more):
    g = c.graph
    i, j = Var(c.shape[0]), Var(c.shape[1])
    return g.emit([[i], [j]], f"f32({g.index(i)} == {g.index(j)})", c.dtype)
