"""Rules that express ops of complex tensors with pairs of real numbers (pairs.py)."""

from __future__ import annotations

import operator

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .pairs import Pairs, Unknown, is_complex, rule

aten = torch.ops.aten
add, mul, sub = aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor


def rank(node: fx.Node) -> int:
    return node.meta["val"].dim()


def dim_of(node: fx.Node, dim: int) -> int:
    """Returns `dim` counted from the front, because pairs have one more dimension at the end.

    Raises Unknown for a 0-d tensor: torch allows dimension 0 for a 0-d tensor, but dimension 0 of its pairs is the
    dimension that separates real and imaginary parts.
    """
    if not rank(node):
        raise Unknown
    return dim % rank(node)


# -- conversions between complex and real tensors -----------------------------


@rule(aten.view_as_complex.default)
def view_as_complex(p: Pairs, node, x):
    return x


@rule(aten.view_as_real.default)
def view_as_real(p: Pairs, node, x):
    return None if x.op == "placeholder" else p.pair(x)


@rule(aten.complex.default)
def complex_(p: Pairs, node, real, imaginary):
    sizes = list(node.meta["val"].shape)
    if not all(isinstance(size, int) for size in sizes):
        if not all(statically_known_true(a == b) for a, b in zip(real.meta["val"].shape, imaginary.meta["val"].shape, strict=True)):
            raise Unknown
        return p.together(p.last(real), p.last(imaginary))
    return p.together(*(p.last(p.emit(aten.expand.default, part, sizes)) for part in (real, imaginary)))


@rule(aten.polar.default)
def polar(p: Pairs, node, length, angle):
    parts = (p.emit(mul, length, p.emit(f, angle)) for f in (aten.cos.default, aten.sin.default))
    return p.together(*(p.last(part) for part in parts))


@rule(aten.abs.default)
def abs_(p: Pairs, node, x):
    a, b = p.parts(x)
    return p.emit(aten.squeeze.dim, p.emit(aten.hypot.default, a, b), -1)


@rule(aten.angle.default)
def angle(p: Pairs, node, x):
    if not is_complex(x):
        raise Unknown
    a, b = p.parts(x)
    return p.emit(aten.squeeze.dim, p.emit(aten.atan2.default, b, a), -1)


# -- arithmetic ------------------------------------------------------------------


@rule(aten.mul.Tensor, aten.mul.Scalar)
def multiply(p: Pairs, node, x, y):
    if isinstance(y, complex) and not is_complex(x):
        a = p.last(x)
        return p.together(p.emit(mul, a, y.real), p.emit(mul, a, y.imag))
    (a, b), (c, d) = p.parts(x), p.parts(y)
    if b is None or d is None:  # one factor is real
        return p.emit(mul, p.pair(y), a) if b is None else p.emit(mul, p.pair(x), c)
    real = p.calculate(sub, p.calculate(mul, a, c), p.calculate(mul, b, d))
    return p.together(real, p.calculate(add, p.calculate(mul, a, d), p.calculate(mul, b, c)))


@rule(aten.div.Tensor, aten.div.Scalar)
def divide(p: Pairs, node, x, y):
    if is_complex(y):
        raise Unknown
    return p.emit(aten.div.Tensor, p.pair(x), p.last(y) if isinstance(y, fx.Node) else y)


@rule(aten.eq.Scalar, aten.ne.Scalar)
def compare(p: Pairs, node, x, number):
    a, b = p.parts(x)
    of = node.target
    both = aten.logical_and.default if of is aten.eq.Scalar else aten.logical_or.default
    found = p.emit(both, p.emit(of, a, complex(number).real), p.emit(of, b, complex(number).imag))
    return p.emit(aten.squeeze.dim, found, -1)


@rule(aten.sgn.default)
def sign(p: Pairs, node, x):
    """Computes z / |z|, and 0 for 0."""
    size = p.emit(aten.hypot.default, *p.parts(x))
    return p.emit(aten.where.self, p.emit(aten.eq.Scalar, size, 0), p.emit(aten.zeros_like.default, p.pair(x)), p.emit(aten.div.Tensor, p.pair(x), size))


def sum_or_difference(op):
    def make(p: Pairs, node, x, y, *, alpha=1):
        if isinstance(alpha, complex):
            raise Unknown
        if not isinstance(y, fx.Node):
            (a, b), (c, d) = p.parts(x), p.parts(y)
            return p.together(p.emit(op, a, c * alpha), b if d is None else p.emit(op, p.emit(aten.zeros_like.default, a) if b is None else b, d * alpha))
        return p.emit(op, p.pair(x), p.pair(y), alpha=alpha) if alpha != 1 else p.emit(op, p.pair(x), p.pair(y))

    return make


