"""Tests of the gradient of attention on sm_90a with wgmma and TMA on the emulated device: ptx-check reports no error,
and results satisfy the numbers rule."""

import os

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check_gradient
from test_cuda_attention_gradient import assert_same_gradients_twice
from test_cuda_attention_mma import attend, operands
from test_cuda_attention_wgmma import consumers
from test_cuda_wgmma import dumped, hopper  # noqa: F401 (a fixture of all tests)
from warp_group_kernels import assert_assembled_without_spills, check_damage

WHOLE = os.environ.get("TILEWRIGHT_TEST_FULL") == "1"


def check_by_wgmma(tmp_path, groups, fn, *inputs):
    """Checks the gradient, and that the last graph, the backward one, has this number of consumer warp groups."""
    check_gradient(fn, *inputs)
    assert consumers(dumped(tmp_path, "tiled")) == groups


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [64, 128])
def test_plain_and_causal_gradients_use_wgmma(dtype, size, tmp_path):
    check_by_wgmma(tmp_path, 2, attend(), *operands(64, 70, size, dtype=dtype, heads=1, key_heads=1))
    check_by_wgmma(tmp_path, 2, attend(is_causal=True, scale=0.2), *operands(150, 150, size, dtype=dtype, heads=1, key_heads=1))


@pytest.mark.parametrize("rows, columns", [(64, 300), (300, 64), (130, 200)])
def test_causal_gradient_with_other_lengths_matches_eager(rows, columns, tmp_path):
    """There are more tiles than slots. Keys that no query attends to have a gradient of zero."""
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), *operands(rows, columns, heads=1, key_heads=1))


@pytest.mark.parametrize("size", [8, 40, 96] + ([16, 32, 72, 80, 112] if WHOLE else []))
def test_gradient_with_other_head_sizes_uses_wgmma(size, tmp_path):
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), *operands(70, 70, size, heads=1, key_heads=1, dtype=torch.float16))


def test_masked_gradient_uses_wgmma(tmp_path):
    q, k, v = operands(96, 75, batches=2)
    seen = torch.rand(96, 75) > 0.4
    seen[:, 3] = True
    for mask in (seen, torch.randn(2, 1, 96, 75).bfloat16()):
        def forward(q, k, v, mask=mask):
            return F.scaled_dot_product_attention(q, k, v, mask.to(q.dtype) if mask.is_floating_point() else mask)

        check_by_wgmma(tmp_path, 2, forward, q, k, v)


def test_gradient_of_fully_masked_rows_is_zero_and_finite(tmp_path):
    q, k, v = (x.requires_grad_() for x in operands(64, 64))
    mask = torch.rand(64, 64) > 0.3
    mask[5] = False
    torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), backend="tilewright")(q, k, v).sum().backward()
    assert consumers(dumped(tmp_path, "tiled")) == 2
    assert (q.grad[:, :, 5] == 0).all()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


def test_gradient_of_heads_strided_within_rows_uses_wgmma(tmp_path):
    """In memory, the dimension of heads is between the rows and the elements of a head, also in the tensor maps and in the kernel that sums dO * O."""
    def forward(q, k, v):
        q, k, v = (x.view(2, 70, 2, 64).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 70, 128)

    check_by_wgmma(tmp_path, 2, forward, *(torch.randn(2, 70, 128).bfloat16() for _ in range(3)))


def test_gradient_with_symbolic_lengths_uses_wgmma(tmp_path):
    q, k, v = operands(150, 170, heads=1, key_heads=1)
    for value in (q, k, v):
        torch._dynamo.mark_dynamic(value, 2)
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), q, k, v)


def test_gradient_with_few_rows_uses_mma(tmp_path):
    """With fewer than 64 rows, the kernel uses mma.sync, because most of the 64 rows of a wgmma instruction would not be used."""
    check_by_wgmma(tmp_path, 0, attend(), *operands(40, 130))
    check_by_wgmma(tmp_path, 0, attend(), *operands(130, 40))


def test_gradient_is_deterministic():
    assert_same_gradients_twice(attend(), *operands(100, 130))


GRADIENT = """func.func @main(%q: {q}, %k: {k}, %g: {q}, %o: {q}, %l: {l}) -> ({q}, {k}, {k}) {{
  %dq, %dk, %dv = tw.attention_gradient %q, %k, %k, %o, %g, %l {{scale = 0.125 : f64{causal}}} : {q}, {k}, {k}, {q}, {q}, {l} -> {q}, {k}, {k}
  return %dq, %dk, %dv : {q}, {k}, {k}
}}
"""


def gradient(rows, columns, size, type="bf16", causal=""):
    return GRADIENT.format(q=f"tensor<1x2x{rows}x{size}x{type}>", k=f"tensor<1x2x{columns}x{size}x{type}>", l=f"tensor<1x2x{rows}xf32>", causal=causal)


@pytest.mark.parametrize("size", [64, 128] + ([80, 96] if WHOLE else []))
@pytest.mark.parametrize("causal", ["", ", causal"])
def test_ptxas_reports_no_spills_and_no_serialized_wgmma(size, causal, tmp_path):
    for rows, type in ((1000, "bf16"), (1024, "f16")):
        assert_assembled_without_spills(gradient(rows, rows, size, type, causal), tmp_path)


DAMAGE = {
    "nothing": (r"", "", ""),
    "no wait for own rows": (r"(setmaxnreg\.inc(?s:.)*?)mbarrier\.try_wait[^\n]*\n\t@!done bra again;\n", r"\1", "race"),
    "no wait for an empty slot": (r"\tmbarrier\.try_wait[^\n]*\n\t@!done bra again;\n(?=(?s:.)*expect_tx)", "", "mbarrier-misuse"),
    "no wait for scores": (r"wgmma\.wait_group\.sync\.aligned 1;", "", "register-in-flight"),
    "no wait for sums": (r"wgmma\.wait_group\.sync\.aligned 0;", "", "register-in-flight"),
    "a slot is never empty": (r"mbarrier\.arrive\.shared::cta\.b64 [^\n]*", "", "deadlock"),
    "statistics are not waited for": (r"(mbarrier\.init[^\n]*), 33;", r"\1, 2;", "mbarrier-misuse"),
    "a warp is not waited for": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 7;", "race"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_ptx_check_finds_damaged_synchronization(damage, tmp_path):
    """ptx-check reports no error for the unchanged kernel, in any order of its warps. If any part of its
    synchronization is removed, it reports an error."""
    shapes = {name: [1, 2, 330, 64] for name in ("Q", "K", "G", "DQ", "DK", "DV")} | {"D": [1, 2, 330], "L": [1, 2, 330]}
    maps = [{"buffer": name, "dtype": "bf16", "dims": shapes[name][::-1], "strides": [128, 128 * 330, 128 * 330 * 2],
             "box": [64, 64, 1, 1], "swizzle": 128} for name in ("Q", "K", "K", "G")]  # fmt: skip
    launch = {"kernel": "attention_gradient_1x2x330x64", "grid": 12, "block": 384,
              "buffers": {name: {"dtype": "f32" if len(shape) == 3 else "bf16", "shape": shape,
                                 "fill": "uninitialised" if len(name) == 2 else "random"} for name, shape in shapes.items()},
              "arguments": [{"buffer": name} for name in ("Q", "K", "D", "G", "L", "DQ", "DK", "DV")] + [{"tensor_map": each} for each in maps]}  # fmt: skip
    check_damage(gradient(330, 330, 64), DAMAGE[damage], launch, tmp_path)
