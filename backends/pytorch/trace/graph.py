"""Statements of the definition, one after another, and the tensors they read and write."""
import re
from math import prod

from values import Affine, Base, Refusal, Value, Var, full_view, identifier, merged, number_text, places, refine, reshaped

MAX_STATEMENTS = 256
FREE_NAMES = ["i", "j", "k", "l", "m", "n", "o", "p"]
BOUND_NAMES = ["r", "s", "u", "v", "w", "x", "y", "z"]
DTYPES = {
    "torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.int64": "i64", "torch.int32": "i32",
    "torch.int16": "i16", "torch.int8": "i8", "torch.uint8": "u8", "torch.bool": "bool", "torch.float8_e4m3fn": "f8e4m3", "torch.float8_e5m2": "f8e5m2",
}
READ = re.compile("\x01(\\d+)\x02")


def dtype_name(dtype):
    name = DTYPES.get(str(dtype))
    if name is None:
        raise Refusal(f"a tensor of dtype {dtype}, which problems don't have")
    return name


class Read:
    def __init__(self, base, positions):
        self.base, self.positions = base, positions


class Statement:
    def __init__(self, target, free, bound, text, op, line):
        self.target, self.free, self.bound, self.text, self.op, self.line = target, free, bound, text, op, line
        self.reads = []

    def work(self):
        return prod(v.extent for v in self.free + self.bound)


