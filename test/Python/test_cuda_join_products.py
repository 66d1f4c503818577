"""Tests of kernels for sm_90a that compute several products of one operand, on the emulated device."""

import json
import re

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check
from test_cuda_wgmma import dumped, hopper, run_dynamic  # noqa: F401
from warp_group_kernels import assert_assembled_without_spills


def calls(tmp_path):
    """Returns the names of the kernels that the last compiled graph calls, without numbers."""
    main = dumped(tmp_path, "tiled").split("func.func private")[0]
    return [re.sub(r"_\d+", "", name) for name in re.findall(r" call @(\w+)\(", main)]


def assert_scheduled(tmp_path, **knobs):
    """Checks that a kernel of the last compiled graph has the schedule that a schedule file with `knobs` selects."""
    wanted = [f"block = [{knobs['consumer_rows'] * knobs['consumers']}, {knobs['n']}, ", f"stages = {knobs['stages']}"]
    wanted += [f"{name} = {knobs[name]}" for name in ("tile_rows_per_band", "tiles_per_block", "cluster", "split_k") if knobs.get(name, 1) > 1]
    schedules = re.findall(r"tw.schedule = #tw_gpu.schedule<([^>]*)>", dumped(tmp_path, "tiled"))
    assert any(all(part in schedule for part in wanted) for schedule in schedules), schedules


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_projections_of_attention_are_one_kernel(dtype, tmp_path):
    """In this layer, keys and values have fewer heads than queries."""
    weights = [torch.randn(size, 128).to(dtype) for size in (128, 64, 64)]
    biases = [torch.randn(size).to(dtype) for size in (128, 64, 64)]

    def projections(x, q, k, v, a, b, c):
        return F.linear(x, q, a), F.gelu(F.linear(x, k, b)), F.linear(x, v, c).transpose(-1, -2)

    for shape in [(2, 70, 128), (1, 16, 128)]:
        check(projections, torch.randn(*shape).to(dtype), *weights, *biases)
        assert [name for name in calls(tmp_path) if name.startswith("matmul")] == ["matmul_add_joined"], calls(tmp_path)


def test_f32_projections_by_bf16_parts_are_one_kernel(tmp_path):
    a, b, c = torch.randn(320, 512), torch.randn(512, 64), torch.randn(512, 72)
    check(lambda a, b, c: (a @ b, F.relu(a @ c)), a, b, c)
    assert sum("bf16_joined" in name for name in calls(tmp_path)) == 1, calls(tmp_path)


@pytest.mark.parametrize("knobs", [
    {"consumer_rows": 64, "consumers": 1, "n": 64, "stages": 2, "cluster": 1, "split_k": 2}, {"consumer_rows": 64, "consumers": 1, "n": 128, "stages": 2, "cluster": 2, "tiles_per_block": 2},
    {"consumer_rows": 128, "consumers": 2, "n": 64, "stages": 2, "tile_rows_per_band": 2}])  # fmt: skip
def test_joined_products_with_each_schedule_match_eager(knobs, tmp_path, monkeypatch):
    (tmp_path / "s.json").write_text(json.dumps({"matmul*": knobs}))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    a, b, c = torch.randn(200, 136).bfloat16(), torch.randn(136, 72).bfloat16(), torch.randn(136, 200).bfloat16()
    check(lambda a, b, c: (a @ b, F.silu(a @ c), (a @ c).sum(1)), a, b, c)
    assert sum("joined" in name for name in calls(tmp_path)) == 1, calls(tmp_path)
    assert_scheduled(tmp_path, **knobs)


def test_joined_products_may_have_several_results_and_residuals(tmp_path):
    a, b, c = torch.randn(64, 96).bfloat16(), torch.randn(96, 72).bfloat16(), torch.randn(96, 64).bfloat16()
    check(lambda a, b, c, r: (a @ b, F.relu(a @ b), a @ c + r), a, b, c, torch.randn(64, 64).bfloat16())
    assert "joined_results = array<i64: 2, 1>" in dumped(tmp_path, "tiled")


def test_convolutions_of_one_image_are_one_kernel(tmp_path):
    x = torch.randn(2, 64, 9, 11).bfloat16().to(memory_format=torch.channels_last)
    v, w = torch.randn(64, 64, 3, 3).bfloat16(), torch.randn(72, 64, 3, 3).bfloat16()
    for padding in (0, 1):
        check(lambda x, v, w: (F.relu(F.conv2d(x, v, padding=padding)), F.conv2d(x, w, padding=padding)), x, v, w)
        assert sum("joined" in name for name in calls(tmp_path)) == 1, calls(tmp_path)


def test_dependent_products_are_separate_kernels(tmp_path):
    a, b = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()
    check(lambda a, b: a @ (a @ b), a, b)
    assert not any("joined" in name for name in calls(tmp_path))
    check(lambda a, b: F.silu(a @ b) * (a @ b.t()), a, b)
    assert not any("joined" in name for name in calls(tmp_path))
    # The products with b and c are joined. The last product depends on one of them.
    check(lambda a, b, c: (a @ b, F.silu(a @ b.t()) * (a @ c)), a, b, torch.randn(64, 64).bfloat16())
    assert [name for name in calls(tmp_path) if "matmul" in name][0].endswith("joined") and len(calls(tmp_path)) == 2


def test_products_of_symbolic_sizes_are_separate_kernels(tmp_path):
    b, c = torch.randn(64, 72).bfloat16(), torch.randn(64, 80).bfloat16()
    run_dynamic(lambda a, b, c: F.relu(a @ b).sum() + (a @ c).sum(), [((a, b, c), [a]) for rows in (70, 5) for a in [torch.randn(rows, 64).bfloat16()]])
    assert not any("joined" in name for name in calls(tmp_path))


def test_ptxas_reports_no_spills_of_joined_products(tmp_path):
    product = "  %{0} = tw.matmul %x, %{1} : (tensor<512x768xbf16>, tensor<768x768xbf16>) -> tensor<512x768xbf16>\n"
    text = ("func.func @main(%x: tensor<512x768xbf16>, %a: tensor<768x768xbf16>, %b: tensor<768x768xbf16>) -> (tensor<512x768xbf16>, tensor<512x768xbf16>) {\n"
            + product.format("y", "a") + product.format("z", "b") + "  return %y, %z : tensor<512x768xbf16>, tensor<512x768xbf16>\n}\n")  # fmt: skip
    assert "_joined_512x1536x768" in assert_assembled_without_spills(text, tmp_path)
