"""One trace: the user's module under some constants becomes a document of inputs, statements and outputs."""
import inspect
from math import prod

import torch
from graph import MAX_STATEMENTS, Graph, dtype_name
from inits import of
from loading import parts_of
from recorder import Operators, Recorder
from values import Refusal, Value, identifier


def axis_names(source):
    return {identifier(name): name for name in source.constants}


def trace(source, overrides, device):
    module_graph = Graph(axis_names(source))
    tracing = Tracing(source, overrides, device, module_graph)
    return tracing.run()


class Tracing:
    def __init__(self, source, overrides, device, graph):
        self.source, self.overrides, self.device, self.graph = source, overrides, device, graph
        self.inputs = []  # (base, role, key, tensor)
        self.paths = {}

    def run(self):
        self.recorder = Recorder(self.graph, self.source.path, self.input_of, device=self.device)
        torch.manual_seed(0)
        with torch.no_grad():
            module = self.source.run(self.overrides)
            make, get_inputs, get_init_inputs = parts_of(module, self.source)
            with self.recorder:
                model = make(*listed(get_init_inputs(), "get_init_inputs", self.source))
                given = listed(get_inputs(), "get_inputs", self.source)
            if not isinstance(model, torch.nn.Module):
                raise Refusal("'Model' is no torch.nn.Module", self.source.line_of("Model"))
            self.name_tensors(model)
            arguments = self.declare_arguments(model, given)
            self.recorder.in_forward = True
            with self.recorder, Operators(self.recorder):
                result = model(*given)
            self.recorder.in_forward = False
        outputs, container = self.outputs_of(result)
        return self.document(arguments, outputs, container, model)

    # -- inputs

    def name_tensors(self, model):
        state = model.state_dict(keep_vars=True)
        for key, tensor in state.items():
            self.paths[id(tensor)] = (key, tensor)
        self.order = {key: n for n, key in enumerate(state)}
        for prefix, part in model.named_modules():
            for name, thing in list(vars(part).items()) + list(part._buffers.items()):
                if isinstance(thing, torch.Tensor) and id(thing) not in self.paths:
                    self.paths[id(thing)] = (f"{prefix}.{name}" if prefix else name, thing)
        # Computed constants (masks, positions) stay computed; parameters and constants that training changes are read.
        for key, tensor in list(self.paths.values()):
            known = self.recorder.known.get(id(tensor))
            if known and key in state and known[1].base is None:
                del self.recorder.known[id(tensor)]

    def declare_arguments(self, model, given):
        names = [p.name for p in inspect.signature(model.forward).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        arguments = []
        for n, thing in enumerate(given):
            name = names[n] if n < len(names) else f"x{n}"
            if isinstance(thing, torch.Tensor):
                value = self.graph.add_input(name, list(thing.shape), thing.dtype)
                self.check_input(thing, name)
                self.inputs.append((value.base, "argument", n, thing))
                self.recorder.known[id(thing)] = (thing, value)
                arguments.append({"input": value.base.name})
            elif isinstance(thing, (int, float)):
                arguments.append({"value": int(thing) if isinstance(thing, bool) else thing})
            else:
                raise Refusal(f"get_inputs gives a {type(thing).__name__} as argument {n + 1}; arguments are tensors and numbers", self.source.line_of("get_inputs"))
        return arguments

    def check_input(self, tensor, name):
        if tensor.layout != torch.strided:
            raise Refusal(f"'{name}' is a sparse tensor", self.source.line_of("get_inputs"))
        if prod(tensor.shape) == 0:
            raise Refusal(f"'{name}' has no elements: its shape is {list(tensor.shape)}", self.source.line_of("get_inputs"))

    def input_of(self, tensor):
        found = self.paths.get(id(tensor))
        if found is None:
            return None
        key = found[0]
        value = self.graph.add_input(key, list(tensor.shape), tensor.dtype)
        self.inputs.append((value.base, "parameter", key, tensor))
        return value

    # -- outputs

    def outputs_of(self, result):
        line = self.source.return_line()
        if isinstance(result, torch.Tensor):
            pairs, container = [("y", result)], "tensor"
        elif isinstance(result, dict):
            pairs, container = [(str(k), v) for k, v in result.items()], "dict"
        elif isinstance(result, (tuple, list)):
            flat = flattened(result)
            pairs, container = [(f"y{n}", v) for n, v in enumerate(flat)], "tuple" if isinstance(result, tuple) else "list"
        else:
            raise Refusal(f"forward gives a {type(result).__name__} instead of a tensor or a tuple of tensors", line)
        if not pairs:
            raise Refusal("forward gives nothing", line)
        outputs = []
        for name, tensor in pairs:
            if not isinstance(tensor, torch.Tensor):
                raise Refusal(f"forward gives a {type(tensor).__name__} among its results; results are tensors", line)
            if prod(tensor.shape) == 0:
                raise Refusal(f"forward gives a tensor without elements: {list(tensor.shape)}", line)
            self.graph.line = line
            self.recorder.in_forward = True
            outputs.append((name, tensor, self.recorder.value(tensor)))
            self.recorder.in_forward = False
        return outputs, container

    # -- the document

    def document(self, arguments, outputs, container, model):
        g = self.graph
        g.op, final, done = "result", [], set()
        for name, tensor, value in outputs:
            value = outwards(g, value)
            if value.base is None:
                value = g.filled(value)
            elif value.base.role != "intermediate" or not value.is_whole() or id(value.base) in done:
                value = g.copied(value)
            done.add(id(value.base))
            final.append((name, tensor, value))
        statements, live = g.live([v for _, _, v in final])
        described = []
        for name, tensor, value in final:
            base = value.base
            g.names.discard(base.name)
            base.name = identifier(name, g.names)
            g.names.add(base.name)
            base.role, base.dtype = "output", tensor.dtype
            logical = list(tensor.shape)
            if all(len(d) < 2 for d in value.dims):
                base.units = [not d for d in value.dims] if not all(value.dims) else None
                shape = logical
            else:
                shape = base.shape
            described.append({"name": base.name, "shape": shape, "dtype": dtype_name(tensor.dtype), "logical": logical, **pad_of(base)})
        if len(statements) > MAX_STATEMENTS:
            raise Refusal(f"{len(statements)} operations (an unrolled loop?); a definition holds {MAX_STATEMENTS} statements", self.source.line_of("Model", "forward"))
        nodes, intermediates = [], []
        for s in statements:
            text, needs_shape = g.rendered(s)
            base = s.target
            read = list(dict.fromkeys(g.reads[r].base.name for r in s.reads))
            nodes.append({"op": s.op, "line": s.line, "target": base.name, "reads": read, "text": text})
            if base.role == "intermediate":
                declared = {"name": base.name}
                if needs_shape or base.pad is not None:
                    declared["shape"] = base.shape
                name = dtype_name(base.dtype)
                if name == "bool" or name.startswith(("i", "u")):
                    declared["dtype"] = name
                declared.update(pad_of(base))
                if len(declared) > 1:
                    intermediates.append(declared)
        kept = [entry for entry in self.inputs if entry[1] == "argument"]
        kept += sorted([e for e in self.inputs if e[1] == "parameter" and id(e[0]) in live], key=lambda e: self.order.get(e[2], len(self.order)))
        inputs = []
        for base, role, key, tensor in kept:
            entry = {"name": base.name, "shape": base.shape, "dtype": dtype_name(base.dtype), "role": role, "key": key, **pad_of(base)}
            init = of(self.recorder.inits, tensor)
            if base.sorted:
                init = in_order(init, tensor)
            if init:
                entry["init"] = init
            inputs.append(entry)
        return {"inputs": inputs, "outputs": described, "intermediates": intermediates, "nodes": nodes, "arguments": arguments, "container": container,
                "training": bool(model.training), 
                "rewrites": [{"rule": r["rule"], "line": r["line"]} for r in g.rewrites if r["value"].base is not None and id(r["value"].base) in live], "work": sum(s.work() for s in statements), "read_arguments": [e[0].name for e in kept if id(e[0]) in live]}


def in_order(init, tensor):
    of = init or ({"kind": "normal", "mean": 0.0, "std": 1.0} if tensor.is_floating_point() else {"kind": "integers", "lo": -128, "hi": 127})
    return {"kind": "sorted", "of": of}


def pad_of(base):
    return {} if base.pad is None else {"pad": "-inf" if base.pad == float("-inf") else base.pad}


def flattened(result):
    out = []
    for thing in result:
        out += flattened(thing) if isinstance(thing, (tuple, list)) else [thing]
    return out


def outwards(g, value):
    """Where a dimension of the result is a product that no index walks, in the order of memory: kept; in another order: copied."""
    from values import merged
    return merged(value)


def listed(thing, name, source):
    if isinstance(thing, torch.Tensor):
        raise Refusal(f"{name}() gives a tensor; it must give a list", source.line_of(name))
    if not isinstance(thing, (list, tuple)):
        raise Refusal(f"{name}() gives a {type(thing).__name__}; it must give a list", source.line_of(name))
    return list(thing)
