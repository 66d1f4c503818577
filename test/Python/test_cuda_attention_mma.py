"""Tests of attention on tensor cores of the emulated device: ptx-check reports no error, and results satisfy the
numbers rule."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check
from test_cuda_wgmma import kinds


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")


def operands(rows, columns, size=64, heads=2, key_heads=2, dtype=torch.bfloat16, batches=1, value_size=None):
    return (torch.randn(batches, heads, rows, size).to(dtype), torch.randn(batches, key_heads, columns, size).to(dtype),
            torch.randn(batches, key_heads, columns, value_size or size).to(dtype))  # fmt: skip


def attend(**how):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how)


@pytest.mark.parametrize("size", [64, 128, 192])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_plain_and_causal_attention_match_eager(dtype, size):
    for rows, columns in ((64, 96), (70, 70), (17, 130)):
        check(attend(), *operands(rows, columns, size, dtype=dtype))
    check(attend(is_causal=True), *operands(100, 100, size, dtype=dtype))
    check(attend(is_causal=True, scale=0.3), *operands(96, 40, size, dtype=dtype))


@pytest.mark.parametrize("size", [8, 16, 32, 40, 72, 80, 96, 112, 160, 256])
def test_attention_with_padded_head_size_matches_eager(size, tmp_path, monkeypatch):
    """The head size is padded to the size of an mma operand. If it is greater than 192, queries are stored in shared
    memory."""
    check(attend(), *operands(40, 70, size))
    check(attend(is_causal=True), *operands(70, 70, size, dtype=torch.float16))
    check(attend(enable_gqa=True), *operands(2, 50, size, heads=6, key_heads=2))
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))
    check(attend(scale=0.3), *operands(33, 48, size, batches=2))
    assert kinds(tmp_path) == ["attention"]


@pytest.mark.parametrize("size, value_size", [(192, 128), (64, 128), (40, 24), (256, 64), (64, 256)])
def test_attention_with_values_of_another_size_matches_eager(size, value_size):
    check(attend(), *operands(40, 70, size, value_size=value_size))
    check(attend(is_causal=True), *operands(70, 70, size, heads=4, value_size=value_size, key_heads=4))


@pytest.mark.parametrize("rows", [96, 13])
def test_masked_attention_matches_eager(rows):
    q, k, v = operands(rows, 75, batches=2)
    for mask in (torch.rand(rows, 75) > 0.4, torch.randn(2, 1, rows, 75).bfloat16(), torch.randn(1, 75).bfloat16()):
        check(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask), q, k, v, mask)


def test_fully_masked_rows_are_zero_and_lowest_finite_mask_averages():
    q, k, v = operands(32, 64)
    mask = torch.rand(32, 64) > 0.3
    mask[5] = False
    compiled = torch.compile(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask), backend="tilewright")
    out = compiled(q, k, v, mask)
    assert out.isfinite().all() and (out[:, :, 5] == 0).all()
    # A mask with the lowest finite number does not exclude elements, unlike a mask with -inf. If it masks all elements
    # of a row, the result is the mean of the values.
    q, k, v = q.float().half(), k.half(), v.half()
    lowest = torch.zeros(32, 64)
    lowest[7] = lowest[:, 9] = torch.finfo(torch.float32).min
    hidden = compiled(q, k, v, lowest)
    torch.testing.assert_close(hidden[:, :, 7].float(), v.float().mean(2), atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("rows", [1, 3, 80])
def test_grouped_query_attention_matches_eager(rows):
    """In a decoding step, the heads that share keys are the rows of one block."""
    q, k, v = operands(rows, 90, heads=8, key_heads=2)
    check(attend(enable_gqa=True), q, k, v)
    mask = torch.rand(rows, 90) > 0.3
    mask[:, 0] = True
    check(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True), q, k, v, mask)
    if rows > 1:
        check(attend(enable_gqa=True, is_causal=True), q, k[:, :, :rows], v[:, :, :rows])


def test_attention_of_one_query_row_matches_eager():
    check(attend(), *operands(1, 300, size=128, heads=4, key_heads=4))


def test_attention_of_heads_strided_within_rows_matches_eager():
    """In memory, the dimension of heads is between the rows and the elements of a head, also in the result."""
    def forward(q, k, v):
        q, k, v = (x.view(2, 40, 3, 64).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 40, 192)

    check(forward, *(torch.randn(2, 40, 192).bfloat16() for _ in range(3)))


def test_attention_with_symbolic_lengths_matches_eager():
    q, k, v = operands(50, 70)
    for value in (q, k, v):
        torch._dynamo.mark_dynamic(value, 2)
    check(attend(), q, k, v)
    check(attend(is_causal=True), q, k, v)


def test_causal_attention_in_training_matches_eager():
    from numbers_rule import check_gradient

    check_gradient(attend(is_causal=True), *operands(24, 24, heads=1, key_heads=1))


@pytest.mark.parametrize("rows, heads, key_heads, dtype", [(1, 8, 2, torch.bfloat16), (3, 4, 4, torch.float16), (16, 2, 1, torch.bfloat16)])
def test_attention_of_few_queries_divides_the_keys(rows, heads, key_heads, dtype, tmp_path, monkeypatch):
    """The parts of the keys have separate blocks, and their results are combined. A part may have only masked keys."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))
    q, k, v = operands(rows, 512, heads=heads, key_heads=key_heads, dtype=dtype)
    mask = torch.arange(512)[None, None, None] < torch.tensor([100] * rows)[:, None]
    check(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True), q, k, v, mask)
    graph = next(tmp_path.rglob("1-graph.mlir")).read_text()
    assert f"tensor<4x{heads}x{rows}x64xf32>" in graph, graph
    tokens_first = [x.transpose(1, 2).contiguous() for x in (k, v)]
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k.transpose(1, 2), v.transpose(1, 2), enable_gqa=True), q, *tokens_first)


def test_attention_with_repeated_keys_reads_them_once(tmp_path, monkeypatch):
    """Models repeat the keys for the query heads of a group. The attention reads the keys before the repetition."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))
    q, k, v = operands(20, 48, heads=6, key_heads=2, batches=2)

    def repeated(q, k, v):
        k, v = (x[:, :, None].expand(-1, -1, 3, -1, -1).reshape(2, 6, 48, 64) for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v)

    check(repeated, q, k, v)
    assert "broadcast" not in next(tmp_path.rglob("2-structured.mlir")).read_text()
