"""The strides of what a forward graph keeps for its backward graph: nobody else sees them, so they may be what suits both.

Images between convolutions are computed in channels-last (lib/Graph/PropagateLayout.cpp); returned in the strides that
eager would give them, each would be transposed on its way out, and back on its way into the backward graph. AOTAutograd
takes other strides through TracingContext.output_strides.
"""

from __future__ import annotations

import torch
from torch import fx

from .outputs import named

aten = torch.ops.aten

CONVOLUTIONS = {aten.convolution.default}
# What makes other images of images, by its own rule of which dimension is which.
REARRANGE = {aten.permute.default, aten.transpose.int, aten.t.default, aten.view.default, aten._unsafe_view.default,
             aten.reshape.default, aten.expand.default, aten.as_strided.default, aten.bmm.default, aten.matmul.default,
             aten.movedim.int}  # fmt: skip


def _images(gm: fx.GraphModule) -> set[fx.Node]:
    """Nodes whose results are images: of a convolution in the plane, or made of such a one without rearranging it."""
    found: set[fx.Node] = set()
    for node in gm.graph.nodes:
        if node.op != "call_function" or node.target in REARRANGE:
            continue
        value = node.meta.get("val")
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        if not isinstance(first, torch.Tensor) or first.dim() != 4:
            continue
        if node.target in CONVOLUTIONS or any(a in found for a in node.all_input_nodes):
            found.add(node)
    return found


def channels_last_saved(gm: fx.GraphModule, first_saved: int) -> dict[fx.Node, tuple[int, ...]]:
    """Strides for results of a forward graph from number `first_saved` on, which are saved for its backward graph.

    Only images (N x C x H x W) that eager would give in the order of their dimensions, of sizes that are known but for
    N, and that are not results for the user as well.
    """
    output = gm.graph.output_node()
    results = list(output.args[0])
    for_user = {r for r in results[:first_saved] if isinstance(r, fx.Node)}
    chosen: dict[fx.Node, tuple[int, ...]] = {}
    saved = [named(r) for r in results[first_saved:] if isinstance(r, fx.Node) and named(r) not in for_user]
    images = _images(gm) if saved else set()
    for node in saved:
        value = node.meta.get("val")
        if node not in images or not isinstance(value, torch.Tensor) or value.dim() != 4:
            continue
        _, channels, height, width = value.shape
        if any(isinstance(size, torch.SymInt) for size in (channels, height, width)) or not value.is_contiguous():
            continue
        if channels > 1 and height * width > 1:
            chosen[node] = (height * width * channels, 1, width * channels, channels)
    return chosen


def saved_strides(gm: fx.GraphModule, example_inputs) -> dict[fx.Node, tuple]:
    """Strides of a backward graph's arguments where they are not those of its placeholders: what channels_last_saved()
    said, as AOTAutograd hands it on."""
    found = {}
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    for node, example in zip(placeholders, example_inputs):
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not isinstance(example, torch.Tensor) or value.dim() != example.dim():
            continue
        strides = tuple(example.stride())
        if any(not isinstance(s, torch.SymInt) and not isinstance(o, torch.SymInt) and s != o
               for s, o in zip(strides, value.stride())):  # fmt: skip
            found[node] = strides
    return found
