"""What a tensor of the traced module is in the definition language: a base tensor read at positions that are affine in index names.

A logical dimension is a list of atoms (extents, outermost first): none for extent 1, one as a rule, several where a reshape joined
dimensions. Views (transpose, slice, expand, split and join) change positions and atoms; nothing is computed for them.
"""
import re
from math import gcd, prod  # noqa: F401  (gcd: used by lowerings)


class Refusal(Exception):
    """The module can't become a problem; `line` is where in the user's file, 0 when unknown."""

    def __init__(self, message, line=0, kind="module"):
        super().__init__(message)
        self.message, self.line, self.kind = message, line, kind


class Var:
    """An index of one statement."""

    made = 0

    def __init__(self, extent):
        Var.made += 1
        self.extent, self.name, self.number = extent, "", Var.made


class Affine:
    """constant + sum of extents + sum of coefficient * var. Extents are kept apart from constants, so that two traces with other sizes differ
    in nothing but sizes."""

    __slots__ = ("terms", "constant", "extents")

    def __init__(self, terms=None, constant=0, extents=None):
        self.terms = {v: c for v, c in (terms or {}).items() if c}
        self.constant = constant
        self.extents = {e: c for e, c in (extents or {}).items() if c}

    @staticmethod
    def of(var):
        return Affine({var: 1})

    def __add__(self, other):
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other, self.extents)
        return Affine(added(self.terms, other.terms), self.constant + other.constant, added(self.extents, other.extents))

    def __mul__(self, factor):
        return Affine({v: c * factor for v, c in self.terms.items()}, self.constant * factor, {e: c * factor for e, c in self.extents.items()})

    def substitute(self, places):
        total = Affine({}, self.constant, self.extents)
        for key, c in self.terms.items():
            total = total + places[key] * c
        return total

    def sole(self):
        if len(self.terms) == 1 and not self.constant and not self.extents:
            (var, c), = self.terms.items()
            return var if c == 1 else None
        return None

    def text(self):
        parts = [(c, v.name) for v, c in self.terms.items()] + [(c, str(e)) for e, c in self.extents.items()]
        out = ""
        for c, name in parts:
            piece = name if abs(c) == 1 else f"{abs(c)}*{name}"
            out += (" - " if c < 0 else " + " if out else "") + piece if out or c >= 0 else f"-{piece}"
        if self.constant or not out:
            out += f" - {-self.constant}" if self.constant < 0 and out else f" + {self.constant}" if out else str(self.constant)
        return out


def added(a, b):
    out = dict(a)
    for key, c in b.items():
        out[key] = out.get(key, 0) + c
    return out


class Base:
    """A tensor of the problem: input, output or intermediate."""

    def __init__(self, name, shape, dtype, role):
        self.name, self.shape, self.dtype, self.role = name, list(shape), dtype, role
        self.pad = None
        self.units = None  # outputs: where dimensions of extent 1 stand, None elsewhere
        self.writer = None
        self.sorted = False  # inputs: along the last dimension, whatever they are filled with


class Value:
    """`atoms` per logical dimension; `positions` per base dimension, affine in the atoms' numbers (counted through all dimensions)."""

    def __init__(self, dims, dtype, base=None, positions=None, constant=None):
        self.dims = [tuple(a for a in d if a != 1) for d in dims]
        self.dtype, self.base, self.positions, self.constant = dtype, base, positions, constant
        self.origin = None  # (operator, arguments, keyword arguments): what made it, for rewrites
        self.low, self.high = float("-inf"), float("inf")  # bounds of every element that is a number

    @property
    def shape(self):
        return [prod(d) for d in self.dims]

    @property
    def atoms(self):
        return [a for d in self.dims for a in d]

    @property
    def rank(self):
        return len(self.dims)

    def kind(self):
        name = str(self.dtype)
        return "bool" if name == "torch.bool" else "real" if "float" in name else "int"

    def numbers(self, dim):
        """Numbers of the atoms of one dimension."""
        begin = sum(len(d) for d in self.dims[:dim])
        return list(range(begin, begin + len(self.dims[dim])))

    def with_view(self, dims, mapping):
        """Same base; `mapping` gives each old atom as an Affine in the new atoms' numbers."""
        if self.base is None:
            return Value(dims, self.dtype, constant=self.constant)
        return Value(dims, self.dtype, self.base, [p.substitute(mapping) for p in self.positions])

    def is_whole(self):
        """Reads its base exactly: dimension by dimension."""
        return self.base is not None and [p.sole() for p in self.positions] == list(range(len(self.positions))) and self.atoms == self.base.shape


