"""From the file to the document: the full trace, which constants are axes, a small sibling, and samples of it."""
import difflib

import torch
from graph import MAX_STATEMENTS  # noqa: F401
from loading import refusal_of
from recorder import NeedsElements
from samples import run as run_samples
from sizes import axes_of, shrunk
from tracing import trace
from values import Refusal

ENOUGH_WORK = 300_000  # element operations of a sample: what the interpreter does in well under a second
MAX_WORK = 30_000_000
MAX_TRIED_CONSTANTS = 24


def traced(source, request):
    given = dict(request.get("axes", {}))
    for name in given:
        if name not in source.constants:
            near = difflib.get_close_matches(name, source.constants, 1)
            known = ", ".join(source.constants) or "none"
            raise Refusal(f"has no integer constant '{name}' at its top level" + (f"; did you mean '{near[0]}'?" if near else f"; it has: {known}"), 0, "axis")
    device = "meta"
    try:
        base = trace(source, given, device)
    except Refusal:
        raise
    except Exception as e:
        # Meta tensors lack some operators and all elements: real ones decide.
        device = "cpu"
        try:
            base = trace(source, given, device)
        except Refusal:
            raise
        except NeedsElements:
            raise refusal_of(e, source.path)
    values = {**source.constants, **given}
    values = dict(list(values.items())[:MAX_TRIED_CONSTANTS])

    def trace_with(overrides):
        try:
            return trace(source, {**given, **overrides}, device)
        except Exception:
            return None

    axes, named = axes_of(source, base, values, trace_with)
    proof, small = {}, base
    if base["work"] > ENOUGH_WORK:
        sizes = {**values, **{name: int(name.split()[1]) for name in source.literals}}
        proof, small = shrunk(base, sizes, trace_with, ENOUGH_WORK)
    if small["work"] > MAX_WORK:
        raise Refusal(
            f"can't be shrunk to a size at which its trace can be checked ({small['work']:.2g} element operations at the least); give its sizes as "
            "module-level integer constants", 0, "size")
    samples = run_samples(source, {**given, **proof}, small)
    through_axes = all(c in axes.values() for c in proof)
    for document in (named, small):
        document.pop("read_arguments", None)
    return {"version": 1, "module_text": source.module_text, "torch": torch.__version__, "problem": named, "axes": {a: {"constant": c, "extent": values[c]} for a, c in axes.items()},
            "constants": {c: v for c, v in values.items()}, "overrides": given,
            "proof": {"axes": {a: proof.get(c, values[c]) for a, c in axes.items()} if through_axes else None,
                      "problem": None if through_axes else small, "constants": proof, "samples": samples}}