class Graph:
    def __init__(self, reserved=()):
        self.reserved = set(reserved)  # names that axes may take
        self.names = set(reserved)
        self.bases = []
        self.statements = []
        self.reads = []
        self.op, self.line = "", 0
        self.counts = {}
        self.pads = {}  # copies with a pad: (base, pad) -> value
        self.tables = {}
        self.marked = {}
        self.rewrites = []  # {rule, line}
        self.rewriting = True

    # -- tensors

    def add_base(self, name, shape, dtype, role):
        name = identifier(name, self.names)
        self.names.add(name)
        base = Base(name, shape, dtype, role)
        self.bases.append(base)
        return base

    def add_input(self, name, shape, dtype):
        dtype_name(dtype)
        return full_view(self.add_base(name, shape, dtype, "input"), shape)

    def intermediate_name(self):
        op = identifier(self.op.strip("_") or "t")
        self.counts[op] = self.counts.get(op, 0) + 1
        return f"{op}_{self.counts[op]}"

    # -- reading and writing

    def read(self, value, indices):
        """Text of one element; `indices` per dimension: a list of Vars that refine it, or an Affine for a dimension of one atom."""
        if value.base is None:
            return number_text(value.constant)
        forms = []
        for atoms, index in zip(value.dims, indices):
            if isinstance(index, Affine):
                if len(atoms) > 1:
                    raise Refusal("a joined dimension is used as a window")
                forms += [index] * len(atoms)
            else:
                forms += places(atoms, list(index))
        mapping = dict(enumerate(forms))
        self.reads.append(Read(value.base, [p if isinstance(p, str) else p.substitute(mapping) for p in value.positions]))
        return f"\x01{len(self.reads) - 1}\x02"

    def gathered(self, value, indices, dim, text):
        """Text of one element with dimension `dim` at an integer expression."""
        position = [p for p in range(len(value.positions or [])) if set(value.positions[p].terms) & set(value.numbers(dim))]
        if value.base is None or len(value.dims[dim]) != 1 or len(position) != 1 or value.positions[position[0]].sole() is None:
            raise Refusal("a gather from a view")
        plain = [i if k != dim else Affine() for k, i in enumerate(indices)]
        mark = self.read(value, plain)
        self.reads[-1].positions[position[0]] = text
        return mark

    def real(self, value, indices):
        """Like read(), as a number that may meet reals."""
        text = self.read(value, indices)
        return text if value.kind() == "real" or value.base is None else f"f32({text})"

    def condition(self, value, indices):
        text = self.read(value, indices)
        return f"({text} != 0)" if value.kind() == "real" else text

    def emit(self, dims, text, dtype, bound=()):
        """target[all Vars of dims] = text; gives the value of the target. `dims` per logical dimension: Vars, outermost first."""
        free = [v for d in dims for v in d]
        base = self.add_base(self.intermediate_name(), [v.extent for v in free], dtype, "intermediate")
        statement = Statement(base, free, list(bound), text, self.op, self.line)
        statement.reads = [int(n) for n in READ.findall(text)]
        base.writer = statement
        pending = list(statement.reads)
        while pending:  # positions may hold reads themselves
            for p in self.reads[pending.pop()].positions:
                if isinstance(p, str):
                    inner = [int(n) for n in READ.findall(p)]
                    statement.reads += inner
                    pending += inner
        self.statements.append(statement)
        if len(self.statements) > 8 * MAX_STATEMENTS:
            raise Refusal(f"more than {8 * MAX_STATEMENTS} operations (an unrolled loop?); a definition holds {MAX_STATEMENTS} statements", self.line)
        value = Value([tuple(v.extent for v in d) for d in dims], dtype, base, [Affine({k: 1}) for k in range(len(free))])
        return value

    def loops(self, *values_or_atoms):
        """Vars for one dimension that refine all of the given atoms (of extent 1 or equal size)."""
        atoms = refine(*values_or_atoms)
        if atoms is None:
            raise Refusal("dimensions of different factors meet")
        return [Var(a) for a in atoms]

    def whole(self, value):
        """Fresh Vars for every dimension of `value`."""
        return [[Var(a) for a in d] for d in value.dims]

    # -- forms of a value

    def single(self, value, dim):
        """`value` with at most one atom in dimension `dim`."""
        if len(value.dims[dim]) <= 1:
            return value
        value = merged(value)
        return value if len(value.dims[dim]) <= 1 else self.joined(value, [dim])

    def joined(self, value, dims):
        """A copy whose dimensions `dims` are no products: positions come from tables of quotients and remainders."""
        out, indices, texts = [], [], {}
        free, number = [], 0
        for d, atoms in enumerate(value.dims):
            if d in dims and len(atoms) > 1:
                v = Var(prod(atoms))
                out.append([v])
                behind = 1
                for k in reversed(range(len(atoms))):
                    texts[number + k] = self.table(v.extent, behind, atoms[k], v)
                    behind *= atoms[k]
            else:
                vs = [Var(a) for a in atoms]
                out.append(vs)
                for k, v in enumerate(vs):
                    texts[number + k] = v
            number += len(atoms)
        positions = []
        for p in value.positions:
            if any(isinstance(texts[key], str) for key in p.terms):
                positions.append(self.computed_position(p, texts))
                continue
            positions.append(p.substitute({key: Affine.of(texts[key]) for key in p.terms}))
        self.reads.append(Read(value.base, positions))
        return self.emit(out, f"\x01{len(self.reads) - 1}\x02", value.dtype)

    def computed_position(self, form, texts):
        """A position some of whose atoms are read from tables."""
        parts = []
        for key, c in form.terms.items():
            text = texts[key] if isinstance(texts[key], str) else self.index(texts[key])
            parts.append(text if c == 1 else f"{number_text(c)} * {text}")
        parts += [f"{number_text(c)} * {e}" for e, c in form.extents.items()]
        if form.constant:
            parts.append(number_text(form.constant))
        return " + ".join(parts)

    def table(self, extent, divisor, modulus, var):
        """Text of (var / divisor) mod modulus, read from a table made for it."""
        import torch
        key = (extent, divisor, modulus)
        if key not in self.tables:
            v = Var(extent)
            k = self.index(v)
            quotient = f"floor({k} / {divisor})" if divisor > 1 else k
            text = f"i32(min({modulus} - 1, max(0, {quotient} - {modulus} * floor({k} / ({divisor} * {modulus})))))"
            op, self.op = self.op, "place"
            self.tables[key] = self.emit([[v]], text, torch.int32)
            self.op = op
        self.reads.append(Read(self.tables[key].base, [Affine.of(var)]))
        return f"\x01{len(self.reads) - 1}\x02"

    def index(self, var):
        """An index as a number."""
        self.marked[var.number] = var
        return f"\x03{var.number}\x04"

    def reshape(self, value, shape):
        done = reshaped(value, shape)
        if done is not None:
            return done
        value = self.joined(merged(value), range(value.rank))
        flat = reshaped(value, [prod(value.shape)])
        flat = self.joined(flat, [0])
        return reshaped(flat, shape)

    def copied(self, value):
        loops = self.whole(value)
        return self.emit(loops, self.read(value, loops), value.dtype)

    def padded(self, value, pad, dims):
        """`value` such that a load outside of dimensions `dims` gives `pad`."""
        def plain(v):
            for d in dims:
                for n in v.numbers(d):
                    at = [(p, b) for p, b in zip(v.positions, v.base.shape) if n in p.terms]
                    if len(at) != 1 or at[0][0].sole() is None or at[0][1] != v.atoms[n]:
                        return False
            return True
        if value.base is None:
            value = self.filled(value)
        key = (id(value.base), pad)
        if plain(value) and value.base.pad in (None, pad):
            value.base.pad = pad
            return value
        if value.is_whole() and key in self.pads:
            return self.pads[key]
        copy = self.copied(value)
        copy.base.pad = pad
        if value.is_whole():
            self.pads[key] = copy
        return copy

    def filled(self, value):
        """A constant as a tensor."""
        loops = self.whole(value)
        text = number_text(value.constant)
        return self.emit(loops, text if value.kind() != "real" else f"f32({text})", value.dtype)

    # -- at the end

    def live(self, outputs):
        """Statements that the outputs need, in order."""
        wanted, seen = [v.base for v in outputs], set()
        while wanted:
            base = wanted.pop()
            if id(base) in seen:
                continue
            seen.add(id(base))
            if base.writer:
                wanted += [self.reads[r].base for r in base.writer.reads]
        return [s for s in self.statements if id(s.target) in seen], seen

    def name_indices(self, statement):
        taken = set(self.reserved)
        def names(preferred, count):
            out = [n for n in preferred if n not in taken]
            n = 1
            while len(out) < count:
                name = f"{preferred[0]}{n}"
                if name not in taken:
                    out.append(name)
                n += 1
            taken.update(out[:count])
            return out[:count]
        for v, name in zip(statement.free, names(FREE_NAMES, len(statement.free))):
            v.name = name
        for v, name in zip(statement.bound, names(BOUND_NAMES, len(statement.bound))):
            v.name = name

    def alone(self, statement):
        """Vars that stand alone in some load over a dimension of their extent: their range needs no saying."""
        found = set()
        for r in statement.reads:
            read = self.reads[r]
            for p, extent in zip(read.positions, read.base.shape):
                if not isinstance(p, str) and p.sole() is not None and p.sole().extent == extent:
                    found.add(p.sole())
        return found

    def place_text(self, position, extent):
        if isinstance(position, str):
            return self.finished(position)
        # An index alone would range over the whole dimension.
        sole = position.sole()
        return position.text() + (" + 0" if sole is not None and sole.extent != extent else "")

    def finished(self, text):
        def load(match):
            read = self.reads[int(match.group(1))]
            texts = [self.place_text(p, extent) for p, extent in zip(read.positions, read.base.shape)]
            if read.base.units is not None:
                rest = iter(texts)
                texts = ["0" if unit else next(rest) for unit in read.base.units]
            return f"{read.base.name}[{', '.join(texts)}]" if texts else read.base.name
        text = READ.sub(load, text)
        return re.sub("\x03(\\d+)\x04", lambda m: self.marked[int(m.group(1))].name, text)

    def rendered(self, statement):
        """The statement as text, and whether its target's shape has to be declared."""
        self.name_indices(statement)
        alone = self.alone(statement)
        target = [v.name for v in statement.free]
        if statement.target.units is not None:
            rest = iter(target)
            target = [f"unit{k}" if unit else next(rest) for k, unit in enumerate(statement.target.units)]
        text = self.finished(statement.text)
        for v in statement.bound:
            text = re.sub(f"\x05{v.number}\x06", v.name if v in alone else f"{v.name} < {v.extent}", text)
        left = f"{statement.target.name}[{', '.join(target)}]" if target else statement.target.name
        return f"{left} = {text}", any(v not in alone for v in statement.free)

    def over(self, reducer, variables, body):
        """Text of a reduction; without variables its body."""
        if not variables:
            return body
        return f"{reducer}({', '.join(f'{chr(5)}{v.number}{chr(6)}' for v in variables)}: {body})"