rule(aten.add.Tensor)(sum_or_difference(add))
rule(aten.sub.Tensor)(sum_or_difference(sub))


@rule(aten.rsub.Scalar, aten.rsub.Tensor)
def difference_from(p: Pairs, node, x, y, alpha=1):
    if alpha != 1:
        raise Unknown
    if isinstance(y, fx.Node):
        return p.emit(sub, p.pair(y), p.pair(x))
    a, b = (p.emit(aten.neg.default, part) if part is not None else None for part in p.parts(x))
    c, d = p.parts(y)
    return p.together(p.emit(add, a, c), b if d is None else p.emit(add, p.emit(aten.zeros_like.default, a) if b is None else b, d))


@rule(aten.neg.default)
def negative(p: Pairs, node, x):
    return p.emit(aten.neg.default, p.pair(x))


@rule(aten._conj.default, aten._conj_physical.default, aten.conj_physical.default)
def conjugate(p: Pairs, node, x):
    if not isinstance(x, fx.Node):
        return filled(p, node, [], complex(x).conjugate())
    if not is_complex(x):
        raise Unknown
    a, b = p.parts(x)
    return p.together(a, p.emit(aten.neg.default, b))


@rule(aten.exp.default)
def exponential(p: Pairs, node, x):
    a, b = p.parts(x)
    size = p.emit(aten.exp.default, a)
    return p.together(*(p.emit(mul, size, p.emit(f, b)) for f in (aten.cos.default, aten.sin.default)))


@rule(aten.mm.default, aten.bmm.default)
def product(p: Pairs, node, x, y):
    (a, b), (c, d) = ([p.emit(aten.squeeze.dim, part, -1) if isinstance(part, fx.Node) else part for part in p.parts(v)] for v in (x, y))
    of = node.target
    real, imaginary = p.emit(of, a, c), 0
    if isinstance(b, fx.Node) and isinstance(d, fx.Node):
        real = p.emit(sub, real, p.emit(of, b, d))
    if isinstance(d, fx.Node):
        imaginary = p.emit(of, a, d)
    if isinstance(b, fx.Node):
        other = p.emit(of, b, c)
        imaginary = p.emit(add, imaginary, other) if isinstance(imaginary, fx.Node) else other
    return p.together(p.last(real), p.last(imaginary))


# -- elementwise ------------------------------------------------------------------


@rule(aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default, aten.resolve_conj.default)
def same(p: Pairs, node, x, *, memory_format=None):
    if node.target is not aten.clone.default:
        return p.pair(x)
    # The memory format of intermediate values has no effect. Results of the graph get the strides of the complex graph's results.
    return p.emit(aten.clone.default, p.pair(x), memory_format=torch.contiguous_format)


@rule(aten._to_copy.default)
def cast(p: Pairs, node, x, *, dtype=None, **rest):
    if not is_complex(node) or set(rest) - {"device", "layout", "pin_memory", "non_blocking", "memory_format"}:
        raise Unknown
    wanted = node.meta["val"]
    if rest.get("device") is not None and rest["device"] != x.meta["val"].device:
        raise Unknown
    return p.emit(aten._to_copy.default, p.pair(x), dtype=wanted.dtype.to_real())


@rule(aten.where.self)
def choose(p: Pairs, node, condition, x, y):
    return p.emit(aten.where.self, p.last(condition), p.pair(x), p.pair(y))


# -- shapes ------------------------------------------------------------------------------


@rule(aten.view.default, aten.reshape.default, aten._unsafe_view.default)
def view(p: Pairs, node, x, sizes):
    try:
        return p.emit(aten.view.default, p.pair(x), [*sizes, 2])
    except (RuntimeError, ValueError):  # the view is impossible with the strides of the pairs
        return p.emit(aten.reshape.default, p.pair(x), [*sizes, 2])


@rule(aten.expand.default)
def expand(p: Pairs, node, x, sizes, *, implicit=False):
    return p.emit(aten.expand.default, p.pair(x), [*sizes, 2])


@rule(aten.repeat.default)
def repeat(p: Pairs, node, x, counts):
    return p.emit(aten.repeat.default, p.pair(x), [*counts, 1])


@rule(aten.permute.default)
def permute(p: Pairs, node, x, dims):
    return p.emit(aten.permute.default, p.pair(x), [*(dim_of(x, d) for d in dims), rank(x)])


@rule(aten.transpose.int)
def transpose(p: Pairs, node, x, one, other):
    return p.emit(aten.transpose.int, p.pair(x), dim_of(x, one), dim_of(x, other)) if rank(x) else p.pair(x)


@rule(aten.t.default)
def transpose_matrix(p: Pairs, node, x):
    return p.emit(aten.transpose.int, p.pair(x), 0, 1) if rank(x) == 2 else p.pair(x)


