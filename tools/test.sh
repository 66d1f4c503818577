#!/usr/bin/env bash
# Installs, builds and runs every test; the last line is "N passed, N failed, N skipped".
# --full also runs the slow ones (TILEWRIGHT_TEST_FULL=1).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${1:-}" = --full ] && export TILEWRIGHT_TEST_FULL=1
started=$SECONDS
part=$SECONDS
lap() { printf '== %s: %d s\n' "$1" $((SECONDS - part)); part=$SECONDS; }

bash tools/setup.sh || { echo "the build failed"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
lap build

results=build/test-results
rm -rf "$results"; mkdir -p "$results"
python=.venv/bin/python

for program in tilewright_plain_tests tilewright_llvm_tests; do
  if [ -x "build/bin/$program" ]; then
    "build/bin/$program" --gtest_brief=1 --gtest_output="xml:$results/$program.xml" || echo "$program: exit $?"
    [ -f "$results/$program.xml" ] || touch "$results/$program.crashed"
  else
    echo "$program was not built"; touch "$results/$program.crashed"
  fi
done
$python -c 'import lit.main; lit.main.main()' -q --xunit-xml-output "$results/lit.xml" build/test
[ -f "$results/lit.xml" ] || touch "$results/lit.crashed"
lap "lit and unit"

for check in tools/dev/check_includes.py tools/dev/check_pipeline_doc.py; do
  if $python "$check" > "$results/check.log" 2>&1; then touch "$results/$(basename "$check").ok"
  else cat "$results/check.log"; touch "$results/$(basename "$check").crashed"; fi
done

$python -m pytest -q -n 2 --junitxml "$results/pytest.xml" test/Python || echo "pytest: exit $?"
[ -f "$results/pytest.xml" ] || touch "$results/pytest.crashed"
lap torch
printf '== all: %d s\n' $((SECONDS - started))

exec $python tools/dev/sum_tests.py "$results"
