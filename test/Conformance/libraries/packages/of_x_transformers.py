"""x-transformers: a decoder with each of the library's variations from papers."""

from __future__ import annotations

import functools

from drawn import integers
from library_models import LibraryModel

CHANGES = {
    "plain": {}, "rotary": {"rotary_pos_emb": True}, "xpos": {"rotary_xpos": True}, "polar positions": {"polar_pos_emb": True}, "alibi": {"alibi_pos_bias": True},
    "relative positions": {"rel_pos_bias": True}, "dynamic positions": {"dynamic_pos_bias": True}, "contextual positions": {"attn_use_cope": True},
    "gated linear units": {"ff_glu": True, "ff_swish": True}, "squared relu": {"ff_relu_squared": True}, "rms norm": {"use_rmsnorm": True},
    "simple rms norm": {"use_simple_rmsnorm": True}, "norms of queries and keys": {"attn_qk_norm": True}, "norm of values": {"attn_value_rmsnorm": True},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True}, "top k": {"attn_sparse_topk": 8}, "sandwich": {"sandwich_norm": True},
    "deep norm": {"pre_norm": False, "scale_residual": True}, "macaron": {"macaron": True}, "one key": {"attn_one_kv_head": True}, "grouped queries": {"attn_kv_heads": 2},
    "flash": {"attn_flash": True}, "shifted tokens": {"shift_tokens": 1}, "gated values": {"attn_gate_values": True}, "gated residual": {"gate_residual": True},
    "hyper connections": {"num_residual_streams": 2}, "residual attention": {"residual_attn": True}, "memories": {"attn_num_mem_kv": 4}, "laser": {"attn_laser": True},
    "soft clamp": {"attn_softclamp_logits": True}, "a key of zeros": {"attn_add_zero_kv": True}, "scaled heads": {"attn_head_scale": True},
    "selective": {"attn_selective": True}, "forgetting": {"attn_data_dependent_alibi": True},
}  # fmt: skip


def make(keywords: dict):
    import x_transformers

    return x_transformers.TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=x_transformers.Decoder(dim=64, depth=2, heads=4, **keywords))


MODELS = [LibraryModel(f"x-transformers/{name}", functools.partial(make, keywords), (integers(64, 2, 24),)) for name, keywords in CHANGES.items()]
