"""The models of facts/h200, with random weights: 16 in inference and 4 training steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch

BF16, F32 = torch.bfloat16, torch.float32
SMALL = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)


@dataclass
class Work:
    """A model with the arguments of its calls. A training step computes the loss and its gradients, under autocast."""

    model: torch.nn.Module
    inputs: dict
    dtype: torch.dtype = BF16
    training: bool = False
    loss: Callable | None = None  # of the result of a training step; None: result.loss

    def call(self, model: Callable, device: str) -> Callable:
        """Returns the call of `model`, which is the model or its compiled form."""
        if not self.training:

            def infer():
                with torch.no_grad():
                    return model(**self.inputs)

            return infer

        def step():
            self.model.zero_grad(set_to_none=True)
            with torch.autocast(device, BF16):
                result = model(**self.inputs)
            loss = self.loss(result) if self.loss else result.loss
            loss.backward()
            return loss, [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]

        return step


class Models:
    """Builds the models on one device, or small ones with the same layers in a dry run."""

    def __init__(self, device: str, dry: bool):
        self.device, self.dry = device, dry

    def size(self, real: int, dry: int) -> int:
        return dry if self.dry else real

    def ids(self, batch: int, length: int) -> torch.Tensor:
        return torch.randint(5, 95, (self.size(batch, min(batch, 2)), self.size(length, 8)), device=self.device)

    def images(self, batch: int, dtype: torch.dtype = BF16, side: int = 32) -> torch.Tensor:
        side = self.size(224, side)
        return torch.randn(self.size(batch, 1), 3, side, side, dtype=dtype, device=self.device)

    def infer(self, model: torch.nn.Module, dtype: torch.dtype = BF16, **inputs) -> Work:
        return Work(model.to(self.device, dtype).eval(), inputs, dtype)

    def train(self, model: torch.nn.Module, **inputs) -> Work:
        for module in model.modules():  # random results could not be compared
            if isinstance(module, torch.nn.modules.dropout._DropoutNd):
                module.p = 0.0
        return Work(model.to(self.device).train(), inputs, training=True)

    def small(self, **own) -> dict:
        return SMALL | own if self.dry else {}

    def bert(self, batch: int, dtype: torch.dtype = BF16) -> Work:
        import transformers as t

        return self.infer(t.BertModel(t.BertConfig(**self.small()), add_pooling_layer=False), dtype, input_ids=self.ids(batch, 128))

    def gpt2_config(self):
        import transformers as t

        return t.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **(dict(n_embd=64, n_layer=1, n_head=2) if self.dry else {}))

    def gpt2(self) -> Work:
        import transformers as t

        return self.infer(t.GPT2LMHeadModel(self.gpt2_config()), input_ids=self.ids(8, 512), use_cache=False)

    def vit(self) -> Work:
        import transformers as t

        sizes = self.small(image_size=32, patch_size=8)
        return self.infer(t.ViTModel(t.ViTConfig(**sizes), add_pooling_layer=False), pixel_values=self.images(32))

    def resnet_sizes(self) -> dict:
        return dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]) if self.dry else {}

    def resnet(self, batch: int, dtype: torch.dtype = BF16) -> Work:
        import transformers as t

        return self.infer(t.ResNetModel(t.ResNetConfig(**self.resnet_sizes())), dtype, pixel_values=self.images(batch, dtype))

    def llama_model(self, layers: int):
        import transformers as t

        sizes = dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=layers,
                     vocab_size=128256, max_position_embeddings=4096)  # fmt: skip
        small = SMALL | dict(num_key_value_heads=1, vocab_size=128, max_position_embeddings=64)
        with torch.device(self.device):  # the weights are drawn on the device, because the CPU would take a minute
            default = torch.get_default_dtype()
            torch.set_default_dtype(BF16)
            try:
                return t.LlamaForCausalLM(t.LlamaConfig(**(small if self.dry else sizes)))
            finally:
                torch.set_default_dtype(default)

    def llama_prefill(self) -> Work:
        return self.infer(self.llama_model(4), input_ids=self.ids(1, 2048), use_cache=False)

    def llama_decode(self) -> Work:
        """Generates one token after 512 tokens. Each call writes to the same index of the key-value cache, so all calls do the same work."""
        import transformers as t

        model = self.llama_model(8).to(self.device, BF16).eval()
        cache = t.StaticCache(config=model.config, max_cache_len=self.size(1024, 16))
        past = self.size(512, 8)
        with torch.no_grad():
            model(input_ids=self.ids(1, past), past_key_values=cache, use_cache=True)
        for layer in cache.layers:
            hold_position(layer)
        inputs = dict(token=self.ids(1, 1)[:, :1], place=torch.full((1, 1), past, device=self.device))
        if "cache_position" in inspect.signature(model.model.forward).parameters:
            inputs["cache_position"] = torch.tensor([past], device=self.device)
        return self.infer(Decoder(model, cache), **inputs)

    def t5(self) -> Work:
        import transformers as t

        sizes = dict(d_model=64, d_kv=16, d_ff=64, num_layers=1, num_heads=2) if self.dry else {}
        return self.infer(t.T5EncoderModel(t.T5Config(**sizes)), input_ids=self.ids(16, 128))

    def convnext(self) -> Work:
        import transformers as t

        sizes = dict(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2) if self.dry else {}
        return self.infer(t.ConvNextModel(t.ConvNextConfig(**sizes)), pixel_values=self.images(32))

    def swin(self) -> Work:
        import transformers as t

        sizes = dict(image_size=32, embed_dim=16, depths=[1, 1], num_heads=[1, 2], window_size=4) if self.dry else {}
        return self.infer(t.SwinModel(t.SwinConfig(**sizes), add_pooling_layer=False), pixel_values=self.images(32))

    def whisper(self) -> Work:
        import transformers as t
        from transformers.models.whisper.modeling_whisper import WhisperEncoder

        sizes = dict(d_model=64, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=64, max_source_positions=16) if self.dry else {}
        features = torch.randn(self.size(8, 1), 80, self.size(3000, 32), dtype=BF16, device=self.device)
        return self.infer(WhisperEncoder(t.WhisperConfig(**sizes)), input_features=features)

    def mobilenet(self) -> Work:
        import transformers as t

        return self.infer(t.MobileNetV2Model(t.MobileNetV2Config(), add_pooling_layer=False), pixel_values=self.images(32))

    def deberta(self) -> Work:
        import transformers as t

        sizes = dict(hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072, vocab_size=1000)
        config = t.DebertaV2Config(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=self.size(256, 8),
                                   **(SMALL | dict(vocab_size=100) if self.dry else sizes))  # fmt: skip
        return self.infer(t.DebertaV2Model(config), input_ids=self.ids(16, 128))

    def train_bert(self) -> Work:
        import transformers as t

        ids = self.ids(16, 512)
        return self.train(t.BertForMaskedLM(t.BertConfig(**self.small())), input_ids=ids, labels=ids)

    def train_gpt2(self) -> Work:
        import transformers as t

        ids = self.ids(4, 1024)
        return self.train(t.GPT2LMHeadModel(self.gpt2_config()), input_ids=ids, labels=ids, use_cache=False)

    def labels(self) -> torch.Tensor:
        return torch.randint(0, self.size(1000, 10), (self.size(32, 1),), device=self.device)

    def train_resnet(self) -> Work:
        import transformers as t

        config = t.ResNetConfig(num_labels=self.size(1000, 10), **self.resnet_sizes())
        return self.train(t.ResNetForImageClassification(config), pixel_values=self.images(32, F32, side=64), labels=self.labels())

    def train_vit(self) -> Work:
        import transformers as t

        config = t.ViTConfig(num_labels=self.size(1000, 10), **self.small(image_size=32, patch_size=8))
        return self.train(t.ViTForImageClassification(config), pixel_values=self.images(32, F32), labels=self.labels())


def hold_position(layer) -> None:
    """Makes a layer of a static key-value cache write each later token to the same index. Otherwise, newer versions of
    transformers count the tokens in the layer, and the cache would be full after some hundreds of calls."""
    if not isinstance(getattr(layer, "cumulative_length", None), torch.Tensor):
        return

    def update(self, key_states, value_states, *arguments, **keywords):
        self.keys.index_copy_(2, self.place, key_states)
        self.values.index_copy_(2, self.place, value_states)
        return self.keys, self.values

    layer.place = layer.cumulative_length.reshape(1).clone()
    layer.__class__ = type("HeldLayer", (type(layer),), {"update": update})


class Decoder(torch.nn.Module):
    """A causal model that computes the next token with a static cache."""

    def __init__(self, model: torch.nn.Module, cache):
        super().__init__()
        self.model, self.cache = model, cache

    def forward(self, token, place, **position):
        return self.model(input_ids=token, position_ids=place, past_key_values=self.cache, use_cache=True, **position).logits


INFERENCE: dict[str, Callable[[Models], Work]] = {
    "bert-b1": lambda m: m.bert(1), "bert-b32": lambda m: m.bert(32), "gpt2-b8s512": Models.gpt2, "vit-b32": Models.vit,
    "resnet50-b1": lambda m: m.resnet(1), "resnet50-b32": lambda m: m.resnet(32), "llama8b4L-prefill2k": Models.llama_prefill,
    "llama8b8L-decode": Models.llama_decode, "bert-b32-f32": lambda m: m.bert(32, F32), "resnet50-b32-f32": lambda m: m.resnet(32, F32),
    "t5-b16": Models.t5, "convnext-b32": Models.convnext, "swin-b32": Models.swin, "whisper-b8": Models.whisper,
    "mobilenet-b32": Models.mobilenet, "deberta-b16": Models.deberta,
}  # fmt: skip
TRAINING: dict[str, Callable[[Models], Work]] = {
    "train-bert-b16s512": Models.train_bert, "train-gpt2-b4s1024": Models.train_gpt2, "train-resnet50-b32": Models.train_resnet,
    "train-vit-b32": Models.train_vit,
}  # fmt: skip
