"""Small models with a loss, and one training step of them, for test_training.py."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, compiled_strictly, with_threads


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, vocab_size=128, num_labels=3)
    mask = torch.ones(3, 17, dtype=torch.int64)
    mask[1, 11:] = 0
    ids, labels = torch.randint(0, 128, (3, 17)), torch.randint(0, 3, (3,))
    return BertForSequenceClassification(config), dict(input_ids=ids, attention_mask=mask, labels=labels)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=128, n_positions=64, use_cache=False, bos_token_id=0, eos_token_id=0)
    ids = torch.randint(0, 128, (3, 17))
    model = GPT2LMHeadModel(config)
    model.loss_type = "ForCausalLM"  # transformers guesses it with a warning, which Dynamo refuses to trace
    return model, dict(input_ids=ids, labels=ids)


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8,
                       num_labels=5)  # fmt: skip
    return ViTForImageClassification(config), dict(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.randint(0, 5, (2,)))


def resnet():
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(hidden_sizes=[16, 32, 64, 128], depths=[1, 2, 1, 1], embedding_size=16, num_labels=5)
    return ResNetForImageClassification(config), dict(pixel_values=torch.randn(2, 3, 64, 64), labels=torch.randint(0, 5, (2,)))


def channels_last(model, inputs):
    """Returns the model and the inputs in channels-last."""
    return model.to(memory_format=torch.channels_last), {
        k: v.contiguous(memory_format=torch.channels_last) if v.dim() == 4 else v for k, v in inputs.items()}  # fmt: skip


class InvertedResidual(torch.nn.Module):
    """A block of EfficientNet: its activations are smooth, so that no gradient depends on a rounding."""

    def __init__(self, width: int = 16, inner: int = 48):
        super().__init__()
        nn = torch.nn
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.SiLU())
        self.up = nn.Sequential(nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.SiLU(),
                                nn.Conv2d(inner, inner, 3, 1, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.SiLU())  # fmt: skip
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 8, 1), nn.SiLU(), nn.Conv2d(8, inner, 1), nn.Sigmoid())
        self.down = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))
        self.classify = nn.Linear(width, 5)

    def forward(self, pixel_values, labels):
        from transformers.modeling_outputs import ImageClassifierOutput

        x = self.stem(pixel_values)
        inner = self.up(x)
        x = x + self.down(inner * self.squeeze(inner))
        return ImageClassifierOutput(loss=F.cross_entropy(self.classify(x.mean((2, 3))), labels))


def inverted_residual():
    return InvertedResidual(), dict(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.randint(0, 5, (2,)))


def convnext():
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 2, 1], num_labels=5)
    return ConvNextForImageClassification(config), dict(pixel_values=torch.randn(2, 3, 64, 64), labels=torch.randint(0, 5, (2,)))


MODELS = {"bert": bert, "gpt2": gpt2, "vit": vit, "resnet": resnet}


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


def gradients(model, call, inputs, autocast=None):
    """Returns the loss, every gradient, and every buffer after the step."""
    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        loss = call(**inputs).loss
    loss.backward()
    missing = [name for name, p in model.named_parameters() if p.grad is None]
    assert not missing, f"no gradient: {missing}"
    return [loss.detach(), *[p.grad for p in model.parameters()], *[b.detach().clone() for b in model.buffers()]]


def names_of(model):
    return ["loss", *[n for n, _ in model.named_parameters()], *[n for n, _ in model.named_buffers()]]


def widen_inputs(inputs):
    return {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}


def check_step(model, inputs, optimizer=None, others=()):
    """Checks loss, gradients and buffers of one step by the numbers rule.

    `optimizer`: if given, the parameters after its step are checked, too. `others`: inputs whose losses are judged
    together with this one, because eager's error of one number may be small by chance.
    """

    def run(m, call, values):
        losses = [call(**(widen_inputs(other) if m is exact else other)).loss.detach() for other in others]
        results = gradients(m, call, values)
        results[0] = torch.stack([results[0], *losses]) if losses else results[0]
        if optimizer is not None:
            optimizer(m.parameters()).step()
            results += [p.detach().clone() for p in m.parameters()]
        return results

    def eager():
        m = copy.deepcopy(model)
        return run(m, m, inputs)

    exact = copy.deepcopy(model).double()
    runs = [with_threads(n, eager) for n in (1, 2)]
    reference = run(exact, exact, widen_inputs(inputs))
    ours = copy.deepcopy(model)
    assert_numbers(run(ours, compiled_strictly(ours), inputs), runs, reference, names=names_of(model))


def check_batches(model, batches, autocast, optimizer):
    """Checks several batches, all from the same start, with each result's errors pooled over all batches: eager's
    error of a single loss may be small by chance."""
    start = copy.deepcopy(model.state_dict())

    def run(m, call, cast):
        steps = []
        for inputs in batches:
            m.load_state_dict(start)
            m.zero_grad()
            results = gradients(m, call, inputs, cast)
            optimizer(m.parameters()).step()
            steps.append([r.clone() for r in results] + [p.detach().clone() for p in m.parameters()])
        return [torch.stack(each) for each in zip(*steps)]

    runs = [with_threads(n, run, model, model, autocast) for n in (1, 2)]
    exact = copy.deepcopy(model).double()
    reference = run(exact, exact, None)
    assert_numbers(run(model, compiled_strictly(model), autocast), runs, reference, names=names_of(model))
