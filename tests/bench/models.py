#!/usr/bin/env python3
"""Compile seconds and peak memory of models: runs dlcc on each, writes JSON, prints a table.

    models.py [--dlcc build/bin/dlcc] [--chips sw26010,x86-64-v4] [--json FILE] [--instructions] [MODEL.onnx ...]

Without models: the acceptance models that the shared folder and examples/ have. Peak memory is the child's ru_maxrss.
With --instructions the instruction count under callgrind of the smallest models is added: a figure that a loaded host
does not change."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("DLCC_SHARED", ROOT.parent / "shared"))
ACCEPTANCE = ["mnist_cntk", "mnist_torch_dynamo", "mtcnn_onet", "go1_policy", "wakeword_alfred", "ultraface_rfb320",
              "ultraface_rfb320_simplified", "autoencoder1d", "tinyvit_demo"]
ZOO = ["gemm_512", "inception_block"]
COUNT_BELOW = 100_000  # bytes of a model that callgrind runs in seconds


def acceptance_models(zoo):
    """The digits example, the shared models, and the generated networks when their generator is there."""
    files = [ROOT / "examples/digits/digits.onnx", ROOT / "examples/digits/model.onnx"]
    files += [SHARED / "models" / name / "model.onnx" for name in ACCEPTANCE]
    maker = SHARED / "tools/make_zoo.py"
    if maker.exists():
        missing = [name for name in ZOO if not (zoo / name / "model.onnx").exists()]
        if missing:
            subprocess.run([sys.executable, maker, zoo, *missing], check=False, stdout=subprocess.DEVNULL)
        files += [zoo / name / "model.onnx" for name in ZOO]
    return [file for file in files if file.exists()]


def run_child(command):
    """(exit code, seconds, peak MB, last line of stderr) of one process."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return process.returncode, seconds, usage.ru_maxrss / 1024, lines[-1] if lines else ""


def count_instructions(command, folder):
    """Total instructions under callgrind; None without valgrind."""
    out = pathlib.Path(folder) / "callgrind.out"
    try:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *map(str, command)],
                              capture_output=True, text=True, timeout=300, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"Collected : (\d+)", done.stderr)
    return int(match.group(1)) if match and done.returncode == 0 else None


def measure(dlcc, model, chip, repeat, with_instructions):
    name = model.parent.name
    with tempfile.TemporaryDirectory() as folder:
        command = [dlcc, f"--hw={chip}", model, "-q", "-o", pathlib.Path(folder) / "out"]
        runs = [run_child(command) for _ in range(repeat)]
        row = {"model": name, "chip": chip, "model_mb": model.stat().st_size / 2**20, "exit": runs[0][0],
               "seconds": min(run[1] for run in runs), "peak_mb": max(run[2] for run in runs)}
        if runs[0][0] != 0:
            row["error"] = runs[0][3]
        elif with_instructions and model.stat().st_size < COUNT_BELOW:
            row["instructions"] = count_instructions(command, folder)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlcc", default=ROOT / "build/bin/dlcc")
    parser.add_argument("--chips", default="sw26010,x86-64-v4")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--zoo", type=pathlib.Path, default=ROOT / "build/zoo", help="where generated networks are kept")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    print(f"{'model':<30} {'chip':<10} {'model MB':>9} {'seconds':>8} {'peak MB':>8} {'Minstr':>8}")
    for model in options.models or acceptance_models(options.zoo):
        for chip in options.chips.split(","):
            row = measure(options.dlcc, model, chip, options.repeat, options.instructions)
            rows.append(row)
            instructions = f"{row['instructions'] / 1e6:8.0f}" if row.get("instructions") else f"{'':>8}"
            failure = f"  FAILED ({row['exit']}): {row['error']}" if row["exit"] else ""
            print(f"{row['model']:<30} {chip:<10} {row['model_mb']:9.2f} {row['seconds']:8.2f} {row['peak_mb']:8.1f} "
                  f"{instructions}{failure}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["exit"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
