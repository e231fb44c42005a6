# What can be said of a kernel's Python source without running it: does it parse, is what it imports installed. Runs in the sandbox.
#
#     python3 -c THIS SOURCE [MODULE]
#
# One JSON object: `error`, `missing` (packages), `defines` (names at the top level), `init_source`: what of MODULE makes the arguments of
# its class, without the class itself, so that a ModelNew can be made and the module that it stands for is not there to be called.
import ast
import importlib.util
import json
import sys


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]


def guarded(tree):
    """Names imported below `try`: the source does without them."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            names.update(imported(node))
    return names


def is_there(name):
    try:
        return name in sys.builtin_module_names or importlib.util.find_spec(name) is not None
    except Exception:
        return False


def defined(tree):
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names


def without_classes(text):
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, ast.ClassDef)]
    tree.body = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name == "get_inputs")]
    return ast.unparse(tree)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    told = {"error": "", "missing": [], "defines": [], "init_source": ""}
    try:
        tree = ast.parse(text)
        told["defines"] = defined(tree)
        optional = guarded(tree)
        told["missing"] = sorted({name for name in imported(tree) if name not in optional and not is_there(name)})
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        told["error"] = f"{type(error).__name__}: {getattr(error, 'msg', error)}" + (f" (line {line})" if line else "")
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            told["init_source"] = without_classes(file.read())
    print(json.dumps(told))


main()