def full_view(base, shape):
    """A value that reads all of `base`, whose shape may hold ones."""
    positions, k = [], 0
    for extent in shape:
        if extent == 1:
            positions.append(Affine())
        else:
            positions.append(Affine({k: 1}))
            k += 1
    return Value([(e,) for e in shape], base.dtype, base, positions)


def cuts(atoms):
    """Products of the atoms behind each boundary: (3, 4) -> {1, 4, 12}."""
    out, size = {1}, 1
    for a in reversed(atoms):
        size *= a
        out.add(size)
    return out


def refine(*all_atoms):
    """Extents (outermost first) that split all of the given lists of atoms of one dimension; None when their boundaries don't nest."""
    boundaries = sorted(set().union(*(cuts(a) for a in all_atoms if a)) or {1})
    for low, high in zip(boundaries, boundaries[1:]):
        if high % low:
            return None
    return tuple(high // low for low, high in reversed(list(zip(boundaries, boundaries[1:]))))


def places(atoms, variables):
    """Each of `atoms` as an Affine in variables that refine the same dimension (or none of them when the dimension has extent 1)."""
    out, behind = [], 1
    pending = list(reversed(variables))
    for a in reversed(atoms):
        form, size = Affine(), 1
        while size < a:
            v = pending.pop(0)
            form = form + Affine({v: size})
            size *= v.extent
        if size != a:
            raise Refusal("dimensions of different factors meet")
        out.append(form)
        behind *= a
    return list(reversed(out))


def merged(value):
    """Joins neighbouring atoms of a dimension wherever positions allow it."""
    dims, mapping, k, new = [], {}, 0, 0
    for d in value.dims:
        groups = []
        for a in d:
            if groups and value.base is not None and all(p.terms.get(groups[-1][-1][0], 0) == p.terms.get(k, 0) * a for p in value.positions):
                groups[-1].append((k, a))
            elif groups and value.base is None:
                groups[-1].append((k, a))
            else:
                groups.append([(k, a)])
            k += 1
        dims.append(tuple(prod(a for _, a in g) for g in groups))
        for g in groups:
            for number, _ in g[:-1]:
                mapping[number] = Affine()
            mapping[g[-1][0]] = Affine({new: 1})
            new += 1
    return value.with_view(dims, mapping)


def reshaped(value, shape):
    """The value under another shape of as many elements; None when no positions say it."""
    queue = [[number, a] for number, a in enumerate(value.atoms)]
    mapping = {number: Affine() for number, _ in queue}
    weight = {number: a for number, a in queue}
    dims, new = [], 0
    for extent in shape:
        need, atoms = extent, []
        while need > 1:
            number, left = queue[0]
            if need % left == 0:
                take = left
            elif left % need == 0:
                take = need
            else:
                return None
            weight[number] //= take
            mapping[number] = mapping[number] + Affine({new: weight[number]})
            new += 1
            atoms.append(take)
            need //= take
            if take == left:
                queue.pop(0)
            else:
                queue[0][1] = left // take
        dims.append(tuple(atoms))
    return merged(value.with_view(dims, mapping))


def number_text(value):
    """A python scalar as the language writes it, exactly."""
    if isinstance(value, bool):
        return "(1 == 1)" if value else "(1 == 0)"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if value != value:
        return "(0.0 / 0.0)"
    if value in (float("inf"), float("-inf")):
        return "(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"
    return repr(value) if value >= 0 and not repr(value).startswith("-") else f"({value!r})"


WORDS = set(
    "and or not select min max abs exp log log1p expm1 sqrt rsqrt pow tanh erf sigmoid sin cos floor ceil round fma f64 f32 f16 bf16 f8e4m3 f8e5m2 "
    "i64 i32 i16 i8 u8 bool".split())


def identifier(text, taken=()):
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)[:56] or "t"
    if name[0].isdigit():
        name = "_" + name
    if name in WORDS:
        name += "_"
    final, n = name, 2
    while final in taken:
        final, n = f"{name}_{n}", n + 1
    return final
