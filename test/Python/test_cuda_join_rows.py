"""Tests of norms after products on the emulated device: a product and its norm are one kernel if a block's tile has whole rows, and two
kernels otherwise. Results satisfy the numbers rule."""

import os

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check
from test_cuda_kernel_table import arch, assert_assembled, schedules  # noqa: F401


def rms_norm(x, w, residual, gain):
    return F.rms_norm(F.linear(x, w) + residual, [w.shape[0]], gain)


def layer_norm(x, w, residual, gain):
    return F.layer_norm(F.linear(x, w) + residual, [w.shape[0]], gain, gain)


def softmax(x, w, residual, gain):
    return torch.softmax(F.linear(x, w).float() + residual, -1) * gain


def kept(x, w, residual, gain):
    hidden = F.gelu(F.linear(x, w, gain)) + residual
    return hidden, F.layer_norm(hidden, [w.shape[0]], gain, gain)


def kernels(tmp_path):
    """Returns the kinds of the last graph's kernels."""
    return schedules(max((tmp_path / "dump").rglob("*-tiled.mlir"), key=lambda file: file.stat().st_mtime_ns))


def inputs(rows, columns, depth=72, dtype=torch.bfloat16):
    torch.manual_seed(1)
    return [t.to(dtype) for t in (torch.randn(*rows, depth), torch.randn(columns, depth) / depth**0.5, torch.randn(*rows, columns),
                                  torch.randn(columns))]  # fmt: skip


SIZES = [((100,), 64, torch.bfloat16), ((2, 70), 128, torch.bfloat16), ((33,), 128, torch.float16)]


@pytest.mark.parametrize("fn", [rms_norm, layer_norm, softmax, kept])
@pytest.mark.parametrize("rows, columns, dtype", SIZES)
def test_norm_after_product_is_computed_in_its_kernel(fn, rows, columns, dtype, arch, tmp_path):  # noqa: F811
    quick = {rms_norm: 64, layer_norm: 128, softmax: 128, kept: 64 if arch == "sm_80" else 128}
    if columns != quick[fn] and not os.environ.get("TILEWRIGHT_TEST_FULL"):
        pytest.skip("more of the same: tools/test.sh --full")
    check(fn, *inputs(rows, columns, dtype=dtype))
    assert list(kernels(tmp_path).values()) == ["wgmma" if arch == "sm_90a" else "mma"]
    (tiled,) = (tmp_path / "dump").rglob("*-tiled.mlir")
    assert_assembled(tiled, arch, tmp_path)


def test_equal_layers_share_one_kernel(arch, tmp_path):  # noqa: F811
    def fn(x, w, residual, gain):
        for _ in range(3):
            x = layer_norm(x, w, residual, gain)
        return x

    check(fn, *inputs((40,), 64, depth=64))
    (tiled,) = (tmp_path / "dump").rglob("*-tiled.mlir")
    (name,) = kernels(tmp_path)
    assert name.endswith("_0_rows") and tiled.read_text().count(f"call @{name}") == 3


def test_layer_norm_of_batched_product_with_large_mean_matches_eager(arch, tmp_path):  # noqa: F811
    """Each row has a different mean, which is far from zero. The variance must be computed from the differences from
    this mean."""
    torch.manual_seed(1)
    a, b = torch.randn(3, 50, 40).bfloat16(), torch.randn(3, 40, 64).bfloat16() / 8
    check(lambda a, b: F.layer_norm((a @ b).float() + 1000, [64]), a, b)
    assert len(kernels(tmp_path)) == 1


@pytest.mark.parametrize("why", ["wide", "in float32", "symbolic", "read between"])
def test_norm_that_cannot_join_its_product_has_its_own_kernel(why, arch, tmp_path):  # noqa: F811
    if why == "wide":
        check(layer_norm, *inputs((40,), 512))
    elif why == "in float32":
        check(layer_norm, *inputs((40,), 64, dtype=torch.float32))
    elif why == "symbolic":
        compiled = torch.compile(layer_norm, backend="tilewright", dynamic=True, options={"strict": True})
        with torch.no_grad():
            compiled(*inputs((40,), 64))
    else:
        def fn(x, w, residual, gain):
            hidden = F.linear(x, w) + residual
            return F.layer_norm(hidden + torch.softmax(hidden @ hidden.T, -1).sum(), [64], gain)

        check(fn, *inputs((40,), 64))
    found = kernels(tmp_path)
    assert len(found) > 1 and not any(name.endswith("_rows") for name in found), found


def test_schedule_that_splits_reduced_rows_is_refused(arch, tmp_path, monkeypatch):  # noqa: F811
    warps = '"warp_m": 16, "warps_m": 1, "warp_n": 64, "warps_n": 1'
    tile = '"consumer_rows": 64, "consumers": 1, "n": 64' if arch == "sm_90a" else warps
    (tmp_path / "s.json").write_text('{"*": {%s}}' % tile)
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    check(layer_norm, *inputs((40,), 64))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="a block has 64 columns, but row reductions require whole rows"):
        check(layer_norm, *inputs((40,), 128))
