"""timm: the smallest model of each of timm's files, grouped by the size of the images that the models accept."""

from __future__ import annotations

import functools

from drawn import floats
from library_models import LibraryModel

BY_SIZE = {
    160: "test_byobnet test_convnext test_efficientnet test_mambaout test_coatnet test_nfnet test_resnet test_vit test_vit_relpos",
    224: "beit_base_patch16_224 cait_xxs24_224 coat_tiny convit_tiny convmixer_768_32 cpubone_nano cspnext_tiny davit_tiny deit_tiny_patch16_224 "
         "densenet121 dla46x_c dpn48b efficientformer_l1 efficientformerv2_s0 efficientvim_m1 efficientvit_b0 efficientvit_m0 fasternet_t0 "
         "focalnet_tiny_srf gcvit_xxtiny ghostnet_050 hardcorenas_b hgnetv2_b0 hiera_tiny_224 hrnet_w18_small iformer_t inception_next_atto "
         "lcnetv2_small levit_128s lowformer_b0 poolformerv2_s12 gmlp_ti16_224 mobilenetv3_small_050 mvitv2_tiny nest_tiny nextvit_small pit_ti_224 "
         "pvt_v2_b0 rdnet_tiny regnetx_002 repghostnet_050 repvit_m1 res2next50 resnest14d resnetv2_18 rexnet_100 selecsls42 legacy_seresnet18 "
         "sequencer2d_s shvit_s1 skresnet18 starnet_s050 swiftformer_xs swin_tiny_patch4_window7_224 swinv2_cr_tiny_224 tiny_vit_5m_224 "
         "tnt_s_legacy_patch16_224 tresnet_m twins_svt_small vgg11 visformer_tiny vit_tiny_r_s16_p8_224 samvit_base_patch16_224 vitamin_small_224 "
         "volo_d1_224 ese_vovnet19b_slim_dw xcit_nano_12_p8_224",
    240: "crossvit_tiny_240",
    256: "halonet_h1 cs3darknet_focus_s edgenext_xx_small vit_tiny_patch16_dinov3_qkvb fastvit_t8 mobilenetv5_base mobilevit_xxs swinv2_tiny_window16_256",
    299: "inception_resnet_v2 inception_v3 inception_v4 legacy_xception xception41p", 331: "nasnetalarge pnasnet5large",
    384: "naflexvit_base_patch16_parfac_gap", 512: "csatv2", 546: "deepseek_vit_412m", 768: "gemma4_vit_167m qwen3_vit_88m", 896: "sam2_hiera_tiny",
}  # fmt: skip
FEW_LAYERS = {
    "beit_base_patch16_224": 3, "deepseek_vit_412m": 2, "gemma4_vit_167m": 2, "qwen3_vit_88m": 2, "naflexvit_base_patch16_parfac_gap": 3,
    "vit_tiny_patch16_dinov3_qkvb": 3, "samvit_base_patch16_224": 4,
}  # fmt: skip


def make(name: str):
    import timm

    depth = {"depth": FEW_LAYERS[name]} if name in FEW_LAYERS else {}
    return timm.create_model(name, num_classes=10, **depth)


MODELS = [LibraryModel(f"timm/{name}", functools.partial(make, name), (floats(2, 3, size, size),))
          for size, names in BY_SIZE.items() for name in names.split()]  # fmt: skip
