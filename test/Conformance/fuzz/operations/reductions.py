"""Reductions over dimensions: sums, extrema, moments, norms, and running ones."""

import torch
from op import ANY, FLOAT, INT, choice, dim, dims, exact, flag, floating, number, op, scalar, value


def some(v):
    return v.numel() > 0


def several(v):
    return all(n > 2 for n in v.shape)


def several_bounded(v):
    """Excludes infinities: the mean of an infinity is that infinity, or NaN in eager's Welford algorithm if an
    element follows it."""
    return several(v) and not bool(torch.isinf(v.tensor).any())


OPS = [
    op("sum", "{x}.sum({d}, keepdim={k})", x=number(ranks=(1, 5)), d=dims(), k=flag(), weight=3),
    op("sum all", "{x}.sum()", x=number()),
    op("mean", "{x}.mean({d}, keepdim={k})", x=floating(ranks=(1, 5), where=some), d=dims(), k=flag(0.7), weight=2),
    op("mean all", "{x}.mean()", x=floating(where=some), weight=0.5),
    op("amax", "{x}.amax({d}, keepdim={k})", x=number(ranks=(1, 5), where=some), d=dims(), k=flag(), exact=True, weight=1.5),
    op("amin", "{x}.amin({d}, keepdim={k})", x=number(ranks=(1, 5), where=some), d=dims(), k=flag(), exact=True),
    op("max all", "torch.{o}({x})", x=number(where=some), o=choice("max", "min"), exact=True, weight=0.5),
    op("max dim", "torch.{o}({x}, dim={d}, keepdim={k})[0]", x=number(ranks=(1, 5), where=some), o=choice("max", "min"), d=dim(), k=flag(),
       exact=True),
    op("argmax", "torch.{o}({x}, dim={d}, keepdim={k})", x=exact(ranks=(1, 5), where=some), o=choice("argmax", "argmin"), d=dim(), k=flag(),
       exact=True),
    op("aminmax", "torch.aminmax({x}, dim={d})", x=number(ranks=(1, 5), where=some), d=dim(), exact=True, weight=0.5),
    op("median", "torch.median({x}.contiguous(), {d})[0]", x=number(ranks=(1, 5), where=some), d=dim(), exact=True, weight=0.3, modes=("inference", "dynamic")),
    op("prod", "torch.clamp({x}, -1.25, 1.25).prod({d}, keepdim={k})", x=floating(ranks=(1, 5)), d=dim(), k=flag()),
    op("var", "torch.{o}({x}, {d}, correction={c}, keepdim={k})", x=floating(ranks=(1, 5), where=several), o=choice("var", "std"), d=dims(),
       c=scalar(0, 1), k=flag()),
    op("var_mean", "torch.var_mean({x}, {d}, keepdim={k})", x=floating(ranks=(1, 5), where=several_bounded), d=dims(), k=flag()),
    op("norm", "torch.linalg.vector_norm({x}, {p}, {d}, keepdim={k})", x=floating(ranks=(1, 5), where=some),
       p=choice("1", "2", "3", "float('inf')"), d=dims(), k=flag()),
    op("logsumexp", "torch.logsumexp({x}, {d}, keepdim={k})", x=floating(ranks=(1, 5), where=some), d=dims(), k=flag()),
    op("nansum", "torch.nansum({x}, {d})", x=floating(ranks=(1, 5)), d=dims(), weight=0.4),
    op("all", "torch.{o}({x}, dim={d}, keepdim={k})", x=exact(ANY, ranks=(1, 5)), o=choice("all", "any"), d=dim(), k=flag(), exact=True),
    op("all of all", "torch.{o}({x})", x=exact(ANY), o=choice("all", "any"), exact=True, weight=0.4),
    op("count_nonzero", "torch.count_nonzero({x}, dim={d})", x=exact(ANY, ranks=(1, 5)), d=dim(), exact=True, weight=0.5),
    op("integer sum", "{x}.sum({d}, keepdim={k})", x=value(INT, ranks=(1, 5)), d=dims(), k=flag(), exact=True),
    op("sum as", "{x}.sum({d}, dtype=torch.{o})", x=floating(ranks=(1, 5)), d=dims(), o=choice("float32", "float64"), weight=0.6),
    op("cumsum", "torch.cumsum({x}, {d})", x=number(ranks=(1, 5)), d=dim(), weight=1.2),
    op("cumprod", "torch.cumprod(torch.clamp({x}, -1.25, 1.25), {d})", x=floating(ranks=(1, 5)), d=dim(), weight=0.6),
    op("cummax", "torch.{o}({x}, {d})[0]", x=number(ranks=(1, 5), where=some), o=choice("cummax", "cummin"), d=dim(), exact=True, weight=0.6),
    op("logcumsumexp", "torch.logcumsumexp({x}, {d})", x=floating(ranks=(1, 5), where=some), d=dim(), weight=0.4),
    op("diff", "torch.diff({x}, dim={d})", x=number(ranks=(1, 5)), d=dim(), exact=True, weight=0.6),
    op("trace", "torch.trace({x})", x=value(FLOAT, ranks=(2, 2)), weight=0.2),
    op("centered", "{x} - {x}.mean({d}, keepdim=True)", x=floating(ranks=(1, 5), where=some), d=dims()),
    op("dist", "torch.dist({x}, {x} * 0.5 + 0.25)", x=value(FLOAT, where=some), weight=0.2),
]  # fmt: skip
