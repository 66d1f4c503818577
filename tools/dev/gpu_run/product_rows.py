"""Rows of matrix products: products against cuBLAS, products with epilogues against max-autotune, and products of few rows against a copy."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from .kernel_rows import BF16, Kernels, Row


def linear(k: Kernels) -> Iterator[Row]:
    """The linear layers of Llama-3 8B: queries, keys and values; the output; gate and up; down."""
    for m in (1, 16, 64, 512, 4096, 8192):
        for n, terms in ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)):
            rows, n, terms = k.size(m, min(m, 48)), k.size(n, n // 64), k.size(terms, terms // 64)
            few = m <= 16
            yield Row("linear", f"bf16 {rows} x {n} x {terms}", "0.9" if few else "0.97 in the mean", "copy" if few else "eager",
                      lambda m=rows, n=n, t=terms: (F.linear, (k.random(m, t), k.random(n, t))), bytes=2 * (n * terms + rows * (n + terms)))  # fmt: skip
    for m, n, terms in ((256, 1024, 1024), (4096, 768, 768), (4096, 3072, 768), (4096, 768, 3072), (6304, 768, 768), (2048, 4096, 14336)):
        m, n, terms = (k.size(size, max(16, size // 64)) for size in (m, n, terms))
        make = lambda m=m, n=n, t=terms: (F.linear, (k.random(m, t), k.random(n, t)))  # noqa: E731
        yield Row("linear", f"bf16 {m} x {n} x {terms}", "0.97 in the mean", "eager", make)
    for m, n, terms in ((4096, 3072, 768), (1024, 1024, 1024)):
        m, n, terms = (k.size(size, max(16, size // 64)) for size in (m, n, terms))
        f32 = torch.float32
        yield Row("linear", f"f32 {m} x {n} x {terms}", "0.9; 2.0 on tensor cores", "eager",
                  lambda m=m, n=n, t=terms: (F.linear, (k.random(m, t, dtype=f32), k.random(n, t, dtype=f32))))  # fmt: skip


def plain(k: Kernels) -> Iterator[Row]:
    for m, n, terms in ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096)):
        m, n, terms = (k.size(size, size // 64) for size in (m, n, terms))
        yield Row("products", f"bf16 {m} x {n} x {terms}", "0.97 in the mean", "eager", lambda m=m, n=n, t=terms: (torch.mm, (k.random(m, t), k.random(t, n))))

    def scaled(x, w, of_x, of_w):
        return torch._scaled_mm(x, w.t(), scale_a=of_x, scale_b=of_w, out_dtype=BF16)

    def operands(m, n, terms):
        one = torch.ones((), device=k.device)
        return scaled, (k.random(m, terms).to(torch.float8_e4m3fn), k.random(n, terms).to(torch.float8_e4m3fn), one, one)

    for m, n, terms in ((8192, 8192, 4096), (2048, 4096, 4096)):
        m, n, terms = (k.size(size, size // 64) for size in (m, n, terms))
        yield Row("products", f"fp8 {m} x {n} x {terms}", "0.95", "eager", lambda m=m, n=n, t=terms: operands(m, n, t))


def fused(k: Kernels) -> Iterator[Row]:
    d, f = k.size(4096, 64), k.size(14336, 128)

    def gelu(x, w, bias):
        return F.gelu(F.linear(x, w, bias), approximate="tanh")

    def swiglu(x, gate, up):
        return F.silu(F.linear(x, gate)) * F.linear(x, up)

    def residual(x, w, y, scale):
        hidden = F.linear(x, w) + y
        return hidden, F.rms_norm(hidden, [hidden.shape[-1]], scale)

    for m in (1024, 8192):
        m = k.size(m, m // 64)
        peer = "max-autotune"
        yield Row("fused", f"product, bias, GELU of {m} rows", "1.1", peer, lambda m=m: (gelu, (k.random(m, d), k.random(f, d), k.random(f))))
        yield Row("fused", f"SwiGLU pair of {m} rows", "1.1", peer, lambda m=m: (swiglu, (k.random(m, d), k.random(f, d), k.random(f, d))))
        yield Row("fused", f"product, residual, RMS norm of {m} rows", "1.1", peer,
                  lambda m=m: (residual, (k.random(m, f), k.random(d, f), k.random(m, d), k.random(d))))  # fmt: skip


def weights_only(k: Kernels) -> Iterator[Row]:
    """Products of a decoding step with int8 weights. Their time is dominated by reading the weights."""

    def product(x, w, scale):
        return F.linear(x, w.to(x.dtype)) * scale

    for m in (1, 16):
        for n, terms in ((4096, 4096), (28672, 4096)):
            n, terms = k.size(n, n // 64), k.size(terms, terms // 64)

            def operands(m=m, n=n, terms=terms):
                w = torch.randint(-127, 128, (n, terms), dtype=torch.int8, device=k.device)
                return product, (k.random(m, terms), w, k.random(n))

            yield Row("weights only", f"int8 {m} x {n} x {terms}", "0.9", "copy", operands, bytes=n * terms + 2 * m * (n + terms))


def rows(k: Kernels) -> Iterator[Row]:
    for part in (plain, linear, fused, weights_only):
        yield from part(k)
