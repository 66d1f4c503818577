#!/usr/bin/env bash
# Installs the dependencies of Tilewright, builds it into build/ and installs the Python package into .venv.
# quickstart.sh and test.sh call this script. If everything is up to date, the script takes seconds.
# MLIR_DIR selects another installation of LLVM/MLIR 22 by the folder of its MLIRConfig.cmake. In this case no LLVM package is installed.
# PYTHON selects another Python >= 3.11 for .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*"; }
die() { printf '%s\n' "$@" >&2; exit 1; }

python=${PYTHON:-python3}
command -v "$python" >/dev/null || die "Tilewright needs Python 3.11 or newer, but the program $python does not exist. Set PYTHON to an interpreter."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  die "Tilewright needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Set PYTHON to a newer one."

# Debian packages.
have() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
llvm_packages=(llvm-22-dev libmlir-22-dev mlir-22-tools clang-22 lld-22 liblld-22-dev llvm-22-tools libclang-rt-22-dev)
other_packages=(ccache libgtest-dev nlohmann-json3-dev libcpp-httplib-dev libprotozero-dev zlib1g-dev libzstd-dev iverilog yosys locales)
command -v ninja >/dev/null || other_packages+=(ninja-build)
command -v g++ >/dev/null || other_packages+=(g++) # test/Conformance/hls also compiles designs with g++
if [ -n "${MLIR_DIR:-}" ]; then
  [ -f "$MLIR_DIR/MLIRConfig.cmake" ] || die "MLIR_DIR is $MLIR_DIR, which does not contain MLIRConfig.cmake."
  packages=("${other_packages[@]}")
else
  packages=("${llvm_packages[@]}" "${other_packages[@]}")
fi
missing=0
for package in "${packages[@]}"; do have "$package" || missing=1; done
# Debian packages ensurepip and Python.h separately from Python.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then packages+=(python3-venv); missing=1; fi
if ! "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
  packages+=(python3-dev); missing=1
fi
if [ "$missing" = 1 ]; then
  [ "$(id -u)" = 0 ] || die "Packages are missing, and this user cannot install them. Run as root:" \
    "apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
  say "installing ${packages[*]}"
  log=$(mktemp)
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"; } \
    > "$log" 2>&1 || { tail -n 30 "$log" >&2; die "apt-get failed; its output is in $log"; }
  rm -f "$log"
fi

# The C++ compiler is the distribution's clang 22, or the clang of the LLVM in MLIR_DIR.
mlir_dir=${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}
if command -v clang++-22 >/dev/null; then
  cc=clang-22 cxx=clang++-22
elif [ -x "$mlir_dir/../../../bin/clang++" ]; then
  bin=$(cd "$mlir_dir/../../../bin" && pwd)
  cc=$bin/clang cxx=$bin/clang++
else
  die "There is no clang++-22 in PATH, and no clang++ in the LLVM installation of MLIR_DIR ($mlir_dir)."
fi

# The virtual environment. ml_dtypes is pinned because the ONNX reference converts floats to int4 with it, and 0.7.0 gives other
# results for values out of range.
requirements="torch==2.13.0 transformers==5.23.0 numpy pybind11 lit pytest pytest-xdist hypothesis expecttest rich cmake onnx==1.23.2 ml_dtypes==0.6.0 onnxscript==0.7.2 onnxruntime==1.32.0 sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19"
# ptxas and nvdisasm, which tests and readers of generated code use. The packages are installed without their dependencies, which contain CUDA's
# headers and libraries.
cuda_tools="nvidia-cuda-nvcc==13.2.78 nvidia-cuda-nvdisasm==13.2.78"
stamp=.venv/tilewright-requirements
if [ ! -x .venv/bin/python ]; then
  say "creating .venv"
  "$python" -m venv .venv
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$requirements $cuda_tools" ]; then
  say "installing into .venv: $requirements $cuda_tools"
  # shellcheck disable=SC2086
  .venv/bin/python -m pip install -q --disable-pip-version-check $requirements
  # shellcheck disable=SC2086
  if .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps $cuda_tools; then
    printf '%s\n' "$requirements $cuda_tools" > "$stamp"
  else
    say "warning: $cuda_tools could not be installed. Without ptxas, the tests of generated PTX are skipped. The next run of this script tries again."
  fi
fi

# Configure the build if build/ does not exist, or if it was configured for another LLVM.
cmake=.venv/bin/cmake
configured() { [ -f build/build.ninja ] && grep -q "^MLIR_DIR:[A-Z]*=$mlir_dir\$" build/CMakeCache.txt; }
if ! configured; then
  say "configuring build/"
  mkdir -p build
  rm -rf build/CMakeCache.txt build/CMakeFiles
  "$cmake" -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_LINKER_TYPE=LLD -DMLIR_DIR="$mlir_dir" \
    -DTILEWRIGHT_UNITY=ON -DTILEWRIGHT_PYTHON=ON -DTILEWRIGHT_TESTS=ON \
    -DPython3_EXECUTABLE="$PWD/.venv/bin/python" -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -Dpybind11_DIR="$(.venv/bin/python -m pybind11 --cmakedir)" > build/configure.log 2>&1 ||
    { cat build/configure.log >&2; die "the configuration failed"; }
fi
say "building (ninja, $(nproc) cores; the first build takes minutes)"
if [ -t 1 ]; then
  "$cmake" --build build
else
  "$cmake" --build build > build/build.log 2>&1 || { tail -n 60 build/build.log >&2; die "the build failed; its output is in build/build.log"; }
fi

# Install the package in editable mode: a .pth file, and the entry points by which torch finds the backend.
.venv/bin/python tools/dev/install_editable.py build
say "ready"
