#!/usr/bin/env bash
# Prints the path of a wheel for the interpreter PYTHON: WHEEL if it is given, otherwise the newest matching wheel in dist/. The script
# gpu-run.sh, which runs on a machine with a GPU, calls this script. SCRIPT is the name of the calling script, for error messages.
#
#   tools/dev/find-wheel.sh SCRIPT PYTHON [WHEEL]
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tag=$("$2" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
wheel=${3:-}
# shellcheck disable=SC2012 # names of wheels have no spaces
[ -n "$wheel" ] || wheel=$(ls -t "$repository"/dist/tilewright-*-"$tag"-*.whl 2> /dev/null | head -n 1) || true
[ -f "$wheel" ] || { echo "$1: there is no wheel for $tag in dist/; build one with tools/build-wheel.sh, or pass its path with --wheel" >&2; exit 2; }
echo "$wheel"
