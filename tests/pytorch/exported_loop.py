"""What a stranger does with an exported module: imports PyTorch and the file, makes both models from one seed, and compares.

    python3 exported_loop.py MODULE.py ORIGINAL.py

Prints one JSON object. Nothing of Kernsmith is imported.
"""
import copy
import importlib.util
import io
import json
import sys
import warnings

import torch


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def made(module, name):
    torch.manual_seed(42)
    init = module.get_init_inputs()
    torch.manual_seed(42)
    return getattr(module, name)(*init)


def close(a, b):
    return bool(a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, atol=1e-4, rtol=1e-4))


def main():
    exported, original = load(sys.argv[1], "exported"), load(sys.argv[2], "original")
    new, old = made(exported, "ModelNew"), made(original, "Model")
    told = {"same_state": list(new.state_dict()) == list(old.state_dict())
            and all(torch.equal(a, b) for a, b in zip(new.state_dict().values(), old.state_dict().values()))}
    calls = []
    inner = exported._ks_launch

    def counting():
        launch = inner()

        def counted(*arguments):
            calls.append(1)
            return launch(*arguments)
        return counted if launch else None

    exported._ks_launch = counting
    x, = original.get_inputs()
    with torch.no_grad(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        launch = exported._ks_launch()
        exported._ks_state["launch"] = launch
        told["built"] = launch is not None

        def took_kernel(model, value):
            before = len(calls)
            right = close(model(value), old(value))
            return [right, len(calls) > before]

        told["plain"] = took_kernel(new, x)
        told["again"] = took_kernel(new, torch.randn_like(x))
        told["other_shape"] = took_kernel(new, torch.cat([x, x]))
        told["not_contiguous"] = took_kernel(new, torch.randn(*x.shape[::-1]).t())
        wide_new, wide_old = copy.deepcopy(new).double(), copy.deepcopy(old).double()
        before = len(calls)
        told["other_dtype"] = [close(wide_new(x.double()), wide_old(x.double())), len(calls) > before]
        odd = torch.randn(x.numel() + 1)[1:].reshape(x.shape)
        told["misaligned"] = took_kernel(new, odd)
        told["copied"] = took_kernel(copy.deepcopy(new), x)
        kept = io.BytesIO()
        torch.save(new.state_dict(), kept)
        kept.seek(0)
        for parameter in new.parameters():
            parameter.add_(1)
        told["changed"] = [not close(new(x), old(x)), True]
        new.load_state_dict(torch.load(kept))
        told["restored"] = took_kernel(new, x)
        told["evaluation_mode"] = took_kernel(new.eval(), x)
        new.train()
    before = len(calls)
    y = x.clone().requires_grad_()
    new(y).sum().backward()
    told["gradients"] = [y.grad is not None, len(calls) > before]
    told["warnings"] = [str(w.message) for w in warned]
    print(json.dumps(told))


main()
