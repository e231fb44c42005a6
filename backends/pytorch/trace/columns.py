"""Windows as columns of a matrix, and columns back to an image."""
from math import prod

import torch
from registry import lowers
from resampling import read_at, tabled
from values import Affine, Var
from views import permuted, squeeze_to
from windows import batched, taps, tuple_of, window_form, windowed, with_units


@lowers("unfold", "im2col")
def unfold(c, x, *args, **more):
    if c.name == "unfold" and (c.is_method or c.builtin):
        return sliding(c, x, *args, **more)
    return columns(c, x, *args, **more)


def sliding(c, x, dimension, size, step):
    """Tensor.unfold: windows along one dimension."""
    dim = dimension % x.rank
    x = c.graph.single(x, dim)
    dims, mapping, old, new = [], {}, 0, 0
    last = sum(len(d) for d in x.dims)
    count = (x.shape[dim] - size) // step + 1
    tail = last + (count > 1) - len(x.dims[dim])
    for d, atoms in enumerate(x.dims):
        for _ in atoms:
            if d == dim:
                mapping[old] = Affine({k: v for k, v in (((new if count > 1 else None), step), ((tail if size > 1 else None), 1)) if k is not None})
                new += count > 1
            else:
                mapping[old] = Affine({new: 1})
                new += 1
            old += 1
        dims.append((count,) if d == dim else atoms)
    return x.with_view(dims + [(size,)], mapping)


def placements(size, kernel, stride, padding, dilation):
    """How many windows fit along a dimension."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def columns(c, x, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of an image as columns: a view, (channels, taps) by places."""
    g = c.graph
    n = 2
    kernel, dilation, padding, stride = (tuple_of(v, n) for v in (kernel_size, dilation, padding, stride))
    x, back = batched(c, x, n)
    out = [placements(*each) for each in zip(x.shape[2:], kernel, stride, padding, dilation)]
    if x.base is None:
        x = g.filled(x)
    x = windowed(g, x, [2, 3], out, kernel, stride, padding, dilation, 0)
    lead = len(x.dims[0]) + len(x.dims[1])
    mapping = {k: Affine({k: 1}) for k in range(lead)}
    taps_at, places_at, new = [], [], lead
    for sizes, numbers in ((kernel, taps_at), (out, places_at)):
        for size in sizes:
            numbers.append(new if size > 1 else None)
            new += size > 1
    for d in range(n):
        for number in x.numbers(d + 2):
            mapping[number] = window_form(places_at[d], taps_at[d], stride[d], dilation[d], padding[d])
    return back(x.with_view([x.dims[0], x.dims[1] + tuple(kernel), tuple(out)], mapping))


@lowers("fold", "col2im")
def fold(c, x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns back to an image: every place sums what the windows over it hold."""
    g = c.graph
    n = 2
    size, kernel, dilation, padding, stride = (tuple_of(v, n) for v in (output_size, kernel_size, dilation, padding, stride))
    x = x if x.rank == 3 else squeeze_to(x, [1] + x.shape)
    out = [placements(*each) for each in zip(size, kernel, stride, padding, dilation)]
    channels = x.shape[1] // prod(kernel)
    x = g.reshape(g.filled(x) if x.base is None else x, [x.shape[0], channels] + kernel + out)
    if all(k == s and o * k == e and d == 1 for k, s, o, e, d in zip(kernel, stride, out, size, dilation)):
        return g.reshape(permuted(x, [0, 1, 4, 2, 5, 3]), c.shape)
    spatial = [4, 5]
    for d in range(x.rank):
        x = g.single(x, d)
    if any(not x.dims[d] for d in spatial):
        x = with_units(g, x, spatial)
    x = g.padded(x, 0, spatial)
    places = [Var(e) if e > 1 else None for e in size]
    window = taps(kernel)
    lead = [[Var(a) for a in d] for d in x.dims[:2]]
    indices = lead + [[w] if w is not None else [] for w in window]
    computed = {}
    for d in range(n):
        if stride[d] == 1:
            indices.append(Affine({v: f for v, f in ((places[d], 1), (window[d], -dilation[d])) if v is not None}, padding[d]))
            continue
        indices.append([])
        computed[d + 4] = window_over(g, size[d], kernel[d], stride[d], padding[d], dilation[d], places[d], window[d])
    bound = [w for w in window if w is not None]
    text = g.over("sum", bound, read_at(g, x, indices, computed))
    made = g.emit(lead + [[p] if p is not None else [] for p in places], text, c.dtype, bound)
    return made if len(c.shape) == 4 else squeeze_to(made, c.shape)


def window_over(g, size, kernel, stride, padding, dilation, place, tap):
    """Text of the window that has a place of the image under a tap, -1 where there is none."""
    at, over = Var(size) if size > 1 else None, Var(kernel) if kernel > 1 else None
    form = f"({g.index(at) if at else '0'} + {padding} - {dilation} * {g.index(over) if over else '0'})"
    fits = f"{form} == {stride} * floor({form} / {stride})"
    dims = [[v] if v is not None else [] for v in (at, over)]
    table = tabled(g, ("window", size, kernel, stride, padding, dilation), "window", dims, f"i32(select({fits}, floor({form} / {stride}), -1))", torch.int32)
    return g.read(table, [[v] if v is not None else [] for v in (place, tap)])
