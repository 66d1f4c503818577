"""Attention that a model writes as two products and a softmax is computed by attention kernels (--tw-match-attention)."""

import math

import pytest
import torch

from numbers_rule import check


@pytest.fixture(autouse=True, params=["cpu", "sm_80", "sm_90a"])
def target(request, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))
    if request.param != "cpu":
        monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
        monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")
        monkeypatch.setenv("TILEWRIGHT_ARCH", request.param)
    return request.param


def graph_ops(folder):
    """Returns the text of all graphs that were compiled."""
    return "".join(path.read_text() for path in folder.rglob("*1-graph.mlir"))


def operands(rows=40, columns=70, size=64, dtype=torch.bfloat16, batches=2, heads=2):
    return [torch.randn(batches, heads, length, size).to(dtype) for length in (rows, columns, columns)]


def attention(q, k, v, mask=None, hide=None, hidden=-math.inf):
    """Attention as models write it. Adds `mask` to the scores, and replaces scores by `hidden` where `hide` is true."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask
    if hide is not None:
        scores = scores.masked_fill(hide, hidden)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_written_attention_matches_eager(dtype, target, tmp_path):
    check(attention, *operands(dtype=dtype))
    assert ("tw.attention " in graph_ops(tmp_path)) == (target == "cpu" or dtype != torch.float32)


def test_attention_of_three_dimensions_with_softmax_in_f32_matches_eager(tmp_path):
    """Models with a fused batch dimension use baddbmm or bmm, and convert the scores to f32 for the softmax."""
    def forward(q, k, v):
        q, k, v = (x.view(2, -1, 3, 64).transpose(1, 2).reshape(6, -1, 64) for x in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)) * 0.125
        weights = scores.view(2, 3, *scores.shape[1:]).softmax(-1, dtype=torch.float32).to(q.dtype)
        return torch.bmm(weights.view_as(scores), v).view(2, 3, -1, 64).transpose(1, 2).flatten(2)

    check(forward, *(torch.randn(2, length, 192).bfloat16() for length in (33, 50, 50)))
    assert "tw.attention " in graph_ops(tmp_path)


@pytest.mark.parametrize("shape", [(40, 70), (2, 1, 40, 70), (2, 2, 1, 70), (1, 2, 40, 70), (70,)], ids=str)
def test_added_masks_match_eager(shape, tmp_path):
    check(attention, *operands(), torch.randn(shape).bfloat16())
    assert "tw.attention " in graph_ops(tmp_path)


@pytest.mark.parametrize("hidden", [-math.inf, torch.finfo(torch.bfloat16).min, -1e30])
def test_replaced_scores_match_eager(hidden, tmp_path):
    hide = torch.rand(2, 1, 40, 70) > 0.6
    hide[..., 0] = False
    check(lambda q, k, v, hide: attention(q, k, v, hide=hide, hidden=hidden), *operands(), hide)
    check(lambda q, k, v, m, hide: attention(q, k, v, mask=m, hide=hide, hidden=hidden), *operands(), torch.randn(2, 2, 40, 70).bfloat16(), hide)
    assert "tw.attention " in graph_ops(tmp_path)


def test_rows_without_keys_have_the_values_of_eager():
    """If all scores of a row are -inf, the results are NaN. If they are the lowest number, the result is the mean."""
    q, k, v = operands()
    hide = torch.rand(2, 1, 40, 70) > 0.6
    hide[..., 0] = False
    hide[0, :, 7] = True
    mask = torch.zeros(2, 1, 40, 70).masked_fill(hide, -math.inf).bfloat16()
    for function, arguments in ((lambda q, k, v, hide: attention(q, k, v, hide=hide), (hide,)), (attention, (mask,))):
        got = torch.compile(function, backend="tilewright", options={"strict": True})(q, k, v, *arguments)
        assert got[0, :, 7].isnan().all() and got.isnan().sum() == got[0, :, 7].numel()
    lowest = torch.finfo(torch.bfloat16).min
    got = torch.compile(lambda q, k, v, hide: attention(q, k, v, hide=hide, hidden=lowest), backend="tilewright")(q, k, v, hide)
    torch.testing.assert_close(got[0, :, 7].float(), v[0].float().mean(1), atol=4e-3, rtol=4e-3)


def test_causal_attention_with_a_constant_mask_matches_eager(tmp_path):
    def forward(q, k, v):
        ahead = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        return attention(q, k, v, hide=ahead)

    check(forward, *operands(50, 50))
    assert "tw.attention " in graph_ops(tmp_path)


def test_symbolic_lengths_match_eager(tmp_path):
    values = operands(50, 50)
    for value in values:
        torch._dynamo.mark_dynamic(value, 2)
    check(attention, *values)
    assert "tw.attention " in graph_ops(tmp_path)


def test_option_rounding_eager_keeps_the_products(tmp_path):
    function = torch.compile(attention, backend="tilewright", options={"strict": True, "rounding": "eager"})
    function(*operands())
    assert "tw.attention " not in graph_ops(tmp_path) and "tw.softmax" in graph_ops(tmp_path)


def test_gradient_of_written_attention_matches_eager():
    from numbers_rule import check_gradient

    check_gradient(attention, *operands(20, 24, size=32, dtype=torch.float32, batches=1))
