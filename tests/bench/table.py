#!/usr/bin/env python3
"""Joins Google Benchmark's JSON and models.py's JSON into one file, prints the benchmark part as a table, and checks the promise on lower().

    table.py BENCHMARK.json MODELS.json OUT.json"""
import json
import pathlib
import statistics
import sys

LOWER_LIMIT_US = 1000  # median over all groups of all models


def name_of(row):
    return row["name"].removesuffix("/min_time:0.100")


def main():
    micro = json.loads(pathlib.Path(sys.argv[1]).read_text())
    models = json.loads(pathlib.Path(sys.argv[2]).read_text())
    rows = micro["benchmarks"]
    print(f"\n{'per group':<46} {'groups':>6} {'median us':>10} {'max us':>10}")
    for row in rows:
        if "median_us" in row:
            print(f"{name_of(row):<46} {row['items']:6.0f} {row['median_us']:10.1f} {row['max_us']:10.1f}")
    print(f"\n{'simulation':<46} {'ms a run':>10} {'events/s':>10} {'cycles/s':>10}")
    for row in rows:
        if "events_per_s" in row:
            print(f"{name_of(row):<46} {row['real_time']:10.2f} {row['events_per_s']:10.3g} "
                  f"{row['sim_cycles_per_s']:10.3g}")
    medians = [row["median_us"] for row in rows if row["name"].startswith("lower/")]
    worst = max(medians)
    print(f"\nlower(): median of a group {statistics.median(medians):.0f} us over the models, worst model's {worst:.0f} us "
          f"(limit {LOWER_LIMIT_US})")
    result = {"context": micro["context"], "benchmarks": rows, "models": models}
    pathlib.Path(sys.argv[3]).write_text(json.dumps(result, indent=1) + "\n")
    return 0 if worst < LOWER_LIMIT_US else 1


if __name__ == "__main__":
    sys.exit(main())
