"""Products of matrices, and attention."""

from op import BOOL, choice, floating, new, op, partner, scalar


def matrix(v):
    return v.dim() >= 2


def wide(b, drawn):
    return b.rng.choice(b.sizes)


def right(b, drawn):
    """Returns the shape of a right operand of a matrix product: [K, N], or with the batch of the left one."""
    x = drawn["x"]
    batch = list(x.shape[:-2]) if b.rng.random() < 0.5 else []
    batch = [1 if b.rng.random() < 0.15 else n for n in batch]
    return [*batch, x.shape[-1], wide(b, drawn)]


def weight(b, drawn):
    return [wide(b, drawn), drawn["x"].shape[-1]]


def rows(b, drawn):
    return [drawn["w"].shape[0]]


def columns(b, drawn):
    return [drawn["y"].shape[-1]]


def kernel(batch):
    return lambda b, d: [*d["x"].shape[:batch], d["x"].shape[-1], wide(b, d)]


def keys(b, drawn):
    x = drawn["x"]
    return [*x.shape[:-2], b.rng.choice((x.shape[-2], wide(b, drawn))), x.shape[-1]]


def values(b, drawn):
    return [*drawn["y"].shape[:-1], b.rng.choice((drawn["x"].shape[-1], wide(b, drawn)))]


def scores(b, drawn):
    x, y = drawn["x"], drawn["y"]
    batch = [1 if b.rng.random() < 0.5 else n for n in x.shape[:-2]]
    return [*batch, x.shape[-2], y.shape[-2]]


two, three, many = floating(ranks=(2, 2)), floating(ranks=(3, 3)), floating(ranks=(2, 5))
heads = floating(ranks=(3, 4), where=lambda v: v.numel() > 0)
P = 0.5  # the probability that a weight is a parameter

OPS = [
    op("matmul", "{x} @ {y}", x=many, y=new(right, parameter=0.3), weight=4),
    op("matmul transposed", "{x} @ {y}.mT", x=many, y=new(lambda b, d: [wide(b, d), d["x"].shape[-1]]), weight=1.5),
    op("matmul of transposed", "{x}.mT @ {y}", x=many, y=new(lambda b, d: [*d["x"].shape[:-1], wide(b, d)]), weight=1.5),
    op("gram", "{x} @ {x}.mT", x=many),
    op("mm", "torch.mm({x}, {y})", x=two, y=new(kernel(0), parameter=P)),
    op("bmm", "torch.bmm({x}, {y})", x=three, y=new(kernel(1)), weight=1.5),
    op("mv", "torch.mv({x}, {y})", x=two, y=new(lambda b, d: [d["x"].shape[1]])),
    op("vm", "{x} @ {y}", x=floating(ranks=(1, 1)), y=new(lambda b, d: [d["x"].shape[0], wide(b, d)])),
    op("dot", "torch.dot({x}, {y})", x=floating(ranks=(1, 1)), y=new(lambda b, d: d["x"].shape), weight=0.5),
    op("outer", "torch.outer({x}, {y})", x=floating(ranks=(1, 1)), y=new(lambda b, d: [wide(b, d)])),
    op("addmm", "torch.addmm({z}, {x}, {y}, beta={a}, alpha={c})", x=two, y=new(kernel(0), parameter=P), z=new(columns),
       a=scalar(1, 0.5, 0), c=scalar(1, 0.25)),
    op("addmm full", "torch.addmm({z}, {x}, {y})", x=two, y=new(kernel(0), parameter=P),
       z=new(lambda b, d: [d["x"].shape[0], d["y"].shape[1]]), weight=0.6),
    op("baddbmm", "torch.baddbmm({z}, {x}, {y}, alpha={a})", x=three, y=new(kernel(1)), z=new(lambda b, d: [1, 1, d["y"].shape[2]]),
       a=scalar(1, 0.5)),
    op("addmv", "torch.addmv({z}, {x}, {y})", x=two, y=new(lambda b, d: [d["x"].shape[1]]), z=new(lambda b, d: [d["x"].shape[0]]), weight=0.4),
    op("addr", "torch.addr({z}, {x}, {y})", x=floating(ranks=(1, 1)), y=new(lambda b, d: [wide(b, d)]),
       z=new(lambda b, d: [d["x"].shape[0], d["y"].shape[0]]), weight=0.4),
    op("linear", "F.linear({x}, {w}, {b})", x=floating(ranks=(1, 5)), w=new(weight, parameter=P), b=new(rows, parameter=P), weight=4),
    op("linear without bias", "F.linear({x}, {w})", x=floating(ranks=(1, 5)), w=new(weight, parameter=P), weight=2),
    op("linear relu", "F.relu(F.linear({x}, {w}, {b}))", x=many, w=new(weight, parameter=P), b=new(rows, parameter=P)),
    op("bilinear", "F.bilinear({x}, {x}, {w})", x=two, w=new(lambda b, d: [3, d["x"].shape[1], d["x"].shape[1]]), weight=0.3),
    op("einsum ij,jk", 'torch.einsum("ij,jk->ki", {x}, {y})', x=two, y=new(kernel(0))),
    op("einsum bij,bjk", 'torch.einsum("bij,bjk->bik", {x}, {y})', x=three, y=new(kernel(1))),
    op("einsum bhid,bhjd", 'torch.einsum("bhid,bhjd->bhij", {x}, {y})', x=floating(ranks=(4, 4)), y=new(lambda b, d: d["x"].shape)),
    op("einsum sum", 'torch.einsum("ij,ij->{o}", {x}, {y})', x=two, y=new(lambda b, d: d["x"].shape), o=choice("i", "j", "")),
    op("tensordot", "torch.tensordot({x}, {y}, dims=1)", x=many, y=new(lambda b, d: [d["x"].shape[-1], wide(b, d)]), weight=0.5),
    op("chain", "torch.linalg.multi_dot([{x}, {y}, {y}.mT])", x=two, y=new(kernel(0)), weight=0.3),
    op("kron", "torch.kron({x}, {y})", x=floating(ranks=(2, 2), where=lambda v: v.numel() < 300), y=new(lambda b, d: [2, 3]), weight=0.3),
    op("cdist", "torch.cdist({x}, {y} + 4.0)", x=floating(ranks=(2, 3)), y=new(lambda b, d: [*d["x"].shape[:-2], 5, d["x"].shape[-1]]),
       weight=0.3),
    op("cross", "torch.linalg.cross({x}, {y})", x=floating(ranks=(2, 3), where=lambda v: v.shape[-1] == 3), y=partner("x"), weight=0.3),
    op("attention", "F.scaled_dot_product_attention({x}, {y}, {z}, is_causal={c})", x=heads, y=new(keys), z=new(values),
       c=choice("False", "False", "True"), weight=2),
    op("attention masked", "F.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={m})", x=heads, y=new(keys), z=new(values),
       m=new(scores), weight=1.5),
    op("attention by a mask", "F.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={m})", x=heads, y=new(keys), z=new(values),
       m=new(scores, BOOL)),
    op("attention by parts", "torch.softmax({x} @ {y}.mT * 0.25 + {m}, -1) @ {z}", x=heads, y=new(keys), z=new(values), m=new(scores)),
]  # fmt: skip
