"""Checks whether arguments of graphs that write arguments share memory: each call compares the overlaps of its arguments
with the overlaps at compile time.

With fixed sizes, neither Dynamo's guards nor torch's cache consider the addresses of arguments. A function that was
compiled for `f(a, b)` and is then called as `f(x[:4], x[2:6])` would read values before it has written them. Such a
call runs in eager, with a warning, or raises an error in strict mode. Graphs that were compiled for arguments that share memory have separate cache
entries.

Test: test/Python/test_shared_arguments.py
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import fx
from torch._C._dynamo.guards import compute_overlapping_tensors
from torch._dynamo.source import is_from_unspecialized_nn_module_source
from torch._subclasses import FakeTensor


def _writes(node: fx.Node) -> bool:
    """Returns whether a node of Dynamo's graph may write an argument."""
    if node.op == "call_method":
        return str(node.target).endswith("_") and not str(node.target).endswith("__")
    if node.op != "call_function":
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.is_mutable
    name = getattr(node.target, "__name__", "")
    return node.target is operator.setitem or "out" in node.kwargs or name.endswith("_") or node.target in _IN_PLACE


_IN_PLACE = {operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.iand,
             operator.ior, operator.ixor, operator.ilshift, operator.irshift}  # fmt: skip


def _is_static(node: fx.Node) -> bool:
    """Returns whether the argument is a parameter, a buffer or marked as static, so that its address does not change."""
    fake, source = node.meta.get("example_value"), getattr(node, "_dynamo_source", None)
    of_module = source is not None and is_from_unspecialized_nn_module_source(source)
    return of_module or isinstance(fake, torch.nn.Parameter) or getattr(fake, "_dynamo_static_input_type", None) is not None


def overlaps(tensors: Iterable[tuple[int, torch.Tensor]], written: frozenset[int]) -> tuple:
    """Returns the indices and the positions in memory of each pair of arguments that share elements, if one of the two is
    written."""
    spans = []
    for number, tensor in tensors:
        if tensor.layout != torch.strided or tensor._is_zerotensor() or not tensor.numel():
            continue
        memory = tensor.untyped_storage()
        if bytes_ := memory.nbytes():
            spans.append((memory.data_ptr(), bytes_, number, tensor))
    spans.sort(key=lambda span: span[:3])
    found = []
    for i, (start, bytes_, number, tensor) in enumerate(spans):
        for other_start, other_bytes, other, second in spans[i + 1 :]:
            if other_start >= start + bytes_:
                break
            if (number in written or other in written) and len(compute_overlapping_tensors([tensor, second], symbolic=False)) > 1:
                found.append((number, other, tensor.storage_offset(), second.storage_offset(), other_start - start, bytes_, other_bytes))
    return tuple(sorted(found))


@dataclass
class AliasCheck:
    """The check that each call of a graph executes."""

    numbers: tuple[int, ...] = ()  # indices of the arguments to check; empty: calls are not checked
    written: frozenset[int] = frozenset()
    expected: tuple | None = ()  # overlaps() of the arguments at compile time; None: no call is valid
    fixed: bool = False  # True: the sizes and strides of these arguments are fixed

    def around(self, compiled: Callable, gm: fx.GraphModule, strict: bool) -> Callable:
        """Wraps `compiled`, the compiled form of `gm`, with the check before each call."""
        if not self.numbers:
            return compiled
        names = [node.name for node in gm.graph.find_nodes(op="placeholder")]
        warned, seen = False, None

        def call(*arguments):
            nonlocal warned, seen
            addresses = [arguments[number].data_ptr() for number in self.numbers] if self.fixed and not self.expected else None
            if addresses is not None and addresses == seen:  # the addresses of the last call, which was valid
                return compiled(*arguments)
            found = overlaps(((number, arguments[number]) for number in self.numbers), self.written)
            if found == self.expected:
                seen = addresses
                return compiled(*arguments)
            pairs = ", ".join(f"{names[a]} and {names[b]}" for a, b, *_ in found or self.expected or ())
            if found:
                said = (f"tilewright: the arguments {pairs} share memory, and one of them is written; "
                        "the graph was compiled for arguments that overlap differently")  # fmt: skip
            else:
                said = f"tilewright: the graph was compiled for arguments {pairs} that share memory; those of this call do not share memory"
            if strict:
                raise ValueError(f"{said}; pass copies (.clone()), or compile a separate function for such calls")
            if not warned:
                warnings.warn(f"{said}, and such calls run in eager. Pass copies (.clone()) to run the compiled graph", stacklevel=2)
                warned = True
            return gm(*arguments)

        return call


def alias_check(gm: fx.GraphModule, examples: Sequence) -> AliasCheck:
    """Returns the check for calls of Dynamo's graph `gm`, compiled for the arguments `examples`.

    Parameters and buffers are not checked, because their addresses do not change.
    """
    placeholders = gm.graph.find_nodes(op="placeholder")
    looked_at = {number: example for number, (node, example) in enumerate(zip(placeholders, examples))
                 if isinstance(example, torch.Tensor) and not _is_static(node)}  # fmt: skip
    if len(looked_at) < 2 or any(isinstance(example, FakeTensor) for example in looked_at.values()):
        return AliasCheck()  # the graph is compiled before its first call, so there are no addresses to compare
    fakes = [placeholders[number].meta["example_value"] for number in looked_at]
    inference = any(example.is_inference() for example in looked_at.values())
    if inference:  # inference tensors have no version counters
        written = frozenset(looked_at) if any(map(_writes, gm.graph.nodes)) else frozenset()
    else:  # tracing the graph has written to the fake tensors
        written = frozenset(number for number, fake in zip(looked_at, fakes) if fake._version > 0)
    if not written:
        return AliasCheck()
    expected: tuple | None = overlaps(looked_at.items(), written)
    if expected and inference:
        expected = None  # AOTAutograd's storages are smaller than those of calls
    fixed = all(isinstance(size, int) for fake in fakes for size in (*fake.shape, *fake.stride()))
    return AliasCheck(tuple(looked_at), written, expected, fixed)
