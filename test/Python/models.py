"""Small versions of well-known models, and the graphs that AOTAutograd makes of them."""

from __future__ import annotations

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, vocab_size=128)
    return BertModel(config), (torch.randint(0, 128, (2, 17)),)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=128, n_positions=64, use_cache=False)
    return GPT2LMHeadModel(config), (torch.randint(0, 128, (2, 17)),)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
                         vocab_size=128, use_cache=False)  # fmt: skip
    return LlamaForCausalLM(config), (torch.randint(0, 128, (2, 17)),)


def vit():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8)
    return ViTModel(config), (torch.randn(2, 3, 32, 32),)


def resnet50():
    from transformers import ResNetConfig, ResNetModel

    return ResNetModel(ResNetConfig(hidden_sizes=[16, 32, 64, 128], embedding_size=16)), (torch.randn(2, 3, 64, 64),)


MODELS = {"bert": bert, "gpt2": gpt2, "llama": llama, "vit": vit, "resnet50": resnet50}


class Tied(nn.Module):
    """GPT-2's tied weights: one table is used for the embedding and, transposed, for the projection. With `twice`,
    the inner weight is used twice, once transposed."""

    def __init__(self, twice=False):
        super().__init__()
        self.twice = twice
        self.embed = nn.Embedding(192, 128)
        self.inner = nn.Linear(128, 128)
        self.project = nn.Linear(128, 192, bias=False)
        self.project.weight = self.embed.weight

    def forward(self, x):
        h = torch.relu(self.inner(self.embed(x)))
        return self.project(h + h @ self.inner.weight if self.twice else h)


def first_tensor(value):
    if isinstance(value, torch.Tensor):
        return value
    items = value.values() if hasattr(value, "values") else value
    return next(first_tensor(v) for v in items if v is not None)


def graphs_of(name, dtype=torch.float32, training=False, dynamic=False, decompose=True):
    """Returns [(kind, import text or error)] of every graph of the model."""
    import tilewright
    from tilewright.decompositions.table import decompositions

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model = model.to(dtype).train(training)
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    if dynamic:
        for x in inputs:
            torch._dynamo.mark_dynamic(x, 0)
    seen = []

    def compiler(kind):
        def compile(gm, example_inputs):
            seen.append((kind, gm, tilewright.import_to_text(gm, example_inputs)))
            return gm.forward

        return compile

    backend = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), inference_compiler=compiler("inference"),
                           decompositions=decompositions() if decompose else {})  # fmt: skip
    compiled = torch.compile(model, backend=backend, dynamic=True if dynamic else None)
    with torch.set_grad_enabled(training):
        out = first_tensor(compiled(*inputs))
        if training:
            out.sum().backward()
    return seen
