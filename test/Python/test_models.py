"""Inference of the models in f32 and bf16, with several batches and layouts, by the numbers rule. One compile serves
all sizes."""

import copy

import pytest
import torch
from torch import nn

import tilewright
from models import MODELS as TRANSFORMERS
from numbers_rule import assert_numbers, compiled_strictly, leaves, with_threads


def mlp():
    return nn.Sequential(nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96)), (torch.randn(5, 96),)


MODELS = {**TRANSFORMERS, "mlp": mlp}
TOKENS = {"bert", "gpt2", "llama"}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return leaves([v for v in value.values() if isinstance(v, torch.Tensor)] if hasattr(value, "values") else value)


def make(name, dtype):
    model, inputs = MODELS[name]()
    return model.eval().to(DTYPES[dtype]), inputs[0].to(DTYPES[dtype]) if inputs[0].is_floating_point() else inputs[0]


def compare(fn, model, x):
    wide = copy.deepcopy(model).double()
    eager = [with_threads(n, lambda: tensors(model(x))) for n in (1, 2)]
    reference = tensors(wide(x.double() if x.is_floating_point() else x))
    assert_numbers(tensors(fn(x)), eager, reference)


def sized(x, dim, size):
    shape = list(x.shape)
    shape[dim] = size
    return torch.randn(shape).to(x.dtype) if x.is_floating_point() else torch.randint(0, 128, shape)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODELS)
def test_inference_of_each_model_matches_eager(name, dtype, batch):
    model, x = make(name, dtype)
    with torch.no_grad():
        compare(compiled_strictly(model), model, sized(x, 0, batch))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(TOKENS))
def test_inference_of_one_token_matches_eager(name, dtype):
    model, x = make(name, dtype)
    with torch.no_grad():
        compare(compiled_strictly(model), model, x[:1, :1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", ["contiguous", "channels_last"])
def test_inference_of_channels_last_resnet_matches_eager(weights, dtype):
    model, x = make("resnet50", dtype)
    if weights == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    with torch.no_grad():
        compare(compiled_strictly(model), model, x.contiguous(memory_format=torch.channels_last))


SYMBOLIC = [(n, "batch") for n in MODELS] + [(n, "sequence") for n in sorted(TOKENS)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name,what", SYMBOLIC)
def test_one_compile_serves_all_batch_or_sequence_sizes(name, what, dtype):
    model, x = make(name, dtype)
    dim = 0 if what == "batch" else 1
    if what == "sequence" and name == "gpt2":
        model = grown_gpt2().to(DTYPES[dtype])
    fn = compiled_strictly(model)
    tilewright.report(clear=True)
    with torch.no_grad():
        first = sized(x, dim, 17)
        torch._dynamo.mark_dynamic(first, dim, min=2, max=256)
        with tilewright.any_batch():
            fn(first)
        compare(fn, model, first)
        for size in (2, 3, 128, 256):
            compare(fn, model, sized(x, dim, size))
    (graph,) = tilewright.report()
    assert graph.calls[0].calls == 6


def test_resnet_with_dynamic_batch_compiles_twice():
    """In f32, torch's own guard batch >= 16 (see tilewright.any_batch) splits the range into two parts, and not more."""
    model, x = make("resnet50", "f32")
    fn = compiled_strictly(model)
    tilewright.report(clear=True)
    with torch.no_grad():
        for size in (2, 17, 3, 15, 16, 128):
            y = sized(x, 0, size)
            torch._dynamo.maybe_mark_dynamic(y, 0)
            compare(fn, model, y)
    assert len(tilewright.report()) == 2


def test_resnet_with_all_sizes_symbolic_matches_eager():
    model, x = make("resnet50", "f32")
    with torch.no_grad():
        compare(compiled_strictly(model, dynamic=True), model, x)


def grown_gpt2():
    """GPT-2 with positions for 256 tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=128, n_positions=256, use_cache=False)).eval()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_compile_serves_all_batch_and_sequence_sizes(dtype):
    model, x = make("bert", dtype)
    fn = compiled_strictly(model)
    tilewright.report(clear=True)
    with torch.no_grad():
        first = torch.randint(0, 128, (3, 17))
        for dim in (0, 1):
            torch._dynamo.mark_dynamic(first, dim, min=2, max=256)
        with tilewright.any_batch():
            fn(first)
        compare(fn, model, first)
        for shape in ((2, 128), (17, 2), (5, 33), (64, 256)):
            compare(fn, model, torch.randint(0, 128, shape))
    assert len(tilewright.report()) == 1
