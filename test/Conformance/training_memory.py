"""Measures the peak memory of a training step, compared with eager's.

    python test/Conformance/training_memory.py [--models bert gpt2 ...] [--steps 5] [--cold]

Each backend trains in a separate process: forward, loss, backward, AdamW, `zero_grad(set_to_none=True)`. In each step
after the sixth, when heaps and pools no longer grow, the peak of the process's resident memory is read (Linux counts
it; it is reset before each step). The medians are printed in MB: "process" is the peak of the whole process, and "the
step" is the part of it that exceeds the memory of the process between steps without gradients. "ever" is the peak of
all steps, including the first ones, which trace and compile or load. Unless --cold is given, another process fills the
caches first, so that memory that tracing and compiling leave allocated is not attributed to a step.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from harness.resident import kibibytes


def bert(batch: int):
    import torch
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    tokens = torch.randint(0, 30000, (batch, 128))
    return model, lambda: model(tokens, labels=tokens).loss


def gpt2(batch: int):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    tokens = torch.randint(0, 50000, (batch, 128))
    return model, lambda: model(tokens, labels=tokens).loss


def vit(batch: int):
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(ViTConfig(num_hidden_layers=6, num_labels=1000))
    images, labels = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
    return model, lambda: model(images, labels=labels).loss


def mlp(batch: int):
    import torch

    class Layers(torch.nn.Module):  # Dynamo skips Sequential's own forward() (torch/_dynamo/trace_rules.py)
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*[m for _ in range(8) for m in (torch.nn.Linear(2048, 2048), torch.nn.GELU())])

        def forward(self, x):
            return self.layers(x)

    model, x = Layers(), torch.randn(batch, 2048)
    return model, lambda: model(x).square().mean()


MODELS = {
    "bert": lambda: bert(4),
    "bert12": lambda: bert(12),
    "gpt2": lambda: gpt2(4),
    "vit": lambda: vit(4),
    "mlp": lambda: mlp(512),
}


SETTLING = 6  # steps


def measure(name: str, backend: str, steps: int) -> dict:
    import gc

    import torch

    torch.manual_seed(0)
    model, loss = MODELS[name]()
    if backend != "eager":
        if backend == "tilewright":
            import tilewright
        model.compile(backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    peaks, rests, ever = [], [], 0
    for step in range(steps + SETTLING):
        gc.collect()
        rest = kibibytes("VmRSS") << 10
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the peak to the current memory
        value = loss()
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del value
        ever = max(ever, kibibytes("VmHWM") << 10)
        if step >= SETTLING:
            peaks.append(kibibytes("VmHWM") << 10)
            rests.append(rest)
    if backend == "tilewright":
        assert len(tilewright.report()) >= 2, "nothing was compiled"
    return {"ever": ever, "process": statistics.median(peaks), "step": statistics.median(p - r for p, r in zip(peaks, rests))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--backends", nargs="+", default=["eager", "aot_eager", "tilewright"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="do not fill the caches first, so that the measured process compiles")
    parser.add_argument("--one", nargs=2, help="measure this model and backend in this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.steps)))
        return 0
    print(f"{'MB':10} {'backend':12} {'process':>8} {'of eager':>9} {'the step':>9} {'of eager':>9} {'ever':>6} {'of eager':>9}")
    for name in arguments.models:
        eager = None
        for backend in arguments.backends:
            command = [sys.executable, __file__, "--one", name, backend, "--steps", str(arguments.steps)]
            with tempfile.TemporaryDirectory() as caches:
                environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": caches, "TORCHINDUCTOR_CACHE_DIR": caches}
                for _ in range(1 if arguments.cold or backend == "eager" else 2):
                    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
            found = json.loads(ran.stdout.splitlines()[-1])
            eager = eager or found
            print(f"{name:10} {backend:12} {found['process'] / 1e6:8.0f} {found['process'] / eager['process']:9.3f} "
                  f"{found['step'] / 1e6:9.0f} {found['step'] / eager['step']:9.3f} {found['ever'] / 1e6:6.0f} {found['ever'] / eager['ever']:9.3f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
