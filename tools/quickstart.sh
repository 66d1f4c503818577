#!/usr/bin/env bash
# From a fresh clone to a compiled model: installs, builds, runs docs/examples/quickstart.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh
exec .venv/bin/python docs/examples/quickstart.py "$@"
