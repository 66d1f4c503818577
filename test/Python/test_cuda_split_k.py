"""Tests of products for sm_90a whose sums are shared by the blocks of a cluster (`split_k`), on the emulated device."""

import json

import pytest
import torch
import torch.nn.functional as F

from test_cuda import product
from test_float8 import check_scaled, operands
from test_cuda_wgmma import check_by_wgmma, check_damaged, dumped, hopper, run_dynamic  # noqa: F401
from warp_group_kernels import assert_assembled_without_spills


@pytest.fixture
def scheduled(tmp_path, monkeypatch):
    """Returns a function that sets the schedule of the kernels of a test whose names match a pattern."""

    def schedule(names="*", **knobs):
        (tmp_path / "s.json").write_text(json.dumps({names: {"consumer_rows": 64, "consumers": 1, "stages": 2} | knobs}))
        monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))

    return schedule


def check_split(tmp_path, split_k, *arguments, **how):
    check_by_wgmma(tmp_path, *arguments, **how)
    assert f"split_k = {split_k}" in dumped(tmp_path, "tiled")


@pytest.mark.parametrize("knobs", [
    {"n": 64, "split_k": 2}, {"n": 192, "split_k": 8}, {"n": 64, "consumers": 2, "split_k": 4}, {"n": 128, "consumer_rows": 128, "split_k": 2},
    {"n": 16, "split_k": 8}, {"n": 8, "split_k": 4}, {"n": 192, "consumers": 2, "split_k": 2}])  # fmt: skip
def test_split_product_matches_eager(knobs, scheduled, tmp_path):
    """The cases have partial tiles, steps along k that cannot be divided equally among the blocks, tiles with fewer fragments
    than blocks, and sums that take more memory than the ring of tiles."""
    scheduled(**knobs)
    a, b = product(200, 136, 584, torch.bfloat16, turned_b=True)
    check_split(tmp_path, knobs["split_k"], lambda a, b, c: F.gelu(a @ b + c), a, b, torch.randn(136).bfloat16())


def test_split_product_of_other_layouts_and_types_matches_eager(scheduled, tmp_path):
    scheduled(n=64, split_k=4)
    check_split(tmp_path, 4, lambda a, b: (a.t() @ b).float(), torch.randn(264, 72).half(), torch.randn(264, 80).half())
    check_split(tmp_path, 4, torch.matmul, torch.randn(3, 40, 256).bfloat16(), torch.randn(3, 256, 56).bfloat16())
    a, b = product(70, 72, 528, torch.float64, turned_b=True)
    check_split(tmp_path, 4, lambda a, b: a @ b, (a * 40).to(torch.int8), (b * 40).to(torch.int8))
    check_scaled(*operands(70, 96, 528), torch.rand(70, 1) + 0.5, torch.rand(1, 96) + 0.5)
    assert "split_k = 4" in dumped(tmp_path, "tiled")


def test_split_convolution_matches_eager(scheduled, tmp_path):
    """Each block sums over a part of the channels of each tap."""
    scheduled("*convolution*", n=64, split_k=2)
    x, w = torch.randn(2, 136, 7, 9).bfloat16().to(memory_format=torch.channels_last), torch.randn(72, 136, 3, 3).bfloat16()
    check_split(tmp_path, 2, lambda x, w: F.relu(F.conv2d(x, w, padding=1)), x, w)


def test_split_product_with_symbolic_rows_matches_eager(scheduled, tmp_path):
    scheduled(n=64, split_k=8)
    b = torch.randn(600, 72).bfloat16()
    run_dynamic(lambda a, b: F.relu(a @ b), [((a, b), [a]) for rows in (70, 5, 200) for a in [torch.randn(rows, 600).bfloat16()]])
    assert "split_k = 8" in dumped(tmp_path, "tiled")


def test_results_of_a_split_product_are_the_same_in_every_call(scheduled):
    scheduled(n=64, split_k=8)
    a, b = product(100, 136, 1096, torch.bfloat16)
    compiled = torch.compile(lambda a, b: (a @ b).float(), backend="tilewright")
    first = compiled(a, b)
    assert all(torch.equal(first, compiled(a, b)) for _ in range(3))


@pytest.mark.parametrize("knobs, why", [
    ({"split_k": 8}, "split_k is 8, but the sum has only 392 terms"), ({"split_k": 2, "tiles_per_block": 2}, "split_k = 2, cluster = 1, tiles_per_block = 2"),
    ({"n": 8, "split_k": 3}, "split_k = 3"), ({"n": 24, "split_k": 2}, "the 24 columns of a block are not a multiple of 16")])  # fmt: skip
def test_unsupported_split_is_refused(knobs, why, scheduled, tmp_path):
    scheduled(**({"n": 64} | knobs))
    with pytest.raises(Exception, match=why):
        torch.compile(torch.matmul, backend="tilewright", options={"strict": True})(torch.randn(100, 392).bfloat16(), torch.randn(136, 392).bfloat16().t())


# Each entry removes or changes a part of the synchronization by which the blocks of a cluster exchange sums.
DAMAGE = {
    "nothing": (r"", "", ""),
    "sums replace tiles that other warps read": (r"bar\.sync %r\d+, 128;", "", "race"),
    "sums are read before they are stored": (r"(st\.shared\.v4\.b32(?s:.)*?)barrier\.cluster\.arrive;", r"\1barrier.cluster.arrive.relaxed;", "race"),
    "blocks exit before their sums are read": (r"(ld\.shared::cluster\.v4(?s:.)*?)barrier\.cluster\.arrive;", r"\1barrier.cluster.arrive.relaxed;", "exited-block"),
    "sums of another block": (r"(mapa\.shared::cluster\.u32 there, [^,]*), 1;", r"\1, 2;", "bad-operand"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_ptx_check_finds_damage_in_split_sums(damage, tmp_path):
    check_damaged(tmp_path, *DAMAGE[damage], grid=12, consumers=1, split_k=2)


@pytest.mark.parametrize("knobs", [{"n": 256}, {"n": 128, "consumer_rows": 128, "consumers": 2, "split_k": 8}, {"n": 8, "split_k": 8}])
def test_ptxas_reports_no_spills_of_split_products(knobs, scheduled, tmp_path):
    scheduled(**({"split_k": 4} | knobs))
    text = """
func.func @main(%x: tensor<256x4096xbf16>, %w: tensor<256x4096xbf16>) -> tensor<256x256xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<256x4096xbf16> -> tensor<4096x256xbf16>
  %h = tw.matmul %x, %t : (tensor<256x4096xbf16>, tensor<4096x256xbf16>) -> tensor<256x256xbf16>
  return %h : tensor<256x256xbf16>
}
"""
    ptx = assert_assembled_without_spills(text, tmp_path, f"--schedule-file={tmp_path / 's.json'}")
    assert "ld.shared::cluster.v4" in ptx
