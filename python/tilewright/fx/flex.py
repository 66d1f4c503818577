"""Expands torch's flex_attention, whose scores and masks are modified by user functions of indices (score_mod, mask_mod), into
matrix products, these functions and a softmax.

    out = flex_attention(q, k, v, score_mod, (..., mask_mod), scale)
    ->
    scores = score_mod((q @ k.mT) * scale, b, h, m, n)          for all indices at once: b is [B, 1, 1, 1], h [1, H, 1, 1] ...
    out = softmax(where(mask_mod(b, h, m, n), scores, -inf)) @ v

The result of a row whose elements are all masked is 0. Eager computes the same with torch.vmap. The block mask is
ignored, because it follows from mask_mod. Test: test/Python/test_flex_attention.py.
"""

from __future__ import annotations

import math
import operator

import torch
from torch import fx

from .outputs import ALIASES
from .rewriting import Rewriter

aten = torch.ops.aten
OP = torch.ops.higher_order.flex_attention

# Ops that a mask_mod or score_mod function may contain in addition to elementwise ops. torch calls such a function for one index at a
# time. If these ops are applied to a tensor of all indices instead, they compute the same value for each index.
ALSO = {
    aten.index.Tensor, aten._to_copy.default, aten.clone.default, aten.where.self, aten.scalar_tensor.default,
    aten.full.default, aten.new_ones.default, aten.new_zeros.default, aten.new_full.default, *ALIASES,
}  # fmt: skip


def is_elementwise(body: fx.GraphModule) -> bool:
    """Returns whether score_mod or mask_mod (`body`) contains only ops that can be applied to tensors of all indices."""
    calls = [node for node in body.graph.nodes if node.op == "call_function"]
    return (all(torch.Tag.pointwise in getattr(node.target, "tags", ()) or node.target in ALSO for node in calls)
            and all(node.op in ("call_function", "placeholder", "output") for node in body.graph.nodes))  # fmt: skip


