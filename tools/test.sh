#!/usr/bin/env bash
# Installs and builds Tilewright, and runs the tests. The last line of the output is "N passed, N failed, N skipped". The exit status is 1
# if a test failed, or if a test runner crashed or ran no test.
#
#     tools/test.sh [--full [PART ...]]
#
# With --full, the script takes hours and also runs the following. With names of parts (pytest, opinfo...), it runs only these parts.
#   - slow tests (TILEWRIGHT_TEST_FULL=1)
#   - tests in a browser, for which it tries to install Debian's chromium-headless-shell (96 MB)
#   - the Python tests with the newest torch (tools/dev/newest_torch.sh)
#   - all cases of the test files of which the default run executes only a part (SHARES in test/Python/conftest.py lists these files)
#   - all cases of the conformance suites opinfo, transformers and onnx, and all designs of test/Conformance/hls
#   - shares of the random graphs of test/Conformance/fuzz
#   - clang-tidy (tools/dev/tidy.sh)
#
# Each test runner writes its results (GoogleTest: .json, lit and pytest: .xml, scripts: none) and its exit status (.rc) to
# build/test-results/. tools/dev/sum_tests.py adds up these files. With --full, the date, the commit and the counts of each part are recorded
# in test/last-full-run.json, and runs without --full print this record.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
if [ $# -gt 0 ]; then
  [ "$1" = --full ] || { echo "usage: tools/test.sh [--full [PART ...]]" >&2; exit 2; }
  export TILEWRIGHT_TEST_FULL=1
  shift
fi
chosen=("$@") # the parts to run; empty: all parts
for part in "${chosen[@]}"; do
  grep -Eq "^ *run \"?$part\"? " "$0" || { echo "tools/test.sh: there is no part '$part'" >&2; exit 2; }
done
[ -n "${TILEWRIGHT_TEST_FULL:-}" ] || export TILEWRIGHT_TEST_SHARES=1
started=$SECONDS
python=.venv/bin/python
results=build/test-results

# run NAME LIMIT COMMAND...: runs one test runner with a time limit of LIMIT seconds, and stores its exit status.
run() {
  local name=$1 limit=$2 begin=$SECONDS rc=0
  shift 2
  [ ${#chosen[@]} = 0 ] || [[ " ${chosen[*]} " = *" $name "* ]] || return 0
  timeout --kill-after=10 "$limit" "$@" || rc=$?
  echo "$rc" > "$results/$name.rc"
  [ "$rc" = 124 ] && echo "$name: stopped after $limit s"
  echo "== $name: $((SECONDS - begin)) s, exit $rc"
}
skip() { echo "== $1: skipped, $2"; }

bash tools/setup.sh || { echo "the build failed"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
echo "== build: $((SECONDS - started)) s"
if [ -n "${TILEWRIGHT_TEST_FULL:-}" ] && [ "$(id -u)" = 0 ] && ! command -v chromium-headless-shell chromium > /dev/null; then
  { apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell; } > build/chromium.log 2>&1 ||
    echo "no browser could be installed (build/chromium.log); browser tests are skipped"
fi
rm -rf "$results"
mkdir -p "$results"
# Tests use a temporary cache instead of the user's cache.
TILEWRIGHT_CACHE_DIR=$(mktemp -d) && export TILEWRIGHT_CACHE_DIR
trap 'rm -rf "$TILEWRIGHT_CACHE_DIR"' EXIT

if [ -f test/Unit/CMakeLists.txt ]; then
  # shellcheck disable=SC2013 # names of programs have no spaces
  for program in $(sed -n 's/^ *tilewright_unit_test(\([a-z_]*\) .*/\1/p' test/Unit/CMakeLists.txt); do
    run "$program" 900 "build/bin/$program" --gtest_brief=1 --gtest_output="json:$results/$program.json"
  done
else
  skip unit "there is no test/Unit/CMakeLists.txt"
fi

if [ -f build/test/lit.site.cfg.py ]; then
  run lit 1800 $python -c 'import lit.main; lit.main.main()' -q --xunit-xml-output "$results/lit.xml" build/test
else
  skip lit "there is no build/test/lit.site.cfg.py"
fi

for check in check_includes check_pipeline_doc check_unity check_words; do
  if [ -f "tools/dev/$check.py" ]; then
    run "$check" 1800 $python "tools/dev/$check.py"
  else
    skip "$check" "there is no tools/dev/$check.py"
  fi
done

if [ -n "${TILEWRIGHT_TEST_FULL:-}" ]; then
  [ "$(id -u)" = 0 ] && ! command -v clang-tidy-22 > /dev/null && apt-get install -y clang-tidy-22 > build/clang-tidy.log 2>&1
  run tidy 14400 bash tools/dev/tidy.sh
fi

if [ -d test/Python ]; then
  run pytest 7200 $python -m pytest -q -n 2 --junitxml "$results/pytest.xml" test/Python
else
  skip pytest "there is no test/Python"
fi

if [ -n "${TILEWRIGHT_TEST_FULL:-}" ]; then
  run newest-torch 86400 bash tools/dev/newest_torch.sh --junitxml "$results/newest-torch.xml"
fi

# By default, a part of each conformance suite is run, because all of opinfo takes hours. This part is the same for every commit.
what=share limit=600
[ -n "${TILEWRIGHT_TEST_FULL:-}" ] && what=full limit=86400

if [ -f test/Conformance/opinfo/table.json ]; then
  run opinfo $limit $python test/Conformance/opinfo $what
else
  skip opinfo "there is no test/Conformance/opinfo/table.json"
fi

if [ -f test/Conformance/transformers/table.json ]; then
  run transformers $limit $python test/Conformance/transformers $what
else
  skip transformers "there is no test/Conformance/transformers/table.json"
fi

if [ -n "${TILEWRIGHT_TEST_FULL:-}" ]; then
  run fuzz $limit $python test/Conformance/fuzz share
  run fuzz-metamorphic $limit $python test/Conformance/fuzz share --metamorphic
  run fuzz-pt2 $limit $python test/Conformance/fuzz share --through pt2
  run fuzz-onnx $limit $python test/Conformance/fuzz share --through onnx
  run fuzz-mlir $limit $python test/Conformance/fuzz share --through mlir
else
  skip fuzz "new random graphs may fail; --full runs some"
fi

if [ -f test/Conformance/onnx/table.json ]; then
  run onnx 1800 $python test/Conformance/onnx "$what"
else
  skip onnx "there is no test/Conformance/onnx/table.json"
fi

run onnx-sizes $limit $python test/Conformance/onnx_sizes share

if [ -d test/Conformance/hls ]; then
  run hls 900 $python test/Conformance/hls run
  run rtl 1800 $python test/Conformance/hls rtl
else
  skip hls "there is no test/Conformance/hls"
fi

echo "== all: $((SECONDS - started)) s"
$python tools/dev/sum_tests.py "$results" ${TILEWRIGHT_TEST_FULL:+--full}
