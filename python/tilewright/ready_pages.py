"""Memory for packed parameters is brought in while torch still works on the graph (lib/Runtime/Host/ReadyPages.h)."""

from __future__ import annotations

import torch
from torch import fx
from torch.utils.weak import WeakIdKeyDictionary

from . import _tilewright
from .options import CompileOptions

# Names of the functions in Dynamo's graphs whose parameters are packed.
_PRODUCTS = {"linear", "addmm", "mm", "matmul", "bmm", "baddbmm", "conv1d", "conv2d", "conv3d"}

_asked: WeakIdKeyDictionary = WeakIdKeyDictionary()  # parameters whose packs memory was brought for


def parameters_to_pack(gm: fx.GraphModule, example_inputs) -> list[torch.Tensor]:
    """The parameters on the CPU that are operands of products or convolutions, each once."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, example_inputs))
    found = {}
    for node in gm.graph.nodes:
        if node.op != "call_function" or getattr(node.target, "__name__", "") not in _PRODUCTS:
            continue
        for operand in (*node.args, *node.kwargs.values()):
            value = values.get(operand) if isinstance(operand, fx.Node) else None
            if isinstance(value, torch.nn.Parameter) and value.dim() >= 2 and value.device.type == "cpu":
                found[id(value)] = value
    return list(found.values())


def bring(gm: fx.GraphModule, example_inputs, options: CompileOptions) -> None:
    """Begins to bring in as much as packs of the graph's parameters will need, but for those it was done for before."""
    if options.freeze or options.target != "cpu":
        return
    fresh = [parameter for parameter in parameters_to_pack(gm, example_inputs) if parameter not in _asked]
    for parameter in fresh:
        _asked[parameter] = True
    _tilewright.bring_pages(sum(parameter.numel() * parameter.element_size() for parameter in fresh))
