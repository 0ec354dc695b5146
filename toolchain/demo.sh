#!/usr/bin/env bash
# From a clean clone to a checked model: installs, builds, compiles examples/digits for SW26010, simulates it with the sanitizer, runs the
# emitted athread C under the shim and the emitted x86 code natively, and compares the accuracy of all three with ONNX Runtime's.
# Leaves build/demo/: the artifacts, report.json, trace.json (open in ui.perfetto.dev), and the outputs of every way.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "install packages"
bash toolchain/install.sh

step "build"
TARGETS="dlcc dlsim dlrun dlhw" bash toolchain/build.sh -DDLCC_UNIT_TESTS=OFF

model=examples/digits/digits.onnx
data=examples/digits/test_data
out=build/demo
bin=build/bin
rm -rf "$out"
mkdir -p "$out"

step "compile $model for SW26010"
$bin/dlcc --hw=sw26010 $model -o $out/digits.sw26010

step "simulate: values, cycles, sanitizer"
$bin/dlsim $out/digits.sw26010 --test-data $data --save $out/sim --report $out/report.json --trace $out/trace.json

step "run the emitted athread C under the shim"
$bin/dlrun $out/digits.sw26010 --test-data $data --save $out/shim

step "compile and run for this computer"
$bin/dlcc --hw=x86-64-v4 $model -q -o $out/digits.x86-64-v4
$bin/dlrun $out/digits.x86-64-v4 --test-data $data --save $out/native

step "accuracy on the held-out images"
python3 examples/digits/accuracy.py $out/sim $out/shim $out/native
echo "report: $out/report.json, timeline: $out/trace.json"
