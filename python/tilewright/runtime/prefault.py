"""Faults in memory for packed parameters while torch traces and compiles the graph
(lib/Runtime/Host/PrefaultPages.h)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

import torch
from torch import fx, nn
from torch.utils.weak import WeakIdKeyDictionary

from .. import _tilewright
from ..options import CompileOptions

# Names of functions in Dynamo's graphs whose compiled kernels may read packed parameters.
_PRODUCTS = {"linear", "addmm", "mm", "matmul", "bmm", "baddbmm", "conv1d", "conv2d", "conv3d"}

_asked: WeakIdKeyDictionary = WeakIdKeyDictionary()  # parameters for whose packs memory has been requested


def _may_be_packed(value) -> TypeGuard[nn.Parameter]:
    return isinstance(value, nn.Parameter) and value.dim() >= 2 and value.device.type == "cpu"


def operands(gm: fx.GraphModule, example_inputs) -> Iterator[torch.Tensor]:
    """Yields the parameters on the CPU that are operands of products or convolutions."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, example_inputs))
    for node in gm.graph.nodes:
        if node.op != "call_function" or getattr(node.target, "__name__", "") not in _PRODUCTS:
            continue
        for operand in (*node.args, *node.kwargs.values()):
            value = values.get(operand) if isinstance(operand, fx.Node) else None
            if _may_be_packed(value):
                yield value


def weights(module: nn.Module) -> Iterator[torch.Tensor]:
    """Yields the parameters of a model that will probably be packed, before the model is traced. Embedding tables are
    not packed. The user's module may override parameters(), or may have no `_parameters` yet because its constructor is
    running.
    """
    for part in nn.Module.modules(module):
        if not isinstance(part, (nn.Embedding, nn.EmbeddingBag)):
            yield from filter(_may_be_packed, list(vars(part).get("_parameters", {}).values()))


def bring(parameters: Iterable[torch.Tensor], options: CompileOptions) -> None:
    """Starts to fault in as much memory as the packs of `parameters` need, once per parameter and process. Does
    nothing, and does not iterate `parameters`, with the option freeze and for targets other than cpu."""
    if options.freeze or options.target != "cpu":
        return
    bytes = 0
    for parameter in parameters:
        if parameter not in _asked:
            _asked[parameter] = True
            bytes += parameter.numel() * parameter.element_size()
    if bytes:
        _tilewright.bring_pages(bytes)