class Expansion(Rewriter):
    def body(self, node: fx.Node) -> fx.GraphModule:
        return getattr(self.gm, str(node.target))

    def apply(self, node: fx.Node, *arguments) -> fx.Node:
        """Emits the ops of the score_mod or mask_mod function that `node` references, applied to `arguments`. Returns the result."""
        inner, values = self.body(node).graph, {}
        remaining = iter(arguments)
        for step in inner.nodes:
            if step.op == "placeholder":
                values[step] = next(remaining)
            elif step.op == "output":
                result = step.args[0]
                return values[result[0] if isinstance(result, (list, tuple)) else result]
            else:
                args, kwargs = (fx.map_arg(given, values.__getitem__) for given in (step.args, step.kwargs))
                values[step] = self.emit(step.target, *args, **kwargs)
        raise AssertionError("the graph of a score_mod or mask_mod function has no result")

    def size(self, tensor: fx.Node, dim: int):
        known = tensor.meta["val"].shape[dim]
        return known if isinstance(known, int) else self.emit(aten.sym_size.int, tensor, dim)

    def indices_along(self, tensor: fx.Node, of: int, dim: int) -> fx.Node:
        """Emits the indices 0, 1, ... along dimension `dim` of the scores. Their number is the size of dimension `of` of `tensor`."""
        numbers = self.emit(aten.arange.start_step, 0, self.size(tensor, of), 1, dtype=torch.int32, device=tensor.meta["val"].device, pin_memory=False)
        return self.emit(aten.view.default, numbers, [-1 if d == dim else 1 for d in range(4)])

    def heads(self, tensor: fx.Node, query: fx.Node) -> fx.Node:
        """Emits keys or values [B, H, N, E], repeated for each head and batch of the queries, as [B H, N, E]."""
        groups = query.meta["val"].shape[1] // tensor.meta["val"].shape[1]
        batch, keys, width = self.size(query, 0), self.size(tensor, 2), self.size(tensor, 3)
        if groups != 1:
            held = self.size(tensor, 1)
            tensor = self.emit(aten.expand.default, self.emit(aten.unsqueeze.default, tensor, 2), [batch, held, groups, keys, width])
            tensor = self.emit(aten.reshape.default, tensor, [batch, held * groups, keys, width])
        else:
            tensor = self.emit(aten.expand.default, tensor, [batch, self.size(tensor, 1), keys, width])
        return self.emit(aten.reshape.default, tensor, [-1, keys, width])

    def expand(self, node: fx.Node) -> None:
        self.of = node
        query, key, value, score_mod, blocks, scale, _, score_buffers, mask_buffers = node.args
        wide = torch.float64 if query.meta["val"].dtype == torch.float64 else torch.float32
        q, k, v = (self.emit(aten._to_copy.default, t, dtype=wide) if t.meta["val"].dtype != wide else t for t in (query, key, value))
        flat = self.emit(aten.reshape.default, q, [-1, self.size(q, 2), self.size(q, 3)])
        scores = self.emit(aten.bmm.default, flat, self.emit(aten.transpose.int, self.heads(k, q), 1, 2))
        scores = self.emit(aten.view.default, scores, [self.size(q, 0), self.size(q, 1), self.size(q, 2), self.size(k, 2)])
        indices = [self.indices_along(tensor, of, dim) for tensor, of, dim in ((q, 0, 0), (q, 1, 1), (q, 2, 2), (k, 2, 3))]
        changed = self.apply(score_mod, self.emit(aten.mul.Tensor, scores, scale), *indices, *score_buffers)
        if changed.meta["val"].dtype != wide:
            changed = self.emit(aten._to_copy.default, changed, dtype=wide)
        mask = self.apply(blocks[-1], *indices, *mask_buffers)
        nothing = self.emit(aten.full.default, [], -math.inf, dtype=wide, device=query.meta["val"].device, pin_memory=False)
        taken = self.emit(aten.where.self, mask, changed, nothing)
        largest = self.emit(aten.amax.default, taken, [-1], True)
        empty = self.emit(aten.eq.Scalar, largest, -math.inf)
        zero = self.emit(aten.full.default, [], 0.0, dtype=wide, device=query.meta["val"].device, pin_memory=False)
        weights = self.emit(aten.where.self, empty, zero, self.emit(aten._softmax.default, taken, -1, False))
        rounded = [self.emit(aten._to_copy.default, t, dtype=query.meta["val"].dtype) if query.meta["val"].dtype != wide else t for t in (weights, v)]
        flat = self.emit(aten.reshape.default, rounded[0], [-1, self.size(q, 2), self.size(k, 2)])
        out = self.emit(aten.bmm.default, flat, self.heads(rounded[1], q))
        out = self.emit(aten.view.default, out, [self.size(q, 0), self.size(q, 1), self.size(q, 2), self.size(v, 3)])
        for user in list(node.users):
            number = user.args[1]
            made = out if number == 0 else self.of_rows(taken, largest, empty, number)
            made.meta["val"] = user.meta["val"]  # a fake tensor with eager's strides
            user.replace_all_uses_with(made)
            self.graph.erase_node(user)
        self.graph.erase_node(node)

    def of_rows(self, taken: fx.Node, largest: fx.Node, empty: fx.Node, number: int) -> fx.Node:
        """Emits statistics of each row in base 2: the logarithm of the sum of exponentials for result `number` 1, or the largest score for
        result `number` 2."""
        made = largest
        if number == 1:
            shift = self.emit(aten.where.self, empty, self.emit(aten.zeros_like.default, largest), largest)
            total = self.emit(aten.sum.dim_IntList, self.emit(aten.exp.default, self.emit(aten.sub.Tensor, taken, shift)), [-1], True)
            made = self.emit(aten.add.Tensor, self.emit(aten.log.default, total), shift)
        return self.emit(aten.squeeze.dim, self.emit(aten.div.Tensor, made, math.log(2)), -1)


def expand(gm: fx.GraphModule) -> None:
    """Rewrites the flex_attention ops of a graph on the CPU in place. Leaves an op unchanged if its functions contain unsupported ops."""
    nodes = [node for node in gm.graph.nodes if node.op == "call_function" and node.target is OP]
    if not nodes:
        return
    expansion = Expansion(gm)
    for node in nodes:
        functions = (node.args[3], node.args[4][-1])
        on_cpu = node.args[0].meta["val"].device.type == "cpu"
        elementwise = all(isinstance(f, fx.Node) and is_elementwise(expansion.body(f)) for f in functions)
        if on_cpu and elementwise and all(u.target is operator.getitem for u in node.users):
            expansion.expand(node)
    gm.graph.eliminate_dead_code()
    gm.recompile()
