#!/usr/bin/env bash
# Everything that must hold, from a clean clone: builds with warnings as errors, runs all tests, unit tests under sanitizers, both fuzzers for
# 60 s each, and clang-tidy. The last line is "N passed, N failed, N skipped"; exit code 1 when something failed.
set -uo pipefail
cd "$(dirname "$0")/.."

fuzz_seconds=${DLCC_FUZZ_SECONDS:-60}
passed=0
failed=0
skipped=0
stop_on_error() { "$@" || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }; }

# check NAME COMMAND...: one more passed or failed; the output is shown when it failed.
check() {
  local name=$1 log
  shift
  log=$(mktemp)
  local start=$SECONDS
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: passed ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    tail -n 60 "$log"
    echo "$name: FAILED ($((SECONDS - start)) s)"
  fi
  rm -f "$log"
}

# run_ctest FOLDER ARGUMENTS...: counts each test by its result line.
run_ctest() {
  local folder=$1 log
  shift
  log=$(mktemp)
  ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure --timeout 900 "$@" 2>&1 | tee "$log"
  passed=$((passed + $(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$log")))
  skipped=$((skipped + $(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log")))
  failed=$((failed + $(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*(Failed|Timeout|Exception|Not Run)|^ *[0-9]+/[0-9]+ Test .*\(Not Run\)' "$log")))
  if ! grep -qE '^[0-9]+% tests passed' "$log"; then
    failed=$((failed + 1))
    echo "ctest in $folder did not finish"
  fi
  rm -f "$log"
}

# One instrumented build, by the other compiler: sanitized tests and fuzzers, and the compile commands of clang-tidy.
build_sanitized() {
  cmake -S . -B build-asan -G Ninja -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release \
    -DDLCC_SANITIZE=ON -DDLCC_WERROR=ON && ninja -C build-asan sanitized
}
# fuzz NAME SEEDS...: seeds are copied, findings stay in build-asan.
fuzz() {
  mkdir -p "build-asan/corpus_$1"
  cp "${@:2}" "build-asan/corpus_$1"
  (cd build-asan && "bin/$1" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 "corpus_$1")
}
fuzz_result() { wait "$1" || { tail -n 60 "$2"; return 1; }; }
run_fuzzers() {
  fuzz onnx_fuzz examples/digits/digits.onnx >build-asan/onnx.log 2>&1 &
  local onnx=$!
  fuzz yaml_fuzz hw/chips/*.yaml >build-asan/yaml.log 2>&1 &
  local yaml=$!
  check "fuzz ONNX for ${fuzz_seconds} s" fuzz_result $onnx build-asan/onnx.log
  check "fuzz YAML for ${fuzz_seconds} s" fuzz_result $yaml build-asan/yaml.log
}
# The operators and the emitters are left out for time; they follow the same few patterns. Warnings of compilers are the builds' business.
tidy() {
  git ls-files '*.cpp' | grep -E '^(base|hw|lowering|sim|toolchain)/|^frontend/[^/]*$' | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build-asan --quiet --extra-arg=-Wno-error
}

stop_on_error bash toolchain/install.sh --tests --python
stop_on_error bash toolchain/build.sh -DDLCC_UNIT_TESTS=ON -DDLCC_WERROR=ON
run_ctest build
check "sanitizer build" build_sanitized
if [ -f build-asan/CTestTestfile.cmake ]; then
  run_ctest build-asan -L sanitized
fi
run_fuzzers
check "clang-tidy" tidy

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
