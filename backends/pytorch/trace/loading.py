"""The user's file: its module-level integer constants, overriding them, and running it."""
import ast
import inspect
import sys
import traceback
import types

from values import Refusal

MAX_SOURCE_BYTES = 4 << 20


class Source:
    def __init__(self, path, name, workloads=None):
        self.path, self.name = path, name
        with open(path, "rb") as f:
            data = f.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise Refusal(f"larger than {MAX_SOURCE_BYTES} bytes")
        try:
            self.text = data.decode("utf-8")
        except UnicodeDecodeError as e:
            raise Refusal("not UTF-8 text; save the file as UTF-8", data[:e.start].count(b"\n") + 1)
        self.module_text = None  # a definition's: the module that was made for it
        if path.endswith(".json"):
            from flashinfer import module_of
            self.text = self.module_text = module_of(self.text, workloads or [])
        try:
            self.tree = ast.parse(self.text, path)
        except SyntaxError as e:
            raise Refusal(f"is no valid Python: {e.msg}", e.lineno or 0)
        except ValueError as e:
            raise Refusal(f"is no valid Python: {e}")
        self.constants = {}
        self.lines = {}
        for name, value in self.assigned():
            if type(value.value) is int:
                self.constants[name] = value.value
                self.lines[name] = value.lineno
        self.literals = self.inner_literals()

    def assigned(self):
        """(name, constant node) of NAME = CONSTANT and A, B = 1, 2 at the top level."""
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) and node.value else []
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant):
                    yield target.id, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                    for t, v in zip(target.elts, node.value.elts):
                        if isinstance(t, ast.Name) and isinstance(v, ast.Constant):
                            yield t.id, v

    def inner_literals(self):
        """Integers written inside of get_inputs and get_init_inputs: sizes that have no name, changed together where they are equal."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs"):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Constant) and type(inner.value) is int and inner.value >= 8:
                        found.setdefault(f"literal {inner.value}", []).append(inner)
        return found

    def run(self, overrides):
        """The file's namespace with constants overridden. Errors of the file itself become refusals."""
        changed = []
        for name, node in self.assigned():
            if name in overrides and type(node.value) is int:
                changed.append((node, node.value))
                node.value = overrides[name]
        for name, nodes in self.literals.items():
            if name in overrides:
                for node in nodes:
                    changed.append((node, node.value))
                    node.value = overrides[name]
        try:
            code = compile(self.tree, self.path, "exec")
        finally:
            for node, value in changed:
                node.value = value
        module = types.ModuleType("problem")
        module.__file__ = self.path
        sys.modules["problem"] = module
        exec(code, module.__dict__)
        return module

    def line_of(self, *names):
        """Where a class or function stands; "Model", "forward"."""
        body = self.tree.body
        line = 0
        for name in names:
            found = next((n for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == name), None)
            if found is None:
                return line
            line, body = found.lineno, found.body
        return line

    def return_line(self):
        """The last return of Model.forward."""
        body = self.tree.body
        for name in ("Model", "forward"):
            found = next((n for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == name), None)
            if found is None:
                return 0
            body = found.body
        lines = [n.lineno for n in ast.walk(found) if isinstance(n, ast.Return)]
        return lines[-1] if lines else found.lineno


def parts_of(module, source):
    for name in ("Model", "get_inputs"):
        if not hasattr(module, name):
            raise Refusal(f"has no '{name}'; a problem is a class Model with get_inputs() and get_init_inputs(), as KernelBench has them")
    if not inspect.isclass(module.Model):
        raise Refusal("'Model' is no class", source.line_of("Model"))
    return module.Model, module.get_inputs, getattr(module, "get_init_inputs", lambda: [])


def place_of(exception, path):
    """The innermost line of the user's file in a traceback."""
    line = 0
    for frame in traceback.extract_tb(exception.__traceback__):
        if frame.filename == path:
            line = frame.lineno
    return line


def refusal_of(exception, path):
    if isinstance(exception, Refusal):
        return exception
    line = place_of(exception, path)
    text = " ".join(str(exception).split())[:600]
    if isinstance(exception, ModuleNotFoundError):
        return Refusal(f"imports '{exception.name}', which is not here; a problem is one file that needs nothing but PyTorch and what comes with Python", line, "import")
    if isinstance(exception, ImportError):
        return Refusal(f"can't import what it asks for: {text}", line, "import")
    if isinstance(exception, SystemExit):
        return Refusal("ends the program (SystemExit) instead of being a module", line, "exit")
    if isinstance(exception, MemoryError) or "can't allocate memory" in text or "not enough memory" in text:
        return Refusal(f"needs more memory than there is for tracing: {text or 'MemoryError'}", line, "memory")
    if "CUDA" in text or "NVIDIA driver" in text:
        return Refusal(f"needs a CUDA device while it is traced ({text}); leave devices out: tensors are made on the CPU and moved by whoever runs it", line, "device")
    if isinstance(exception, OSError):
        return Refusal(f"{type(exception).__name__}: {text}; a problem is traced without network and with a read-only file system", line, "os")
    return Refusal(f"{type(exception).__name__}: {text}", line)
