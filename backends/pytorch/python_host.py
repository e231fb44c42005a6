# What a Python process runs that hosts a kernel: it loads the runner as a library and gives it this file's `load_kernel`.
#
#     python3 -c THIS RUNNER.so LIBRARY THREADS WORKSPACE_BYTES [DRIVER ORDINAL]
#
# LIBRARY is a JSON document (backends/pytorch/hosted_kernel.hpp): the source of a kernel and how it is to be called. A kernel is a function
# launch(inputs, outputs, stream) over tensors that lie where the verifier's buffers are, or a module whose results are copied there.
# Nothing here is trusted with a candidate's verdict: its code can rewrite whatever this process holds.
import ast
import ctypes
import json
import os
import sys
import traceback
import types

RAISED, WRONG_SHAPE, WRONG_DTYPE = 0x4B530001, 0x4B530002, 0x4B530003
SEED = 42  # of what a module draws when it is made, as KernelBench's own evaluation sets it
CODES = ("float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 int16 int8 uint8 bool").split()
SIZES = (8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1)


class KsTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class KsLaunch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
                ("device", ctypes.c_int32), ("threads", ctypes.c_int32), ("axes", ctypes.POINTER(ctypes.c_int64)),
                ("n_axes", ctypes.c_int32)]


class Misfit(Exception):
    """A result that can't be an output: `code` is what launch returns."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Loaded:
    """What the runner asks for: see kernsmith_runner_hosted."""

    def __init__(self, make_call=None, put_outputs=None, failure=""):
        self.make_call, self.put_outputs, self.failure = make_call, put_outputs, failure


def say(text):
    print(text.replace("\n", " "), file=sys.stderr, flush=True)


def where_it_was(error, name):
    """"ValueError: ... (candidate.py:12)": the last line of the kernel's own file that the error came through."""
    line = None
    for frame in traceback.extract_tb(error.__traceback__):
        if os.path.basename(frame.filename) == name:
            line = frame.lineno
    if line is None and isinstance(error, SyntaxError):
        line = error.lineno
    text = " ".join(str(error).split())[:400]
    return f"{type(error).__name__}{': ' if text else ''}{text}{f' ({name}:{line})' if line else ''}"


# ---- tensors over the verifier's memory ----

class DeviceBytes:
    def __init__(self, address, count):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "|u1", "data": (address, False), "version": 2}


def tensor_over(described, on_device):
    import torch
    shape = tuple(described.shape[d] for d in range(described.rank))
    count = SIZES[described.dtype]
    for extent in shape:
        count *= extent
    kind = getattr(torch, CODES[described.dtype], None)
    if kind is None:
        raise Misfit(RAISED, f"PyTorch {torch.__version__} has no {CODES[described.dtype]}")
    if on_device:
        return torch.as_tensor(DeviceBytes(described.data, count), device="cuda").view(kind).reshape(shape)
    memory = (ctypes.c_char * count).from_address(described.data)
    return torch.frombuffer(memory, dtype=kind).reshape(shape)


# ---- sources ----

class GiveConstants(ast.NodeTransformer):
    """Rewrites constants of a module's file, so that what the file computes from them follows."""

    def __init__(self, values):
        self.values = values

    def visit_Module(self, node):
        for statement in node.body:
            if not isinstance(statement, ast.Assign):
                continue
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id in self.values:
                    statement.value = ast.copy_location(ast.Constant(self.values[target.id]), statement.value)
        return ast.fix_missing_locations(node)


def run_source(text, name, constants=None):
    """Executes a source as a module of its own; its file exists, because compilers of kernels read their source there."""
    folder = "/tmp/kernsmith"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    tree = ast.parse(text, path)
    if constants:
        tree = GiveConstants(constants).visit(tree)
    module = types.ModuleType(os.path.splitext(name)[0])
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


# ---- modules ----

def keys_of(state, wanted):
    """Which of a module's own keys stand for the wanted ones: by name; what is named otherwise, in order, where all shapes agree."""
    strangers = [key for key in wanted if key not in state]
    left = [key for key in state if key not in wanted]
    if not strangers:
        return {key: key for key in wanted}
    alike = [key for key in left if any(tuple(state[key].shape) == tuple(wanted[s].shape) for s in strangers)]
    if len(alike) != len(strangers) or any(tuple(state[a].shape) != tuple(wanted[s].shape) for a, s in zip(alike, strangers)):
        raise Misfit(RAISED, f"the module has no parameter {strangers[0]}; it has {', '.join(state) or 'none'}")
    names = {key: key for key in wanted if key in state}
    names.update(zip(strangers, alike))
    return names


