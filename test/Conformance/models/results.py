"""The tensors in a model's results, by name, including those in transformers' classes such as caches."""

from __future__ import annotations

from collections.abc import Mapping

import torch


def named_tensors(value, name: str = "") -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    collect(value, name, found, set())
    return found


def collect(value, name: str, found: dict, seen: set) -> None:
    if isinstance(value, torch.Tensor):
        found[name or "result"] = value.detach()
        return
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    elif type(value).__module__.startswith("transformers.") and not hasattr(value, "to_dict") and id(value) not in seen:
        seen.add(id(value))
        items = list(vars(value).items())
    else:
        return
    for key, part in items:
        collect(part, f"{name}.{key}" if name else str(key), found, seen)
