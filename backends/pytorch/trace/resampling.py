"""Reading between elements: interpolation, sampling at a grid, and pooling windows whose sizes differ."""
from math import floor

import torch
from reductions import grouped
from registry import lowers
from values import Affine, Refusal, Var, number_text

CUBIC = -0.75  # PyTorch's coefficient of the cubic convolution
CUBIC_TAPS = 4


def gatherable(g, x, dims):
    """x whole, with `dims` as plain dimensions."""
    if x.base is None:
        return g.filled(x)
    for d in dims:
        x = g.single(x, d)
    return x if x.is_whole() else g.copied(x)


def read_at(g, x, indices, computed):
    """Text of one element, with dimensions in `computed` at texts or constant places."""
    mark = g.read(x, [Affine() if d in computed and x.dims[d] else i for d, i in enumerate(indices)])
    read = g.reads[int(mark[1:-1])]
    for d, place in computed.items():
        position, = [k for k, p in enumerate(x.positions) if set(p.terms) & set(x.numbers(d))]
        read.positions[position] = place
    return mark


def tabled(g, key, name, dims, text, dtype):
    """A table that is made once for each key."""
    if key not in g.tables:
        op, g.op = g.op, name
        g.tables[key] = g.emit(dims, text, dtype)
        g.op = op
    return g.tables[key]


# -- interpolation


