#!/usr/bin/env bash
# Every benchmark: builds what it needs, prints the tables, writes build/bench.json. An argument is passed to models.py (--instructions).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${DLCC_BUILD:-$root/build}
if [ ! -f "$build/build.ninja" ]; then
  cmake -S "$root" -B "$build" -G Ninja >/dev/null
fi
ninja -C "$build" dlcc dlcc_bench >/dev/null
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 "$root/tests/bench/models.py" --dlcc "$build/bin/dlcc" --zoo "$build/zoo" \
  --json "$scratch/models.json" "$@"
"$build/bin/dlcc_bench" \
  --benchmark_out="$scratch/micro.json" --benchmark_out_format=json >/dev/null
python3 "$root/tests/bench/table.py" "$scratch/micro.json" "$scratch/models.json" "$build/bench.json"
echo "wrote $build/bench.json"
