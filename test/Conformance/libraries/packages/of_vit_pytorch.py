"""vit-pytorch: transformers for images, volumes, videos and series."""

from __future__ import annotations

import functools

from drawn import floats
from library_models import LibraryModel, made

SMALL = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64}
VOLUME = {"image_size": 32, "frames": 4, "image_patch_size": 8, "frame_patch_size": 2, "num_classes": 10, "dim": 32, "heads": 4, "mlp_dim": 64}


def model(module: str, name: str, *sizes: int, **keywords) -> LibraryModel:
    return LibraryModel(f"vit-pytorch/{module}", functools.partial(made, f"vit_pytorch.{module}", name, **keywords), (floats(*(sizes or (2, 3, 32, 32))),))


OF_IMAGES = {
    "ViT": "vit deepvit vit_for_small_dataset parallel_vit vit_with_decorr vit_with_keel_post_ln learnable_memory_vit", "RvT": "rvt", "nViT": "normalized_vit",
    "SimpleViT": "simple_vit simple_vit_with_qk_norm simple_vit_with_register_tokens simple_vit_with_value_residual simple_flash_attn_vit "
                 "simple_vit_orthog_residual_update",
}  # fmt: skip
MODELS = [model(module, name if module != "deepvit" else "DeepViT", **SMALL) if module != "parallel_vit" else model(module, "ViT", **SMALL)
          for name, modules in OF_IMAGES.items() for module in modules.split()] + [
    model("simple_vit_with_hyper_connections", "SimpleViT", **SMALL, num_residual_streams=2),
    model("simple_vit_with_fft", "SimpleViT", **SMALL, freq_patch_size=8),
    model("simple_uvit", "SimpleUViT", **SMALL | {"depth": 4}), model("cait", "CaiT", **SMALL, cls_depth=1), model("xcit", "XCiT", **SMALL, cls_depth=1, local_patch_kernel_size=3),
    model("vit_with_patch_merger", "ViT", **SMALL, patch_merge_layer=1, patch_merge_num_tokens=4), model("ats_vit", "ViT", **SMALL, max_tokens_per_depth=(16, 8)),
    model("jumbo_vit", "JumboViT", **SMALL, num_jumbo_cls=1, jumbo_cls_k=4, jumbo_ff_mult=2),
    model("t2t", "T2TViT", dim=64, image_size=32, depth=2, heads=4, mlp_dim=64, num_classes=10, t2t_layers=((7, 4), (3, 2))),
    model("cct", "CCT", img_size=32, embedding_dim=64, n_conv_layers=2, num_layers=2, num_heads=4, mlp_ratio=2.0, num_classes=10, positional_embedding="learnable"),
    model("cross_vit", "CrossViT", image_size=32, num_classes=10, depth=1, sm_dim=32, sm_patch_size=4, sm_enc_depth=1, sm_enc_heads=4, sm_enc_mlp_dim=64, lg_dim=48,
          lg_patch_size=8, lg_enc_depth=1, lg_enc_heads=4, lg_enc_mlp_dim=64, cross_attn_depth=1, cross_attn_heads=4),
    model("pit", "PiT", image_size=32, patch_size=4, dim=32, num_classes=10, depth=(1, 1, 1), heads=4, mlp_dim=64),
    model("levit", "LeViT", 2, 3, 64, 64, image_size=64, num_classes=10, stages=3, dim=(32, 48, 64), depth=1, heads=(2, 3, 4), mlp_mult=2),
    model("cvt", "CvT", num_classes=10, s1_emb_dim=32, s1_heads=1, s1_depth=1, s2_emb_dim=48, s2_heads=2, s2_depth=1, s3_emb_dim=64, s3_heads=4, s3_depth=1),
    model("regionvit", "RegionViT", 2, 3, 128, 128, dim=(16, 32, 48, 64), depth=(1, 1, 1, 1), window_size=4, num_classes=10, tokenize_local_3_conv=False, use_peg=True),
    model("scalable_vit", "ScalableViT", 2, 3, 64, 64, num_classes=10, dim=16, heads=(1, 1, 2, 2), depth=(1, 1, 1, 1), ssa_dim_key=(16, 16, 16, 16),
          reduction_factor=(4, 2, 1, 1), window_size=(8, 4, None, None)),
    model("max_vit", "MaxViT", num_classes=10, dim_conv_stem=16, dim=16, dim_head=8, depth=(1, 1), window_size=4, mbconv_expansion_rate=2, mbconv_shrinkage_rate=0.25),
    model("nest", "NesT", image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=3, block_repeats=(1, 1, 1), num_classes=10),
    model("vit_1d", "ViT", 2, 3, 64, seq_len=64, patch_size=8, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64),
    model("vit_3d", "ViT", 2, 3, 4, 32, 32, **VOLUME, depth=2), model("vivit", "ViViT", 2, 3, 4, 32, 32, **VOLUME, spatial_depth=1, temporal_depth=1),
]  # fmt: skip
