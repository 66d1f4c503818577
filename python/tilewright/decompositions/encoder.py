"""Layers of torch.nn's transformer that eager calls as one operator in inference (its fast path): multi-head attention,
and an encoder layer.

The decompositions consist of matrix products, attention and norms, which are fused.

A mask is true for keys that are ignored. The argument `kind` states its shape: 0 is [L, S] (queries, keys), 1 is [B, S]
(keys of each batch), and 2 is [B, H, L, S]. In a mask that is not boolean, each value except 0 is true, as in eager.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

aten = torch.ops.aten


def _keep(mask, kind, query, keys: int):
    """Returns a mask that is true for keys that are not ignored, and that broadcasts to [B, H, L, S]. Returns None if no key is ignored."""
    if mask is None:
        return None
    mask = mask.to(torch.bool).logical_not()
    if kind == 1:
        return mask.reshape(query.shape[0], 1, 1, keys)
    return mask.reshape(1, 1, *mask.shape) if mask.dim() == 2 else mask


def _heads(x, heads: int):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def _projected(query, key, value, weight, bias, embed_dim: int):
    if query is key and key is value:
        return F.linear(query, weight, bias).chunk(3, -1)
    biases = bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases)]


def multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, need_weights=True,
                         average_attn_weights=True, mask_type=None):  # fmt: skip
    if query.dim() != 3 or (mask is not None and mask_type not in (0, 1, 2)):
        return NotImplemented
    q, k, v = (_heads(x, num_head) for x in _projected(query, key, value, qkv_weight, qkv_bias, embed_dim))
    keep = _keep(mask, mask_type, query, key.shape[1])
    if not need_weights:
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        if keep is not None:  # the result of a row without keys is NaN in this operator, but 0 in attention
            found = torch.where(keep.any(-1, keepdim=True), found, math.nan)
        weights = query.new_empty(0)
    else:
        scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-1, -2)
        if keep is not None:
            scores = scores.masked_fill(keep.logical_not(), -math.inf)
        weights = torch.softmax(scores, -1)
        found = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    found = F.linear(found.transpose(1, 2).reshape(query.shape[0], query.shape[1], embed_dim), proj_weight, proj_bias)
    return found, weights


def encoder_layer(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1,
                  norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):  # fmt: skip
    if src.dim() != 3 or (mask is not None and mask_type not in (0, 1, 2)):
        return NotImplemented

    def attended(x):
        return multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)[0]

    def forward(x):
        x = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(x) if use_gelu else F.relu(x), ffn_weight_2, ffn_bias_2)

    def first(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attended(first(src))
        return x + forward(second(x))
    x = first(src + attended(src))
    return second(x + forward(x))


TABLE = {aten._native_multi_head_attention.default: multi_head_attention, aten._transformer_encoder_layer_fwd.default: encoder_layer}