@rule(aten.unsqueeze.default)
def unsqueeze(p: Pairs, node, x, dim):
    return p.emit(aten.unsqueeze.default, p.pair(x), dim % (rank(x) + 1))


@rule(aten.squeeze.dim)
def squeeze(p: Pairs, node, x, dim):
    return p.emit(aten.squeeze.dim, p.pair(x), dim_of(x, dim)) if rank(x) else p.pair(x)


@rule(aten.squeeze.dims)
def squeeze_all(p: Pairs, node, x, dims):
    return p.emit(aten.squeeze.dims, p.pair(x), [dim_of(x, d) for d in dims]) if rank(x) else p.pair(x)


@rule(aten.slice.Tensor)
def slice_(p: Pairs, node, x, dim=0, *rest, **keywords):
    return p.emit(aten.slice.Tensor, p.pair(x), dim_of(x, dim), *rest, **keywords)


@rule(aten.select.int)
def select(p: Pairs, node, x, dim, index):
    return p.emit(aten.select.int, p.pair(x), dim_of(x, dim), index)


@rule(aten.diagonal.default)
def diagonal(p: Pairs, node, x, offset=0, dim1=0, dim2=1):
    return p.emit(aten.transpose.int, p.emit(aten.diagonal.default, p.pair(x), offset, dim_of(x, dim1), dim_of(x, dim2)), -1, -2)


@rule(aten.diagonal_scatter.default)
def diagonal_scatter(p: Pairs, node, x, source, offset=0, dim1=0, dim2=1):
    rows = p.emit(aten.transpose.int, p.pair(source), -1, -2)
    return p.emit(aten.diagonal_scatter.default, p.pair(x), rows, offset, dim_of(x, dim1), dim_of(x, dim2))


@rule(aten.unfold.default)
def windows(p: Pairs, node, x, dim, size, step):
    return p.emit(aten.transpose.int, p.emit(aten.unfold.default, p.pair(x), dim_of(x, dim), size, step), -1, -2)


@rule(aten.index_select.default)
def index_select(p: Pairs, node, x, dim, index):
    return p.emit(aten.index_select.default, p.pair(x), dim_of(x, dim), index)


@rule(aten.index.Tensor)
def index(p: Pairs, node, x, indices):
    return p.emit(aten.index.Tensor, p.pair(x), indices)


@rule(aten.index_put.default)
def index_put(p: Pairs, node, x, indices, values, *rest, **keywords):
    return p.emit(aten.index_put.default, p.pair(x), indices, p.pair(values), *rest, **keywords)


@rule(aten.gather.default)
def gather(p: Pairs, node, x, dim, index, *, sparse_grad=False):
    indices = p.emit(aten.expand.default, p.last(index), [*[-1] * rank(index), 2])
    return p.emit(aten.gather.default, p.pair(x), dim_of(x, dim), indices)


@rule(aten.copy.default)
def copied(p: Pairs, node, x, source):
    if not is_complex(node):
        raise Unknown
    return p.emit(aten.copy.default, p.pair(x), p.pair(source))


@rule(aten.flip.default)
def flip(p: Pairs, node, x, dims):
    return p.emit(aten.flip.default, p.pair(x), [dim_of(x, d) for d in dims if rank(x)])


@rule(aten.cat.default)
def concatenate(p: Pairs, node, tensors, dim=0):
    if any(t.meta["val"].dim() != rank(node) for t in tensors):
        raise Unknown  # torch's legacy empty tensors, which have one dimension
    return p.emit(aten.cat.default, [p.pair(t) for t in tensors], dim_of(node, dim))


@rule(aten.stack.default)
def stack(p: Pairs, node, tensors, dim=0):
    return p.emit(aten.stack.default, [p.pair(t) for t in tensors], dim % rank(node))


@rule(aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int)
def split(p: Pairs, node, x, *rest, **keywords):
    """Splits pairs. Only operator.getitem may read the results."""
    at = 0 if node.target is aten.unbind.int else 1
    dim = dim_of(x, rest[at] if len(rest) > at else keywords.get("dim", 0))
    made = p.emit(node.target, p.pair(x), *rest[:at], dim)
    if any(user.target is not operator.getitem for user in node.users):
        raise Unknown
    return {user: p.emit(operator.getitem, made, user.args[1]) for user in node.users}


@rule(operator.getitem)
def part(p: Pairs, node, source, at):
    if node not in p.pairs:
        raise Unknown
    return p.pairs[node]


@rule(aten.constant_pad_nd.default)
def pad(p: Pairs, node, x, amounts, value=0):
    if value != 0:
        raise Unknown
    return p.emit(aten.constant_pad_nd.default, p.pair(x), [0, 0, *amounts])


