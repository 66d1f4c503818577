"""diffusers: networks that denoise latents, and networks that convert between images and latents."""

from __future__ import annotations

import functools

from drawn import floats, integers
from library_models import LibraryModel, made

BLOCKS = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8}
CODER = {"down_block_types": ["DownEncoderBlock2D"] * 2, "up_block_types": ["UpDecoderBlock2D"] * 2, "block_out_channels": [16, 32], "norm_num_groups": 8}
LATENT, TEXT, STEP = floats(2, 4, 16, 16), floats(2, 6, 32), integers(1000, 2)


def model(name: str, inputs: dict, **keywords) -> LibraryModel:
    return LibraryModel(f"diffusers/{name}", functools.partial(made, "diffusers", name, **keywords), {**inputs, "return_dict": False})


MODELS = [
    model("UNet2DModel", {"sample": floats(2, 3, 32, 32), "timestep": STEP}, sample_size=32, in_channels=3, out_channels=3, **BLOCKS, attention_head_dim=8,
          down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")),
    model("UNet2DConditionModel", {"sample": LATENT, "timestep": STEP, "encoder_hidden_states": TEXT}, sample_size=16, in_channels=4, out_channels=4, **BLOCKS,
          attention_head_dim=8, cross_attention_dim=32, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")),
    model("UNet3DConditionModel", {"sample": floats(1, 4, 3, 16, 16), "timestep": integers(1000, 1), "encoder_hidden_states": floats(1, 6, 32)}, sample_size=16,
          in_channels=4, out_channels=4, **BLOCKS, attention_head_dim=8, cross_attention_dim=32, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
          up_block_types=("UpBlock3D", "CrossAttnUpBlock3D")),
    model("AutoencoderKL", {"sample": floats(2, 3, 32, 32)}, in_channels=3, out_channels=3, latent_channels=4, **CODER),
    model("AutoencoderTiny", {"sample": floats(2, 3, 32, 32)}, in_channels=3, out_channels=3, encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16),
          num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)),
    model("VQModel", {"sample": floats(2, 3, 32, 32)}, in_channels=3, out_channels=3, latent_channels=3, num_vq_embeddings=32, **CODER),
    model("DiTTransformer2DModel", {"hidden_states": LATENT, "timestep": STEP, "class_labels": integers(4, 2)}, in_channels=4, num_layers=2, patch_size=2, sample_size=16,
          attention_head_dim=16, num_attention_heads=2, num_embeds_ada_norm=8, norm_type="ada_norm_zero", out_channels=8),
    model("PixArtTransformer2DModel", {"hidden_states": LATENT, "timestep": STEP, "encoder_hidden_states": TEXT,
                                       "added_cond_kwargs": {"aspect_ratio": None, "resolution": None}},
          sample_size=16, num_layers=2, patch_size=2, attention_head_dim=16, num_attention_heads=2, in_channels=4, cross_attention_dim=32, out_channels=8,
          norm_type="ada_norm_single", caption_channels=32),
    model("SD3Transformer2DModel", {"hidden_states": LATENT, "encoder_hidden_states": TEXT, "pooled_projections": floats(2, 64), "timestep": STEP}, sample_size=16, patch_size=2,
          in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2, caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=64, out_channels=4),
    model("FluxTransformer2DModel", {"hidden_states": floats(2, 16, 4), "encoder_hidden_states": TEXT, "pooled_projections": floats(2, 32), "timestep": floats(2),
                                     "img_ids": floats(16, 3), "txt_ids": floats(6, 3)},
          patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32,
          axes_dims_rope=[4, 4, 8]),
    model("QwenImageTransformer2DModel", {"hidden_states": floats(2, 16, 16), "encoder_hidden_states": TEXT, "timestep": floats(2), "img_shapes": [(1, 4, 4)] * 2}, patch_size=2,
          in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, axes_dims_rope=(8, 4, 4)),
    model("WanTransformer3DModel", {"hidden_states": floats(1, 4, 2, 16, 16), "timestep": integers(1000, 1), "encoder_hidden_states": floats(1, 6, 32)}, patch_size=(1, 2, 2),
          num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=32, freq_dim=64, ffn_dim=32, num_layers=2, cross_attn_norm=True, rope_max_seq_len=32),
    model("CogVideoXTransformer3DModel", {"hidden_states": floats(1, 2, 4, 8, 8), "encoder_hidden_states": floats(1, 8, 32), "timestep": integers(1000, 1)}, num_attention_heads=2,
          attention_head_dim=16, in_channels=4, out_channels=4, time_embed_dim=2, text_embed_dim=32, num_layers=2, sample_width=8, sample_height=8, sample_frames=8, patch_size=2,
          temporal_compression_ratio=4, max_text_seq_length=8),
]  # fmt: skip
