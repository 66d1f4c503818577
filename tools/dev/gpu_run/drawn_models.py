"""Eight models that are drawn at random from the conformance suites, in addition to the models of facts/h200."""

from __future__ import annotations

import json
import random
import sys

import torch

from .model_list import Work
from .setting import REPOSITORY

SUITES = ("libraries", "transformers")
SEED, COUNT = 46, 8
# draw_names() returns these names, which test/Python/test_gpu_run.py checks. The names were committed before any measurement.
DRAWN = (
    "libraries/monai/vit", "libraries/x-transformers/xpos", "libraries/monai/diffusion unet", "transformers/mistral",
    "transformers/ministral", "libraries/torchvision/mobilenet_v3_small", "transformers/pegasus", "transformers/gemma2",
)  # fmt: skip


def draw_names(seed: int = SEED, count: int = COUNT) -> tuple[str, ...]:
    """Draws from the sorted names of all models whose inference runs completely in compiled code."""
    names = []
    for suite in SUITES:
        table = json.loads((REPOSITORY / "test" / "Conformance" / suite / "table.json").read_text())
        names += [f"{suite}/{name}" for name, modes in table.items() if modes.get("inference", {}).get("state") == "native"]
    return tuple(random.Random(seed).sample(sorted(names), count))


def build(name: str, device: str) -> Work:
    """Builds a drawn model with the sizes and inputs of its suite, in f32. Raises ImportError if its library is missing."""
    suite, _, entry = name.partition("/")
    conformance = REPOSITORY / "test" / "Conformance"
    for folder in (conformance / suite, conformance / "models", conformance / "harness", REPOSITORY / "test" / "Python"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    if suite == "libraries":
        from installed import FOLDER
        from library_models import library_models

        if FOLDER.is_dir() and str(FOLDER) not in sys.path:
            sys.path.append(str(FOLDER))
        known = library_models()
    else:
        from architectures import architectures

        known = architectures()
    model = known[entry].build().eval()
    inputs = known[entry].draw(model, "inference", 0)
    move = lambda value: value.to(device) if isinstance(value, torch.Tensor) else value  # noqa: E731
    return Work(model.to(device), torch.utils._pytree.tree_map(move, inputs), torch.float32)