def put_state(model, key, value):
    path, _, name = key.rpartition(".")
    owner = model.get_submodule(path)
    if name in owner._parameters:
        owner._parameters[name] = value
    else:
        owner._buffers[name] = value


class ModuleKernel:
    """A module for one choice of axes, called on the verifier's tensors: parameters are the buffers themselves, not copies."""

    def __init__(self, given, axes, device, wide):
        import torch
        self.torch, self.given, self.device, self.wide = torch, given, device, wide
        self.plan = given["module"]
        constants = {**self.plan.get("overrides", {}), **{constant: axes[axis] for axis, constant in self.plan["constants"]}}
        file = run_source(given["source"], given["name"], constants)
        self.make = getattr(file, given["class"], None)
        if self.make is None:
            raise Misfit(RAISED, f"{given['name']} has no class {given['class']}")
        about = run_source(given["init_source"], "init_inputs.py", constants) if given["init_source"] else file
        torch.manual_seed(SEED)
        init = about.get_init_inputs() if hasattr(about, "get_init_inputs") else []
        torch.manual_seed(SEED)
        self.model = self.make(**init) if isinstance(init, dict) else self.make(*init)
        self.model = self.model.to(device)
        if wide:
            self.model = self.model.double()
        self.function = self.compiled() if given["how"] == "compile" else None

    def compiled(self):
        torch = self.torch
        if not hasattr(torch, "compile"):
            raise Misfit(RAISED, f"PyTorch {torch.__version__} has no torch.compile; it came with 2.0")
        model = self.model

        def forward(state, *arguments):
            return torch.func.functional_call(model, state, arguments)

        mode = self.given.get("mode") or None
        return torch.compile(forward, mode=mode) if mode else torch.compile(forward)

    def own_tensors(self, tensors):
        """The given tensors under the module's own keys, parameters as parameters."""
        known = self.model.state_dict(keep_vars=True)
        own = {}
        for key, mine in keys_of(known, tensors).items():
            old, tensor = known[mine], tensors[key]
            if old.numel() == tensor.numel():
                tensor = tensor.reshape(old.shape)  # the problem may split a dimension: the same memory
            if tuple(old.shape) != tuple(tensor.shape):
                raise Misfit(WRONG_SHAPE, f"parameter {mine} has shape {tuple(old.shape)}, the problem's input {tuple(tensor.shape)}")
            parameter = self.torch.nn.Parameter
            own[mine] = (old, parameter(tensor, requires_grad=False) if isinstance(old, parameter) else tensor)
        return own

    def with_state(self, tensors):
        """A copy of the model's structure with parameters that are these tensors: nothing is swapped in a timed call."""
        import copy
        return copy.deepcopy(self.model, {id(old): new for old, new in self.own_tensors(tensors).values()})

    def swapping(self, tensors, arguments):
        """For a model that can't be copied: its parameters are set in each call."""
        own = self.own_tensors(tensors)
        model = self.model

        def call():
            for key, (_, new) in own.items():
                put_state(model, key, new)
            return model(*arguments)
        return call

    def call_on(self, inputs):
        """A function without arguments that gives the module's result on these inputs."""
        arguments = [inputs[a["input"]] if "input" in a else a["number"] for a in self.plan["arguments"]]
        state = {key: inputs[index] for index, key in self.plan["parameters"]}
        if self.wide:
            def wide(tensor):
                return tensor.double() if self.torch.is_tensor(tensor) and tensor.is_floating_point() else tensor
            return lambda: self.with_state({k: wide(t) for k, t in state.items()})(*[wide(a) for a in arguments])
        if self.function is not None:
            function = self.function
            return lambda: function(state, *arguments)
        try:
            model = self.with_state(state)
        except (TypeError, RuntimeError, AttributeError):
            return self.swapping(state, arguments)
        return lambda: model(*arguments)


class FunctionKernel:
    """A reference that is a function: reference(...), run(...) or forward(...) of the inputs, which gives the outputs."""

    def __init__(self, given, function, wide):
        import torch
        self.torch, self.function, self.wide = torch, function, wide
        self.plan = {"outputs": list(range(given["n_outputs"]))}

    def call_on(self, inputs):
        function, torch = self.function, self.torch
        if self.wide:
            return lambda: function(*[t.double() if t.is_floating_point() else t for t in inputs])
        return lambda: function(*inputs)


