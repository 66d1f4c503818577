"""The strides of results that a forward graph saves for its backward graph. No other code reads these results, so their
strides can be those that are fastest for both graphs.

Images between convolutions are computed in channels-last (lib/Graph/PropagateLayout.cpp). With eager's strides, each
image would be transposed when the forward graph returns it, and transposed back when the backward graph reads it.
AOTAutograd accepts other strides through TracingContext.output_strides.
"""

from __future__ import annotations

import torch
from torch import fx

from .. import operators
from .outputs import ALIASES, VIEWS, named

aten = torch.ops.aten

CONVOLUTIONS = {aten.convolution.default}
# Ops after which the dimensions may no longer be those of an image (N, C, H, W): matrix products, reshapes, and all views except slices
# and aliases.
REARRANGE = (VIEWS - ALIASES - {aten.slice.Tensor}) | operators.with_aliasing("reshape") | {aten.bmm.default, aten.matmul.default}


def _images(gm: fx.GraphModule) -> set[fx.Node]:
    """Returns the nodes whose results are images: results of a 2D convolution, and results of ops that compute images
    from images without rearranging dimensions."""
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
    """Returns strides for results of a forward graph from index `first_saved` on, which are saved for its backward
    graph.

    Only images (N x C x H x W) are included that are contiguous in eager, whose sizes except N are known, and that are
    not also results for the user.
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
    """Returns the strides of a backward graph's arguments that differ from those of its placeholders: the strides
    that channels_last_saved() returned, as AOTAutograd passes them."""
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
