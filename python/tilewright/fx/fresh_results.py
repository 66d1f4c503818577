"""Copies results that must not share memory with arguments.

A decomposition may return a view of its argument although the decomposed op returns a new tensor. Examples are a
functional op of torch.library, and a copy that has no effect. If AOTAutograd states that the result is not an alias,
`return (t(%x),)` becomes `return (clone(t(%x)),)`. Test: test/Python/test_custom_ops.py
"""

from __future__ import annotations

import torch
from torch import fx
from torch._functorch._aot_autograd.schemas import OutputType, PlainTensorMeta

from .outputs import view_chain


def fresh_results(gm: fx.GraphModule, fakes: list) -> set[int]:
    """Returns the indices of the results of Dynamo's graph that do not share memory with an argument. `fakes` contains the fake results."""
    if any(n.op == "get_attr" for n in gm.graph.nodes):
        return set()
    arguments = [n.meta.get("example_value") for n in gm.graph.nodes if n.op == "placeholder"]
    known = {a.untyped_storage()._cdata for a in arguments if isinstance(a, torch.Tensor) and a.layout == torch.strided}
    return {number for number, fake in enumerate(fakes) if fake is not None and fake.untyped_storage()._cdata not in known}


def separate(gm: fx.GraphModule, metadata, first: int, fresh: set[int]) -> None:
    """Copies results of an AOTAutograd graph that are arguments or views of arguments, but that must be new tensors.

    `first` is the index of the user's first result, and `metadata` is the graph's ViewAndMutationMeta. If one op returns
    several views, the metadata describes them as new tensors. Therefore a result is only copied if `fresh`, the indices of
    results that are new tensors in Dynamo's graph, also contains it.
    """
    if not all(isinstance(m, PlainTensorMeta) for m in metadata.subclass_fw_graph_out_meta):
        return  # a result of the user consists of several results of the graph
    output = gm.graph.output_node()
    values, copied = list(output.args[0]), False
    for number, info in enumerate(metadata.output_info, first):
        value = values[number]
        if number - first not in fresh or info.output_type is not OutputType.non_alias or not isinstance(value, fx.Node):
            continue
        held = value.meta.get("val")
        if not isinstance(held, torch.Tensor) or view_chain(value)[0].op != "placeholder":
            continue
        with gm.graph.inserting_before(output):
            values[number] = gm.graph.call_function(torch.ops.aten.clone.default, (value,))
        values[number].meta.update(value.meta)
        values[number].meta["val"] = torch.ops.aten.clone.default(held)
        copied = True
    if copied:
        output.args = (type(output.args[0])(values),)
        gm.recompile()
