"""Gradients of classification losses: each element's class is compared with the target class of its row.

The comparison is elementwise, and can be fused into the kernel that reads the gradient. torch's decompositions scatter
into a tensor of zeros in the shape of the input and multiply, which needs two additional tensors. For a language model,
these have the size of the logits.
"""

from __future__ import annotations

import torch

aten = torch.ops.aten

MEAN = 1  # torch.nn._reduction.get_enum("mean")


def nll_loss_backward(grad, x, target, weight, reduction, ignore_index, total_weight):
    """Returns the gradient of x, whose shape is [classes], [rows, classes] or [rows, classes, h, w]. The gradient is -grad * weight for the
    target class, and 0 for all other classes."""
    dim = 0 if x.dim() < 2 else 1
    if x.dim() == 1 and target.dim() == 1:
        target = target[0]
    target = target.unsqueeze(dim)
    if grad.dim() > 0 and x.dim() > grad.dim():
        grad = grad.unsqueeze(dim)
    grad = -grad / total_weight if reduction == MEAN else -grad
    by_class = [1] * x.dim()
    by_class[dim] = x.shape[dim]
    if weight is not None:
        grad = grad * weight.reshape(by_class)
    classes = torch.arange(x.shape[dim], device=x.device).reshape(by_class)
    return torch.where((classes == target) & (target != ignore_index), grad, 0.0).to(x.dtype)


TABLE = {aten.nll_loss_backward.default: nll_loss_backward, aten.nll_loss2d_backward.default: nll_loss_backward}
