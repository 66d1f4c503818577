#!/usr/bin/env bash
# Runs the tests of the target cuda on the GPU of this machine. CI runs the same tests on the emulated device.
#
#   tools/build-wheel.sh python3.12 && tools/dev/gpu-tests.sh [--wheel dist/tilewright-...whl] [--out FOLDER] [PYTEST ARGUMENT...]
#
# python3 needs torch 2.11 or newer, pytest, pytest-xdist and pytest-timeout. The script copies the tests, and replaces the device "emulated"
# in the copies by $TILEWRIGHT_GPU_TESTS_DEVICE (default: "cuda"). If a fault destroys the GPU context of a pytest process, the process exits,
# and a new process runs the remaining tests. The output of pytest is written to tests.txt in FOLDER (default: $OUT, else build/gpu-tests).
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel='' out=${OUT:-$repository/build/gpu-tests} python=${PYTHON:-python3} device=${TILEWRIGHT_GPU_TESTS_DEVICE:-cuda}
while [ $# -gt 0 ]; do
  case $1 in
    --wheel) wheel=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) break ;;
  esac
done
mkdir -p "$out"
wheel=$("$repository/tools/dev/find-wheel.sh" gpu-tests "$python" "$wheel")

# Create the folder layout of a checkout, in which the folder test/ is next to build/python and build/bin.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m pip install -q --no-deps --no-index --no-compile --disable-pip-version-check --root-user-action=ignore \
  --target "$folder/build/python" "$wheel"
mkdir -p "$folder/build/bin"
ln -s ../python/bin/tilewright "$folder/build/bin/tilewright"
cp -r "$repository/test" "$folder/test"
sed -i "s/\"emulated\"/\"$device\"/; s/=emulated\"/=$device\"/" "$folder"/test/Python/test_cuda*.py
cat >> "$folder/test/Python/conftest.py" <<'PYTHON'


@pytest.fixture(autouse=True)
def context_lives():
    """Exits if a fault has destroyed the GPU context, in which no further test can run."""
    yield
    try:
        torch.cuda.is_available() and torch.cuda.synchronize()
    except Exception as error:
        print(error, file=sys.stderr)
        os._exit(3)
PYTHON

cd "$folder"
# Exclude the tests that check the PTX interpreter, and the tests that need the emulated device.
# shellcheck disable=SC2046,SC2010 # names of tests have no spaces
[ $# -gt 0 ] || set -- $(ls test/Python/test_cuda*.py | grep -v -e driver -e gpu_bench) -k 'not damage and not locations_change and not out_of_memory'
export LD_LIBRARY_PATH=$folder/build/python/tilewright${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONPATH=$folder/build/python "$python" -m pytest -p no:cacheprovider -q -n "$(nproc)" --timeout=90 --tb=short \
  -o faulthandler_timeout=80 "$@" 2>&1 | tee "$out/tests.txt" | tail -n 150
