#!/usr/bin/env bash
# Compiles a model from a fresh clone: installs, builds, measures the machine and runs docs/examples/quickstart.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh
.venv/bin/python -c 'import tilewright; print("this machine, for the choice of schedules:", tilewright.calibrate())'
exec .venv/bin/python docs/examples/quickstart.py "$@"
