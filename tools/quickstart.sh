#!/usr/bin/env bash
# Installs and builds Tilewright in a fresh clone, measures the machine's rates, and runs docs/examples/quickstart.py, which compiles a
# model.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh
.venv/bin/python -c 'import tilewright; print("measured rates of this machine:", tilewright.calibrate())'
exec .venv/bin/python docs/examples/quickstart.py "$@"
