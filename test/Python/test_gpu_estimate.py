"""Tests that the estimate of kernel times on an H200 reproduces measured times, and that its tool runs without a GPU."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import estimate_gpu  # noqa: E402
import gpu_timing  # noqa: E402

PRODUCT = """
func.func @main(%x: tensor<512x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<512x1024xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<1024x1024xbf16> -> tensor<1024x1024xbf16>
  %h = tw.matmul %x, %t : (tensor<512x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<512x1024xbf16>
  return %h : tensor<512x1024xbf16>
}
"""


@pytest.fixture(scope="module")
def records():
    return estimate_gpu.load(estimate_gpu.MEASURED)


def test_the_errors_of_kernels_left_out_of_the_fit_are_small(records):
    errors = np.abs(gpu_timing.left_out(records) - 1)
    assert np.median(errors) <= 0.15
    assert np.mean(errors <= 0.4) >= 0.95


def test_the_errors_of_models_left_out_of_the_fit_are_small(records):
    errors = np.abs(gpu_timing.left_out(records, "source") - 1)
    assert np.median(errors) <= 0.15
    assert np.mean(errors <= 0.4) >= 0.9


def test_compare_pairs_kernels_of_the_same_name_in_their_order(records, tmp_path, capsys):
    same = [records[0], records[0] | {"path": 2 * records[0]["path"]}]
    estimate_gpu.save([record | {"launches": 1} for record in same], tmp_path / "records.jsonl")
    loaded = estimate_gpu.load(tmp_path / "records.jsonl")
    estimate_gpu.compare(loaded, estimate_gpu.load(tmp_path / "records.jsonl"))
    assert capsys.readouterr().out.count("(1.00 times as fast)") == 2


def test_the_parameters_in_the_source_are_those_of_a_fit_of_all_kernels(records):
    fitted = gpu_timing.fit(records)
    assert gpu_timing.PARAMETERS == pytest.approx(fitted, rel=1e-2)


def test_a_kernel_with_more_work_of_one_unit_has_a_longer_estimate(records):
    for unit in (*gpu_timing.UNITS, "path", "bulk", "outside", "partial", "read", "written", "distinct_read", "distinct_written"):
        more = [record | {unit: 3 * record[unit] + 1e5} for record in records]
        before, after = (gpu_timing.Timing(each).predict(gpu_timing.PARAMETERS) for each in (records, more))
        assert (after >= before).all() and (after > before).any(), unit


def tool(*arguments, folder):
    done = subprocess.run([sys.executable, estimate_gpu.__file__, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(name, schedule, folder):
    (folder / "product.mlir").write_text(PRODUCT)
    (folder / "schedule.json").write_text(json.dumps({"matmul*": schedule}))
    program = estimate_gpu.BUILD / "bin" / "tilewright"
    command = [program, "run", "product.mlir", "--target=cuda", "--arch=sm_90a", "--device=cuda:0", "--schedule-file=schedule.json"]
    return tool("run", "--save", name, "--", *map(str, command), folder=folder)


@pytest.mark.skipif(not estimate_gpu.DRIVER.exists(), reason="this build has no fake driver")
def test_the_tool_estimates_and_compares_the_kernels_of_a_command(tmp_path):
    fast = {"consumer_rows": 64, "consumers": 1, "n": 64, "stages": 6, "split_k": 1}
    shown = run("fast.jsonl", fast, tmp_path)
    assert "matmul_512x1024x1024" in shown and "all 1 launches" in shown
    run("slow.jsonl", fast | {"n": 8, "stages": 2}, tmp_path)
    (first,), (second,) = estimate_gpu.load(tmp_path / "fast.jsonl"), estimate_gpu.load(tmp_path / "slow.jsonl")
    # 8 x 16 tiles of 64 x 64, with 64 x 64 x 1024 multiply-adds at 2048 per cycle.
    assert first["grid"] == [128, 1, 1] and first["tensor"] == pytest.approx(2048)
    assert first["distinct_read"] == (512 + 1024) * 1024 * 2 and first["distinct_written"] == 512 * 1024 * 2
    assert second["estimate_us"] > 1.5 * first["estimate_us"]
    assert "times as fast" in tool("compare", "slow.jsonl", "fast.jsonl", folder=tmp_path)
