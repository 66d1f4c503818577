"""Gathering, scattering and sorting."""

from op import ANY, FLOAT, I32, I64, INT, choice, dim, exact, flag, need, new, number, op, scalar, value

# Gradients are not compared, because they depend on which of several equal elements eager selects.
VALUES = ("inference", "dynamic")
row = value(ANY, ranks=(1, 5), where=lambda v: v.numel() > 0)
numbers = number(ranks=(1, 5), where=lambda v: v.numel() > 0)


def places(of="x", negative=False):
    """Draws indices below the size of the dimension, possibly repeated."""

    def draw(b, drawn):
        n = drawn[of].shape[drawn["d"]]
        need(n)
        return b.of_shape([b.rng.choice((1, 3, n, *b.sizes))], b.rng.choice((I64, I64, I32)), f"index:{n}")

    return draw


def alike(distinct=False, shorter=True):
    """Draws indices of a gather or scatter along d. `distinct`: the indices of a row differ."""

    def draw(b, drawn):
        x, d = drawn["x"], drawn["d"] % drawn["x"].dim()
        shape = [b.rng.randint(1, n) if shorter and b.rng.random() < 0.3 else n for n in x.shape]
        need(x.numel())
        return b.of_shape(shape, I64, f"order:{d}:{x.shape[d]}" if distinct else f"index:{x.shape[d]}")

    return draw


def rows_of(distinct=False):
    """Draws indices of the first dimension."""

    def draw(b, drawn):
        n = drawn["x"].shape[0]
        need(n)
        count = b.rng.randint(1, n) if distinct else b.rng.choice((1, 2, 5, 17))
        return b.of_shape([count], I64, f"order:0:{n}" if distinct else f"index:{n}")

    return draw


def column(b, drawn):
    """Draws indices of the second dimension, one for each index of the first."""
    need(drawn["x"].shape[1])
    return b.of_shape(list(drawn["i"].shape), I64, f"index:{drawn['x'].shape[1]}")


def updates(b, drawn):
    return [drawn["i"].shape[0], *drawn["x"].shape[1:]]


def along(b, drawn):
    shape = list(drawn["x"].shape)
    shape[drawn["d"]] = drawn["i"].shape[0]
    return shape


def unique_along(b, drawn):
    n = drawn["x"].shape[drawn["d"]]
    need(n)
    return b.of_shape([b.rng.randint(1, n)], I64, f"order:0:{n}")


def count(b, drawn):
    n = drawn["x"].shape[drawn["d"]]
    need(n)
    return b.rng.randint(1, n)


