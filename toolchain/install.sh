#!/usr/bin/env bash
# Installs what the build (default), the tests (--tests) and Python checks (--python) need on Debian 12; does nothing when all of it is there.
# Python packages go into build/venv only. Prints nothing when there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(cmake ninja-build ccache g++ make python3 llvm-19-dev libisl-dev libyaml-cpp-dev libprotobuf-dev protobuf-compiler
  libonnx-dev libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev clang-19 lld-19 clang-tidy-19 clang-tools-19 libclang-rt-19-dev)
python_packages=(numpy onnx onnxruntime scikit-learn)

install_debian() {
  local missing=()
  for package in "$@"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  echo "installing ${missing[*]}"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    root=(sudo)
  fi
  "${root[@]}" apt-get -qq update
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}

has_python_packages() { build/venv/bin/python3 -c 'import numpy, onnx, onnxruntime, sklearn' 2>/dev/null; }

# Packages that the system's Python already has are used from there.
install_python() {
  if has_python_packages; then
    return
  fi
  if ! python3 -c 'import ensurepip' 2>/dev/null; then
    install_debian python3-venv
  fi
  mkdir -p build
  python3 -m venv --system-site-packages build/venv
  if ! has_python_packages; then
    echo "installing ${python_packages[*]} into build/venv"
    build/venv/bin/python3 -m pip install -q --disable-pip-version-check "${python_packages[@]}"
  fi
}

install_debian "${build_packages[@]}"
for what in "$@"; do
  case "$what" in
    --tests) install_debian "${test_packages[@]}" ;;
    --python) install_python ;;
    *) echo "install.sh: unknown option $what; known: --tests --python" >&2; exit 4 ;;
  esac
done
