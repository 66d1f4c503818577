"""Attention in training: its gradients, with and without mask, causal, with dropout; and which tensors are not
materialized."""

import re

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check_gradient, compiled_strictly

# No other tensor has these sizes, so a tensor of queries x keys can be found in the IR.
QUERIES, KEYS = 67, 67


def qkv():
    return [torch.randn(2, 3, QUERIES, 16) for _ in range(3)]


def mask_of(kind):
    if kind == "bool":
        return torch.rand(2, 1, QUERIES, KEYS) > 0.2
    return torch.randn(QUERIES, KEYS) if kind == "float" else None


def by_hand(q, k, v, mask, causal=False, p=0.0):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(QUERIES, KEYS).tril() == 0, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return F.dropout(scores.softmax(-1), p) @ v


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float"])
@pytest.mark.parametrize("form", ["fused", "math", "by_hand"])
def test_attention_gradient_in_each_form_matches_eager(form, kind):
    mask, causal = mask_of(kind), kind == "causal"

    def fn(q, k, v):
        if form == "by_hand":
            return by_hand(q, k, v, mask, causal)
        if form == "math":
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)

    check_gradient(fn, *qkv())


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float"])
def test_f64_attention_gradient_matches_eager(kind):
    """In torch's fake tensors, the log-sum-exp that the forward graph saves for the gradient is float32. A row whose keys are all masked has no
    gradient."""
    mask, causal = mask_of(kind), kind == "causal"
    if kind == "bool":
        mask[0, 0, 3] = False
    elif mask is not None:
        mask = mask.double()
    check_gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal), *[x.double() for x in qkv()])


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float"])
def test_attention_dropout_mask_is_shared_with_backward(kind):
    """If v is the identity, the result is the matrix of probabilities after dropout, whose zeros, scale and gradient can be checked."""
    p, mask, causal = 0.25, mask_of(kind), kind == "causal"
    q, k, _ = qkv()
    v = torch.eye(KEYS).expand(2, 3, KEYS, KEYS).contiguous().requires_grad_()
    fn = compiled_strictly(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask, p, causal))
    torch.manual_seed(3)
    dropped = fn(q, k, v)
    whole = F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal)
    possible, zero = whole > 0, dropped == 0
    n, zeros = possible.sum().item(), (zero & possible).sum().item()
    assert abs(zeros - n * p) < 5 * (n * p * (1 - p)) ** 0.5
    torch.testing.assert_close(dropped[~zero], (whole / (1 - p))[~zero])
    # d sum(out * w) / dv[j] is the sum over i of probabilities[i, j] w[i] after dropout, if backward uses forward's mask.
    w = torch.randn_like(dropped)
    (gradient,) = torch.autograd.grad((dropped * w).sum(), v)
    torch.testing.assert_close(gradient, dropped.detach().transpose(-1, -2) @ w)
    torch.manual_seed(3)
    assert torch.equal(fn(q, k, v), dropped)


def test_forward_stores_no_scores(tmp_path, monkeypatch):
    """The forward graph of attention stores the logsumexp, not queries x keys."""
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIRECTORY", str(tmp_path))
    q, k, v = [x.requires_grad_() for x in qkv()]
    compiled_strictly(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))(q, k, v)
    text = (tmp_path / "3-tiled.mlir").read_text()
    main = text[text.index("func.func @main") :].split("func.func private")[0]
    assert "tw_tile.attention" in text or "attention" in main
    assert not re.search(rf"{QUERIES}x{KEYS}x", main), "a tensor of queries x keys passes between kernels"


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows,keys", [(1, 1), (33, 300), (140, 17), (300, 530)])
def test_attention_gradient_with_several_tiles_matches_eager(rows, keys, dtype, kind):
    """Tiles are 128 rows by 256 keys. The operands have the layout of a model's heads, and their gradients are read
    in that layout."""
    q, k, v = (torch.randn(2, n, 3, size).to(dtype) for n, size in ((rows, 40), (keys, 40), (keys, 24)))
    mask = {"bool": torch.rand(2, 1, rows, keys) > 0.2, "float": torch.randn(rows, keys).to(dtype)}.get(kind)

    def fn(q, k, v):
        added = mask.to(q.dtype) if kind == "float" else mask
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=kind == "causal")

    check_gradient(fn, q, k, v)


def test_attention_gradient_with_symbolic_sizes_matches_eager():
    q = torch.randn(2, 140, 2, 16)
    torch._dynamo.mark_dynamic(q, 0)
    torch._dynamo.mark_dynamic(q, 1)
    fn = lambda q: F.scaled_dot_product_attention(*[q.transpose(1, 2)] * 3, is_causal=True)  # noqa: E731
    check_gradient(fn, q)


def test_backward_stores_no_scores(tmp_path, monkeypatch):
    """Backward computes the scores again, tile by tile."""
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIRECTORY", str(tmp_path))
    q, k, v = [x.requires_grad_() for x in qkv()]
    out = compiled_strictly(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))(q, k, v)
    out.sum().backward()
    texts = [path.read_text() for path in tmp_path.rglob("3-tiled.mlir")]
    main = "".join(text[text.index("func.func @main") :].split("func.func private")[0] for text in texts)
    assert "attention_gradient" in main, f"{len(texts)} graphs, none of them with the gradient"
    assert not re.search(rf"{QUERIES}x{KEYS}x", main), "a tensor of queries x keys passes between kernels"


def test_gradient_of_a_fully_masked_row_matches_eager():
    q, k, v = qkv()
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    mask[5] = False
    check_gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), q, k, v)


@pytest.mark.parametrize("rows", [1, 3, 6, 40])
def test_attention_gradient_with_large_scores_matches_eager(rows):
    """Rows with one weight near 1: forward's sum and the score that backward computes again must be rounded in the
    same way."""
    q, k, v = (torch.randn(128, 8, n, 8) * 6 for n in (rows, 6, 6))  # so many that the result does not depend on the draw
    check_gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), q, k, v)
