"""A FlashInfer-Trace definition as a module's file: its reference first, so that lines are the reference's own."""
import json

from values import Refusal, identifier

FLOATS = {"float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}
INTEGERS = {"int64", "int32", "int16", "int8"}
DEFAULT_EXTENT = 64  # of a variable axis without a workload


def need(thing, key, where):
    if not isinstance(thing, dict) or key not in thing:
        raise Refusal(f"is no FlashInfer-Trace definition: {where} has no '{key}'")
    return thing[key]


def module_of(text, workloads):
    try:
        definition = json.loads(text)
    except ValueError as e:
        raise Refusal(f"is no JSON: {e}", getattr(e, "lineno", 0))
    reference = need(definition, "reference", "it")
    first = workloads[0] if workloads else {}
    lines = [reference.rstrip(), "", "", "import torch  # the module that was made for this definition"]
    for name, axis in need(definition, "axes", "it").items():
        if axis.get("type") == "const":
            value = need(axis, "value", f"axis '{name}'")
        elif axis.get("type") == "var":
            value = first.get("axes", {}).get(name, DEFAULT_EXTENT)
        else:
            raise Refusal(f"axis '{name}' is of type '{axis.get('type')}'; only 'const' and 'var' are known")
        if not isinstance(value, int) or value < 1:
            raise Refusal(f"axis '{name}' is {value!r}; it must be an integer of at least 1")
        lines.append(f"{name} = {value}")
    names, made = [], []
    for name, tensor in need(definition, "inputs", "it").items():
        names.append(identifier(name))
        made.append("        " + value_of(name, tensor, first.get("inputs", {}).get(name, {})))
    arguments = ", ".join(names)
    lines += ["", "", "class Model(torch.nn.Module):", f"    def forward(self, {arguments}):", f"        return run({arguments})", "", "", "def get_inputs():", "    return ["]
    lines += [m + "," for m in made] + ["    ]", "", "", "def get_init_inputs():", "    return []", ""]
    return "\n".join(lines)


def value_of(name, tensor, given):
    dtype, shape = need(tensor, "dtype", f"input '{name}'"), need(tensor, "shape", f"input '{name}'")
    if shape is None:
        value = given.get("value", 1 if dtype in INTEGERS else 1.0) if isinstance(given, dict) else 1
        return repr(value)
    sizes = ", ".join(str(s) for s in shape)
    sizes = f"({sizes},)" if shape else "()"
    if dtype in FLOATS:
        return f"torch.randn({sizes}).to(torch.{dtype})"
    if dtype in INTEGERS:
        return f"torch.randint(0, 4, {sizes}, dtype=torch.{dtype})"
    if dtype == "bool":
        return f"torch.rand({sizes}) > 0.5"
    raise Refusal(f"input '{name}' is of dtype '{dtype}', which problems don't have")
