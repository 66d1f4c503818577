"""Casts, and ops that create tensors."""

import torch
from op import ANY, BOOL, FLOAT, INT, choice, exact, number, op, partner, scalar, value

NAMES = [f"torch.{n}" for n in ("float32", "float64", "bfloat16", "float16")]
WHOLE = [f"torch.{n}" for n in ("int8", "int16", "int32", "int64")]


def finite(v):
    return v.numel() == 0 or bool(torch.isfinite(v.tensor).all())


OPS = [
    op("to float", "{x}.to({t})", x=value(ANY), t=choice(*NAMES), exact=True, weight=2),
    op("there and back", "{x}.to({t}).to({x}.dtype)", x=value(FLOAT), t=choice(*NAMES), exact=True, weight=0.7),
    op("to integer", "{x}.to({t})", x=exact(ANY, where=finite), t=choice(*WHOLE), exact=True, weight=1.2),
    op("to byte", "{x}.abs().to(torch.uint8)", x=exact(FLOAT + INT, where=finite), exact=True, weight=0.4),
    op("to bool", "{x}.to(torch.bool)", x=exact(), exact=True),
    op("type_as", "{x}.type_as({y})", x=exact(where=finite), y=partner("x", tuple(set(ANY) - {torch.uint8})), exact=True, weight=0.6),
    op("bits of", "{x}.view(torch.{t})", x=value((torch.int32, torch.int16)), t=choice("int8", "uint8"), exact=True, weight=0.2),
    op("zeros_like", "torch.{o}_like({x})", x=value(ANY), o=choice("zeros", "ones"), exact=True, weight=0.5),
    op("full_like", "torch.full_like({x}, {a})", x=number(), a=scalar(0, 1, 2), exact=True, weight=0.5),
    op("new_full", "{x}.new_full({s}, {a})", x=number(), s=lambda b, d: b.shape((0, 3), 500), a=scalar(0, 1, 3), exact=True, weight=0.4),
    op("arange", "torch.arange({n}, dtype={t})", n=lambda b, d: b.rng.choice(b.sizes), t=choice("torch.float32", "torch.int64", "torch.int32"),
       exact=True, weight=0.6),
    op("arange of size", "torch.arange({x}.shape[0]) * 2", x=value(ANY, ranks=(1, 5)), exact=True, weight=0.6),
    op("linspace", "torch.linspace(-1.0, 2.0, {n})", n=lambda b, d: b.rng.choice(b.sizes), weight=0.4),
    op("eye", "torch.eye({n}, {m})", n=choice("1", "5", "16"), m=choice("3", "8", "17"), exact=True, weight=0.4),
    op("positions", "{x} + torch.arange({x}.shape[-1]).to({x}.dtype) * 0.125", x=value(FLOAT, ranks=(1, 5)), weight=0.6),
    op("causal", "{x}.masked_fill(torch.ones({x}.shape[-2], {x}.shape[-1], dtype=torch.bool).tril().logical_not(), 0)",
       x=value(FLOAT, ranks=(2, 5)), exact=True, weight=0.7),
    op("size as number", "{x} * (1.0 / max({x}.shape[0], 1))", x=value(FLOAT, ranks=(1, 5)), weight=0.5),
    op("bool arithmetic", "{x} * {y}", x=value(ANY), y=partner("x", (BOOL,)), exact=True, weight=0.6),
    op("scalar tensor", "{x} * torch.tensor({a})", x=value(ANY), a=scalar(0.5, 2, -1.5), exact=True, weight=0.5),
]  # fmt: skip
