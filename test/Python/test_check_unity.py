"""tools/dev/check_unity.py finds local names that two files of a library define."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "dev"))

from check_unity import conflicts  # noqa: E402

FILE = """namespace tilewright {
namespace {
enum Knobs : size_t { rows };
constexpr int64_t most = 4;
int64_t widthOf(Type type) { return 1; }
} // namespace
void shared(int number) {
}
static bool holds(Value value, int64_t number) {
}
} // namespace tilewright
"""


def test_local_names_of_two_files_of_a_library_conflict():
    found = conflicts({"lib/A/One.cpp": FILE, "lib/A/Two.cpp": FILE}, ["lib/A"])
    names = [line.split(" is defined")[0].removeprefix("tilewright::") for line in found]
    assert names == ["Knobs", "holds(Value, int64_t)", "most", "widthOf(Type)"]


def test_other_libraries_namespaces_and_overloads_do_not_conflict():
    other = FILE.replace("namespace tilewright {", "namespace other {")
    overload = "namespace tilewright {\nstatic int64_t widthOf(Value value) {\n}\n} // namespace tilewright\n"
    files = {"lib/A/One.cpp": FILE, "lib/A/Other.cpp": other, "lib/A/Overload.cpp": overload, "lib/B/One.cpp": FILE}
    assert not conflicts(files, ["lib/A", "lib/B"])
