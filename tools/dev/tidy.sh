#!/bin/bash
# Runs clang-tidy (checks: .clang-tidy) on the sources of the library, the programs and the Python module.
#
#     tools/dev/tidy.sh [BUILD]      BUILD is a build folder, by default build
#
# The build must be up to date, because clang-tidy reads its compile_commands.json and generated files. A run takes many minutes of CPU
# time. Warnings are printed; the exit status is then not 0.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
command -v clang-tidy-22 > /dev/null || { echo "clang-tidy-22 is missing: apt-get install clang-tidy-22" >&2; exit 2; }
python3 - "$build" << 'END' | xargs -P "$(nproc)" -I{} clang-tidy-22 --quiet -p "$build" {}
import json, sys
from pathlib import Path

entries = json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text())
files = {str(Path(e["directory"], e["file"]).resolve()) for e in entries}
skipped = ("/test/", "_pch.dir/", "pch.cpp")
print("\n".join(sorted(file for file in files if not any(part in file for part in skipped))))
END
