"""The gradient of attention whose queries have more heads than keys and values."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def flash_attention_backward(grad, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    """Keys and values are repeated for each head of queries; the heads that read one share its gradient."""
    heads, few = query.shape[1], key.shape[1]
    if query.dim() != 4 or not isinstance(heads, int) or not isinstance(few, int) or few == 0 or heads == few or heads % few:
        return NotImplemented

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


TABLE = {aten._scaled_dot_product_flash_attention_for_cpu_backward.default: flash_attention_backward}
