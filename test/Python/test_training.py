"""Forward, backward and an optimizer step of the models: the loss, every gradient, the new parameters and buffers."""

import pytest
import torch

from training import MODELS, check_step, without_dropout

OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "adamw": lambda p: torch.optim.AdamW(p, 1e-3)}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_step(name, optimizer):
    model, inputs = MODELS[name]()
    check_step(without_dropout(model).train(), inputs, OPTIMIZERS[optimizer])


def test_bert_under_autocast():
    model, inputs = MODELS["bert"]()
    check_step(without_dropout(model).train(), inputs, OPTIMIZERS["sgd"], autocast=torch.bfloat16)
