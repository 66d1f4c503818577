"""MONAI: segmentation, reconstruction and diffusion of images and volumes."""

from __future__ import annotations

import functools

from drawn import floats, integers
from library_models import LibraryModel, made

PLANE, VOLUME = {"spatial_dims": 2, "in_channels": 1}, {"spatial_dims": 3, "in_channels": 1}
STAGES = {"out_channels": 2, "channels": (8, 16, 32), "strides": (2, 2)}
LATENT = {"out_channels": 1, "channels": (8, 16, 16), "attention_levels": (False, False, True), "num_res_blocks": 1}


def model(name: str, title: str, *inputs, without=None, **keywords) -> LibraryModel:
    drawn = tuple(floats(*one) if isinstance(one, tuple) else one for one in inputs)
    return LibraryModel(f"monai/{title}", functools.partial(made, "monai.networks.nets", name, **keywords), drawn, without=without or {})


MODELS = [
    model("UNet", "unet", (1, 1, 32, 32, 32), **VOLUME, **STAGES, num_res_units=2), model("UNet", "unet of images", (2, 1, 64, 64), **PLANE, **STAGES),
    model("AttentionUnet", "attention unet", (2, 1, 64, 64), **PLANE, **STAGES),
    model("BasicUNet", "basic unet", (1, 1, 32, 32, 32), **VOLUME, out_channels=2, features=(8, 8, 16, 16, 32, 8)),
    model("BasicUNetPlusPlus", "basic unet++", (2, 1, 64, 64), **PLANE, out_channels=2, features=(8, 8, 16, 16, 32, 8)),
    model("DynUNet", "dynamic unet", (1, 1, 16, 16, 16), **VOLUME, out_channels=2, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2], filters=[8, 16, 32]),
    model("SegResNet", "segresnet", (1, 1, 32, 32, 32), **VOLUME, init_filters=8, out_channels=2),
    model("SegResNetDS", "segresnet ds", (1, 1, 32, 32, 32), **VOLUME, init_filters=8, out_channels=2, blocks_down=(1, 1, 1)),
    model("UNETR", "unetr", (1, 1, 32, 32, 32), in_channels=1, out_channels=2, img_size=(32, 32, 32), feature_size=8, hidden_size=48, mlp_dim=96, num_heads=4),
    model("SwinUNETR", "swin unetr", (2, 1, 64, 64), in_channels=1, out_channels=2, feature_size=12, depths=(1, 1, 1, 1), num_heads=(1, 2, 4, 8), spatial_dims=2, window_size=4),
    model("HighResNet", "highresnet", (1, 1, 16, 16, 16), **VOLUME, out_channels=2),
    model("DenseNet121", "densenet", (2, 1, 32, 32, 32), **VOLUME, out_channels=2, init_features=8, growth_rate=8, block_config=(2, 2, 2)),
    model("resnet18", "resnet", (2, 1, 32, 32, 32), spatial_dims=3, n_input_channels=1, num_classes=2, feed_forward=True),
    model("ViT", "vit", (2, 1, 16, 16, 16), in_channels=1, img_size=(16, 16, 16), patch_size=(8, 8, 8), hidden_size=48, mlp_dim=96, num_layers=2, num_heads=4, classification=True),
    model("ViTAutoEnc", "vit autoencoder", (1, 1, 32, 32, 32), in_channels=1, patch_size=(16, 16, 16), img_size=(32, 32, 32), hidden_size=48, mlp_dim=96, num_layers=2, num_heads=4),
    model("AutoEncoder", "autoencoder", (2, 1, 32, 32), **PLANE, out_channels=1, channels=(4, 8), strides=(2, 2)),
    model("AutoencoderKL", "autoencoder kl", (1, 1, 32, 32), **PLANE, **LATENT, latent_channels=4, norm_num_groups=4),
    model("VQVAE", "vqvae", (2, 1, 32, 32), **PLANE, out_channels=1, channels=(8, 16), num_res_channels=(8, 16), num_res_layers=1,
          downsample_parameters=((2, 4, 1, 1),) * 2, upsample_parameters=((2, 4, 1, 1, 0),) * 2, num_embeddings=16, embedding_dim=8),
    model("DiffusionModelUNet", "diffusion unet", (2, 1, 32, 32), integers(1000, 2), **PLANE, **LATENT, num_head_channels=8, norm_num_groups=8),
    model("DiffusionModelUNet", "diffusion unet of volumes", (1, 1, 16, 16, 16), integers(1000, 1), **VOLUME, out_channels=1, channels=(8, 16),
          attention_levels=(False, True), num_res_blocks=1, num_head_channels=8, norm_num_groups=8),
    model("AHNet", "ahnet", (1, 1, 128, 128), layers=(1, 1, 1, 1), **PLANE, out_channels=2, psp_block_num=2),
    model("MILModel", "instances", (1, 3, 3, 48, 48), num_classes=3, pretrained=False, mil_mode="att_trans", backbone="resnet18"),
    model("Quicknat", "quicknat", (1, 1, 64, 64), num_classes=3, num_channels=1, num_filters=8, se_block="CSE"),
    model("MedNeXt", "mednext", (1, 1, 16, 16, 16), **VOLUME, init_filters=8, out_channels=2, blocks_down=(1, 1, 1), blocks_up=(1, 1, 1), blocks_bottleneck=1,
          encoder_expansion_ratio=(2, 2, 2), decoder_expansion_ratio=(2, 2, 2), bottleneck_expansion_ratio=2),
    model("PatchDiscriminator", "discriminator", (2, 1, 64, 64), **PLANE, num_layers_d=2, channels=8, out_channels=1),
    model("SEResNet50", "seresnet", (2, 1, 64, 64), **PLANE, num_classes=2, layers=(1, 1, 1, 1)),
    model("EfficientNetBN", "efficientnet", (2, 1, 32, 32, 32), model_name="efficientnet-b0", pretrained=False, **VOLUME, num_classes=2,
          without={"training": "it leaves out connections at random"}),
    model("FlexibleUNet", "flexible unet", (1, 3, 64, 64), in_channels=3, out_channels=2, backbone="resnet18", pretrained=False),
    model("Generator", "generator", (2, 8), latent_shape=(8,), start_shape=(8, 4, 4), channels=(8, 4, 1), strides=(2, 2, 1)),
]  # fmt: skip
