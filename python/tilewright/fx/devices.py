"""Prepares graphs with tensors on several devices, so that they are split into programs for one device and asynchronous copies.

Before:                             After:
    h = linear(x, w)    # cuda:0        h = linear(x, w)
    c = h.to("cpu")                     s = start_to_host(h)   # to pinned memory, after h is computed
    g = relu(h)                         g = relu(h)
    r = exp(c)          # cpu           c = arrived(s)         # the host waits here
                                        r = exp(c)

partition.split() then splits the graph where the device changes.
"""

from __future__ import annotations

import heapq

import torch
from torch import fx

aten = torch.ops.aten


def to_gpu(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Copies a tensor to a GPU asynchronously. torch's allocator does not reuse the pinned memory before the copy has read it."""
    return (tensor if tensor.is_pinned() else tensor.pin_memory()).to(device, non_blocking=True).to(dtype)


def start_to_host(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype):
    """Starts a copy to pinned memory on the host. Returns the result and a CUDA event that is recorded after the copy."""
    tensor = tensor.to(dtype)
    result = torch.empty_like(tensor, device=device, pin_memory=True)
    result.copy_(tensor, non_blocking=True)
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(tensor.device))
    return result, event


def arrived(started) -> torch.Tensor:
    """Waits for the copy that start_to_host() began, and returns its result."""
    result, event = started
    event.synchronize()
    return result


def is_transfer(node: fx.Node) -> bool:
    return node.meta.get("tilewright_transfer", "") != ""


def is_number(value) -> bool:
    """Returns whether the value is a 0-d tensor on the CPU, which programs for all devices accept as an argument."""
    return value.device.type == "cpu" and value.dim() == 0


def device_of_node(node: fx.Node) -> torch.device | None:
    """Returns the device of a node's result, or None if it is not a tensor."""
    value = node.meta.get("val")
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, torch.Tensor):
            return each.device
    return None


def devices_of(gm: fx.GraphModule) -> set[torch.device]:
    """Returns the devices of the graph's tensors, except arguments and constants that are numbers."""

    def follows_its_users(node: fx.Node) -> bool:
        value = node.meta.get("val")
        return node.op in ("placeholder", "get_attr") and isinstance(value, torch.Tensor) and is_number(value)

    return {device for node in gm.graph.nodes if not follows_its_users(node) and (device := device_of_node(node)) is not None}


def mixes(node: fx.Node) -> str:
    """Returns the reason why an op cannot be part of a program for one device, or ''."""
    values = [node.meta.get("val"), *(n.meta.get("val") for n in node.all_input_nodes)]
    found = {str(v.device) for each in values for v in (each if isinstance(each, (list, tuple)) else [each])
             if isinstance(v, torch.Tensor) and not is_number(v)}  # fmt: skip
    return f"its tensors are on {' and '.join(sorted(found))}" if len(found) > 1 else ""


def make_transfers(gm: fx.GraphModule) -> list[str]:
    """Makes copies between the CPU and a GPU asynchronous. The host waits before it first reads the result of a copy. Returns a description
    of each copy."""
    transfers = []
    for node in list(gm.graph.nodes):
        if node.target not in (aten._to_copy.default, torch.ops.prims.device_put.default) or not node.users:
            continue
        source, into = node.args[0].meta["val"], node.meta["val"]
        if {source.device.type, into.device.type} != {"cpu", "cuda"}:
            continue
        if node.kwargs.get("memory_format") not in (None, torch.preserve_format):
            continue
        name = f"{source.device} to {into.device}: {node.args[0].name} ({str(into.dtype).removeprefix('torch.')}{list(into.shape)})"
        arguments = (node.args[0], into.device, into.dtype)
        with gm.graph.inserting_before(node):
            made = gm.graph.call_function(to_gpu if into.device.type == "cuda" else start_to_host, arguments)
        made.meta = {**node.meta, "tilewright_transfer": name}
        if into.device.type == "cpu":
            first = next(n for n in gm.graph.nodes if n in node.users)
            with gm.graph.inserting_before(first):
                started, made = made, gm.graph.call_function(arrived, (made,))
            made.meta = {**node.meta, "tilewright_transfer": name}
            started.meta.pop("val")
        node.replace_all_uses_with(made)
        gm.graph.erase_node(node)
        transfers.append(name)
    gm.recompile()
    return transfers


def is_fixed(node: fx.Node) -> bool:
    """Returns whether an op must not be reordered: it writes memory, draws random numbers, or is not an operator of torch."""
    op = node.target
    return not is_transfer(node) and (not isinstance(op, torch._ops.OpOverload) or op._schema.is_mutable
                                      or torch.Tag.nondeterministic_seeded in op.tags)  # fmt: skip


def gather(gm: fx.GraphModule) -> None:
    """Reorders ops so that ops for one device are consecutive as far as dependences allow, which reduces the number of
    programs.

    Copies to the host start as early as possible. Copies to a GPU start when no op for the current
    device is ready. The host waits for a copy when no other op is ready.
    """
    nodes = [n for n in gm.graph.nodes if n.op == "call_function"]
    number = {node: i for i, node in enumerate(nodes)}
    waits_for = {node: {n for n in node.all_input_nodes if n in number} for node in nodes}
    fixed = None
    for i, node in enumerate(nodes):
        if fixed is not None:
            waits_for[node].add(fixed)
        if is_fixed(node) and getattr(node.target, "__name__", "") != "getitem":
            waits_for[node].update(nodes[number[fixed] + 1 if fixed is not None else 0 : i])
            fixed = node
    readers: dict[fx.Node, list[fx.Node]] = {node: [] for node in nodes}
    for node, sources in waits_for.items():
        for source in sources:
            readers[source].append(node)
    left = {node: len(sources) for node, sources in waits_for.items()}

    def queue_of(node: fx.Node) -> str:
        if is_transfer(node):
            return {to_gpu: "to gpu", start_to_host: "to host"}.get(node.target, "wait")
        return str(device_of_node(node))

    ready: dict[str, list[int]] = {}
    for node in nodes:
        if not left[node]:
            heapq.heappush(ready.setdefault(queue_of(node), []), number[node])
    here, last = "", gm.graph.output_node()
    while ready:
        work = [key for key in ready if key not in ("to host", "to gpu", "wait")]
        if here not in work and work and "to gpu" not in ready:
            here = min(work, key=lambda key: ready[key][0])
        chosen = next(key for key in ("to host", here, "to gpu", "wait") if key in ready)
        node = nodes[heapq.heappop(ready[chosen])]
        if not ready[chosen]:
            del ready[chosen]
        last.prepend(node)
        for reader in readers[node]:
            left[reader] -= 1
            if not left[reader]:
                heapq.heappush(ready.setdefault(queue_of(reader), []), number[reader])
    gm.recompile()
