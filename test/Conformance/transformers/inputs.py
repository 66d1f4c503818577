"""Arguments for a model by general rules: from the parameter names of its forward() and from its configuration."""

from __future__ import annotations

import inspect

import torch

BATCH, LENGTH = 2, 17


def part(config, *names):
    """Returns the part of a configuration with one of these names, or the whole."""
    return next((getattr(config, n) for n in names if getattr(config, n, None) is not None), config)


def tokens(config, generator, length: int = LENGTH) -> torch.Tensor:
    """Returns tokens that are not special tokens, which are the first ones in small vocabularies."""
    return torch.randint(5, config.vocab_size, (BATCH, length), generator=generator)


def right_padded(length: int = LENGTH) -> torch.Tensor:
    mask = torch.ones(BATCH, length, dtype=torch.int64)
    mask[1, length - length // 3 :] = 0
    return mask


def image(config, generator) -> torch.Tensor:
    vision = part(config, "vision_config", "backbone_config", "image_config")
    size = getattr(vision, "image_size", None) or getattr(config, "image_size", None) or 64
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(vision, "num_channels", None) or getattr(vision, "in_channels", None) or 3
    return torch.randn(BATCH, channels, height, width, generator=generator)


def labels(model, config, arguments: dict, generator) -> torch.Tensor | None:
    """Returns the labels that forward() expects, by the name of its class, or None if the loss is computed from the
    results instead."""
    name = type(model).__name__
    ids = arguments.get("decoder_input_ids", arguments.get("input_ids"))
    if name.endswith(("SequenceClassification", "ImageClassification", "AudioClassification", "WithTeacher")):
        return torch.randint(0, config.num_labels, (BATCH,), generator=generator)
    if name.endswith("TokenClassification"):
        return torch.randint(0, config.num_labels, ids.shape, generator=generator)
    if name.endswith(("SemanticSegmentation", "ForDepthEstimation")) and "pixel_values" in arguments:
        return torch.randint(0, config.num_labels, (BATCH, *arguments["pixel_values"].shape[2:]), generator=generator)
    if name.endswith("ForCTC"):
        return torch.randint(1, config.vocab_size, (BATCH, 3), generator=generator)
    if name.endswith(("LM", "LMHeadModel", "ConditionalGeneration", "ForMaskedLM")) and ids is not None:
        return ids.clone()
    return None


def parameters_of(model) -> set[str]:
    return set(inspect.signature(model.forward).parameters)


def draw(model, given: dict, mode: str, seed: int) -> dict:
    """Returns the arguments of one call. `given` overrides the drawn arguments. Another seed draws other numbers."""
    generator = torch.Generator().manual_seed(seed)
    config, takes = model.config, parameters_of(model)
    text = config.get_text_config()
    arguments: dict = {}
    if "input_ids" in takes and getattr(text, "vocab_size", None):
        arguments["input_ids"] = tokens(text, generator)
        if "attention_mask" in takes and mode != "generate":
            arguments["attention_mask"] = right_padded()
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in takes and mode != "generate":
        arguments["decoder_input_ids"] = tokens(config.get_text_config(decoder=True), generator, 9)
    if "pixel_values" in takes:
        arguments["pixel_values"] = image(config, generator)
    for name, value in given.items():
        if value is None:
            arguments.pop(name, None)
        else:
            arguments[name] = value.draw(generator) if hasattr(value, "draw") else value
    if mode == "training":
        if "return_loss" in takes and "return_loss" not in given:
            arguments["return_loss"] = True
        if "labels" in takes and "labels" not in given:
            made = labels(model, config, arguments, generator)
            if made is not None:
                arguments["labels"] = made
    return arguments
