#!/usr/bin/env bash
# Benchmarks the target cuda on the GPU of this machine. The baselines are cuBLAS, SDPA, TorchInductor and copies. A run takes less than
# nine minutes. The script writes the results to FOLDER (default: $OUT, else build/gpu-bench), as a table and as JSON.
#
#   tools/build-wheel.sh python3.12 && tools/dev/gpu-bench.sh [--wheel dist/tilewright-...whl] [--out FOLDER] [--rows GROUP,...] [--dry]
#
# The machine needs a python3 with torch 2.11 or newer. The wheel is unpacked into a temporary folder, and nothing is installed. --dry runs
# each benchmark with tiny sizes on the emulated device, with the package in build/python or in PYTHONPATH.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel='' out=${OUT:-$repository/build/gpu-bench} python=${PYTHON:-python3} flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --wheel) wheel=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --dry) flags+=(--dry); shift ;;
    --rows) flags+=(--rows "$2"); shift 2 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
case " ${flags[*]:-} " in
  *" --dry "*) export PYTHONPATH=${PYTHONPATH:-$repository/build/python} ;;
  *)
    wheel=$("$repository/tools/dev/find-wheel.sh" gpu-bench "$python" "$wheel")
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    "$python" -m zipfile -e "$wheel" "$unpacked"
    export PYTHONPATH=$unpacked
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv > "$out/machine.txt" 2>&1 || true
    ;;
esac
exec "$python" "$repository/tools/dev/gpu_bench.py" --out "$out" "${flags[@]}"
