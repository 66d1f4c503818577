"""The models that are run: a small one of each architecture of `transformers`, in the modes that it supports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import torch
from inputs import draw
from startup import spread_constants, without_randomness
from subject import by_name
from torch import nn

@dataclass(frozen=True)
class Architecture:
    """A class of `transformers` with the arguments of its configuration.

    `inputs` overrides the arguments that inputs.py draws. `without` has the modes that it does not support, with
    the reason.
    """

    name: str
    model: str
    arguments: dict
    inputs: dict = field(default_factory=dict)
    modes: tuple = ("inference", "training")
    without: dict = field(default_factory=dict)

    def has(self, mode: str) -> bool:
        return ("inference" if mode == "exported" else mode) in self.modes and mode not in self.without

    def build(self) -> nn.Module:
        import transformers

        made = getattr(transformers, self.model)
        config = made.config_class(**self.arguments)
        without_dropout(config)
        within_vocabulary(config)
        torch.manual_seed(0)
        model = made(config)
        spread_constants(model)
        without_randomness(model)
        return model

    def draw(self, model: nn.Module, mode: str, seed: int) -> dict:
        return draw(model, self.inputs, mode, seed)


def architectures() -> dict[str, Architecture]:
    from families import audio, decoders, multimodal, text, vision

    return by_name(one for family in (text, decoders, vision, audio, multimodal) for one in family.ARCHITECTURES)


def without_dropout(config) -> None:
    """Sets every dropout probability to 0, also in parts of a configuration, because random results cannot be
    compared."""
    for name, value in list(vars(config).items()):
        if hasattr(value, "to_dict"):
            without_dropout(value)
        elif not re.search(r"drop|jitter|mask_(time|feature)_prob", name):
            continue
        elif isinstance(value, float):
            setattr(config, name, 0.0)
        elif isinstance(value, (list, tuple)) and all(isinstance(v, float) for v in value):
            setattr(config, name, [0.0] * len(value))


def within_vocabulary(config) -> None:
    """Replaces special tokens of large vocabularies that are not in small ones."""
    for part in [config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))]:
        size = getattr(part, "vocab_size", None)
        for place, name in enumerate(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id",
            "forced_eos_token_id")):
            token = getattr(part, name, None)
            if size and isinstance(token, int) and token >= size or isinstance(token, list):
                setattr(part, name, min(place, 2))
