"""Deliberately planted bugs, one at a time, to check that the fuzzer finds them.

Bugs in Python are monkeypatches in this file. Bugs in C++ are in planted/bugs.patch, each guarded by planted("name") of
planted/planted.h:

    git worktree add --detach ../planted && cd ../planted && git apply test/Conformance/fuzz/planted/bugs.patch
    (build there as usual; then run here:)
    PYTHONPATH=../planted/build/python python test/Conformance/fuzz planted

A compiler without the patch has none of the C++ bugs, so that none of them is found. The environment variable
FUZZ_PLANTED selects the bug in Python and in C++.
"""

from __future__ import annotations

import os

import torch

# Bugs in C++, in the order of their libraries: lib/Import/ATen, lib/Kernels, lib/Codegen/CPU/Vectorize, lib/Runtime.
COMPILED = {
    "dropped-scale": "index_add ignores alpha",
    "cast-rounds": "a cast from float to integer rounds up instead of towards zero",
    "signed-bool": "true is converted to -1.0",
    "narrow-sums": "sums of bf16 and f16 are accumulated in bf16 and f16",
    "maximum-of-nan": "maximum(NaN, x) is x",
    "dilation": "a convolution that is lowered to plain loops ignores its dilation",
    "pooled-padding": "average pooling counts padding despite count_include_pad=False",
    "pad-sides": "padding is added on the opposite side",
    "correction": "a variance divides by n instead of n - 1",
    "written-too-early": "a result is written over an operand that is read elsewhere",
    "tail-mask": "the masked tail of a vector loop omits its last element",
    "reduction-identity": "a maximum is initialized with 0",
    "lost-accumulators": "the third of four sets of accumulators is added twice, and the fourth is omitted",
    "causal": "causal attention masks the diagonal",
    "arena": "a buffer is freed one step before its last use",
}


def lost_alias():
    """Results that are views of the same memory get separate memory."""
    from tilewright.fx import outputs

    outputs.shared_memory = lambda values: set()


def lost_write():
    """If the dense copy of an argument was written, does not copy it back into the argument."""
    from tilewright.runtime import compiled

    def written(arguments, copies):
        torch.autograd.graph.increment_version([a for a in arguments if not a.is_inference()])

    compiled.written = written


def order_off_by_one():
    """Makes kthvalue return the next larger element."""
    from tilewright.decompositions import scatters

    def kthvalue(x, k, dim=-1, keepdim=False):
        if not x.dim():
            return NotImplemented
        found = [part.narrow(dim, min(k, x.shape[dim] - 1), 1) for part in torch.sort(x, dim=dim, stable=True)]
        return tuple((part if keepdim else part.squeeze(dim)).clone() for part in found)

    scatters.TABLE[torch.ops.aten.kthvalue.default] = kthvalue


def search_side():
    """Makes bucketize search from the other side."""
    from tilewright.decompositions import scatters

    scatters.TABLE[torch.ops.aten.bucketize.Tensor] = lambda values, boundaries, *, out_int32=False, right=False: torch.searchsorted(
        boundaries, values, out_int32=out_int32, right=not right)  # fmt: skip


def scatter_identity():
    """Makes index_reduce start with 0 instead of the identity of the reduction."""
    from tilewright.decompositions import scatters

    def index_reduce(x, dim, index, source, reduce, *, include_self=True):
        if not x.dim():
            return NotImplemented
        indices = index.reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())]).expand(source.shape)
        return torch.scatter_reduce(x if include_self else torch.zeros_like(x), dim, indices, source, reduce)

    scatters.TABLE[torch.ops.aten.index_reduce.default] = index_reduce


def strides_of_parts():
    """Makes every result row-major."""
    from tilewright.fx import outputs

    right = outputs.laid_out

    def laid_out(values, strides, first_saved):
        for value, layout in right(values, strides, first_saved):
            held = value.meta.get("val") if hasattr(value, "meta") else None
            yield value, tuple(torch.empty(held.shape, device="meta").stride()) if layout is not None and held is not None else layout

    outputs.laid_out = laid_out


PYTHON = {
    "lost-alias": lost_alias, "lost-write": lost_write, "order": order_off_by_one, "search-side": search_side,
    "scatter-identity": scatter_identity, "strides": strides_of_parts,
}  # fmt: skip


def plant(name: str) -> None:
    """Plants a bug in a worker before it runs a graph. C++ code reads FUZZ_PLANTED itself."""
    if name in PYTHON:
        PYTHON[name]()
    elif name and name not in COMPILED:
        raise ValueError(f"unknown bug {name!r}; the bugs are {', '.join([*PYTHON, *COMPILED])}")


def find_all(options) -> int:
    """Runs at most `options.graphs` graphs with each bug, until one fails."""
    from __main__ import run_until_failure

    chosen = os.environ.get("FUZZ_ONLY", "").split() or [*PYTHON, *COMPILED]
    found = 0
    for name in chosen:
        os.environ["FUZZ_PLANTED"] = name
        count, line = run_until_failure(options.seed, options.graphs, options.processes)
        found += line is not None
        print(f"{name:20} {f'found after {count} graphs: {line}' if line else f'not found in {count} graphs'}"[:220], flush=True)
    print(f"{found} of {len(chosen)} planted bugs found")
    return int(found < len(chosen) * 0.9)
