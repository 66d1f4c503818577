"""Tests that the cost model of GPU products predicts recorded times, also for products that were not used to fit its parameters."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import fit_wgmma  # noqa: E402


@pytest.fixture(scope="module")
def model():
    model = fit_wgmma.Model(fit_wgmma.TABLES)
    yield model
    model.close()


def assert_reaches_bars(tables):
    total = fit_wgmma.Summary.of(tables)
    assert total.first >= 0.93, total
    assert total.quick >= 0.97, total
    assert total.rank >= 0.9 and total.least_rank >= 0.75, total
    assert total.error <= 0.15 and max(table.error for table in tables) <= 0.4, total


def test_present_parameters_reach_the_bars_on_the_recorded_tables(model):
    assert len(model.kernels) == 16
    assert_reaches_bars(fit_wgmma.present(model))


def test_fits_of_all_other_tables_reach_the_bars_on_each_table(model):
    assert_reaches_bars(fit_wgmma.unseen(model))


def test_parameters_in_the_source_are_those_of_a_fit_of_all_tables(model):
    x = fit_wgmma.fit(model, list(range(len(model.kernels))))
    # A new fit may return other values of parameters that the tables hardly determine, but nearly the same predicted times.
    for fitted, present in zip(model.predict(x), model.predict(model.initial), strict=True):
        assert np.median(np.abs(fitted / present - 1)) < 0.03


def test_rank_correlation_ignores_differences_within_three_percent():
    measured = np.array([100.0, 101, 102, 200, 400])
    assert fit_wgmma.rank_correlation(np.array([3.0, 2, 1, 4, 5]), measured) == pytest.approx(1)
    assert fit_wgmma.rank_correlation(np.array([3.0, 2, 1, 5, 4]), measured) < 1


@pytest.mark.parametrize(
    "table, message",
    [
        ({"kernel": "bf16-8x8", "schedules": [[{"n": 8}, 1.0]]}, "does not have the form TYPE-MxNxK"),
        ({"kernel": "bf16-8x8x8", "schedules": [[{"warps": 8}, 1.0]]}, "a schedule of the kind wgmma has no knob 'warps'"),
        ({"kernel": "bf16-8x8x8", "schedules": [[{"n": 8}, 1.0]]}, "lacks consumer_rows, consumers, n or stages"),
    ],
)
def test_gpu_model_refuses_tables_that_it_cannot_read(table, message, tmp_path):
    (tmp_path / "table.jsonl").write_text(json.dumps(table) + "\n")
    done = subprocess.run([fit_wgmma.PROGRAM, f"--tables={tmp_path / 'table.jsonl'}"], capture_output=True, text=True, input="")
    assert done.returncode == 1 and message in done.stderr and "table.jsonl" in done.stderr
