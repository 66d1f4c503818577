#!/usr/bin/env bash
# Measures and tests the target cuda on the GPU of this machine (docs/targets/cuda.md, "Measured on a GPU").
#
#   tools/build-wheel.sh python3.12
#   tools/dev/gpu-run.sh PART... --minutes N [--wheel dist/tilewright-...whl] [--out FOLDER] [--earlier FOLDER] [--only PATTERN,...] [--dry]
#
# The parts are
#   tests      the tests of the target cuda, on the GPU instead of the emulated device
#   models     whole models against eager and TorchInductor, with the kernels of each call
#   tables     times of all schedules of products, for the cost model
#   kernels    single kernels against cuBLAS, cuDNN, SDPA, TorchInductor and copies
#   tuned      whole models with mode="max-autotune"
# The parts run in the given order. When a part begins, it gets an equal share of the remaining time. Each result is written immediately, as
# a line of JSON in FOLDER (default: $OUT, else build/gpu-run/out), and summary.md has tables. FOLDER gets at most eight files. A later call
# with the same folder, or with --earlier FOLDER, measures only the missing results, and is faster because of the caches in build/gpu-run/.
#
# python3 (or $PYTHON) needs torch 2.11 or newer, transformers for models, and pytest, pytest-xdist and pytest-timeout for tests. The wheel
# is unpacked into build/gpu-run/, and nothing is installed. --dry uses the package in build/python, tiny sizes, and the fake driver.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel='' dry='' work=$repository/build/gpu-run python=${PYTHON:-python3}
arguments=(${OUT:+--out "$OUT"})
while [ $# -gt 0 ]; do
  case $1 in
    --wheel) wheel=$2; shift 2 ;;
    --work) work=$2; arguments+=(--work "$2"); shift 2 ;;
    --dry) dry=1; arguments+=(--dry); shift ;;
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) arguments+=("$1"); shift ;;
  esac
done
if [ -n "$dry" ]; then
  export PYTHONPATH=${PYTHONPATH:-$repository/build/python}
else
  wheel=$("$repository/tools/dev/find-wheel.sh" gpu-run "$python" "$wheel")
  package=$work/package-$(cksum < "$wheel" | cut -d ' ' -f 1)
  if [ ! -d "$package" ]; then
    mkdir -p "$work"
    "$python" -m zipfile -e "$wheel" "$package.part"
    chmod +x "$package.part"/*.data/scripts/* 2> /dev/null || true
    mv "$package.part" "$package"
  fi
  arguments+=(--package "$package")
  export PYTHONPATH=$package
fi
PYTHONPATH=$PYTHONPATH:$repository/tools/dev exec "$python" -m gpu_run "${arguments[@]}"
