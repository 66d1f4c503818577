"""Rows of attention: long sequences and their gradient, short sequences, and decoding steps."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from .kernel_rows import Kernels, Row


def forward(causal: bool):
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return attention


def both(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return torch.autograd.grad(out.float().sum(), [q, k, v])


def rows(k: Kernels) -> Iterator[Row]:
    heads, head = k.size(16, 2), k.size(128, 64)
    for length in (4096, 8192, 16384):
        length = k.size(length, length // 64)
        for causal in (False, True):
            make = lambda c=causal, n=length: (forward(c), [k.random(1, heads, n, head) for _ in range(3)])  # noqa: E731
            yield Row("attention", f"{'causal' if causal else 'full'}, {length}", "1.0", "eager", make)
    for length in (4096, 8192):
        length = k.size(length, 64 * (length // 4096))
        make = lambda n=length: (both, [k.random(1, heads, n, head).requires_grad_() for _ in range(3)])  # noqa: E731
        yield Row("attention", f"causal with gradient, {length}", "0.9", "eager", make, training=True)
    for batch, length in ((32, 128), (32, 512)):
        batch = k.size(batch, 2)
        make = lambda b=batch, n=length: (forward(False), [k.random(b, 12, n, 64) for _ in range(3)])  # noqa: E731
        yield Row("attention", f"full, {batch} x 12 heads, {length}", "1.0", "eager", make)
    # There is one query per sequence. The queries of a group share keys and values.
    for batch, length in ((1, 4096), (1, 32768), (16, 4096)):
        batch, length = k.size(batch, min(batch, 2)), k.size(length, length // 64)

        def decode(q, keys, values):
            return F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)

        def operands(batch=batch, length=length):
            return decode, (k.random(batch, 32, 1, head), k.random(batch, 8, length, head), k.random(batch, 8, length, head))

        name = f"{batch} x 32 heads of 8 groups, {length}"
        yield Row("decoding", name, "0.85", "copy", operands, bytes=2 * (2 * batch * 8 * length * head + 2 * batch * 32 * head))
        yield Row("decoding", name, "1.0", "eager", operands)
