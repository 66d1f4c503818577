"""Detects calls that torch traces but that raise an error in eager. The node of such a call runs in eager, so that the
user receives eager's error at the call.

Fake tensors check less than eager's kernels do. Two checks are made: rules that depend on values, sizes and pairs of
dtypes (RULES), and whether eager has a kernel for dtypes that are not in USUAL. The second check calls the op on a
few elements, so that calls which a later version of torch allows are compiled, too.

Test: test/Python/ops/test_refused_by_eager.py. test/Conformance/opinfo/errors.py runs all
inputs that torch's own tests expect to be refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
FLOATS = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})
HALVES = frozenset({torch.float16, torch.bfloat16})
WIDE = FLOATS - HALVES
FEW = 3  # maximum number of elements along each dimension in the first trial call of an op
MOST = 1 << 16  # maximum number of elements in a trial call with the sizes of the graph


def _none(size) -> bool:
    return statically_known_true(size == 0)


def is_bool(value) -> bool:
    return isinstance(value, bool) or isinstance(value, torch.Tensor) and value.dtype == torch.bool


# -- rules: each function gets the arguments of an op, and returns the reason why eager rejects them, or ''


def difference(x, other=None, **_) -> str:
    return "a bool is subtracted" if is_bool(x) or is_bool(other) else ""


def power(base, exponent) -> str:
    negative = isinstance(exponent, int) and exponent < 0
    return "an integer is raised to a negative integer power" if negative and not base.is_floating_point() and not base.is_complex() else ""


def least_or_most(x, dim=None, *_, **__) -> str:
    if dim is None or dim == []:
        return "it reduces a dimension without elements" if _none(x.numel()) else ""
    dims = [dim] if isinstance(dim, int) else dim
    return "it reduces a dimension without elements" if x.dim() and any(_none(x.shape[d]) for d in dims) else ""


def arg_reduce(x, dim=None, *_, **__) -> str:
    return "its input has dtype bool" if x.dtype == torch.bool else least_or_most(x, dim)


def without_bools(x, *_, **__) -> str:
    return "its input has dtype bool" if x.dtype == torch.bool else ""


def soft_margin(x, *_, **__) -> str:
    return "" if x.is_floating_point() else f"it would write floats into {x.dtype}"


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> str:
    """The output padding must be smaller than the stride or than the dilation (aten/src/ATen/native)."""
    if not transposed:
        return ""
    count = x.dim() - 2
    stride, dilation, added = (list(v) * count if len(v) == 1 else list(v) for v in (stride, dilation, output_padding))
    wide = [a for a, s, d in zip(added, stride, dilation) if isinstance(a, int) and a >= max(s, d)]
    return f"its output padding {wide[0]} is not smaller than its stride or dilation" if wide else ""


def parameters_of(x, parameters) -> str:
    """Parameters have the input's dtype, or float32 for an input of bf16 or f16
    (aten/src/ATen/native/mixed_data_type.h)."""
    dtypes = {p.dtype for p in parameters if isinstance(p, torch.Tensor)}
    if dtypes <= {x.dtype} or x.dtype in HALVES and dtypes == {torch.float32}:
        return ""
    return f"its parameters are {', '.join(sorted(map(str, dtypes)))}, its input {x.dtype}"


def batch_norm(x, *rest, **_) -> str:
    return parameters_of(x, rest[:4])


def layer_norm(x, _, weight=None, bias=None, *__) -> str:
    return parameters_of(x, (weight, bias))


def group_norm(x, weight, bias, *_) -> str:
    return parameters_of(x, (weight, bias))


def put(x, _, values, *__, **___) -> str:
    return f"it writes {values.dtype} into {x.dtype}" if values.dtype != x.dtype else ""


def added(x, dim, index, source, **_) -> str:
    if source.dtype != x.dtype:
        return f"it adds {source.dtype} to {x.dtype}"
    return "its source and its input have different ranks" if x.dim() != source.dim() and x.dim() > 1 else ""


def weighted_loss(x, target, weight=None, *_, **__) -> str:
    return parameters_of(x, (weight,))


def complex_of(real, imaginary) -> str:
    if real.dtype != imaginary.dtype:
        return f"its parts are {real.dtype} and {imaginary.dtype}"
    return f"its parts are {real.dtype}" if real.dtype == torch.bfloat16 else ""


def counted(*_, dtype=None, **__) -> str:
    return "its dtype is bool" if dtype == torch.bool else ""


def same_dtype(*positions: int) -> Callable[..., str]:
    """Returns a rule that requires the same dtype for all tensors among the arguments at these positions. Fake tensors
    of torch 2.13 do not require this."""

    def rule(*values, **_) -> str:
        dtypes = [values[p].dtype for p in positions if p < len(values) and isinstance(values[p], torch.Tensor)]
        return f"its operands are {' and '.join(map(str, dtypes))}" if len(set(dtypes)) > 1 else ""

    return rule


def product_and_sum(x, a, b, *rest, **keywords) -> str:
    """The added term may have another dtype if the argument `out_dtype` specifies the dtype of the result
    (aten/src/ATen/native/cuda/Blas.cpp)."""
    wider = any(isinstance(value, torch.dtype) for value in (*rest, *keywords.values()))
    return same_dtype(1, 2)(x, a, b) if wider else same_dtype(0, 1, 2)(x, a, b)


RULES: dict[str, Callable[..., str]] = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "linalg_cross", "_cdist_forward", "grid_sampler_2d", "grid_sampler_3d"), same_dtype(0, 1)),
    **dict.fromkeys(("addmm", "addmv", "baddbmm", "addbmm"), product_and_sum),
    "linear": same_dtype(0, 1, 2), "binary_cross_entropy": same_dtype(0, 1, 2), "index_copy": same_dtype(0, 3), "_embedding_bag": same_dtype(0, 6),
    "_embedding_bag_forward_only": same_dtype(0, 6),
    "sub": difference, "rsub": difference, "pow": power, "max": least_or_most, "min": least_or_most, "amax": least_or_most, "amin": least_or_most,
    "argmax": arg_reduce, "argmin": arg_reduce, "topk": without_bools, "convolution": convolution, "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm, "_native_batch_norm_legit_functional": batch_norm, "_native_batch_norm_legit_no_training": batch_norm,
    "_batch_norm_with_update": batch_norm, "_batch_norm_with_update_functional": batch_norm, "native_layer_norm": layer_norm,
    "native_group_norm": group_norm, "index_put": put, "_unsafe_index_put": put, "index_add": added, "masked_scatter": put,
    "nll_loss_forward": weighted_loss, "nll_loss2d_forward": weighted_loss, "complex": complex_of, "polar": complex_of, "arange": counted,
    "relu": without_bools, "mvlgamma": without_bools, "soft_margin_loss": soft_margin,
}  # fmt: skip

# Each entry is a pair of a set of dtypes and a set of ops. Eager's kernels of these ops support these dtypes on every device and in every
# version of torch. For other dtypes, a trial call determines whether the kernel supports them.
_TAKES = (
    (
        INTEGERS | {torch.bool},
        "bitwise_and bitwise_or bitwise_xor bitwise_not",
    ),
    (
        INTEGERS,
        "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__",
    ),
    (
        INTEGERS | FLOATS,
        "abs ceil floor trunc sign clamp clamp_min clamp_max fmod remainder div floor_divide addcmul linalg_cross median "
        "nanmedian kthvalue mm bmm mv dot vdot addmm addmv baddbmm addbmm reflection_pad1d reflection_pad2d reflection_pad3d "
        "cummax cummin cumsum cumprod index_reduce pow bucketize searchsorted max_pool2d_with_indices max_pool3d_with_indices "
        "_trilinear threshold trace",
    ),
    (
        FLOATS,
        "_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data logaddexp logaddexp2 frac hardswish "
        "hardsigmoid _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
        "avg_pool1d avg_pool2d convolution native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
        "_native_batch_norm_legit_no_training im2col col2im native_layer_norm native_group_norm segment_reduce grid_sampler_2d "
        "grid_sampler_3d lerp logcumsumexp max_pool2d_with_indices_backward max_pool3d_with_indices_backward max_unpool2d "
        "max_unpool3d binary_cross_entropy huber_loss mse_loss smooth_l1_loss nll_loss_forward nll_loss2d_forward _prelu_kernel "
        "round",
    ),
    (
        WIDE,
        "avg_pool3d _cdist_forward _pdist_forward polar",
    ),
)
USUAL = {name: dtypes for dtypes, names in _TAKES for name in names.split()}


def _usual(name: str) -> frozenset | None:
    return WIDE if name.startswith("special_") else USUAL.get(name)


_tried: dict[tuple, str] = {}


def _trial(op: torch._ops.OpOverload, values, keywords, most: int) -> str | None:
    """Calls the op in eager with tensors of these dtypes and at most `most` elements along each dimension.

    Returns '' if it succeeds, the reason if there is no kernel, and None if these arguments are invalid for the
    op.
    """

    def few(value):
        if isinstance(value, torch.Tensor):
            sizes = [min(s, most) if isinstance(s, int) else FEW for s in value.shape]
            return torch.ones(sizes, dtype=value.dtype, device=value.device)
        return 1 if isinstance(value, torch.SymInt) else value

    with _disable_current_modes(), unset_fake_temporarily(), torch.no_grad():
        try:
            op(*pytree.tree_map(few, values), **pytree.tree_map(few, keywords))
        except NotImplementedError as error:
            return f"eager has no kernel for it: {str(error).splitlines()[0]}"
        except Exception:
            return None
    return ""


def _missing_kernel(op: torch._ops.OpOverload, values, keywords) -> str:
    """Returns the reason if eager has no kernel, else ''. The first trial call has few elements. If a window is larger
    than the tensor, the call fails for this reason, and a second trial has more elements."""
    said = _trial(op, values, keywords, FEW)
    if said is None:
        tensors = [v for v in pytree.tree_leaves((values, keywords)) if isinstance(v, torch.Tensor)]
        elements = sum(math.prod(s if isinstance(s, int) else FEW for s in v.shape) for v in tensors)
        said = _trial(op, values, keywords, MOST) if elements <= MOST else ""
    return said or ""


def reason_of(op: torch._ops.OpOverload, values, keywords: Mapping) -> str:
    """Returns why eager refuses the call of `op` with these arguments (fake tensors or real ones), or ''."""
    if op.namespace != "aten":
        return ""
    name = op._opname
    rule = RULES.get(name)
    if rule is not None and (reason := rule(*values, **keywords)):
        return reason
    usual = _usual(name)
    if usual is None:
        return ""
    dtypes = tuple((v.dtype, v.device.type) for v in pytree.tree_leaves((values, keywords)) if isinstance(v, torch.Tensor))
    if all(dtype in usual for dtype, _ in dtypes):
        return ""
    plain = tuple(v for v in pytree.tree_leaves((values, keywords)) if isinstance(v, (str, bool, int, float, torch.dtype)))
    key = (op, dtypes, plain)
    if key not in _tried:
        _tried[key] = _missing_kernel(op, values, keywords)
    return _tried[key]


def _is_asked(op) -> bool:
    """Returns whether there is a check for calls of the op."""
    return isinstance(op, torch._ops.OpOverload) and (op._opname in RULES or _usual(op._opname) is not None)


def reason_of_node(node: fx.Node) -> str:
    """Returns reason_of() for a node, whose arguments have values in meta["val"]."""
    if not _is_asked(node.target):
        return ""
    values, keywords = pytree.tree_map(lambda a: a.meta.get("val") if isinstance(a, fx.Node) else a, (node.args, node.kwargs))
    return reason_of(node.target, values, keywords)


def asking(op: torch._ops.OpOverload, decomposition):
    """Wraps `decomposition` of `op` so that calls that eager refuses are not decomposed."""
    if not _is_asked(op):
        return decomposition

    def decompose(*values, **keywords):
        return NotImplemented if reason_of(op, values, keywords) else decomposition(*values, **keywords)

    return decompose
