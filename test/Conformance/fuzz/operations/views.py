"""Views, copies of views, concatenation and padding."""

from op import ANY, FLOAT, choice, dim, dims, index, need, op, same, scalar, value

any_, row, plane = value(ANY), value(ANY, ranks=(1, 5)), value(ANY, ranks=(2, 5))


def permutation(b, drawn):
    order = list(range(drawn["x"].dim()))
    b.rng.shuffle(order)
    return order


def split_size(b, x):
    """Returns a shape with the same number of elements: dimensions are merged and split."""
    shape = list(x.shape)
    if len(shape) > 1 and b.rng.random() < 0.6:
        at = b.rng.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    if shape and b.rng.random() < 0.6 and x.numel():
        at = b.rng.randrange(len(shape))
        factors = [k for k in (2, 3, 4, 8, 16) if shape[at] % k == 0]
        if factors:
            k = b.rng.choice(factors)
            shape[at : at + 1] = [k, shape[at] // k] if b.rng.random() < 0.5 else [shape[at] // k, k]
    if x.numel() and shape and b.rng.random() < 0.5:
        shape[b.rng.randrange(len(shape))] = -1
    return shape


def slice_of(b, n):
    start, end = sorted(b.rng.sample(range(n + 1), 2))
    return f"{start if b.rng.random() < 0.6 else ''}:{end if b.rng.random() < 0.5 else end - n if end < n else ''}:{b.rng.choice((1, 1, 1, 2, 3))}"


def sliced(b, drawn):
    """Draws an index with slices, numbers, an ellipsis or None."""
    x, parts = drawn["x"], []
    for n in x.shape[: b.rng.randint(1, x.dim())]:
        roll = b.rng.random()
        if roll < 0.2 and n:
            parts.append(str(b.rng.randrange(-n, n)))
        elif roll < 0.7 and n > 1:
            parts.append(slice_of(b, n))
        elif roll < 0.8:
            parts.append("None")
        else:
            parts.append(":")
    return ", ".join(parts)


def length(b, drawn):
    n = drawn["x"].shape[drawn["d"]]
    need(n)
    drawn["start"] = b.rng.randrange(n)
    return b.rng.randint(1, n - drawn["start"])


def expanded(b, drawn):
    shape = [b.rng.choice((2, 3, 7)) if n == 1 and b.rng.random() < 0.8 else -1 for n in drawn["x"].shape]
    return [b.rng.choice((2, 3))] * (b.rng.random() < 0.4) + shape


def alike(b, drawn):
    """Draws another value that can be concatenated along a dimension."""
    x, d = drawn["x"], drawn["d"] % drawn["x"].dim()

    def fits(v):
        return v.dtype == x.dtype and v.dim() == x.dim() and all(i == d or m == n for i, (m, n) in enumerate(zip(v.shape, x.shape)))

    found = [v for v in b.values if fits(v)]
    if len(found) > 1 and b.rng.random() < 0.7:
        return b.chosen(found)
    shape = list(x.shape)
    shape[d] = b.rng.choice((1, 2, shape[d], *b.sizes))
    return b.of_shape(shape, x.dtype)


def twin(b, drawn):
    return b.of_shape(list(drawn["x"].shape), drawn["x"].dtype)


def pads(rank, signed=True):
    def draw(b, drawn):
        x = drawn["x"]
        return [b.rng.choice((0, 1, 2, 3, -1 if signed and n > 3 else 0)) for n in reversed(x.shape[-rank:]) for _ in "ab"]

    return draw


def inner(b, drawn):
    return [b.rng.randint(0, min(3, n - 1)) for n in reversed(drawn["x"].shape[-2:]) for _ in "ab"]


def cut(b, drawn):
    n = drawn["x"].shape[drawn["d"]]
    need(n > 1)
    k = max(1, -(-n // b.rng.choice((2, 2, 3, 4))))
    return k


def parts(b, drawn):
    n = drawn["x"].shape[drawn["d"]]
    need(n > 2)
    a = b.rng.randint(1, n - 1)
    return [a, n - a]


def few(b, drawn):
    need(drawn["x"].shape[drawn["d"]] in (1, 2, 3, 4, 5))
    return 0


def view(name, call, weight=1.0, **draws):
    return op(name, call, exact=True, weight=weight, **({"x": any_} | draws))


OPS = [
    view("reshape", "{x}.reshape({s})", s=same("x", split_size), weight=3),
    view("view", "{x}.view({s})", s=same("x", split_size)),
    view("flatten", "{x}.flatten({a}, {e})", x=row, a=choice("0", "0", "-2", "1"), e=choice("-1", "1", "-2")),
    view("unflatten", "{x}.unflatten({d}, (-1, {k}))", x=row, d=dim(), k=choice("1", "2", "4", "8")),
    view("transpose", "{x}.transpose({d}, {e})", x=plane, d=dim(), e=dim(), weight=3),
    view("permute", "{x}.permute({p})", x=plane, p=permutation, weight=2),
    view("mT", "{x}.mT", x=plane),
    view("movedim", "torch.movedim({x}, {d}, {e})", x=plane, d=dim(), e=dim(), weight=0.5),
    view("unsqueeze", "{x}.unsqueeze({d})", x=value(ANY, ranks=(0, 4)), d=choice("0", "-1"), weight=1.5),
    view("squeeze", "{x}.squeeze({d})", x=row, d=dim()),
    view("squeeze all", "{x}.squeeze()", weight=0.5),
    view("expand", "{x}.expand({s})", s=expanded, weight=1.5),
    view("expand_as", "{x}[..., :1].expand_as({x})", x=row, weight=0.6),
    view("broadcast_to", "torch.broadcast_to({x}, {s})", s=lambda b, d: [b.rng.choice((1, 2, 3)), *d["x"].shape], weight=0.5),
    view("select", "{x}.select({d}, {i})", x=row, d=dim(), i=index(), weight=2),
    view("slice", "{x}[{s}]", x=row, s=sliced, weight=4),
    view("narrow", "{x}.narrow({d}, {start}, {l})", x=row, d=dim(), l=length),
    view("diagonal", "{x}.diagonal({o})", x=plane, o=choice("0", "1", "-1"), weight=0.6),
    view("diag_embed", "torch.diag_embed({x})", x=value(ANY, ranks=(1, 2), where=lambda v: v.numel() < 200), weight=0.4),
    view("windows", "{x}.unfold({d}, 2, {s})", x=row, d=dim(), s=choice("1", "2"), weight=0.4),
    view("contiguous", "{x}.contiguous()"),
    view("channels_last", "{x}.contiguous(memory_format=torch.channels_last)", x=value(ANY, ranks=(4, 4))),
    view("clone", "{x}.clone()"),
    view("detach", "{x}.detach()", weight=0.4),
    view("flip", "{x}.flip({d})", x=row, d=dims()),
    view("roll", "{x}.roll({k}, {d})", x=row, k=choice("1", "-2", "5"), d=dim()),
    view("rot90", "torch.rot90({x}, {k})", x=plane, k=choice("1", "2", "3"), weight=0.4),
    view("tril", "torch.{o}({x}, {k})", x=plane, o=choice("tril", "triu"), k=choice("0", "1", "-1", "2"), weight=1.2),
    view("repeat", "{x}.repeat({s})", s=lambda b, d: [b.rng.choice((1, 2, 3)) for _ in range(d["x"].dim() + b.rng.choice((0, 0, 1)))]),
    view("tile", "torch.tile({x}, ({k},))", k=choice("2", "3"), weight=0.5),
    view("repeat_interleave", "torch.repeat_interleave({x}, {k}, dim={d})", x=row, k=choice("2", "3"), d=dim(), weight=0.7),
    view("cat", "torch.cat([{x}, {y}], {d})", x=row, d=dim(), y=alike, weight=3),
    view("cat three", "torch.cat([{x}, {y}, {x}], {d})", x=row, d=dim(), y=alike),
    view("stack", "torch.stack([{x}, {y}], {d})", x=value(ANY, ranks=(1, 4)), y=twin, d=dim(), weight=1.5),
    view("hstack", "torch.{o}([{x}, {y}])", x=value(ANY, ranks=(0, 3)), y=twin, o=choice("hstack", "vstack", "dstack"), weight=0.5),
    view("split", "torch.split({x}, {k}, {d})", x=row, d=dim(), k=cut, weight=2),
    view("split sizes", "torch.split({x}, {k}, {d})", x=row, d=dim(), k=parts),
    view("chunk", "torch.chunk({x}, {k}, {d})", x=row, k=choice("2", "3"), d=dim(), weight=1.5),
    view("unbind", "torch.unbind({x}, {d})[{i}:]", x=row, d=dim(), i=few, weight=0.7),
    view("tensor_split", "torch.tensor_split({x}, {k}, {d})", x=row, k=choice("2", "3"), d=dim(), weight=0.5),
    view("pad", "F.pad({x}, {p}, value={a})", x=row, p=pads(1), a=scalar(0, 1, -2), weight=1.5),
    view("pad planes", "F.pad({x}, {p})", x=plane, p=pads(2), weight=1.5),
    view("pad by edges", "F.pad({x}, {p}, mode={m})", x=value(FLOAT, ranks=(3, 4), where=lambda v: all(n > 0 for n in v.shape[-2:])), p=inner,
         m=choice("'reflect'", "'replicate'", "'circular'")),
    view("meshgrid", "torch.meshgrid({x}, {x}, indexing={m})", x=value(ANY, ranks=(1, 1)), m=choice("'ij'", "'xy'"), weight=0.3),
    view("atleast", "torch.atleast_{k}d({x})", k=choice("1", "2", "3"), weight=0.3),
    view("view_as", "{x}.reshape(-1).view_as({x})", weight=0.4),
    view("as_strided", "{x}.contiguous().as_strided([{n}, 2], [1, {s}])", x=row, s=choice("1", "2"),
         n=lambda b, d: max(d["x"].numel() - 2, 0), weight=0.3),
    view("copy of a view", "{x}.transpose({d}, {e}).contiguous()", x=plane, d=dim(), e=dim()),
    view("view copied twice", "({x}.flip({d}) + {x})", x=value(FLOAT, ranks=(1, 5)), d=dims()),
]  # fmt: skip
