#!/usr/bin/env bash
# Runs the Python tests with the newest torch of the package index: tools/dev/newest_torch.sh [pytest arguments]
#
# torch is installed into the separate virtual environment .venv-newest. The environment takes several GB if the index has only builds for CUDA. The
# tests use the build of Tilewright in build/, which works with each version of torch because it does not link libtorch. Version constraints
# of pip's configuration are ignored.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
stamp=.venv/tilewright-requirements
[ -f "$stamp" ] || { echo "there is no $stamp: run tools/setup.sh first" >&2; exit 2; }
[ -x .venv-newest/bin/python ] || .venv/bin/python -m venv .venv-newest
# shellcheck disable=SC2046
PIP_CONSTRAINT=/dev/null .venv-newest/bin/python -m pip install -q --disable-pip-version-check --upgrade torch \
  $(tr ' ' '\n' < "$stamp" | grep -v '^torch==')
.venv-newest/bin/python -c 'import torch; print("torch", torch.__version__)'
.venv-newest/bin/python tools/dev/install_editable.py build
exec .venv-newest/bin/python -m pytest -q -n 2 "$@" test/Python
