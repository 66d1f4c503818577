"""Tests forward, backward and an optimizer step of the models: the loss, every gradient, and the new parameters and
buffers."""

import pytest
import torch

from numbers_rule import compiled_strictly
from tilewright.dynamo.backend import tilewright
from training import MODELS, channels_last, check_batches, check_step, convnext, gradients, inverted_residual, resnet, without_dropout

OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "adamw": lambda p: torch.optim.AdamW(p, 1e-3)}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_training_step_of_each_model_matches_eager(name, optimizer):
    model, inputs = MODELS[name]()
    check_step(without_dropout(model).train(), inputs, OPTIMIZERS[optimizer])


@pytest.mark.parametrize("make", [resnet, inverted_residual, convnext])
def test_training_step_of_channels_last_images_matches_eager(make):
    """The gradient of a mean over the plane copies into given strides (aten.as_strided)."""
    model, inputs = channels_last(*make())
    others = [{k: v[torch.randperm(v.shape[0])] if k == "labels" else torch.randn_like(v) for k, v in inputs.items()} for _ in range(7)]
    check_step(without_dropout(model).train(), inputs, others=others)


# With AdamW's default eps of 1e-8, the first step changes a parameter by the learning rate in the direction of the gradient's sign. If a
# gradient is less than the rounding errors of bf16, its sign is random, also in eager. A larger eps reduces the steps for such gradients.
UNDER_AUTOCAST = {**OPTIMIZERS, "adamw": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3)}


@pytest.mark.parametrize("optimizer", UNDER_AUTOCAST)
def test_training_of_bert_under_autocast_matches_eager(optimizer):
    model, inputs = MODELS["bert"]()
    batches = [dict(inputs, input_ids=torch.randint(0, 128, (3, 17)), labels=torch.randint(0, 3, (3,))) for _ in range(8)]
    check_batches(without_dropout(model).train(), batches, torch.bfloat16, UNDER_AUTOCAST[optimizer])


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_training_step_with_batch_size_1_matches_eager(name):
    """Dimensions of size 1, such as the batch, are folded."""
    model, inputs = MODELS[name]()
    short = {k: v[:1, :5] if v.dim() == 2 else v[:1] for k, v in inputs.items()}
    check_step(without_dropout(model).train(), short)


def test_compiled_optimizer_step_matches_eager():
    """The compiled optimizer step writes parameters and state."""
    for make in OPTIMIZERS.values():
        start = [torch.randn(33, 17), torch.randn(5)]
        ours, theirs = ([p.clone().requires_grad_() for p in start] for _ in range(2))
        mine, other = make(ours), make(theirs)
        step = torch.compile(mine.step, backend=tilewright, options={"strict": True})  # torch breaks the graph inside the optimizer
        for _ in range(3):
            for a, b in zip(ours, theirs):
                a.grad = torch.randn_like(a)
                b.grad = a.grad.clone()
            step()
            other.step()
        for a, b in zip(ours, theirs):
            torch.testing.assert_close(a, b)


# -- dropout -------------------------------------------------------------------


def model_with_dropout(name):
    model, inputs = MODELS[name]()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.25
    return model.train(), inputs


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_same_seed_gives_equal_gradients_with_dropout(name):
    model, inputs = model_with_dropout(name)
    fn = compiled_strictly(model)

    def run(seed):
        torch.manual_seed(seed)
        model.zero_grad()
        return [r.clone() for r in gradients(model, fn, inputs)]

    first, again, other = run(1), run(1), run(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again))
    assert not torch.equal(first[0], other[0])


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_dropout_keeps_mean_and_variance_of_loss_and_gradient(name):
    """Over many seeds, the loss and a gradient have eager's mean and variance (within 5 standard errors)."""
    model, inputs = model_with_dropout(name)
    weight = next(p for n, p in model.named_parameters() if n.endswith(("query.weight", "c_attn.weight")))

    def sample(call):
        values = []
        for seed in range(64):
            torch.manual_seed(seed)
            model.zero_grad()
            loss = call(**inputs).loss
            loss.backward()
            values.append([loss.item(), weight.grad.square().mean().sqrt().log().item()])
        return torch.tensor(values, dtype=torch.float64)

    ours, theirs = sample(compiled_strictly(model)), sample(model)
    deviation = (ours.var(0) / len(ours) + theirs.var(0) / len(theirs)).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)).abs() < 5 * deviation).all()
    ratio = ours.var(0) / theirs.var(0)  # F(63, 63): outside of 1/4 .. 4 once in ten million
    assert ((ratio > 0.25) & (ratio < 4)).all(), f"variances differ by {ratio.tolist()}"


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_mask_is_random_and_shared_with_backward(p):
    """The number of zeros is within 5 standard deviations of a binomial, backward uses forward's mask, and rows do
    not repeat."""
    x = torch.randn(257, 131).abs().add(0.5).requires_grad_()
    y = compiled_strictly(lambda x: torch.nn.functional.dropout(x * 2, p))(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    zeros, n = (y == 0).sum().item(), y.numel()
    assert abs(zeros - n * p) < 5 * (n * p * (1 - p)) ** 0.5
    assert torch.equal(y == 0, g == 0)
    kept = y != 0
    torch.testing.assert_close(y[kept], (x * 2 / (1 - p))[kept])
    torch.testing.assert_close(g[kept], torch.full_like(g[kept], 2 / (1 - p)))
    for first, second in ((kept[:-1], kept[1:]), (kept[:, :-1], kept[:, 1:])):
        both, total = (first & second).sum().item(), first.numel()
        expected = total * (1 - p) ** 2
        assert abs(both - expected) < 6 * expected**0.5, "adjacent elements are not independent"
