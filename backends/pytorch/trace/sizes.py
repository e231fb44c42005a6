"""Which sizes follow which constant: the same trace under other constants, compared token by token."""
import functools
import itertools
import re

from values import identifier

TOKEN = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
SKIPPED = {"init", "work", "line", "key", "rewrites"}


class Different(Exception):
    """Two traces differ in more than sizes."""


def leaves(thing, path=()):
    """(path, piece) of everything that may hold a size; strings in tokens."""
    if isinstance(thing, dict):
        for k in sorted(thing):
            if k not in SKIPPED:
                yield from leaves(thing[k], path + (k,))
    elif isinstance(thing, list):
        yield path, f"[{len(thing)}"
        for n, t in enumerate(thing):
            yield from leaves(t, path + (n,))
    elif isinstance(thing, str):
        for n, piece in enumerate(pieces(thing)):
            yield path + (n,), piece
    else:
        yield path, thing


@functools.lru_cache(maxsize=65536)
def pieces(text):
    """A text as what stands around its numbers, and the numbers."""
    return tuple(TOKEN.split(text))


def differences(base, other):
    """{path: (piece, other piece)}; Different when structure or anything but numbers differs."""
    found = {}
    if len(base["nodes"]) != len(other["nodes"]):
        raise Different("another number of statements")
    for here, there in itertools.zip_longest(leaves(base), leaves(other)):
        if here is None or there is None or here[0] != there[0]:
            raise Different("another structure")
        pa, x, y = here[0], here[1], there[1]
        if x == y:
            continue
        if number(x) is None or number(y) is None:
            raise Different(f"{x!r} and {y!r} at {pa}")
        found[pa] = (x, y)
    return found


def number(piece):
    if isinstance(piece, bool):
        return None
    if isinstance(piece, (int, float)):
        return piece
    if isinstance(piece, str) and TOKEN.fullmatch(piece):
        return float(piece) if not piece.isdigit() else int(piece)
    return None


def with_axes(document, places):
    """The document with the sizes at `places` {path: name} replaced by names."""
    def walk(thing, path):
        if isinstance(thing, dict):
            return {k: v if k in SKIPPED else walk(v, path + (k,)) for k, v in thing.items()}
        if isinstance(thing, list):
            return [walk(t, path + (n,)) for n, t in enumerate(thing)]
        if isinstance(thing, str):
            return "".join(places.get(path + (n,), piece) for n, piece in enumerate(pieces(thing)))
        return places.get(path, thing)
    return walk(document, ())


def axes_of(source, base, values, trace_with):
    """{axis: constant} and the document in which their sizes are named. `trace_with(overrides)` gives a document or None."""
    places, axes = {}, {}
    names = {c: identifier(c) for c in source.constants}
    for constant, value in values.items():
        if value < 2:
            continue
        found = followed(base, constant, value, trace_with)
        if found and not any(p in places for p in found):
            places.update({p: names[constant] for p in found})
            axes[names[constant]] = constant
    return axes, with_axes(base, places)


def followed(base, constant, value, trace_with):
    """The places that hold `constant` itself, where nothing else depends on it; None where something does. One other value is not enough to
    tell: 80 and 81 have the same half."""
    places, tried = None, 0
    for other in (2 * value, value + 1, 3 * value, value + 8, value + 2):
        document = trace_with({constant: other})
        if document is None:
            continue
        try:
            found = differences(base, document)
        except Different:
            return None
        if any(number(x) != value or number(y) != other or "." in str(x) for x, y in found.values()):
            return None
        if places is not None and set(found) != places:
            return None
        places = set(found)
        tried += 1
        if tried == 3:
            break
    return places


def shrunk(base, values, trace_with, enough):
    """Constants under which the module does the same with little work: ({constant: size}, document), or None."""
    large = {c: v for c, v in values.items() if v > 2}

    def fitting(overrides):
        document = trace_with(overrides)
        if document is None:
            return None
        try:
            differences(base, document)
        except Different:
            return None
        return document

    best, chosen = base, {}
    for cap in (5, 6, 8, 12, 16, 24, 32, 48, 64):
        overrides = {c: cap for c, v in large.items() if v > cap}
        document = fitting(overrides)
        if document is not None:
            best, chosen = document, overrides
            break
    rounds = 0
    for constant, value in sorted(large.items(), key=lambda item: -item[1]):
        if best["work"] <= enough:
            break
        now = chosen.get(constant, value)
        for size in [s for s in (2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48, 64, 96, 128, 192, 256) if s < now]:
            rounds += 1
            document = fitting({**chosen, constant: size})
            if document is not None and document["work"] < best["work"]:
                best, chosen = document, {**chosen, constant: size}
                break
    # Equal sizes would hide that two dimensions were mixed up.
    for constant in list(chosen):
        taken = {chosen.get(c, v) for c, v in values.items() if c != constant}
        if chosen[constant] not in taken:
            continue
        for size in range(chosen[constant] + 1, chosen[constant] + 7):
            if size in taken or size >= values[constant]:
                continue
            document = fitting({**chosen, constant: size})
            if document is not None and document["work"] <= max(enough, best["work"]):
                best, chosen = document, {**chosen, constant: size}
                break
    return chosen, best