def results_of(value):
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in results_of(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in results_of(item)]
    return [value]


def fit(results, outputs, order, strict, splits=False):
    """Pairs results with outputs. Exactly: no broadcasting, no cast (but to the reference's own wide outputs). `splits`: the problem may split a
    dimension that a result has whole."""
    import torch
    if len(results) != len(order):
        raise Misfit(WRONG_SHAPE, f"gives {len(results)} results where there are {len(order)} outputs")
    pairs = []
    for result, index in zip(results, order):
        output = outputs[index]
        if not torch.is_tensor(result):
            raise Misfit(WRONG_DTYPE, f"gives a {type(result).__name__} for output {index}, not a tensor")
        if strict and type(result) not in (torch.Tensor, torch.nn.Parameter):
            raise Misfit(WRONG_DTYPE, f"gives a {type(result).__name__} for output {index}, not a plain tensor")
        if splits and tuple(result.shape) != tuple(output.shape) and result.numel() == output.numel():
            result = result.reshape(output.shape)
        if tuple(result.shape) != tuple(output.shape):
            raise Misfit(WRONG_SHAPE, f"output {index} has shape {tuple(result.shape)} where {tuple(output.shape)} is due")
        if strict and result.dtype != output.dtype:
            raise Misfit(WRONG_DTYPE, f"output {index} has dtype {result.dtype} where {output.dtype} is due")
        if strict and result.device != output.device:
            raise Misfit(WRONG_DTYPE, f"output {index} is on {result.device} where {output.device} is due")
        pairs.append((output, result))
    return pairs


# ---- the kernel ----

