"""Tests of the estimator of the target hls with public co-simulated designs, and with small designs whose cycles were
counted manually."""

import json
import pathlib
import subprocess
import sys

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "hls-estimate"
sys.path.insert(0, str(ROOT / "test" / "Conformance" / "hls"))

import hls_score  # noqa: E402

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="there is no hls-estimate next to the library")

# AT_MOST has upper bounds of relative errors in percent. AT_LEAST has lower bounds of the percentage of designs whose
# estimate is exact, or has at most the error in the name. The bounds are the present values with a small margin. The
# estimator's goals are an error of the cycles of 5% in the median and 25% in the 90th percentile, exact DSPs for 90% of
# the designs, and BRAM within 20%.
AT_MOST = {"cycles, median": 0.3, "cycles, 90th": 9, "LUT, median": 7, "FF, median": 8.5}
AT_LEAST = {"DSP exact": 90, "DSP within 5": 94, "BRAM within 20": 94}


@pytest.fixture(scope="module")
def points():
    return hls_score.points(program=PROGRAM)


@pytest.mark.parametrize("held_out", [False, True])
def test_errors_of_estimates_of_public_designs_are_bounded(points, held_out):
    summary = hls_score.summary([point for point in points if point.held_out == held_out])
    assert {key: value for key, value in summary.items() if value > AT_MOST.get(key, 101)} == {}
    assert {key: value for key, value in summary.items() if value < AT_LEAST.get(key, -1)} == {}


def test_every_public_design_has_a_cycle_estimate(points):
    assert len(points) == 110
    assert [point.truth["name"] for point in points if point.estimate["cycles"] <= 0] == []


def estimate(folder, queue_depth, reader_ii=1, fill=None, reassociates=False, **more):
    """Estimates a design in which 64 elements are passed from one task to another. With `fill`, the consumer
    first reads all elements of a second queue."""
    access = [[0, "w", 1, []]] + ([[1, "w", 1, []]] if fill else [])
    reads = [{"trips": [64], "ii": reader_ii, "ops": {"read": 1}, "path": {"read": 1}, "queues": [[0, "r", 1, []]]}]
    if fill:
        reads.insert(0, {"trips": [64], "ii": 1, "ops": {"read": 1}, "path": {"read": 1}, "queues": [[1, "r", 1, []]]})
    writer = {"trips": [64], "ii": 1, "ops": {"write": 1}, "path": {"write": 1}, "queues": access}
    design = {"name": "two", "reassociates": reassociates, "arrays": [["local", 1, 64]], "queues": [[1, queue_depth], [1, 64]],
              "tasks": [{"name": "writer", "body": [writer | more]}, {"name": "reader", "body": reads}]}  # fmt: skip
    file = folder / "design.json"
    file.write_text(json.dumps([design]))
    return json.loads(subprocess.run([PROGRAM, file], check=True, capture_output=True, text=True).stdout)


def test_reader_runs_concurrently_with_writer(tmp_path):
    # The first element arrives after 1 + 1 cycles. Then the consumer takes 63 cycles between its first and last
    # iteration, 1 cycle for its pipeline depth, and 2 cycles to exit.
    assert estimate(tmp_path, 2)["cycles"] == 2 + 63 + 1 + 2


def test_slow_reader_determines_the_cycles(tmp_path):
    assert estimate(tmp_path, 2, reader_ii=5)["cycles"] == 2 + 5 * 63 + 1 + 2


def test_queue_shorter_than_its_data_deadlocks(tmp_path):
    # The consumer empties the second queue first, so the first queue must hold all 64 elements.
    assert estimate(tmp_path, 63, fill=True)["cycles"] == -1
    assert estimate(tmp_path, 64, fill=True)["cycles"] > 128


def test_ii_is_bounded_by_bank_ports_and_by_recurrences(tmp_path):
    plain = estimate(tmp_path, 64)["cycles"]
    # Ten accesses to one bank with two ports need an II of 5.
    ports = estimate(tmp_path, 64, ports=[[0, 10, 0, 10]])["cycles"]
    assert ports == plain + 4 * 63
    # An element that one iteration writes is read two iterations later, and the update takes 7 cycles, so the II is 4.
    waits = estimate(tmp_path, 64, rec=[[2, {"addf": 1, "load": 1, "store": 1}]], auto=1)["cycles"]
    assert waits == plain + 3 * 63


def address_operators(folder, products=(), quotients=()):
    """Returns the address operators, by name, of a nest with these products and quotients of indices."""
    more = {"products": [list(one) for one in products], "quotients": list(quotients)}
    operators = estimate(folder, 64, **more)["operators"]
    return {name: count for name, count in operators.items() if name in ("address", "address in logic", "wide quotient")}


