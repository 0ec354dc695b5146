#!/usr/bin/env bash
# Configures and builds the tools into build/bin. Arguments go to cmake (-DDLCC_WERROR=ON ...); TARGETS names what to build.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
# shellcheck disable=SC2086
ninja -C build ${TARGETS:-all}
