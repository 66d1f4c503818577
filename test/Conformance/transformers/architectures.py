"""What is run: a small model of each architecture of `transformers`, in the modes that it has."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

import torch
from torch import nn

MODES = ("inference", "generate", "training", "exported")
PARTS = 24  # a commit's share is one architecture of so many


@dataclass(frozen=True)
class Case:
    entry: str
    mode: str

    def __str__(self) -> str:
        return f"{self.entry} {self.mode}"


@dataclass(frozen=True)
class Architecture:
    """A class of `transformers` with the arguments of its configuration; `inputs` overrides what inputs.py would give; the
    modes that it does not have stand in `without` with the reason."""

    name: str
    model: str
    arguments: dict
    inputs: dict = field(default_factory=dict)
    modes: tuple = ("inference", "training")
    without: dict = field(default_factory=dict)

    def has(self, mode: str) -> bool:
        return ("inference" if mode == "exported" else mode) in self.modes and mode not in self.without


def architectures() -> dict[str, Architecture]:
    from families import audio, decoders, multimodal, text, vision

    found: dict[str, Architecture] = {}
    for family in (text, decoders, vision, audio, multimodal):
        for one in family.ARCHITECTURES:
            if one.name in found:
                raise ValueError(f"{one.name} is declared twice")
            found[one.name] = one
    return found


def all_cases(names, modes=MODES) -> list[Case]:
    known = architectures()
    return [Case(name, mode) for name in names for mode in modes if known[name].has(mode)]


def without_dropout(config) -> None:
    """Sets every probability of dropping to 0, in the parts of a configuration, too: what is random cannot be compared."""
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
    """Special tokens of large models' vocabularies are not in small ones'."""
    for part in [config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))]:
        size = getattr(part, "vocab_size", None)
        for place, name in enumerate(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id",
            "forced_eos_token_id")):
            token = getattr(part, name, None)
            if size and isinstance(token, int) and token >= size or isinstance(token, list):
                setattr(part, name, min(place, 2))


@torch.no_grad()
def spread_constants(model: nn.Module) -> None:
    """Parameters and statistics that a fresh model has all equal get some noise: biases of 0 would hide that they are not
    added."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for p in model.parameters():
        if p.is_floating_point() and p.numel() > 1 and (p == p.flatten()[0]).all():
            p.add_(0.1 * torch.randn_like(p))


def build(architecture: Architecture) -> nn.Module:
    import transformers

    made = getattr(transformers, architecture.model)
    config = made.config_class(**architecture.arguments)
    without_dropout(config)
    within_vocabulary(config)
    torch.manual_seed(0)
    model = made(config)
    spread_constants(model)
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
    return model


def parameters_of(model) -> set[str]:
    return set(inspect.signature(model.forward).parameters)
