"""Vision: transformers, convolutions, segmentation, detection."""

from __future__ import annotations

from architectures import Architecture
from drawn import floats

VIT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "image_size": 32,
    "patch_size": 8, "num_labels": 5}


def vit(name, model, inputs=None, without=None, **arguments):
    return Architecture(name, model, VIT | arguments, inputs or {}, without=without or {})


def vision(name, model, inputs=None, without=None, **arguments):
    return Architecture(name, model, arguments, inputs or {}, without=without or {})


STAGES = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 2, 1], "num_labels": 5}
RESNET = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 2, 1], "embedding_size": 16}
DETR = {"use_timm_backbone": False, "backbone": None, "use_pretrained_backbone": False, "d_model": 32, "encoder_layers": 1,
    "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48, "num_queries": 6, "num_labels": 5, "backbone_config": {"model_type": "resnet", **RESNET,
    "out_features": ["stage4"]}}

ARCHITECTURES = [
    vit("vit", "ViTForImageClassification"),
    vit("deit", "DeiTForImageClassification"),
    vit("beit", "BeitForImageClassification", use_relative_position_bias=True),
    vit("dinov2", "Dinov2ForImageClassification"),
    vit("dinov2_with_registers", "Dinov2WithRegistersForImageClassification"),
    vit("dinov3_vit", "DINOv3ViTModel", pos_embed_rescale=None),
    vit("ijepa", "IJepaForImageClassification"),
    vit("vit_msn", "ViTMSNForImageClassification"),
    vit("vit_mae", "ViTMAEModel", inputs={"noise": floats(2, 16)}),
    vit("yolos", "YolosForObjectDetection", image_size=[32, 32], num_detection_tokens=6),
    vision("swin", "SwinForImageClassification", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
        window_size=4, num_labels=5),
    vision("swinv2", "Swinv2ForImageClassification", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
        window_size=4, num_labels=5),
    vision("convnext", "ConvNextForImageClassification", **STAGES),
    vision("convnextv2", "ConvNextV2ForImageClassification", **STAGES),
    vision("resnet", "ResNetForImageClassification", **RESNET, num_labels=5),
    vision("regnet", "RegNetForImageClassification", **RESNET, groups_width=8, num_labels=5),
    vision("bit", "BitForImageClassification", **RESNET, num_groups=4, num_labels=5),
    vision("mobilenet_v1", "MobileNetV1ForImageClassification", image_size=64, depth_multiplier=0.25, num_labels=5),
    vision("mobilenet_v2", "MobileNetV2ForImageClassification", image_size=64, depth_multiplier=0.25, num_labels=5),
    vision("mobilevit", "MobileViTForImageClassification", image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8,
        16, 16, 24, 24, 32], num_attention_heads=4, num_labels=5),
    vision("mobilevitv2", "MobileViTV2ForImageClassification", image_size=64, width_multiplier=0.25, n_attn_blocks=[1, 1, 1],
        num_labels=5),
    vision("segformer", "SegformerForSemanticSegmentation", depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16, num_labels=5),
    vision("pvt", "PvtForImageClassification", image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4], num_labels=5),
    vision("pvt_v2", "PvtV2ForImageClassification", image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4], num_labels=5),
    vision("poolformer", "PoolFormerForImageClassification", depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], num_labels=5),
    vision("levit", "LevitForImageClassification", image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[1, 2, 2],
        depths=[1, 1, 1], key_dim=[8, 8, 8], down_ops=[["Subsample", 8, 2, 4, 2, 2], ["Subsample", 8, 3, 4, 2, 2]],
        num_labels=5),
    vision("efficientnet", "EfficientNetForImageClassification", image_size=64, width_coefficient=0.25, depth_coefficient=0.2,
        hidden_dim=320, num_labels=5),
    vision("focalnet", "FocalNetForImageClassification", image_size=32, patch_size=4, embed_dim=16, depths=[1, 1],
        focal_levels=[2, 2], focal_windows=[3, 3], num_labels=5),
    vision("cvt", "CvtForImageClassification", embed_dim=[16, 24, 32], num_heads=[1, 2, 4], depth=[1, 2, 3], num_labels=5),
    vision("swiftformer", "SwiftFormerForImageClassification", image_size=64, depths=[1, 1, 1, 1], embed_dims=[16, 24, 32, 48],
        num_labels=5),
    vision("hiera", "HieraForImageClassification", image_size=[64, 64], embed_dim=16, depths=[1, 1, 2, 1], num_heads=[1, 2, 2,
        4], num_labels=5),
    vision("textnet", "TextNetForImageClassification", image_size=[64, 64], stem_out_channels=16, hidden_sizes=[16, 16, 24, 32,
        48], num_labels=5),
    vision("detr", "DetrForObjectDetection", **DETR),
    vision("conditional_detr", "ConditionalDetrForObjectDetection", **DETR),
    vision("deformable_detr", "DeformableDetrForObjectDetection", **(DETR | {"num_feature_levels": 1, "decoder_layers": 2,
        "encoder_n_points": 2, "decoder_n_points": 2})),
    vision("dpt", "DPTForDepthEstimation", inputs={"labels": None}, **(VIT | {"num_hidden_layers": 4}), backbone_out_indices=[0,
        1, 2, 3], neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16),
    vision("upernet", "UperNetForSemanticSegmentation", backbone_config={"model_type": "convnext", "hidden_sizes": [8, 16, 24,
        32], "depths": [1, 1, 1, 1], "out_features": ["stage1", "stage2", "stage3", "stage4"]}, backbone=None, hidden_size=16,
        pool_scales=[1, 2], auxiliary_channels=8, num_labels=5, auxiliary_in_channels=24),
    vision("sam", "SamModel", vision_config={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "image_size": 64, "patch_size": 16, "output_channels": 32, "mlp_dim": 48, "window_size": 2, "global_attn_indexes": [1],
        "num_pos_feats": 16}, prompt_encoder_config={"hidden_size": 32, "image_size": 64, "patch_size": 16,
        "mask_input_channels": 8}, mask_decoder_config={"hidden_size": 32, "mlp_dim": 48, "num_attention_heads": 4,
        "num_hidden_layers": 2, "iou_head_hidden_dim": 32}),
    vision("videomae", "VideoMAEForVideoClassification", inputs={"pixel_values": floats(2, 4, 3, 32, 32)},
        **(VIT | {"num_frames": 4, "tubelet_size": 2})),
    vision("swin2sr", "Swin2SRForImageSuperResolution", image_size=16, embed_dim=16, depths=[1, 1], num_heads=[2, 2],
        window_size=4, upscale=2),
    vision("vitpose", "VitPoseForPoseEstimation", backbone_config={"model_type": "vitpose_backbone", "image_size": [32, 32],
        "patch_size": [8, 8], "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "out_features": ["stage2"]},
        num_labels=5),
]
