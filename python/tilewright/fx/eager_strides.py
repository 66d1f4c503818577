"""Determines the strides that the results of a graph have in eager.

Ops are decomposed before compilation, and the results of torch's decompositions may have other strides than those of the
op. Examples are log_sigmoid of a transposed tensor, 2 ** x with dimensions of size 1, and adaptive pooling in
channels-last. Dynamo traces the ops before they are decomposed, so the fake results in its graph have eager's strides,
except for a few ops. For some of these ops, correct() adds a copy before or after the op to Dynamo's graph, so that the
results get eager's strides.

Tests: test/Python/test_result_strides.py, and every result of test/Conformance/opinfo.
"""

from __future__ import annotations

import torch
from torch import fx

from .outputs import expressions_of, named, result_chain, shared_memory


def _is_unpooling(node: fx.Node) -> bool:
    """Returns whether `node` is an unpooling op. Its fake result is always contiguous, but the result of eager's kernel is channels-last if
    the input is."""
    return "max_unpool" in getattr(node.target, "__name__", "")


def _has_strides_of(tensor: torch.Tensor, format: torch.memory_format) -> bool:
    sizes, steps = _hints(tensor.shape), _hints(tensor.stride())
    wanted = torch.empty(sizes, device="meta", memory_format=format).stride()
    return all(size == 1 or step == want for size, step, want in zip(sizes, steps, wanted))


def _is_channels_last(tensor: torch.Tensor) -> bool:
    """Returns whether eager's kernels allocate a result like `tensor` in channels-last
    (at::Tensor::suggest_memory_format)."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.dim() in formats and _has_strides_of(tensor, formats[tensor.dim()])


def _channels_last_of_shuffled(node: fx.Node, value: torch.Tensor) -> bool:
    """Adds a copy in channels-last if the operand of channel_shuffle is channels-last, because eager keeps this memory format. torch's fake
    result is contiguous."""
    if value.dim() != 4 or not _is_channels_last(value):
        return False
    with node.graph.inserting_after(node):
        copy = node.graph.call_method("contiguous", (node,), {"memory_format": torch.channels_last})
    copy.meta.update(node.meta)
    node.replace_all_uses_with(copy, delete_user_cb=lambda user: user is not copy)
    return True


def _dense_input_of_batch_norm(node: fx.Node, value: torch.Tensor) -> bool:
    """Adds a contiguous copy of batch_norm's argument. The result of eager's kernel is contiguous or channels-last, but torch's fake result
    has the strides of the argument."""
    if _is_channels_last(value) or _has_strides_of(value, torch.contiguous_format):
        return False
    with node.graph.inserting_before(node):
        copy = node.graph.call_method("contiguous", (node.args[0],))
    copy.meta.update({key: held for key, held in node.meta.items() if key != "example_value"})
    node.update_arg(0, copy)
    return True


# Functions that correct strides, by op. The arguments of each function are the op's node and the fake tensor of its first operand. The
# function returns True if it has added a copy.
CORRECTIONS = {
    torch.channel_shuffle: _channels_last_of_shuffled, torch.native_channel_shuffle: _channels_last_of_shuffled,
    torch.nn.functional.batch_norm: _dense_input_of_batch_norm, torch.batch_norm: _dense_input_of_batch_norm,
}  # fmt: skip


def _is_corrected(node: fx.Node) -> bool:
    correction = CORRECTIONS.get(node.target) if node.op == "call_function" else None
    if correction is None or not node.args or not isinstance(node.args[0], fx.Node):
        return False
    value = node.args[0].meta.get("example_value")
    return isinstance(value, torch.Tensor) and correction(node, value)


def correct(gm: fx.GraphModule) -> set[fx.Node]:
    """Adds the copies to Dynamo's graph. Returns the nodes whose fake results do not have eager's strides."""
    found: set[fx.Node] = set()
    added = False
    for node in gm.graph.nodes:  # copies that are added after a node are visited, too
        corrected = _is_corrected(node)
        added |= corrected
        if corrected or _is_unpooling(node) or not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    if added:
        gm.recompile()
    return found


def results_of(gm: fx.GraphModule) -> list:
    """Corrects Dynamo's graph and returns its fake results. Results that are not tensors or whose strides are unknown are None."""
    imprecise = correct(gm)
    output = gm.graph.output_node()
    values = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    fakes = [v.meta.get("example_value") if isinstance(v, fx.Node) and v not in imprecise else None for v in values]
    return [f if isinstance(f, torch.Tensor) and f.layout == torch.strided else None for f in fakes]


def eager_strides(gm: fx.GraphModule, fakes: list, first: int, first_saved: int) -> dict[fx.Node, tuple]:
    """Returns eager's strides for results of an AOTAutograd graph that are not views of arguments or of each other.

    `first` is the index of the user's first result, and `first_saved` the index of the first result that is saved for the
    backward graph. A saved alias of a result gets the strides of this result (outputs.laid_out).
    """
    output = gm.graph.output_node()
    values, found = output.args[0], {}
    shared = shared_memory(values)
    for node, fake in zip(values[first:], fakes):
        held = node.meta.get("val") if isinstance(node, fx.Node) else None
        if fake is None or not isinstance(held, torch.Tensor) or expressions_of(held.shape) != expressions_of(fake.shape):
            continue
        if (root := result_chain(node)[0]).op == "placeholder":
            continue  # AOTAutograd creates such views
        if root in shared and any(v is not node and (i < first_saved or named(v) is not node)
                                  for i, v in enumerate(values) if isinstance(v, fx.Node) and result_chain(v)[0] is root):  # fmt: skip
            continue
        found[node] = tuple(fake.stride())
    return found


def changed(strides: dict[fx.Node, tuple]) -> dict[fx.Node, tuple]:
    """Returns the strides that differ from those in AOTAutograd's graph."""

    def differs(held, theirs) -> bool:
        ours, theirs, sizes = (expressions_of(of) for of in (held.stride(), theirs, held.shape))
        return any(a != b for a, b, size in zip(ours, theirs, sizes) if size != 1)

    return {node: theirs for node, theirs in strides.items() if differs(node.meta["val"], theirs)}


def _hints(sizes) -> list:
    return [s.node.hint if isinstance(s, torch.SymInt) else s for s in sizes]


def dense(strides: dict[fx.Node, tuple]) -> dict[fx.Node, tuple]:
    """Returns the strides that have no gaps and no overlapping elements. A split graph (runtime.compiled.Parts) can convert results of another
    dimension order to such strides."""
    found = {}
    for node, wanted in strides.items():
        sizes, steps = _hints(node.meta["val"].shape), _hints(wanted)
        step: int | None = 1
        for d in sorted(range(len(sizes)), key=lambda d: steps[d] or 0):
            step = step * sizes[d] if sizes[d] and (sizes[d] == 1 or steps[d] == step) else None
            if step is None:
                break
        else:
            found[node] = wanted
    return found


def in_order(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Returns `tensor` with dense strides, where `order` lists the dimensions from the slowest to the fastest in memory."""
    if tensor.permute(order).is_contiguous():
        return tensor
    return torch.empty_permuted(tensor.shape, order, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def orders_of(gm: fx.GraphModule, strides: dict[fx.Node, tuple]) -> dict[int, tuple[int, ...]]:
    """Returns for the index of each result in `strides` the order of its dimensions in memory. All strides must be dense."""
    output = gm.graph.output_node()
    steps = {number: _hints(strides[value]) for number, value in enumerate(output.args[0]) if value in strides}
    return {number: tuple(sorted(range(len(of)), key=lambda d: -of[d])) for number, of in steps.items()}
