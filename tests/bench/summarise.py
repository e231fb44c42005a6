#!/usr/bin/env python3
"""A markdown table of the results in a folder of `optimize --out`: speed-up with its interval, outcomes, and Kernsmith's own share of the wall time.

    tests/bench/summarise.py OUT
"""
import json
import pathlib
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = sorted(pathlib.Path(sys.argv[1]).glob("**/result.json"))
    if not results:
        sys.exit(f"no result.json below {sys.argv[1]}")
    print("| problem | baseline | speed-up | 95 % interval | worst workload | control | evaluations | passed | stopped by | wall, s | wall / (compilers + kernels) |")
    print("| --- | --- | ---: | --- | --- | --- | ---: | ---: | --- | ---: | ---: |")
    for path in results:
        r = json.loads(path.read_text())
        best = r["best"]
        cost = r.get("cost") or {}
        used = cost.get("build_s", 0) + cost.get("kernel_s", 0)
        share = f"{r['wall_s'] / used:.2f}" if used else "-"
        if best:
            worst = min(best["workloads"], key=lambda w: w["speedup"])
            low, high = best["speedup"]["ci95"]
            row = [f"{best['speedup']['geomean']:.2f}", f"[{low:.2f}, {high:.2f}]", f"{worst['speedup']:.2f} {worst['verdict']}"]
        else:
            row = ["-", "-", "-"]
        e = r["evaluations"]
        print("|", " | ".join([r["problem"]["name"], r["baseline"]["name"] if r["baseline"] else "-", *row, r["control"]["verdict"], str(e["total"]), str(e["passed"]),
                               str(r["stopped_by"]), f"{r['wall_s']:.0f}", share]), "|")


main()