@rule(aten.slice_backward.default)
def slice_backward(p: Pairs, node, x, sizes, dim, *rest):
    return p.emit(aten.slice_backward.default, p.pair(x), [*sizes, 2], dim % len(sizes), *rest)


@rule(aten.select_backward.default)
def select_backward(p: Pairs, node, x, sizes, dim, index):
    return p.emit(aten.select_backward.default, p.pair(x), [*sizes, 2], dim % len(sizes), index)


@rule(aten.slice_scatter.default)
def slice_scatter(p: Pairs, node, x, source, dim=0, *rest, **keywords):
    return p.emit(aten.slice_scatter.default, p.pair(x), p.pair(source), dim_of(x, dim), *rest, **keywords)


@rule(aten.select_scatter.default)
def select_scatter(p: Pairs, node, x, source, dim, index):
    return p.emit(aten.select_scatter.default, p.pair(x), p.pair(source), dim_of(x, dim), index)


@rule(aten.sum.dim_IntList, aten.mean.dim)
def reduce(p: Pairs, node, x, dims, keepdim=False, *, dtype=None):
    if dtype is not None:
        raise Unknown
    if not rank(x):
        return p.emit(aten.clone.default, p.pair(x))
    return p.emit(node.target, p.pair(x), [dim_of(x, d) for d in dims or range(rank(x))], keepdim)


@rule(aten.sum.default, aten.mean.default)
def reduce_all(p: Pairs, node, x, *, dtype=None):
    if dtype is not None:
        raise Unknown
    of = aten.sum.dim_IntList if node.target is aten.sum.default else aten.mean.dim
    return p.emit(of, p.pair(x), list(range(rank(x)))) if rank(x) else p.emit(aten.clone.default, p.pair(x))


@rule(aten.roll.default)
def roll(p: Pairs, node, x, shifts, dims=()):
    if not dims:
        raise Unknown
    return p.emit(aten.roll.default, p.pair(x), shifts, [dim_of(x, d) for d in dims])


# -- tensors that are filled with one value ------------------------------------------------------


def filled(p: Pairs, node, sizes, number) -> fx.Node:
    if isinstance(number, fx.Node):
        raise Unknown
    of = node.meta["val"]
    keywords = {"dtype": of.dtype.to_real(), "device": of.device, "pin_memory": False}
    parts = (p.emit(aten.full.default, [*sizes, 1], part, **keywords) for part in (complex(number).real, complex(number).imag))
    return p.together(*parts)


@rule(aten.full.default, aten.scalar_tensor.default)
def full(p: Pairs, node, *rest, **keywords):
    *sizes, number = rest
    return filled(p, node, sizes[0] if sizes else [], number)


@rule(aten.new_full.default)
def new_full(p: Pairs, node, x, sizes, number, **keywords):
    if not is_complex(node):
        return p.emit(node.target, p.pair(x), sizes, number, **keywords)
    return filled(p, node, sizes, number)


@rule(aten.new_zeros.default, aten.new_ones.default)
def new_zeros(p: Pairs, node, x, sizes, **keywords):
    if not is_complex(node):
        return p.emit(node.target, p.pair(x), sizes, **keywords)
    return filled(p, node, sizes, 0 if node.target is aten.new_zeros.default else 1)


@rule(aten.zeros.default, aten.ones.default)
def zeros(p: Pairs, node, sizes, **keywords):
    return filled(p, node, sizes, 0 if node.target is aten.zeros.default else 1)


def filled_like(p: Pairs, x: fx.Node, number, keywords: dict) -> fx.Node:
    """Returns the pairs of a tensor with the sizes of x that is filled with `number`, or the result of the op if this
    result is real. The sizes are not passed as arguments, because they may be symbolic."""
    assert p.of is not None  # the node to which this rule is applied
    if not is_complex(p.of):
        return p.emit(p.of.target, p.emit(aten.select.int, p.pair(x), rank(x), 0), *p.of.args[1:], **keywords)
    if isinstance(number, fx.Node):
        raise Unknown
    a = p.parts(x)[0]
    of = p.of.meta["val"].dtype.to_real()
    return p.together(*(p.emit(aten.full_like.default, a, part, dtype=of) for part in (complex(number).real, complex(number).imag)))


@rule(aten.zeros_like.default)
def zeros_like(p: Pairs, node, x, **keywords):
    return filled_like(p, x, 0, keywords)


@rule(aten.ones_like.default)
def ones_like(p: Pairs, node, x, **keywords):
    return filled_like(p, x, 1, keywords)


@rule(aten.full_like.default)
def full_like(p: Pairs, node, x, number, **keywords):
    return filled_like(p, x, number, keywords)
