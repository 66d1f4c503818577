"""test/Conformance/passes: passes in any order, and mutated files, must end with a result or an error. Runs a share,
or all with --full."""

import os
import random
import sys
from pathlib import Path

import pytest

import tilewright

HERE = Path(__file__).resolve().parent
BIN = Path(tilewright.__file__).parents[2] / "bin"
sys.path[:0] = [str(HERE.parent / "Conformance" / "passes"), str(HERE.parent / "Conformance" / "harness")]

import element_types  # noqa: E402
import mutations  # noqa: E402
import orders  # noqa: E402
from shares import share  # noqa: E402

FULL = bool(os.environ.get("TILEWRIGHT_TEST_FULL"))
JOBS = os.cpu_count() or 2

pytestmark = pytest.mark.skipif(not (BIN / "tilewright-opt").exists(), reason="tilewright was not imported from a build tree")


def test_passes_in_any_order_end_with_a_result_or_an_error():
    cases = orders.pairs() + orders.orders(2336, 0)
    if not FULL:
        kept = set(share([str(i) for i in range(len(cases))], 40))
        cases = [case for i, case in enumerate(cases) if str(i) in kept]
    assert not orders.run(cases, str(BIN / "tilewright-opt"), JOBS)


def test_mutated_files_end_with_a_result_or_an_error(tmp_path):
    """Runs one in 65 of the files of --full, all of which are known to pass."""
    only = None if FULL else {int(number) for number in share([str(i) for i in range(10_000)], 65)}
    assert not list(mutations.run(10_000, 0, BIN, JOBS, tmp_path, only))


def test_seed_determines_the_mutated_file():
    known = mutations.seeds()
    assert len(known) > 300 and sum(seed.is_graph for seed in known) > 150
    once, again = (mutations.mutate(random.Random(5), known[7].text, known[9].text) for _ in range(2))
    assert once == again


def test_new_seed_file_keeps_most_mutations_of_other_files():
    known = mutations.seeds()
    fewer = [mutations.drawn(known[:-1], str(number)).name for number in range(100)]
    assert sum(name != mutations.drawn(known, str(number)).name for number, name in enumerate(fewer)) < 5


def test_share_of_graph_ops_with_changed_element_types_agrees_with_the_reference(tmp_path):
    done = list(element_types.run(BIN, JOBS, tmp_path, part=0 if FULL else 7, parts=1 if FULL else 60))
    assert len(done) > 60 and not [wrong for _, wrong in done if wrong]