class Kernel:
    def __init__(self, given, launch_context):
        self.given = given
        self.on_device = given["device"]
        self.follows = os.environ.get("KERNSMITH_OUTPUTS_FOLLOW") == "1"
        self.waiting = []
        self.modules = {}
        self.role = given["role"]
        self.wide = self.role == "reference"
        self.stream = None
        self.prepare_torch(launch_context)
        self.file = self.launch = None
        if given["module"] is None or self.role == "candidate":
            self.file = run_source(given["source"], given["name"])
            self.launch = getattr(self.file, "launch", None)
            if self.launch is None and self.role == "candidate":
                if not hasattr(self.file, "ModelNew"):
                    raise Misfit(RAISED, f"{given['name']} defines neither launch(inputs, outputs, stream) nor class ModelNew")
                if given["module"] is None:
                    raise Misfit(RAISED, f"class ModelNew needs a problem that was made from a module ([module]); write launch(inputs, outputs, stream)")
            if self.launch is None and self.role != "candidate" and self.function_of() is None and not hasattr(self.file, "Model"):
                raise Misfit(RAISED, f"{given['name']} defines none of launch(inputs, outputs, stream), reference(...), run(...), forward(...), class Model")
        if self.launch is None and given["module"] is None and self.function_of() is None:
            # class Model without [module]: forward takes the inputs in order and gives the outputs in order.
            given["module"] = {"arguments": [{"input": i} for i in range(given["n_inputs"])], "parameters": [],
                               "outputs": list(range(given["n_outputs"])), "constants": []}

    def function_of(self):
        if self.file is None:
            return None
        for name in ("reference", "run", "forward"):
            function = getattr(self.file, name, None)
            if callable(function):
                return function
        return None

    def prepare_torch(self, launch_context):
        if not self.given["torch"]:
            return
        import torch
        torch.set_grad_enabled(False)
        if not self.on_device:
            torch.set_num_threads(max(launch_context.threads, 1))
        else:
            self.stream = torch.cuda.ExternalStream(launch_context.stream, device=launch_context.device)
            torch.cuda.set_stream(self.stream)
        for switch, on in self.given["switches"].items():
            if switch == "matmul_tf32":
                torch.backends.cuda.matmul.allow_tf32 = on
            if switch == "cudnn_tf32":
                torch.backends.cudnn.allow_tf32 = on

    def make_call(self, in_address, n_in, out_address, n_out, context_address):
        try:
            context = KsLaunch.from_address(context_address)
            axes = [context.axes[a] for a in range(context.n_axes)]
            inputs = [tensor_over(t, self.on_device) for t in (KsTensor * n_in).from_address(in_address)]
            outputs = [tensor_over(t, self.on_device) for t in (KsTensor * n_out).from_address(out_address)]
            if self.launch is not None:
                return self.guarded(self.call_of_launch(inputs, outputs))
            return self.guarded(self.call_of_module(inputs, outputs, axes))
        except BaseException as error:  # told when the call is made: making it is part of the call
            code = self.tell(error)
            return lambda: code

    def call_of_launch(self, inputs, outputs):
        launch, stream = self.launch, self.stream
        if self.wide:
            # Outputs of references are wide; a launch writes the problem's own dtypes.
            import torch
            own = [torch.empty(o.shape, dtype=getattr(torch, CODES[code]), device=o.device)
                   for o, code in zip(outputs, self.given["output_dtypes"])]

            def widened():
                launch(inputs, own, stream)
                for output, result in zip(outputs, own):
                    output.copy_(result)
                return 0
            return widened

        def call():
            launch(inputs, outputs, stream)
            return 0
        return call

    def kernel_for(self, axes, wide):
        key = (tuple(axes), wide)
        if key not in self.modules:
            device = "cuda" if self.on_device else "cpu"
            function = self.function_of() if self.given["module"] is None else None
            self.modules[key] = FunctionKernel(self.given, function, wide) if function else ModuleKernel(self.given, axes, device, wide)
        return self.modules[key]

    def call_of_module(self, inputs, outputs, axes):
        if self.wide:
            return self.call_of_reference(inputs, outputs, axes)
        kernel = self.kernel_for(axes, False)
        forward, order, strict = kernel.call_on(inputs), kernel.plan["outputs"], True
        if self.follows:
            waiting = self.waiting

            def compute():
                waiting.append((forward(), outputs, order))
                return 0
            return compute

        def call():
            for output, result in fit(results_of(forward()), outputs, order, strict, self.role != "candidate"):
                output.copy_(result)
            return 0
        return call

    def call_of_reference(self, inputs, outputs, axes):
        """In float64; where the module can't (it makes tensors of its own in another type), as it is."""
        def call():
            for wide in ((True, False) if self.wide_works else (False,)):
                try:
                    kernel = self.kernel_for(axes, wide)
                    pairs = fit(results_of(kernel.call_on(inputs)()), outputs, kernel.plan["outputs"], False, True)
                    break
                except Misfit:
                    raise
                except Exception as error:
                    if not wide:
                        raise
                    self.wide_works = False
                    say(f"kernsmith: the reference does not run in float64 ({type(error).__name__}: {error}); its own precision is taken")
            for output, result in pairs:
                output.copy_(result)
            return 0
        return call

    wide_works = True

    def put_outputs(self):
        try:
            for result, outputs, order in self.waiting:
                for output, given in fit(results_of(result), outputs, order, True, True):
                    output.copy_(given)
            if self.on_device and self.waiting:
                self.stream.synchronize()
            self.waiting.clear()
            return 0
        except BaseException as error:
            self.tell(error)
            return 1

    def guarded(self, call):
        def run():
            try:
                return call()
            except BaseException as error:
                return self.tell(error)
        return run

    def tell(self, error):
        """The last line of the process's output says what went wrong; the code says which word it is."""
        if isinstance(error, Misfit):
            say(str(error))
            return error.code
        if isinstance(error, SystemExit):
            os._exit(error.code if isinstance(error.code, int) else 1)
        traceback.print_exception(type(error), error, error.__traceback__)
        say(where_it_was(error, self.given["name"]))
        return 1 if isinstance(error, NotImplementedError) else RAISED


def load_kernel(path, context_address):
    name = "the kernel"
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        name = given["name"]
        kernel = Kernel(given, KsLaunch.from_address(context_address))
        return Loaded(kernel.make_call, kernel.put_outputs)
    except Misfit as error:
        return Loaded(failure=str(error))
    except SystemExit as error:
        os._exit(error.code if isinstance(error.code, int) else 1)
    except BaseException as error:
        traceback.print_exception(type(error), error, error.__traceback__)
        return Loaded(failure=where_it_was(error, name))


def main():
    if os.environ.get("KERNSMITH_RENEWABLE"):
        try:
            import torch  # once, for all processes that are forked from this one
        except ImportError:
            pass  # they say so, each when it loads its kernel
    runner = ctypes.CDLL(sys.argv[1])
    arguments = [argument.encode() for argument in sys.argv[1:]]
    vector = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
    runner.kernsmith_runner_hosted.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.py_object, ctypes.py_object]
    sys.exit(runner.kernsmith_runner_hosted(len(arguments), vector, load_kernel, os.fork))


main()
