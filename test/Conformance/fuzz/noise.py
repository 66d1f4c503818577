"""The numbers rule for whole graphs: how much the rounding of each op may change the results.

The rule allows each op an error of eps of its result, and measures a whole model by eager's own error. This does not
suffice for random graphs: for few numbers, eager's error may be 0 by chance, and if a graph subtracts almost equal
numbers, the allowed errors of ops grow. Therefore, if a result violates the rule, the graph is run several times in
float64 with each op's results multiplied by 1 + eps u, for random u in [-1, 1] (for float64 itself, 1e-12 replaces eps,
as in the rule). This is Monte Carlo arithmetic. The resulting error is treated like eager's error. Results that are
exact in any order of evaluation, views and writes in place get no noise. The gradients of an op's operands, which the
op computes in the backward pass, get noise, too.

In every second run u is a function of the number: results computed from equal operands get equal errors. The error of
a sum of few different numbers (normalized inputs that are multiples of 1/4) is then a multiple of one error, not a
random walk.

Noise is added to the results of ATen ops. `kl_div(log_softmax(x), softmax(x))` consists of several ATen ops, whose terms
cancel. Attention consists of its products and its softmax, because the scores are rounded before the exponential
amplifies their errors.
"""

from __future__ import annotations

import torch
from program import WIDE, Program
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

RUNS = 8

# ATen ops that move, choose or create numbers without rounding them.
EXACT = set("""
    abs amax amin arange argmax argmin as_strided as_strided_copy bitwise_not cat ceil clamp clamp_max clamp_min clone constant_pad_nd copy
    copysign diag_embed embedding empty empty_like empty_strided eye fill flip floor full full_like gather hardtanh heaviside index index_put
    index_select isnan kthvalue lift_fresh max max_pool2d_with_indices max_pool3d_with_indices maximum median min minimum neg new_empty
    new_empty_strided new_full new_ones new_zeros nan_to_num nanmedian ones ones_like relu repeat reflection_pad1d reflection_pad2d
    reflection_pad3d replication_pad1d replication_pad2d replication_pad3d roll round scalar_tensor scatter select_scatter sign slice_scatter
    sort split_with_sizes_copy stack threshold topk tril triu trunc unfold_copy upsample_nearest1d upsample_nearest2d upsample_nearest3d where
    zeros zeros_like _to_copy
""".split())


def noisy_eps(dtype: str) -> float:
    return 1e-12 if dtype == "float64" else torch.finfo(getattr(torch, dtype)).eps


def drawn_by_number(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """Returns a number in [-1, 1) for each element of a float64 tensor. The numbers of equal elements are equal. The bits are mixed as in a hash."""
    bits = (tensor.contiguous() + 0.0).view(torch.int64) ^ (seed * 0x9E3779B97F4A7C15 & (1 << 63) - 1)
    for _ in range(2):
        bits = bits * 0x5851F42D4C957F2D
        bits = bits ^ (bits >> 31)
    return (bits & (1 << 52) - 1).double() / (1 << 51) - 1


class EachOp(TorchDispatchMode):
    """Adds noise to the results of ATen's ops."""

    def __init__(self, noise):
        super().__init__()
        self.noise = noise

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        if func._schema.is_mutable or func.is_view or func._schema.name.removeprefix("aten::") in EXACT:
            return results
        if isinstance(results, torch.Tensor):
            return self.noise(results)
        if isinstance(results, tuple):
            return tuple(self.noise(r) if isinstance(r, torch.Tensor) else r for r in results)
        return results


class Noisy:
    """A program's float64 module that is run node by node, with noise."""

    def __init__(self, program: Program, seed: int):
        self.program, self.generator = program, torch.Generator().manual_seed(seed)
        self.by_number, self.drawn = seed % 2 == 1, seed << 32

    def noise(self, tensor: torch.Tensor, eps: float) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        if self.by_number and tensor.dtype == torch.float64:
            self.drawn += 1  # two ops must not have equal errors
            u = drawn_by_number(tensor, self.drawn)
        else:
            u = torch.rand(tensor.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        return tensor * (1 + eps * u)

    def with_noisy_gradients(self, node, scope: dict, eps: float) -> dict:
        """Returns views of the node's operands. The gradients that the node computes of them get noise of the size `eps`, which depends on the node's
        dtype, not on the operands' (f32 for an f64 number that is added in f32). Returns an empty dict for nodes that write in place."""
        if node.writes():
            return {}
        operands = {n: scope[n] for n in node.uses() if isinstance(scope.get(n), torch.Tensor) and scope[n].requires_grad}
        operands = {n: t.view_as(t) for n, t in operands.items()}
        for t in operands.values():
            t.register_hook(lambda gradient: self.noise(gradient, eps))
        return operands

    def __call__(self, tensors: dict) -> list:
        from program import FLOATS

        scope = {"torch": torch, "F": torch.nn.functional, **tensors}
        for node in self.program.nodes:
            text = FLOATS.sub("torch.float64", node.text)
            floats = [d for d in node.dtypes if d in ("float64", "float32", "bfloat16", "float16")]
            if floats and not any(node.exact):
                eps = max(noisy_eps(d) for d in floats)
                operands = self.with_noisy_gradients(node, scope, eps)
                with sdpa_kernel(SDPBackend.MATH), EachOp(lambda tensor, eps=eps: self.noise(tensor, eps)):
                    found = eval(text, {**scope, **operands})
            else:
                found = eval(text, scope)
            for name, result, keeps, dtype in zip(node.results, list(found) if node.many else [found], node.exact, node.dtypes):
                rounded = any(node.exact) and not keeps and dtype in floats  # a rounded result among exact ones
                scope[name] = self.noise(result, noisy_eps(dtype)) if rounded else result
        return [scope[name] for name in self.program.outputs]


def has_noise(program: Program) -> bool:
    return any(getattr(torch, d) in (*WIDE, torch.float64) for n in program.nodes for d in n.dtypes)
