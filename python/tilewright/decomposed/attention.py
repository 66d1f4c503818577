"""Gradients of attention in float64.

torch's fake tensors give the row sums that the forward graph keeps as float32 for every dtype, and so a compiled graph
hands them over; eager's kernel keeps them in float64. The gradients of float64 therefore compute the weights anew.
"""

from __future__ import annotations

import math

import torch

aten = torch.ops.aten


def attention_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    if query.dtype != torch.float64 or dropout_p != 0.0 or query.shape[:-2] != key.shape[:-2]:
        return NotImplemented
    scale = scale if scale is not None else 1.0 / math.sqrt(query.shape[-1])
    scores = (query @ key.transpose(-1, -2)) * scale
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).tril().logical_not()
        scores = scores.masked_fill(later, -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    nothing = scores.amax(-1, keepdim=True) == -math.inf  # such a row's result is 0
    weights = torch.softmax(scores, -1).masked_fill(nothing, 0.0)
    step = grad_out @ value.transpose(-1, -2)
    step = weights * (step - (grad_out * out).sum(-1, keepdim=True)) * scale
    return step @ key, step.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ grad_out


TABLE = {aten._scaled_dot_product_flash_attention_for_cpu_backward.default: attention_backward}
