#!/usr/bin/env bash
# Installs what Tilewright needs, builds it into build/ and installs the Python package into .venv.
# Called by quickstart.sh and test.sh; a second run finds everything done and takes seconds.
# MLIR_DIR points at another LLVM/MLIR 22 (the folder of MLIRConfig.cmake).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*"; }

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Tilewright needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Set PYTHON to a newer one." >&2
  exit 1
}

# Debian packages.
packages=()
need() { dpkg -s "$1" >/dev/null 2>&1 || packages+=("$1"); }
if [ -z "${MLIR_DIR:-}" ]; then
  need llvm-22-dev; need libmlir-22-dev; need mlir-22-tools; need llvm-22-tools
fi
need clang-22; need lld-22; need ccache; need libgtest-dev
command -v ninja >/dev/null 2>&1 || need ninja-build
"$python" -c 'import ensurepip' 2>/dev/null || need python3-venv
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "Missing packages, and this user cannot install them. As root:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${packages[*]}" >&2
    exit 1
  fi
  say "installing ${packages[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
mlir_dir=${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}

# The virtual environment.
requirements="torch==2.13.0 transformers numpy pybind11 lit pytest pytest-xdist hypothesis expecttest rich cmake"
if [ ! -x .venv/bin/python ]; then
  say "making .venv"
  "$python" -m venv .venv
fi
if [ "$(cat .venv/tilewright-requirements 2>/dev/null)" != "$requirements" ]; then
  say "installing into .venv: $requirements"
  .venv/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0
  # shellcheck disable=SC2086
  .venv/bin/python -m pip install -q --disable-pip-version-check $requirements
  printf '%s' "$requirements" > .venv/tilewright-requirements
fi

# The build.
cmake=.venv/bin/cmake
if [ ! -f build/build.ninja ]; then
  say "configuring build/"
  "$cmake" -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_LINKER_TYPE=LLD \
    -DMLIR_DIR="$mlir_dir" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -Dpybind11_DIR="$(.venv/bin/python -m pybind11 --cmakedir)" > build-configure.log 2>&1 || {
    cat build-configure.log >&2; exit 1; }
  mv build-configure.log build/configure.log
fi
say "building (ninja, $(nproc) cores; the first time takes some minutes)"
if [ -t 1 ]; then
  "$cmake" --build build
else
  "$cmake" --build build > build/build.log 2>&1 || { tail -n 60 build/build.log >&2; exit 1; }
  tail -n 1 build/build.log
fi

# The package: importable from build/python, and found by torch by name.
.venv/bin/python tools/dev/install_editable.py build
say "ready"