@lowers("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def nearest(c, x, *ignored, **more):
    for d in range(2, x.rank):
        if c.shape[d] % x.shape[d]:
            raise Refusal("upsampling by a factor that is no integer")
        x = c.graph.single(x, d)
    dims, mapping, old, new = [], {}, 0, 0
    for d, atoms in enumerate(x.dims):
        for _ in atoms:
            mapping[old] = Affine({new: 1})
            old, new = old + 1, new + 1
        factor = c.shape[d] // x.shape[d]
        new += factor > 1
        dims.append(atoms + (factor,))
    return x.with_view(dims, mapping)


@lowers("interpolate", "upsample")
def interpolate(c, x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    n = x.rank - 2
    if antialias:
        raise Refusal("interpolation with antialias")
    if mode == "nearest":
        return nearest(c, x)
    if mode == "area":
        from windows import adaptive
        return adaptive(c, x, n, c.shape[-n:], x.shape[-n:], "sum", True, 0)
    if mode not in ("linear", "bilinear", "trilinear", "bicubic"):
        raise Refusal(f"interpolation of mode '{mode}'")
    scales = [None] * n
    if scale_factor is not None and not recompute_scale_factor:
        scales = [float(s) for s in scale_factor] if isinstance(scale_factor, (tuple, list)) else [float(scale_factor)] * n
    lower = cubic if mode == "bicubic" else linear
    return lower(c, x, scales, bool(align_corners))


def source_place(size, out, scale, corners, k):
    """Where output place k (a text) lies in the input."""
    if corners:
        return f"{k} * ({size} - 1) / max(1, {out} - 1)"
    if scale is None or out == size * scale:
        return f"((2 * {k} + 1) * {size} - {out}) / (2 * {out})"
    return f"({k} + 0.5) * {number_text(1 / scale)} - 0.5"


def stays(size, out, scale, corners):
    return size == 1 or size == out and (corners or scale in (None, 1.0))


def linear(c, x, scales, corners):
    g = c.graph
    x = gatherable(g, x, range(2, x.rank))
    loops = [[Var(a) for a in d] for d in x.dims[:2]]
    taps = []  # per dimension: (place, weight) of its one or two neighbours
    for d, (out, scale) in enumerate(zip(c.shape[2:], scales), 2):
        size = x.shape[d]
        v = Var(out) if out > 1 else None
        loops.append([v] if v else [])
        if stays(size, out, scale, corners):
            taps.append([(None, None)])
            continue
        if v is None:
            at = 0.0 if corners else max(0.0, 0.5 * (size if scale is None or size * scale == 1 else 1 / scale) - 0.5)
            low = min(size - 1, floor(at))
            part = at - low
            taps.append([(Affine({}, low), number_text(1 - part)), (Affine({}, min(size - 1, low + 1)), number_text(part))])
            continue
        u = Var(out)
        source = f"max(0, {source_place(size, out, scale, corners, g.index(u))})"
        key = ("linear", size, out, scale, corners)
        place = tabled(g, key + (0,), "place", [[u]], f"i32(min({size} - 1, floor({source})))", torch.int32)
        part = tabled(g, key + (1,), "part", [[u]], f"{source} - {g.read(place, [[u]])}", c.dtype)
        low, weight = g.read(place, [[v]]), g.read(part, [[v]])
        taps.append([(low, f"(1 - {weight})"), (f"min({size} - 1, {low} + 1)", weight)])
    indices = [l if d < 2 or x.dims[d] else [] for d, l in enumerate(loops)]

    def blended(d, computed):
        if d == x.rank:
            return read_at(g, x, indices, computed)
        parts = []
        for place, weight in taps[d - 2]:
            text = blended(d + 1, computed if place is None else {**computed, d: place})
            parts.append(text if weight is None else f"{weight} * {text}")
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
    return g.emit(loops, blended(2, {}), c.dtype)


def cubic(c, x, scales, corners):
    g = c.graph
    x = gatherable(g, x, range(2, x.rank))
    loops = [[Var(a) for a in d] for d in x.dims[:2]]
    indices, computed, bound, weights = list(loops), {}, [], []
    for d, (out, scale) in enumerate(zip(c.shape[2:], scales), 2):
        size = x.shape[d]
        v = Var(out) if out > 1 else None
        loops.append([v] if v else [])
        indices.append(loops[-1] if x.dims[d] else [])
        if stays(size, out, scale, corners):
            continue
        u, t = ([Var(out)] if v else []), Var(CUBIC_TAPS)
        source = source_place(size, out, scale, corners, g.index(u[0]) if u else "0")
        key = ("cubic", size, out, scale, corners)
        place = tabled(g, key + (0,), "place", [u, [t]], f"i32(min({size} - 1, max(0, floor({source}) - 1 + {g.index(t)})))", torch.int32)
        far = tabled(g, key + (1,), "distance", [u, [t]], f"abs({source} - floor({source}) + 1 - {g.index(t)})", c.dtype)
        e, a = g.read(far, [u, [t]]), number_text(CUBIC)
        near = f"(({number_text(CUBIC + 2)} * {e} - {number_text(CUBIC + 3)}) * {e} * {e} + 1)"
        beyond = f"((({a} * {e} - {number_text(5 * CUBIC)}) * {e} + {number_text(8 * CUBIC)}) * {e} - {number_text(4 * CUBIC)})"
        part = tabled(g, key + (2,), "part", [u, [t]], f"select({e} <= 1, {near}, {beyond})", c.dtype)
        tap = Var(CUBIC_TAPS)
        bound.append(tap)
        at = [loops[-1], [tap]]
        computed[d] = g.read(place, at)
        weights.append(g.read(part, at))
    body = " * ".join([*weights, read_at(g, x, indices, computed)])
    return g.emit(loops, g.over("sum", bound, body), c.dtype, bound)


# -- sampling at a grid


@lowers("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sample(c, x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    from windows import with_units
    mode = {0: "bilinear", 1: "nearest", 2: "bicubic"}.get(mode, mode)
    padding_mode = {0: "zeros", 1: "border", 2: "reflection"}.get(padding_mode, padding_mode)
    if mode != "bilinear" or padding_mode == "reflection":
        raise Refusal(f"sampling at a grid with mode '{mode}' and padding '{padding_mode}'")
    g = c.graph
    spatial = list(range(2, x.rank))
    grid = g.single(g.filled(grid) if grid.base is None else grid, grid.rank - 1)
    x = gatherable(g, x, spatial)
    if any(not x.dims[d] for d in spatial):
        x = with_units(g, x, spatial)
    if padding_mode == "zeros":
        x = g.padded(x, 0, spatial)
    op, taps = g.op, {}
    batch = g.loops(*[d for d in (x.dims[0], grid.dims[0]) if d])
    where = [batch] + [[Var(a) for a in d] for d in grid.dims[1:-1]]
    for d in spatial:
        size = x.shape[d]
        fresh = [[Var(v.extent) for v in l] for l in where]
        e = g.read(grid, [l if grid.dims[k] else [] for k, l in enumerate(fresh)] + [Affine({}, x.rank - 1 - d)])
        at = f"({e} + 1) * ({size} - 1) / 2" if align_corners else f"(({e} + 1) * {size} - 1) / 2"
        if padding_mode == "border":
            at = f"min({size} - 1, max(0, {at}))"
        g.op = "place"
        place = g.emit(fresh, f"i32(floor({at}))", torch.int32)
        g.op = "part"
        part = g.emit(fresh, f"{at} - {g.read(place, fresh)}", c.dtype)
        low, weight = g.read(place, where), g.read(part, where)
        high = f"{low} + 1" if padding_mode == "zeros" else f"min({size} - 1, {low} + 1)"
        taps[d] = [(low, f"(1 - {weight})"), (high, weight)]
    g.op = op
    channels = [Var(a) for a in x.dims[1]]
    indices = [batch if x.dims[0] else [], channels] + [[] for _ in spatial]

    def blended(d, computed):
        if d == x.rank:
            return read_at(g, x, indices, computed)
        return "(" + " + ".join(f"{weight} * {blended(d + 1, {**computed, d: place})}" for place, weight in taps[d]) + ")"
    return g.emit([batch, channels] + where[1:], blended(2, {}), c.dtype)


@lowers("affine_grid", "affine_grid_generator")
def affine_grid(c, theta, size, align_corners=None):
    g = c.graph
    n = len(c.shape) - 2
    theta = g.single(g.single(g.filled(theta) if theta.base is None else theta, 1), 2)
    batch = [Var(a) for a in theta.dims[0]]
    places = [[Var(e)] if e > 1 else [] for e in c.shape[1:-1]]
    row = Var(n)
    entry = lambda k: g.real(theta, [batch, [row], Affine({}, k)])
    parts = []
    for k, (v, extent) in enumerate(zip(reversed(places), reversed(c.shape[1:-1]))):
        if v:
            i = g.index(v[0])
            parts.append(f"{entry(k)} * (2 * {i} + 1 - {extent}) / " + (f"max(1, {extent} - 1)" if align_corners else f"{extent}"))
    return g.emit([batch, *places, [row]], " + ".join([*parts, entry(n)]), c.dtype)


# -- windows whose sizes differ


def uneven(c, x, n, reducer):
    """Adaptive pooling: place i of the output has the input's places from floor(i * size / out) to before ceil((i + 1) * size / out).

    The number of taps holds for these sizes alone, so they are written as reals: no axis takes their place."""
    g = c.graph
    x = gatherable(g, x, range(x.rank - n, x.rank))
    lead = x.rank - n
    loops = [[Var(a) for a in d] for d in x.dims[:lead]]
    indices, computed, bound, inside, counts = list(loops), {}, [], [], []
    for d in range(lead, x.rank):
        size, out = x.shape[d], c.shape[d]
        v = Var(out) if out > 1 else None
        loops.append([v] if v else [])
        indices.append([])
        if size == 1:
            continue
        if size % out == 0:
            k = size // out
            tap = Var(k) if k > 1 else None
            bound += [tap] if tap else []
            indices[d] = Affine({w: f for w, f in ((v, k), (tap, 1)) if w is not None})
            counts.append(str(k))
            continue
        u = Var(out)
        i = g.index(u)
        first = tabled(g, ("first", size, out), "first", [[u]], f"i32(min({size} - 1, max(0, floor({i} * {size}.0 / {out}.0))))", torch.int32)
        last = tabled(g, ("last", size, out), "last", [[u]], f"i32(min({size} - 1, max(0, ceil(({i} + 1) * {size}.0 / {out}.0) - 1)))", torch.int32)
        tap = Var(max(-(-(k + 1) * size // out) - k * size // out for k in range(out)))
        bound.append(tap)
        begin, end = g.read(first, [[v]]), g.read(last, [[v]])
        computed[d] = f"min({end}, {begin} + {g.index(tap)})"
        inside.append(f"{begin} + {g.index(tap)} <= {end}")
        counts.append(f"({end} - {begin} + 1)")
    element = read_at(g, x, indices, computed)
    if reducer == "max":  # the last element of a window again: it stays the largest
        return g.emit(loops, g.over("max", bound, element), c.dtype, bound)
    total = g.over("sum", bound, f"select({' and '.join(inside)}, {element}, 0.0)")
    return g.emit(loops, f"{total} / {counts[0] if len(counts) == 1 else grouped(' * '.join(counts))}", c.dtype, bound)
