"""test/Conformance/passes: passes in any order, and mutated files, end with a result or an error. A share here, all with --full."""

import os
import sys
from pathlib import Path

import pytest

import tilewright

HERE = Path(__file__).resolve().parent
BIN = Path(tilewright.__file__).parents[2] / "bin"
sys.path[:0] = [str(HERE.parent / "Conformance" / "passes"), str(HERE.parent / "Conformance" / "harness")]

import mutations  # noqa: E402
import orders  # noqa: E402
from shares import commit, share  # noqa: E402

FULL = bool(os.environ.get("TILEWRIGHT_TEST_FULL"))
JOBS = os.cpu_count() or 2

pytestmark = pytest.mark.skipif(not (BIN / "tilewright-opt").exists(), reason="tilewright was not imported from a build tree")


def test_orders_of_passes():
    cases = orders.pairs() + orders.orders(2336, 0)
    if not FULL:
        kept = set(share([str(i) for i in range(len(cases))], commit(), 40))
        cases = [case for i, case in enumerate(cases) if str(i) in kept]
    assert not orders.run(cases, str(BIN / "tilewright-opt"), JOBS)


def test_mutated_files(tmp_path):
    seed = 0 if FULL else int(commit()[:4], 16) if commit() != "none" else 1
    assert not mutations.run(10_000 if FULL else 150, seed, BIN, JOBS, tmp_path)


def test_a_seed_is_a_file():
    import random

    known = mutations.seeds()
    others = [s.text for s in known]
    assert len(known) > 300 and sum(s.is_graph for s in known) > 150
    assert mutations.mutate(random.Random(5), known[7].text, others) == mutations.mutate(random.Random(5), known[7].text, others)
