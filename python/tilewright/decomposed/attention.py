"""Gradients of attention that are taken apart.

Queries with more heads than keys and values: these are repeated.

float64: torch's fake tensors give the row sums that the forward graph keeps as float32 for every dtype, and so a compiled
graph hands them over; eager's kernel keeps them in float64. The gradients of float64 therefore compute the weights anew.
"""

from __future__ import annotations

import math

import torch

aten = torch.ops.aten


def of_grouped_heads(grad, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    """Keys and values are repeated for each head of queries; the heads that read one share its gradient."""
    heads, few = query.shape[1], key.shape[1]

    def repeated(x):
        batch, _, rows, columns = x.shape
        return x.unsqueeze(2).expand(batch, few, heads // few, rows, columns).reshape(batch, heads, rows, columns)

    def summed(x):  # laid out as torch's own: heads inside of rows
        batch, _, rows, columns = x.shape
        of_rows = x.transpose(1, 2).reshape(batch, rows, few, heads // few, columns).sum(3)
        return of_rows.contiguous().transpose(1, 2)

    of_query, of_key, of_value = aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        grad, query, repeated(key), repeated(value), out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)  # fmt: skip
    return of_query, summed(of_key), summed(of_value)


def in_float64(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    """The weights of every pair, and what follows from them."""
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


def flash_attention_backward(grad, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    heads, few = query.shape[1], key.shape[1]
    grouped = isinstance(heads, int) and isinstance(few, int) and few != 0 and heads != few and heads % few == 0
    if query.dim() == 4 and grouped:
        apart = of_grouped_heads
    elif query.dtype == torch.float64 and dropout_p == 0.0 and query.shape[:-2] == key.shape[:-2]:
        apart = in_float64
    else:
        return NotImplemented
    return apart(grad, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)


TABLE = {aten._scaled_dot_product_flash_attention_for_cpu_backward.default: flash_attention_backward}
