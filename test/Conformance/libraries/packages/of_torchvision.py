"""torchvision: a model of each architecture. Models that detect or track objects call torchvision's compiled ops."""

from __future__ import annotations

import functools

from drawn import floats
from library_models import LibraryModel, made

IMAGES = {
    96: "alexnet squeezenet1_0 squeezenet1_1",
    64: "convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s mnasnet0_5 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large regnet_y_400mf regnet_x_400mf "
        "resnet18 resnet50 resnext50_32x4d wide_resnet50_2 shufflenet_v2_x0_5 swin_t swin_v2_t vgg11_bn",
}  # fmt: skip


def model(name: str, *sizes, **keywords) -> LibraryModel:
    return LibraryModel(f"torchvision/{name}", functools.partial(made, "torchvision.models", "get_model", name, weights=None, **keywords), (floats(*sizes),))


MODELS = [model(name, 2, 3, size, size) for size, names in IMAGES.items() for name in names.split()] + [
    model("googlenet", 2, 3, 96, 96, init_weights=False), model("inception_v3", 2, 3, 299, 299, init_weights=False),
    model("vit_b_16", 2, 3, 64, 64, image_size=64), model("maxvit_t", 2, 3, 224, 224),
    *(model(name, 2, 3, 96, 96, weights_backbone=None) for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")),
    *(model(name, 2, 3, 8, 48, 48) for name in ("r3d_18", "mc3_18", "r2plus1d_18")), model("swin3d_t", 2, 3, 8, 64, 64),
    model("mvit_v1_b", 1, 3, 16, 224, 224), model("s3d", 1, 3, 16, 224, 224),
]  # fmt: skip