OPS = [
    op("gather", "torch.gather({x}, {d}, {i})", x=row, d=dim(), i=alike(), exact=True, weight=2),
    op("take_along_dim", "torch.take_along_dim({x}, {i}, {d})", x=row, d=dim(), i=alike(shorter=False), exact=True, weight=0.5),
    op("index_select", "torch.index_select({x}, {d}, {i})", x=row, d=dim(), i=places(), exact=True, weight=2),
    op("index", "{x}[{i}]", x=row, i=rows_of(), exact=True, weight=2),
    op("index of columns", "{x}[:, {i}]", x=value(ANY, ranks=(2, 5), where=lambda v: v.numel() > 0),
       i=lambda b, d: b.of_shape([b.rng.choice((1, 4, 9))], I64, f"index:{d['x'].shape[1]}"), exact=True),
    op("index of both", "{x}[{i}, {j}]", x=value(ANY, ranks=(2, 5), where=lambda v: v.numel() > 0), i=rows_of(), j=column, exact=True),
    op("index by planes", "{x}[{i}.unsqueeze(1), {i}]", x=value(ANY, ranks=(2, 3), where=lambda v: 0 < v.shape[0] <= v.shape[1]), i=rows_of(),
       exact=True, weight=0.5),
    op("embedding", "F.embedding({i}, {x})", x=value(FLOAT, ranks=(2, 2), where=lambda v: v.numel() > 0),
       i=lambda b, d: b.of_shape(b.shape((1, 2), 200), I64, f"index:{d['x'].shape[0]}"), exact=True, weight=1.5),
    op("embedding of weights", "F.embedding({i}, {w})", i=lambda b, d: b.of_shape(b.shape((1, 2), 200), I64, "index:13"),
       w=lambda b, d: b.of_shape([13, b.rng.choice(b.sizes)], b.dtype(FLOAT), "", 0.8), exact=True),
    op("take", "torch.take({x}, {i})", x=row, i=lambda b, d: b.of_shape([5, 3], I64, f"index:{d['x'].numel()}"), exact=True, weight=0.4),
    op("scatter", "{x}.scatter({d}, {i}, {y})", x=row, d=dim(), i=alike(True), y=new(lambda b, d: d["i"].shape), exact=True),
    op("scatter scalar", "{x}.scatter({d}, {i}, {a})", x=numbers, d=dim(), i=alike(True), a=scalar(0, 1, 2), exact=True, weight=0.5),
    op("scatter_add", "{x}.scatter_add({d}, {i}, {y})", x=numbers, d=dim(), i=alike(), y=new(lambda b, d: d["i"].shape)),
    op("integer scatter_add", "{x}.scatter_add({d}, {i}, {y})", x=value(INT, ranks=(1, 4), where=lambda v: v.numel() > 0), d=dim(), i=alike(),
       y=new(lambda b, d: d["i"].shape), exact=True, weight=0.4),
    op("scatter_reduce", "{x}.scatter_reduce({d}, {i}, {y}, reduce={o}, include_self={k})", x=numbers, d=dim(), i=alike(),
       y=new(lambda b, d: d["i"].shape), o=choice("'sum'", "'amax'", "'amin'", "'mean'"), k=flag()),
    op("index_add", "{x}.index_add({d}, {i}, {y}, alpha={a})", x=numbers, d=dim(), i=places(), y=new(along), a=scalar(1, 2, 0.5)),
    op("index_copy", "{x}.index_copy({d}, {i}, {y})", x=row, d=dim(), i=unique_along, y=new(along), exact=True),
    op("index_fill", "{x}.index_fill({d}, {i}, {a})", x=numbers, d=dim(), i=unique_along, a=scalar(0, 1), exact=True, weight=0.6),
    op("index_put", "{x}.index_put(({i},), {y})", x=row, i=rows_of(True), y=new(updates), exact=True),
    op("index_put adding", "{x}.index_put(({i},), {y}, accumulate=True)", x=numbers, i=rows_of(), y=new(updates)),
    op("index_reduce", "{x}.index_reduce({d}, {i}, {y}, {o})", x=numbers, d=dim(), i=places(), y=new(along), o=choice("'amax'", "'amin'"),
       weight=0.3),
    op("masked_scatter", "{x}.masked_scatter({x} > 0, {y})", x=exact(ranks=(1, 3), where=lambda v: v.numel() > 0), y=new(lambda b, d: d["x"].shape),
       exact=True, weight=0.3),
    op("sort", "torch.sort({x}, dim={d}, descending={k}, stable={x}.requires_grad)[0]", x=numbers, d=dim(), k=flag(), exact=True, weight=1.5),
    op("sort stable", "torch.sort({x}, dim={d}, descending={k}, stable=True)[1]", x=exact(ranks=(1, 4)), d=dim(), k=flag(), exact=True),
    op("argsort", "torch.argsort({x}, dim={d}, descending={k}, stable=True)", x=exact(ranks=(1, 4)), d=dim(), k=flag(), exact=True, weight=0.6),
    op("topk", "torch.topk({x}, {k}, dim={d}, largest={l})[0]", x=numbers, d=dim(), k=count, l=flag(), exact=True, weight=1.5, modes=VALUES),
    op("kthvalue", "torch.kthvalue({x}, {k}, {d})[0]", x=numbers, d=dim(), k=count, exact=True, weight=0.4, modes=VALUES),
    op("searchsorted", "torch.searchsorted({x}.sort(-1)[0], {y}, right={k})", x=exact(ranks=(1, 1), where=lambda v: v.numel() > 0), y=exact(),
       k=flag(), exact=True, weight=0.5),
    op("bucketize", "torch.bucketize({x}, {y}.sort()[0], right={k})", x=exact(), y=exact(ranks=(1, 1)), k=flag(), exact=True, weight=0.5),
    op("one_hot", "({i}.unsqueeze(-1) == torch.arange({n})).to({t})", i=lambda b, d: b.of_shape(b.shape((1, 2), 200), I64, "index:9"),
       n=choice("9", "11"), t=choice("torch.float32", "torch.int64"), exact=True, weight=0.5),
    op("select_scatter", "torch.select_scatter({x}.contiguous(), {y}, {d}, 0)", x=row, d=dim(), exact=True, weight=0.5,
       y=new(lambda b, d: [n for i, n in enumerate(d["x"].shape) if i != d["d"] % d["x"].dim()])),
    op("slice_scatter", "torch.slice_scatter({x}.contiguous(), {y}, {d}, 0, {n})", x=row, d=dim(), n=count, exact=True, weight=0.5,
       y=new(lambda b, d: [d["n"] if i == d["d"] % d["x"].dim() else n for i, n in enumerate(d["x"].shape)])),
    op("diagonal_scatter", "torch.diagonal_scatter({x}.contiguous(), {y})", x=value(ANY, ranks=(2, 2)), y=new(lambda b, d: [min(d["x"].shape)]), exact=True,
       weight=0.3),
    op("gather of order", "torch.gather({x}, {d}, torch.argsort({x}, {d}, stable=True))", x=exact(ranks=(1, 4)), d=dim(), exact=True, weight=0.5),
]  # fmt: skip
