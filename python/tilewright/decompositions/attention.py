"""Decompositions of attention.

The overloads for tensors on a GPU (flash attention, efficient attention and cuDNN) are decomposed into the overload for
the CPU, which the importer supports. The forward operators of these overloads save different tensors for the gradient.
Therefore the forward operator and its gradient are decomposed together. Attention with dropout is not decomposed,
because torch draws the random numbers of dropout.
"""

from __future__ import annotations

import math

import torch

aten = torch.ops.aten


def of_all_pairs(grad_out, query, key, value, out, is_causal, *, attn_mask=None, scale=None):
    """Computes the whole matrix of attention weights. Returns the gradients of query, key, value and mask."""
    scale = scale if scale is not None else 1.0 / math.sqrt(query.shape[-1])
    scores = (query @ key.transpose(-1, -2)) * scale
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).tril().logical_not()
        scores = scores.masked_fill(later, -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    nothing = scores.amax(-1, keepdim=True) == -math.inf  # true for rows without unmasked keys, whose result is 0
    weights = torch.softmax(scores, -1).masked_fill(nothing, 0.0)
    step = grad_out @ value.transpose(-1, -2)
    of_scores = weights * (step - (grad_out * out).sum(-1, keepdim=True))
    step = of_scores * scale
    return step @ key, step.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ grad_out, of_scores


def _nothing(query, count):
    """Returns `count` empty tensors, for results of an overload that no op reads: random seeds and offsets, sequence lengths, weights."""
    return [torch.empty(0, dtype=torch.int64, device=query.device) for _ in range(count)]


def _with_lengths(query, key, out, logsumexp):
    """Returns the results of the overloads for flash attention and cuDNN: out, logsumexp, the sequence lengths, the maximum sequence
    lengths, two parts of a seed, and a debug mask."""
    of_queries, of_keys, seed, offset, mask = _nothing(query, 5)
    return out, logsumexp, of_queries, of_keys, query.shape[2], key.shape[2], seed, offset, mask


def _plain(query, key, value, dropout_p, is_causal) -> bool:
    """Returns whether the overload for the CPU supports the arguments.

    The causal mask of this overload is aligned to the first key. Some other overloads align it to the last key.
    """
    known = all(x.dim() == 4 and x.dtype in (torch.float32, torch.float16, torch.bfloat16) for x in (query, key, value))
    return known and dropout_p == 0.0 and (not is_causal or query.shape[2] == key.shape[2])


def _attend(query, key, value, mask, is_causal, scale):
    return aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale)


def _gradients(grad, query, key, value, out, logsumexp, mask, is_causal, scale):
    """Computes the gradients with the operator for the CPU, which the importer supports."""
    return aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        grad, query, key, value, out, logsumexp, 0.0, is_causal, attn_mask=mask, scale=scale)  # fmt: skip


def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    if not _plain(query, key, value, dropout_p, is_causal) or return_debug_mask:
        return NotImplemented
    out, logsumexp = _attend(query, key, value, None, is_causal, scale)
    return _with_lengths(query, key, out, logsumexp)


def flash_backward(grad, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
                   philox_seed, philox_offset, *, scale=None):  # fmt: skip
    if not _plain(query, key, value, dropout_p, is_causal):
        return NotImplemented
    return _gradients(grad, query, key, value, out, logsumexp, None, is_causal, scale)


def _to_blocks(logsumexp):
    """Pads the rows of logsumexp to a multiple of 32 elements, as the efficient kernel does."""
    more = -logsumexp.shape[-1] % 32
    return torch.nn.functional.pad(logsumexp, (0, more)) if not isinstance(more, int) or more else logsumexp


def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    if not _plain(query, key, value, dropout_p, is_causal):
        return NotImplemented
    out, logsumexp = _attend(query, key, value, attn_bias, is_causal, scale)
    return out, _to_blocks(logsumexp) if compute_log_sumexp else logsumexp.narrow(-1, 0, 0).clone(), *_nothing(query, 2)


def efficient_backward(grad, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask,
                       is_causal=False, *, scale=None):  # fmt: skip
    if not _plain(query, key, value, dropout_p, is_causal):
        return NotImplemented
    if not grad_input_mask[3]:
        return *_gradients(grad, query, key, value, out, logsumexp.narrow(-1, 0, query.shape[2]), attn_bias, is_causal, scale), None
    if query.shape[1] != key.shape[1]:
        return NotImplemented
    wide = [x.float() for x in (grad, query, key, value, out)]
    found = of_all_pairs(*wide, is_causal, attn_mask=attn_bias.float(), scale=scale)
    return tuple(gradient.to(x.dtype) for gradient, x in zip(found, (query, key, value, attn_bias), strict=True))


def cudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    if not _plain(query, key, value, dropout_p, is_causal) or return_debug_mask:
        return NotImplemented
    out, logsumexp = _attend(query, key, value, attn_bias, is_causal, scale)
    return _with_lengths(query, key, out, logsumexp.unsqueeze(-1))


def cudnn_backward(grad, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k,
                   dropout_p, is_causal, *, scale=None):  # fmt: skip
    if not _plain(query, key, value, dropout_p, is_causal):
        return NotImplemented
    return _gradients(grad, query, key, value, out, logsumexp.squeeze(-1), attn_bias, is_causal, scale)


TABLE = {
    aten._scaled_dot_product_flash_attention.default: flash,
    aten._scaled_dot_product_flash_attention_backward.default: flash_backward,
    aten._scaled_dot_product_efficient_attention.default: efficient,
    aten._scaled_dot_product_efficient_attention_backward.default: efficient_backward,
    aten._scaled_dot_product_cudnn_attention.default: cudnn,
    aten._scaled_dot_product_cudnn_attention_backward.default: cudnn_backward,
}