def test_address_products_are_operators_only_if_not_shifts(tmp_path):
    # Products by 24 and 28 are computed by two shifts. A product by 190 needs a multiplier. If only one sum uses it,
    # the product and the addition are one multiply-add.
    assert address_operators(tmp_path, [[190, 8, 1], [24, 8, 1], [28, 8, 1]]) == {"address": 1}
    # A product that is available before the rest of its sum, or that several sums or no sum use, is a separate
    # operator. If its constant has few bits, the product uses logic instead of DSPs.
    assert address_operators(tmp_path, [[190, 8, 1, 1], [190, 8, 28], [190, 8, 0]]) == {"address in logic": 3}
    assert address_operators(tmp_path, [[784, 6, 28], [511, 9, 0], [513, 9, 0], [515, 9, 0]]) == {"address": 2}


def test_index_divisions_are_operators_and_are_shared(tmp_path):
    # A division is a product by a reciprocal, which has one bit more than the index. A product with a factor of ten
    # bits takes a DSP. The division of an index of 64 bits takes sixteen DSPs.
    assert address_operators(tmp_path, quotients=[8, 9]) == {"address in logic": 1, "address": 1}
    dsp = estimate(tmp_path, 64)["dsp"]
    assert estimate(tmp_path, 64, quotients=[64] * 3)["dsp"] == dsp + 3 * 16
    # With an II of 3, the divisions of an iteration share one operator, unless both ports of a bank need an index in
    # each of the three cycles.
    assert estimate(tmp_path, 64, quotients=[64] * 3, ii=3, ports=[[0, 5, 0, 5]])["dsp"] == dsp + 16
    assert estimate(tmp_path, 64, quotients=[64] * 3, ii=3, ports=[[0, 6, 0, 6]])["dsp"] == dsp + 3 * 16


@pytest.mark.parametrize(("arrays", "ii"), [([0, 1], 2), ([0, 0], 4)])
def test_two_tasks_that_use_an_external_array_share_its_ports(tmp_path, arrays, ii):
    # Four loads of a bank use both ports of the bank, or only one port if another task uses the bank, too.
    nest = lambda array: {"trips": [64], "ii": 1, "ops": {"load": 4}, "path": {"load": 1}, "ports": [[array, 4, 0, 4]]}  # noqa: E731
    design = {"name": "ports", "reassociates": False, "arrays": [["port", 1, 99]] * 2, "queues": [],
              "tasks": [{"name": "task", "body": [nest(array)]} for array in arrays]}  # fmt: skip
    file = tmp_path / "design.json"
    file.write_text(json.dumps([design]))
    printed = json.loads(subprocess.run([PROGRAM, file], check=True, capture_output=True, text=True).stdout)
    assert printed["cycles"] == 63 * ii + 2 + 2


def test_operators_are_shared_between_states(tmp_path):
    # The task has three steps. The second step needs the result of the first step. The third step is independent,
    # begins together with the first step, and takes longer.
    step = lambda trips, arrays: {"trips": [trips], "ii": 1, "ops": {"mulf": 1}, "path": {"mulf": 1}, "ports": [[one, 1, 0, 1] for one in arrays]}  # noqa: E731
    design = {"name": "states", "reassociates": False, "arrays": [["port", 1, 99]] * 2, "queues": [],
              "tasks": [{"name": "task", "body": [step(10, [0]), step(10, [0]), step(50, [1])]}]}  # fmt: skip
    file = tmp_path / "design.json"
    file.write_text(json.dumps([design]))
    printed = json.loads(subprocess.run([PROGRAM, file], check=True, capture_output=True, text=True).stdout)
    # The first and the third step run in parallel. The second step runs alone, because it also waits for the third
    # step. Therefore at most two multipliers are needed at a time.
    assert printed["operators"]["mulf"] == 2
    assert printed["cycles"] == (49 + 4 + 2) + (9 + 4 + 2)


def bound(folder, terms, sums, ports=(1, 1, 2), load=True):
    """Returns the numbers of quick additions, slow additions and products after binding, if each iteration waits for
    the previous one."""
    way = {"addf": terms} | ({"load": 1, "store": 1} if load else {})
    ops = {"addf": terms * sums, "mulf": terms * sums, "load": 1, "store": 1, "write": 1}
    operators = estimate(folder, 64, reassociates=True, ops=ops, rec=[[1, way]], ports=[[0, *ports]])["operators"]
    return operators.get("quick addition", 0), operators["addf"], operators["mulf"]


def test_operators_are_shared_within_the_ii(tmp_path):
    # A sum of sixteen terms has an adder tree of four levels, and the II is 16. 64 quick additions, 192 slow additions
    # and 256 products are multiples of 16.
    assert bound(tmp_path, 16, 16) == (4, 12, 16)
    # With eight terms, the II is 12. The 160 slow additions are not a multiple of 12, so one adder more than
    # ceil(160 / 12) = 14 is needed.
    assert bound(tmp_path, 8, 32) == (8, 15, 22)
    # With four terms, the II is 12. The slow additions of the 16 sums can begin in four of the 12 cycles, and their 64
    # products in slightly more than six.
    assert bound(tmp_path, 4, 16) == (4, 4, 11)
    # If the elements of all sums are in one bank, the sums access its ports one after another. Therefore their
    # operations are distributed over the cycles.
    assert bound(tmp_path, 4, 8, ports=(8, 8, 16), load=False) == (2, 2, 3)


