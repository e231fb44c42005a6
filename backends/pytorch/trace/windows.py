"""Convolutions, transposed convolutions and pooling."""
from math import ceil

import torch
from registry import lowers
from values import Affine, Refusal, Var, number_text


def tuple_of(value, count):
    if isinstance(value, (tuple, list, torch.Size)):
        return [int(v) for v in value] * (count if len(value) == 1 else 1)
    return [int(value)] * count


def window_form(out, tap, stride, dilation, padding):
    return Affine({v: c for v, c in ((out, stride), (tap, dilation)) if v is not None}, -padding)


def reaches_outside(size, out, kernel, stride, padding, dilation):
    return padding > 0 or (out - 1) * stride + (kernel - 1) * dilation - padding > size - 1


def batched(c, x, spatial):
    """Without a batch dimension the value gets one; gives also how to take it away."""
    from views import squeeze_to
    if x.rank == spatial + 2:
        return x, lambda y: y
    return squeeze_to(x, [1] + x.shape), lambda y: squeeze_to(y, y.shape[1:])


def taps(sizes):
    """A Var per tap, none where there is one tap."""
    return [Var(n) if n > 1 else None for n in sizes]


def windowed(g, x, dims, out, kernel, stride, padding, dilation, pad):
    """x ready for loads of windows, with a pad where they reach outside."""
    for d in dims:
        x = g.single(x, d)
    outside = [d for k, d in enumerate(dims) if reaches_outside(x.shape[d], out[k], kernel[k], stride[k], padding[k], dilation[k])]
    if not outside:
        return x
    if any(not x.dims[d] for d in outside):  # an extent of 1 has no index to be outside with
        x = with_units(g, x, outside)
    return g.padded(x, pad, outside)


def with_units(g, x, dims):
    """A copy of x whose base has dimensions `dims` even where their extent is 1."""
    loops = g.whole(x)
    free = [l if l or d not in dims else [Var(1)] for d, l in enumerate(loops)]
    made = g.emit(free, g.read(x, loops), x.dtype)
    made.dims = [tuple(v.extent for v in l) for l in free]
    return made


