#!/usr/bin/env python3
"""Validates the documents that the program writes against docs/schemas, and checks that broken ones are refused.

usage: validate_schema.py TEST_TRANSPORT SCHEMA_DIRECTORY [DOCUMENT...]
With documents (NAME.result.json, result.json, ...) it validates those instead.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

KINDS = ("result", "evaluation", "event", "suite")


def at(document, path):
    for step in path:
        document = document[step]
    return document


def replaced(path, value):
    def change(document):
        at(document, path[:-1])[path[-1]] = value
    return change


def removed(path):
    def change(document):
        del at(document, path[:-1])[path[-1]]
    return change


# Each breaks one promise of a document that is right otherwise.
BROKEN = {
    "finished.result.json": [
        removed(["schema"]), replaced(["schema"], "kernsmith.result/2"), replaced(["extra"], 1),
        removed(["best", "speedup", "ci95"]), replaced(["best", "speedup", "geomean"], 0), replaced(["best", "speedup", "ci95"], [1.0]),
        replaced(["best", "lineage"], ["cand-1", "cand-1"]), replaced(["best", "parameters", "unroll"], "four"), replaced(["best", "workloads"], []),
        replaced(["problem", "hash"], "abc"), replaced(["stopped_by"], "bored"), replaced(["history", 0, "outcome"], "fine"),
        removed(["history", 0, "best_so_far"]), replaced(["history", 0, "effort"], "much"), removed(["evaluations", "duplicates"]), replaced(["evaluations", "by_outcome", "fine"], 1), replaced(["baseline", "workloads", 0, "median_ns"], 0),
        replaced(["control", "verdict"], "even"), removed(["control"]), removed(["baseline"]), removed(["best"]), replaced(["seed"], -1),
        removed(["profiling"]), replaced(["profiling", "mode"], "all"), removed(["baseline", "diagnosis"]), replaced(["fingerprint", "device"], 5), removed(["fingerprint"]), replaced(["wall_s"], -1),
    ],
    "eval-000000000000.evaluation.json": [
        replaced(["outcome"], "failed"), removed(["detail"]), replaced(["verification", "cases"], 0), replaced(["workloads"], []),
        replaced(["outcome"], "wrong_values"),  # with a speed-up
        replaced(["workloads", 0, "verdict"], "quick"), replaced(["workloads", 0, "axes", "B"], 0), replaced(["timing", "status"], "done"),
        replaced(["finished"], "yesterday"), removed(["fingerprint", "compiler"]), replaced(["stage"], "lunch"), replaced(["effort"], "much"),
    ],
    "eval-000000000001.evaluation.json": [replaced(["outcome"], "cheating"), replaced(["speedup"], 1.5)],  # cheating names its rule
    "one.event.json": [
        removed(["header", "seq"]), replaced(["header", "seq"], 0), replaced(["header", "stream"], "x"), replaced(["header", "time"], "now"),
        replaced(["header", "schema"], "kernsmith.event/2"), replaced(["topic"], "Candidate"), replaced(["payload"], []), replaced(["header", "more"], 1),
    ],
    "profiled.event.json": [
        removed(["payload", "diagnosis"]), removed(["payload", "profile"]), replaced(["payload", "candidate"], "eval-1"), replaced(["payload", "more"], 1),
        replaced(["payload", "diagnosis", "confidence"], "sure"),
    ],
    "whole.suite.json": [
        replaced(["schema"], "kernsmith.suite/2"), removed(["summaries"]), replaced(["summaries"], []), replaced(["targets"], []), replaced(["more"], 1), replaced(["state"], "running"),
        replaced(["summaries", 0, "fast", 0, "share"], 1.5), replaced(["summaries", 0, "fast"], []), removed(["summaries", 0, "refused"]), replaced(["summaries", 0, "over", "torch.compile", "geomean"], 0),
        replaced(["entries", 0, "status"], "fine"), replaced(["entries", 0, "speedup"], None),  # correct, but how fast?
        replaced(["entries", 0, "reason"], "because"), replaced(["entries", 3, "reason"], None), replaced(["entries", 3, "speedup"], 1.5),  # refused, with a speed-up
        replaced(["entries", 0, "ci95"], [1.0]), removed(["entries", 0, "folder"]),
    ],
}


def validators(directory):
    out = {}
    for kind in KINDS:
        schema = json.loads((directory / f"{kind}.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        out[kind] = jsonschema.Draft7Validator(schema)
    return out


def kind_of(name):
    stem = name[: -len(".json")]
    return stem.rsplit(".", 1)[-1]


def main(program, schema_directory, documents):
    by_kind = validators(pathlib.Path(schema_directory))
    failures, valid, refused = [], 0, 0

    def check_valid(path):
        errors = sorted(by_kind[kind_of(path.name)].iter_errors(json.loads(path.read_text())), key=lambda e: list(map(str, e.path)))
        failures.extend(f"{path.name}: {'/'.join(map(str, e.path))}: {e.message}" for e in errors)
        return 0 if errors else 1

    if documents:
        valid = sum(check_valid(pathlib.Path(d)) for d in documents)
    else:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "--test-case=role: write documents", "--no-skip"], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "KERNSMITH_TEST_DIRECTORY": folder})
            for path in sorted(pathlib.Path(folder).glob("*.json")):
                valid += check_valid(path)
            for name, changes in BROKEN.items():
                whole = json.loads((pathlib.Path(folder) / name).read_text())
                for number, change in enumerate(changes):
                    document = copy.deepcopy(whole)
                    change(document)
                    if by_kind[kind_of(name)].is_valid(document):
                        failures.append(f"{name}: broken variant {number} was accepted")
                    else:
                        refused += 1
            if refused == 0:
                failures.append("no broken document was examined")
    if valid == 0:
        failures.append("no valid document was examined")
    print(f"{valid} documents valid, {refused} broken ones refused, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
