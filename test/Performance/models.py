"""Inference of the models of the foundation issue, eager against Tilewright in paired rounds.

    python test/Performance/models.py                       # every model, f32 and bf16, 1 and 2 threads
    python test/Performance/models.py bert llama --threads 1 --dtype bf16 --layers 2

A line has the first call (Dynamo, compiling, packing), medians of both, the median of their ratios (above 1: Tilewright
is faster), and the RMS error to a float64 run of the first result over eager's. `--layers` makes smaller models.
"""

from __future__ import annotations

import argparse
import copy
import time

import torch
import transformers

from paired import noise, paired


def bert(layers, batch=1):
    config = transformers.BertConfig(**({"num_hidden_layers": layers} if layers else {}))
    return transformers.BertModel(config), {"input_ids": torch.randint(0, config.vocab_size, (batch, 128))}


def gpt2(layers):
    config = transformers.GPT2Config(use_cache=False, **({"n_layer": layers} if layers else {}))
    return transformers.GPT2LMHeadModel(config), {"input_ids": torch.randint(0, config.vocab_size, (1, 128))}


def vit(layers):
    config = transformers.ViTConfig(**({"num_hidden_layers": layers} if layers else {}))
    return transformers.ViTModel(config), {"pixel_values": torch.randn(1, 3, 224, 224)}


def resnet(layers, batch=1, channels_last=False):
    model = transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000))
    pixels = torch.randn(batch, 3, 224, 224)
    if channels_last:
        model, pixels = model.to(memory_format=torch.channels_last), pixels.to(memory_format=torch.channels_last)
    return model, {"pixel_values": pixels}


def llama(layers, tokens=128):
    config = transformers.LlamaConfig(hidden_size=2048, num_attention_heads=32, num_key_value_heads=4,
                                      intermediate_size=5632, num_hidden_layers=layers or 4, use_cache=False)
    return transformers.LlamaForCausalLM(config), {"input_ids": torch.randint(0, config.vocab_size, (1, tokens))}


def mlp(layers):
    linears = [layer for _ in range(3) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    return torch.nn.Sequential(*linears), {"input": torch.randn(256, 1024)}


MODELS = {
    "bert": bert,
    "bert-b8": lambda layers: bert(layers, 8),
    "gpt2": gpt2,
    "resnet50": resnet,
    "resnet50-b4": lambda layers: resnet(layers, 4),
    "resnet50-cl": lambda layers: resnet(layers, 1, True),
    "vit": vit,
    "llama": llama,
    "llama-1": lambda layers: llama(layers, 1),
    "mlp": mlp,
}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def first_tensor(result):
    return result if isinstance(result, torch.Tensor) else result[0]


def cast(inputs, dtype):
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in inputs.items()}


def measure(name, dtype, threads, layers, seconds):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, inputs = MODELS[name](layers)
    model, inputs = model.eval().to(DTYPES[dtype]), cast(inputs, DTYPES[dtype])
    torch.set_num_threads(threads)
    with torch.no_grad():
        wide = copy.deepcopy(model).double()
        exact = first_tensor(wide(**cast(inputs, torch.float64)))
        del wide
        compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True})
        start = time.perf_counter()
        ours = first_tensor(compiled(**inputs))
        first = time.perf_counter() - start
        error = lambda result: (result.double() - exact).square().mean().sqrt().item()
        eager_error = error(first_tensor(model(**inputs)))
        eager, here, ratio = paired(lambda: model(**inputs), lambda: compiled(**inputs), seconds)
        same = noise(lambda: compiled(**inputs))
    print(f"{name:12} {dtype:5} {threads:2} {first:8.2f} {eager * 1e3:10.2f} {here * 1e3:10.2f} {ratio:8.2f} "
          f"{error(ours) / max(eager_error, 1e-300):8.2f} {same:7.2f}", flush=True)  # fmt: skip
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; none: all")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--dtype", nargs="*", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--layers", type=int, default=0, help="0: as the models are published")
    parser.add_argument("--seconds", type=float, default=3.0, help="of paired rounds for each line")
    given = parser.parse_args()
    unknown = set(given.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    print(f"{'model':12} {'dtype':5} {'T':>2} {'first s':>8} {'eager ms':>10} {'here ms':>10} {'ratio':>8} {'error':>8} {'noise':>7}")
    ratios = []
    for name in given.models or MODELS:
        for dtype in given.dtype:
            for threads in given.threads:
                ratios.append(measure(name, dtype, threads, given.layers, given.seconds))
    print(f"least ratio {min(ratios):.2f}, geometric mean {torch.tensor(ratios).log().mean().exp():.2f}")


if __name__ == "__main__":
    main()