@lowers("conv1d", "conv2d", "conv3d")
def conv(c, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.rank - 2
    kernel = weight.shape[2:]
    stride, dilation = tuple_of(stride, n), tuple_of(dilation, n)
    x, back = batched(c, x, n)
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel)]
        padding = [t // 2 for t in total]
    padding = tuple_of(padding, n)
    out = c.shape[-n:]
    return back(convolved(c, x, weight, bias, out, kernel, stride, padding, dilation, groups))


def convolved(c, x, weight, bias, out, kernel, stride, padding, dilation, groups):
    g = c.graph
    n = len(out)
    x = windowed(g, channels_for(g, x, groups, weight.shape[1]), list(range(2, n + 2)), out, kernel, stride, padding, dilation, 0)
    for d in range(2, n + 2):
        weight = g.single(weight, d)
    batch = [Var(a) for a in x.dims[0]]
    places = [Var(e) if e > 1 else None for e in out]
    window = taps(kernel)
    forms = [window_form(o, w, s, d, p) for o, w, s, d, p in zip(places, window, stride, dilation, padding)]
    outputs = weight.shape[0] // groups
    group = [Var(groups)] if groups > 1 else []
    within = [Var(outputs)] if outputs > 1 else []
    if groups == 1:
        within = [Var(a) for a in weight.dims[0]]
    count = weight.shape[1]
    channel = [Var(count)] if count > 1 else []
    weight = g.single(weight, 1) if channel else weight
    if groups > 1:
        weight = g.single(weight, 0)
    at_x = [batch, group + channel] + forms
    at_w = [group + within, channel] + [[w] if w is not None else [] for w in window]
    body = f"{g.real(x, at_x)} * {g.real(weight, at_w)}"
    bound = channel + [w for w in window if w is not None]
    text = g.over("sum", bound, body)
    if bias is not None:
        text += f" + {g.real(bias, [group + within])}"
    return g.emit([batch, group + within] + [[p] if p is not None else [] for p in places], text, c.dtype, bound)


def channels_for(g, x, groups, count):
    """x whose channels may be counted as (groups, count)."""
    from values import cuts
    wanted = [a for a in (groups, count) if a > 1]
    if cuts(x.dims[1]) <= cuts(wanted):
        return x
    return g.joined(x, [1])


@lowers("convolution", "_convolution", "mkldnn_convolution", "cudnn_convolution")
def convolution(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *ignored):
    if transposed:
        return conv_transpose(c, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(c, x, weight, bias, stride, padding, dilation, groups)


@lowers("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(c, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Every place of the output belongs to one phase of the stride; within a phase it is a convolution with every stride-th tap."""
    g = c.graph
    n = weight.rank - 2
    kernel = weight.shape[2:]
    stride, padding, dilation = tuple_of(stride, n), tuple_of(padding, n), tuple_of(dilation, n)
    x, back = batched(c, x, n)
    x, weight = channels_for(g, x, groups, x.shape[1] // groups), channels_for_weight(g, weight, groups, x.shape[1] // groups)
    out = c.shape[-n:]
    for d in range(2, n + 2):
        x, weight = g.single(x, d), g.single(weight, d)
    x = g.padded(with_units(g, x, list(range(2, n + 2))) if any(not x.dims[d] for d in range(2, n + 2)) else x, 0, list(range(2, n + 2)))
    # Output place q = s*a + b reads input place i with tap r where s*i = q + padding - dilation*r: per phase b the taps r = r0 + step*t.
    phases = [phases_of(k, s, p, d) for k, s, p, d in zip(kernel, stride, padding, dilation)]
    counts = [ceil(e / s) for e, s in zip(out, stride)]
    parts = {}
    for key in product_of([range(s) for s in stride]):
        parts[key] = phase(c, x, weight, bias, [phases[d][b] for d, b in enumerate(key)], counts, groups)
    if len(parts) == 1:
        return back(next(iter(parts.values())))
    return back(woven(c, parts, stride, counts, out))


def product_of(ranges):
    keys = [()]
    for r in ranges:
        keys = [k + (v,) for k in keys for v in r]
    return keys


def phases_of(kernel, stride, padding, dilation):
    """For each phase b: (first tap, step between taps, number of taps, input place of the first tap for a = 0, step of the place)."""
    out = []
    for b in range(stride):
        fitting = [r for r in range(kernel) if (b + padding - dilation * r) % stride == 0]
        if not fitting:
            out.append(None)
            continue
        step = fitting[1] - fitting[0] if len(fitting) > 1 else 1
        out.append((fitting[0], step, len(fitting), (b + padding - dilation * fitting[0]) // stride, step * dilation // stride if len(fitting) > 1 else 0))
    return out


def phase(c, x, weight, bias, chosen, counts, groups):
    g = c.graph
    outputs = weight.shape[1]
    batch = [Var(a) for a in x.dims[0]]
    group = [Var(groups)] if groups > 1 else []
    within = [Var(outputs)] if outputs > 1 else []
    count = x.shape[1] // groups
    channel = [Var(count)] if count > 1 else []
    if groups == 1:
        within = [Var(a) for a in weight.dims[1]]
    places = [Var(e) if e > 1 else None for e in counts]
    free = [batch, group + within] + [[p] if p is not None else [] for p in places]
    if any(p is None for p in chosen):
        text = g.real(bias, [group + within]) if bias is not None else "f32(0)"
        return g.emit(free, text, c.dtype)
    window = [Var(p[2]) if p[2] > 1 else None for p in chosen]
    at_x, at_w = [batch, group + channel], [group + channel, within]
    for place, tap, (first, step, _, start, back) in zip(places, window, chosen):
        terms = {v: k for v, k in ((place, 1), (tap, -back)) if v is not None}
        at_x.append(Affine(terms, start))
        at_w.append(Affine({tap: step} if tap is not None else {}, first))
    for d, form in enumerate(at_w[2:], 2):
        if not weight.dims[d]:
            at_w[d] = []
    bound = channel + [w for w in window if w is not None]
    text = g.over("sum", bound, f"{g.real(x, at_x)} * {g.real(weight, at_w)}")
    if bias is not None:
        text += f" + {g.real(bias, [group + within])}"
    return g.emit(free, text, c.dtype, bound)


def channels_for_weight(g, weight, groups, count):
    from values import cuts
    wanted = [a for a in (groups, count) if a > 1]
    return weight if cuts(weight.dims[0]) <= cuts(wanted) else g.joined(weight, [0])


def woven(c, parts, stride, counts, out):
    """The phases as one tensor: dimension d is (counts[d], stride[d]), cut to out[d] where that is no product."""
    g = c.graph
    some = next(iter(parts.values()))
    loops = [[Var(a) for a in some.dims[0]], [Var(a) for a in some.dims[1]]]
    choice, at = [], []
    for d, (s, n, size) in enumerate(zip(stride, counts, out)):
        if s == 1:
            v = [Var(n)] if n > 1 else []
            loops.append(v)
            choice.append(None)
            at.append(v)
        elif n * s == size:
            a, b = ([Var(n)] if n > 1 else []), Var(s)
            loops.append(a + [b])
            choice.append(g.index(b))
            at.append(a)
        else:
            v = Var(size)
            loops.append([v])
            choice.append(g.table(size, 1, s, v) if size > 1 else "0")
            at.append(g.table(size, s, n, v) if size > 1 else "0")
    def element(part):
        if not any(isinstance(a, str) for a in at):
            return g.read(part, loops[:2] + at)
        mark = g.read(part, loops[:2] + [Affine() if isinstance(a, str) else a for a in at])
        read = g.reads[int(mark[1:-1])]
        for d, a in enumerate(at):
            if isinstance(a, str) and part.dims[d + 2]:
                read.positions[[k for k, p in enumerate(part.positions) if set(p.terms) & set(part.numbers(d + 2))][0]] = a
        return mark
    def chosen(prefix):
        d = len(prefix)
        if d == len(stride):
            return element(parts[prefix])
        texts = [chosen(prefix + (b,)) for b in range(stride[d])]
        text = texts[-1]
        for b in reversed(range(len(texts) - 1)):
            text = f"select({choice[d]} == {b}, {texts[b]}, {text})"
        return text
    op, g.op = g.op, g.op + "_woven"
    made = g.emit(loops, chosen(()), c.dtype)
    g.op = op
    return made


# -- pooling


def pooled(c, x, n, kernel, stride, padding, dilation, pad, text):
    """text(loops' reader, window Vars, forms) per output place."""
    g = c.graph
    x, back = batched(c, x, n) if x.rank != n + 2 else (x, lambda y: y)
    out = c.shape[-n:]
    x = windowed(g, x, list(range(2, n + 2)), out, kernel, stride, padding, dilation, pad)
    head = [[Var(a) for a in x.dims[0]], [Var(a) for a in x.dims[1]]]
    places = [Var(e) if e > 1 else None for e in out]
    window = taps(kernel)
    forms = [window_form(o, w, s, d, p) for o, w, s, d, p in zip(places, window, stride, dilation, padding)]
    bound = [w for w in window if w is not None]
    body = text(g.read(x, head + [f if x.dims[k + 2] else [] for k, f in enumerate(forms)]), bound, forms, x)
    return back(g.emit(head + [[p] if p is not None else [] for p in places], body, c.dtype, bound))


@lowers("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d_with_indices")
def max_pool(c, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        raise Refusal("max pooling that gives indices")
    n = int(next(ch for ch in c.name if ch.isdigit()))
    kernel = tuple_of(kernel_size, n)
    stride = kernel if stride is None or stride == [] or stride == () else tuple_of(stride, n)
    out = pooled(c, x, n, kernel, stride, tuple_of(padding, n), tuple_of(dilation, n), float("-inf"), lambda e, w, f, v: c.graph.over("max", w, e))
    return out if len(c.results) == 1 else [out, None]


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(c, x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    g = c.graph
    n = int(next(ch for ch in c.name if ch.isdigit()))
    kernel, padding = tuple_of(kernel_size, n), tuple_of(padding, n)
    stride = kernel if stride is None or stride == [] or stride == () else tuple_of(stride, n)
    sizes, out = x.shape[-n:], c.shape[-n:]
    over = [(o - 1) * s + k - p > e + p for o, s, k, p, e in zip(out, stride, kernel, padding, sizes)]
    def text(e, window, forms, v):
        total = g.over("sum", window, e)
        if divisor_override:
            return f"{total} / {divisor_override}"
        if count_include_pad and not any(over):
            factors = [str(k) for k in kernel]
            return f"{total} / ({' * '.join(factors)})"
        # What counts: the window's part inside of the tensor, or inside of it and its padding.
        parts = []
        for form, k, p, s, size in zip(forms, kernel, padding, stride, sizes):
            first = next((u for u in form.terms if u not in window), None)
            start = f"({s}*{g.index(first)} - {p})" if first is not None else f"(-{p})"
            low, high = (f"{start}", f"{size} + {p}") if count_include_pad else (f"max({start}, 0)", f"{size}")
            parts.append(f"(min({start} + {k}, {high}) - {low})")
        return f"{total} / ({' * '.join(parts)})"
    return pooled(c, x, n, kernel, stride, padding, [1] * n, 0, text)


@lowers("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_avg_pool(c, x, output_size):
    n = int(next(ch for ch in c.name if ch.isdigit()))
    out, sizes = c.shape[-n:], x.shape[-n:]
    return adaptive(c, x, n, out, sizes, "sum", True, 0)


@lowers("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool2d_with_indices")
def adaptive_max_pool(c, x, output_size, return_indices=False):
    n = int(next(ch for ch in c.name if ch.isdigit()))
    out = adaptive(c, x, n, c.shape[-n:], x.shape[-n:], "max", False, float("-inf"))
    return out if len(c.results) == 1 else [out, None]


def adaptive(c, x, n, out, sizes, reducer, mean, pad):
    g = c.graph
    if all(o == 1 for o in out):
        from reductions import extents, grouped, reduced
        dims = list(range(x.rank - n, x.rank))
        count = grouped(extents(x, dims))
        return reduced(c, x, dims, reducer, finish=(lambda t: f"{t} / {count}") if mean else (lambda t: t), keepdim=True)
    if any(s % o for s, o in zip(sizes, out)):
        from resampling import uneven
        return uneven(c, x, n, reducer)
    kernel = [s // o for s, o in zip(sizes, out)]
    factors = " * ".join(str(k) for k in kernel)
    return pooled(c, x, n, kernel, kernel, [0] * n, [1] * n, pad, lambda e, w, f, v: g.over(reducer, w, e) + (f" / ({factors})" if mean else ""))


@lowers("lp_pool1d", "lp_pool2d")
def lp_pool(c, x, norm_type, kernel_size, stride=None, ceil_mode=False):
    n = int(next(ch for ch in c.name if ch.isdigit()))
    kernel = tuple_of(kernel_size, n)
    p = number_text(float(norm_type))
    return pooled(c, x, n, kernel, kernel if stride is None else tuple_of(stride, n), [0] * n, [1] * n, 0,
                  lambda e, w, f, v: f"pow({c.graph.over('sum', w, f'pow(max({e}, 0), {p})')}, 1.0 / {p})")


@lowers("pixel_shuffle")
def pixel_shuffle(c, x, factor):
    from views import permuted
    g = c.graph
    b, ch, h, w = x.shape
    x = g.reshape(x, [b, ch // factor**2, factor, factor, h, w])
    return g.reshape(permuted(x, [0, 1, 4, 2, 5, 3]), c.shape)


@lowers("pixel_unshuffle")
def pixel_unshuffle(c, x, factor):
    from views import permuted
    g = c.graph
    b, ch, h, w = x.shape
    x = g.reshape(x, [b, ch, h // factor, factor, w // factor, factor])
    return g.reshape(permuted(x, [0, 1, 3, 5, 2, 4]), c.shape)


@lowers("channel_shuffle")
def channel_shuffle(c, x, groups):
    g = c.graph
    split = g.reshape(x, [x.shape[0], groups, x.shape[1] // groups] + x.shape[2:])
    from views import transpose
    return g.reshape(transpose(c, split, 1, 2), c.shape)
