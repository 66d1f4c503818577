"""Writes in place: into intermediate results, views of them, and inputs."""

from op import BOOL, FLOAT, I64, INT, choice, dim, floating, index, number, op, partner, scalar, value


def write(name, call, weight=0.5, exact=True, x=None, **draws):
    return op(name, call, exact=exact, weight=weight, writes="x", x=x or number(), **draws)


def alike(b, drawn):
    """Draws a value that broadcasts to x's shape."""
    return b.of_shape(list(drawn["x"].shape) if b.rng.random() < 0.7 else list(drawn["x"].shape[1:]), drawn["x"].dtype)


OPS = [
    write("add_", "{x}.add_({y})", y=alike, weight=1),
    write("mul_", "{x}.mul_({y})", y=alike, weight=1),
    write("sub_", "{x}.sub_({y}, alpha=2)", y=alike),
    write("add_ number", "{x}.add_({a})", a=scalar(1, 2), weight=1),
    write("relu_", "{x}.relu_()", x=floating()),
    write("clamp_", "{x}.clamp_({a}, {c})", a=scalar(-1, 0), c=scalar(1, 2)),
    write("neg_", "{x}.neg_()"),
    write("tanh_", "{x}.tanh_()", x=floating(), exact=False),
    write("sigmoid_", "{x}.sigmoid_()", x=floating(), exact=False),
    write("div_", "{x}.div_({a})", x=floating(), a=scalar(2, 4)),
    write("copy_", "{x}.copy_({y})", y=alike, weight=1),
    write("fill_", "{x}.fill_({a})", a=scalar(0, 1, 3)),
    write("zero_", "{x}.zero_()"),
    write("masked_fill_", "{x}.masked_fill_({c}, {a})", c=lambda b, d: b.of_shape(list(d["x"].shape), BOOL), a=scalar(0, 1, 2)),
    write("addcmul_", "{x}.addcmul_({y}, {z}, value=0.5)", x=floating(), y=alike, z=alike),
    write("lerp_", "{x}.lerp_({y}, 0.25)", x=floating(), y=lambda b, d: b.of_shape(list(d["x"].shape), d["x"].dtype), exact=False),
    write("add_ to a row", "{x}.select({d}, {i}).add_({a})", x=number(ranks=(1, 5)), d=dim(), i=index(), a=scalar(1, 2), weight=1),
    write("mul_ a slice", "{x}[1:].mul_({a})", x=number(ranks=(1, 5)), a=scalar(2, -1)),
    write("fill_ of a slice", "{x}[..., ::2].fill_({a})", x=number(ranks=(1, 5)), a=scalar(0, 1)),
    write("copy_ of transposed", "{x}.mT.copy_({y}.mT)", x=number(ranks=(2, 4)), y=lambda b, d: b.of_shape(list(d["x"].shape), d["x"].dtype)),
    write("and_", "{x}.bitwise_and_({a})", x=value(INT), a=scalar(1, 3)),
    write("logical_not_", "{x}.logical_not_()", x=value((BOOL,))),
    write("scatter_", "{x}.scatter_({d}, {i}, {a})", x=number(ranks=(1, 4), where=lambda v: v.numel() > 0), d=dim(), a=scalar(0, 2),
          i=lambda b, d: b.of_shape(list(d["x"].shape), I64, f"order:{d['d'] % d['x'].dim()}:{d['x'].shape[d['d']]}")),
    write("index_put_", "{x}.index_put_(({i},), {y})", x=number(ranks=(1, 4), where=lambda v: v.numel() > 0),
          i=lambda b, d: b.of_shape([min(2, d["x"].shape[0])], I64, f"order:0:{d['x'].shape[0]}"),
          y=lambda b, d: b.of_shape([min(2, d["x"].shape[0]), *d["x"].shape[1:]], d["x"].dtype)),
    write("index_add_", "{x}.index_add_(0, {i}, {y})", x=floating(ranks=(1, 4), where=lambda v: v.numel() > 0), exact=False,
          i=lambda b, d: b.of_shape([3], I64, f"index:{d['x'].shape[0]}"),
          y=lambda b, d: b.of_shape([3, *d["x"].shape[1:]], d["x"].dtype)),
    op("result of a write", "{x}.clone().{o}({a})", x=number(), o=choice("add_", "mul_", "fill_"), a=scalar(1, 2), exact=True, weight=0.6),
    op("write to a copy of a slice", "{x}.narrow_copy(0, 0, 1).mul_(2)", x=value(FLOAT, ranks=(1, 4), where=lambda v: v.numel() > 0), exact=True,
       weight=0.3),
    op("into zeros", "torch.zeros_like({x}).copy_({y})", x=number(), y=partner("x"), weight=0.3),
]  # fmt: skip
