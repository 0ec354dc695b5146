#!/usr/bin/env bash
# Configures and builds the tools into build/bin. Arguments go to cmake (-DDLCC_WERROR=ON ...); TARGETS names what to build.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >build.log 2>&1 || { cat build.log; exit 1; }
rm -f build.log
# shellcheck disable=SC2086
ninja -C build ${TARGETS:-all}