def test_product_by_a_double_literal_takes_8_dsps(tmp_path):
    before, after = estimate(tmp_path, 64), estimate(tmp_path, 64, ops={"mulf by double": 1, "write": 1})
    assert after["dsp"] == before["dsp"] + 8


def additions(folder, terms, distance, sums=1, products=True, **more):
    """Returns the quick and slow additions of a nest that adds `terms` to each of `sums` elements, again after
    `distance` iterations."""
    way = {"addf": terms, "load": 1, "store": 1}
    ops = way | {"addf": terms * sums, "write": 1} | ({"mulf": terms * sums} if products else {})
    operators = estimate(folder, 64, reassociates=True, ops=ops, rec=[[distance, way]], **more)["operators"]
    return operators.get("quick addition", 0), operators["addf"]


def test_additions_of_a_short_recurrence_are_quick(tmp_path):
    # The adder tree of ten terms and the accumulated element has four levels, which take 4 * 6 + 2 cycles. If fewer
    # cycles are available, the four additions on the element's path are quick.
    assert additions(tmp_path, 10, 26) == (0, 10)
    assert additions(tmp_path, 10, 25) == (4, 6)
    assert additions(tmp_path, 10, 25, sums=3) == (12, 18)
    # If the number of terms is a power of two, the terms form a tree without the element, which is added one level
    # later.
    assert additions(tmp_path, 16, 26) == (0, 16)
    assert additions(tmp_path, 8, 20) == (0, 8)
    assert additions(tmp_path, 8, 19) == (3, 5)


def test_levels_of_an_element_in_the_larger_half_of_its_adder_tree(tmp_path):
    # With four terms, the element passes through three levels; with nine and twenty, through three and four.
    for terms, levels in ((4, 3), (9, 3), (20, 4), (25, 5)):
        assert additions(tmp_path, terms, levels * 6 + 2) == (0, terms)
        assert additions(tmp_path, terms, levels * 6 + 1) == (levels, terms - levels)


def test_levels_of_an_element_in_the_smaller_half_of_its_adder_tree(tmp_path):
    # If the four terms are not products, or if they are read under separate conditions in an unrolled loop over the
    # last index, the element passes through two levels of the tree.
    assert additions(tmp_path, 4, 14, sums=8) == (24, 8)
    for more in ({"products": False}, {"columns": [8, 1, 1]}):
        assert additions(tmp_path, 4, 14, sums=8, **more) == (0, 32)
        assert additions(tmp_path, 4, 13, sums=8, **more) == (16, 16)
    # If the unrolled loop is over another index, such terms form an ordinary tree, and no addition is outside of it.
    assert additions(tmp_path, 4, 14, sums=8, columns=[8, 0, 1]) == (24, 8)
    assert additions(tmp_path, 7, 19, sums=10, columns=[10, 0, 1]) == additions(tmp_path, 7, 19, sums=10)


def test_first_additions_of_some_sums_are_outside_of_the_adder_tree(tmp_path):
    # Seven terms and the element form a tree of three levels, or one addition followed by a tree of three levels.
    assert additions(tmp_path, 7, 19, sums=10) == (10 * 3, 10 * 4)
    # The first addition of some sums is outside of the tree, which adds one level (docs/targets/hls.md). If the
    # unrolled loop is over the last index, this holds for 7 of 10, 9 of 11 and 0 of 8 sums. If it is over another
    # index, this holds for all sums but one.
    for columns, apart in (([10, 1], 7), ([11, 1], 9), ([8, 1], 0), ([10, 0], 9), ([2, 0], 1)):
        sums = 2 * columns[0]
        assert additions(tmp_path, 7, 19, sums=sums, columns=columns) == (3 * sums + 2 * apart, 4 * sums - 2 * apart)
    # With eleven terms, a tree has four levels, which take 26 cycles, or five levels, which take 32 cycles.
    assert additions(tmp_path, 11, 32, sums=6, columns=[6, 1]) == (0, 66)
    assert additions(tmp_path, 11, 31, sums=6, columns=[6, 1]) == (3 * 5, 66 - 3 * 5)
    # If the II is two in any case, quick additions are used in only one sum.
    assert additions(tmp_path, 25, 16, sums=25, columns=[25, 1]) == (3, 310)


def test_missing_design_file_is_reported(tmp_path):
    result = subprocess.run([PROGRAM, tmp_path / "none.json"], capture_output=True, text=True)
    assert result.returncode == 2 and "none.json" in result.stderr


def test_access_to_an_undefined_array_is_reported(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as printed:
        estimate(tmp_path, 64, ports=[[7, 1, 0, 1]])
    assert printed.value.returncode == 2 and "array index 7, but the design has 1 arrays" in printed.value.stderr
