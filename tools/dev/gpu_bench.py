"""The rows of gpu-bench.sh, which compare the target cuda with its peers on one GPU.

A row compares two callables, ours and a peer's, in rounds of one call each. The order changes from round to round, and the L2 cache is
flushed before each call. The result of a row is the median of the rounds' ratios (peer / ours; above 1, Tilewright is faster) with a 95% interval.
Each group of rows runs in a separate process, because a fault or a hang must affect only that group.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F

# The time limit of each group of benchmarks, in seconds. The sum, with START seconds for each process, is less than nine minutes.
SECONDS = {"gemm": 45, "linear": 65, "fused": 65, "attention": 50, "rows": 65, "models": 120, "host": 15}
START = 15
BF16 = torch.bfloat16


@dataclass
class Row:
    name: str
    bar: str
    peer: str  # eager, inductor, autotuned, or copy: a copy of the bytes that the row must read and write
    make: Callable[[], tuple]  # (function, inputs)
    bytes: int = 0
    training: bool = False


class Bench:
    def __init__(self, dry: bool):
        self.dry = dry
        self.device = "cpu" if dry else "cuda"
        self.flushed = None if dry else torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def size(self, real: int, dry: int) -> int:
        return dry if self.dry else real

    def random(self, *sizes: int, dtype=BF16) -> torch.Tensor:
        return torch.randn(*sizes, dtype=dtype, device=self.device)

    def ours(self, function):
        options = {"target": "cuda", "device": "emulated"} if self.dry else {}
        return torch.compile(function, backend="tilewright", options={"strict": True, **options})

    def theirs(self, row: Row, function, inputs):
        if row.peer == "copy":
            source = torch.empty(max(1, row.bytes // 2), dtype=torch.uint8, device=self.device)
            target = torch.empty_like(source)
            return lambda *_: target.copy_(source)
        if self.dry or row.peer == "eager":
            return function
        return torch.compile(function, mode="max-autotune-no-cudagraphs" if row.peer == "autotuned" else None)

    def milliseconds(self, call, inputs) -> float:
        if self.dry:
            start = time.perf_counter()
            call(*inputs)
            return 1000 * (time.perf_counter() - start)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flushed.zero_()
        begin.record()
        call(*inputs)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def first_call(self, call, inputs) -> float:
        start = time.perf_counter()
        call(*inputs)
        if not self.dry:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def race(self, row: Row, deadline: float) -> dict:
        from tilewright.bench.race import interval

        torch.manual_seed(0)
        torch._dynamo.reset()
        function, inputs = row.make()
        ours, theirs = self.ours(function), self.theirs(row, function, inputs)
        with torch.set_grad_enabled(row.training):
            result = {"first_ours": self.first_call(ours, inputs), "first_peer": self.first_call(theirs, inputs)}
            if row.peer != "copy" and not row.training:
                result["difference"] = difference(ours(*inputs), function(*inputs))
            ratios, mine, others = [], [], []
            while len(ratios) < (3 if self.dry else 31) and (len(ratios) < 5 or time.monotonic() < deadline):
                pair = [(ours, mine), (theirs, others)]
                for call, times in pair if len(ratios) % 2 else pair[::-1]:
                    times.append(self.milliseconds(call, inputs))
                ratios.append(others[-1] / mine[-1])
        low, high = interval(ratios)
        return result | {"ratio": statistics.median(ratios), "low": low, "high": high, "ours_ms": statistics.median(mine),
                         "peer_ms": statistics.median(others), "rounds": len(ratios)}  # fmt: skip


def difference(a, b) -> float:
    """Returns the largest difference from the peer's results, relative to their largest number, to detect wrong results."""
    a, b = ([x for x in (r if isinstance(r, (list, tuple)) else [r]) if isinstance(x, torch.Tensor)] for r in (a, b))
    return max(((x.double() - y.double()).abs().max() / y.double().abs().max().clamp_min(1e-30)).item() for x, y in zip(a, b, strict=True))


def gemm(b: Bench):
    for m, n, k in [(4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096)]:
        m, n, k = (b.size(s, s // 64) for s in (m, n, k))
        yield Row(f"bf16 {m} x {n} x {k}", "0.95", "eager", lambda m=m, n=n, k=k: (torch.mm, (b.random(m, k), b.random(k, n))))
    if not b.dry and torch.cuda.get_device_capability() < (8, 9):  # the tensor cores of these GPUs do not support 8-bit floats
        return
    m, n, k = (b.size(s, s // 64) for s in (8192, 8192, 4096))

    def scaled(x, w, of_x, of_w):
        return torch._scaled_mm(x, w.t(), scale_a=of_x, scale_b=of_w, out_dtype=BF16)

    e4m3, one = torch.float8_e4m3fn, torch.ones((), device=b.device)
    yield Row(f"fp8 {m} x {n} x {k}", "0.95", "eager", lambda: (scaled, (b.random(m, k).to(e4m3), b.random(n, k).to(e4m3), one, one)))


def linear(b: Bench):
    """The linear layers of Llama-3 8B: queries, keys and values; the output; gate and up; down."""
    for m in (1, 16, 64, 512, 4096, 8192):
        for n, k in ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)):
            rows, n, k = b.size(m, min(m, 48)), b.size(n, n // 64), b.size(k, k // 64)
            few = m <= 16
            yield Row(f"linear {rows} x {n} x {k}", "0.85 of copy" if few else "0.95 in the mean", "copy" if few else "eager",
                      lambda m=rows, n=n, k=k: (F.linear, (b.random(m, k), b.random(n, k))), bytes=2 * (n * k + rows * (n + k)))  # fmt: skip


def fused(b: Bench):
    d, f = b.size(4096, 64), b.size(14336, 128)
    for m in (1024, 8192):
        m = b.size(m, 48)

        def gelu(x, w, bias):
            return F.gelu(F.linear(x, w, bias), approximate="tanh")

        def swiglu(x, gate, up):
            return F.silu(F.linear(x, gate)) * F.linear(x, up)

        def residual(x, w, y, scale):
            hidden = F.linear(x, w) + y
            return hidden, F.rms_norm(hidden, [hidden.shape[-1]], scale)

        yield Row(f"product, bias, GELU; {m} rows", "1.1", "autotuned", lambda m=m: (gelu, (b.random(m, d), b.random(f, d), b.random(f))))
        yield Row(f"SwiGLU pair; {m} rows", "1.1", "autotuned", lambda m=m: (swiglu, (b.random(m, d), b.random(f, d), b.random(f, d))))
        yield Row(f"product, residual, RMS norm; {m} rows", "1.1", "autotuned",
                  lambda m=m: (residual, (b.random(m, f), b.random(d, f), b.random(m, d), b.random(d))))  # fmt: skip


def attention(b: Bench):
    heads = b.size(16, 2)
    for length in (4096, 8192, 16384):
        length = b.size(length, 64)
        for causal in (False, True):

            def forward(q, k, v, causal=causal):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            def operands(length=length, grad=False):
                length = min(length, 16) if b.dry and grad else length  # the interpreter takes seconds for a gradient
                return [b.random(1, heads, length, b.size(128, 64)).requires_grad_(grad) for _ in range(3)]

            kind = "causal" if causal else "full"
            yield Row(f"attention, {kind}, {length}", "1.3", "eager", lambda f=forward, o=operands: (f, o()))
        if length > 8192:
            continue

        def both(q, k, v):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return torch.autograd.grad(out.float().sum(), [q, k, v])

        yield Row(f"attention and its gradient, causal, {length}", "1.0", "eager", lambda o=operands: (both, o(grad=True)), training=True)


def rows(b: Bench):
    elements = b.size(1 << 26, 1 << 13)
    for width in (512, 4096, 32768, 65536, 262144):
        width = b.size(width, max(64, width // 256))
        height = max(1, elements // width)

        def cross_entropy(x, wanted):
            return F.cross_entropy(x.float(), wanted)

        def norm(x):
            return F.rms_norm(x, [x.shape[-1]])

        def layer_norm(x):
            return F.layer_norm(x, [x.shape[-1]])

        def softmax(x):
            return x.softmax(-1)

        for name, function in (("softmax", softmax), ("RMS norm", norm), ("layer norm", layer_norm)):
            make = lambda f=function, h=height, w=width: (f, (b.random(h, w),))  # noqa: E731
            yield Row(f"{name} {height} x {width}", "0.88 of copy", "copy", make, bytes=4 * height * width)
            yield Row(f"{name} {height} x {width}", "1.4" if width >= 65536 else "1.1", "inductor", make)
        yield Row(f"cross-entropy {height} x {width}", "1.4" if width >= 65536 else "1.1", "inductor",
                  lambda h=height, w=width: (cross_entropy, (b.random(h, w), torch.randint(0, w, (h,), device=b.device))))  # fmt: skip


def models(b: Bench):
    import transformers

    small = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=1, intermediate_size=64)

    def prepared(model):
        return model.to(b.device, BF16).eval()

    def text(kind, batch, length=128):
        def make():
            if kind == "bert":
                model = prepared(transformers.BertModel(transformers.BertConfig(**(small if b.dry else {}))))
                call = lambda t: model(input_ids=t).last_hidden_state  # noqa: E731
            elif kind == "gpt2":
                model = prepared(transformers.GPT2LMHeadModel(transformers.GPT2Config(
                    **(dict(n_embd=64, n_layer=1, n_head=1) if b.dry else {}))))  # fmt: skip
                call = lambda t: model(input_ids=t, use_cache=False).logits  # noqa: E731
            else:
                model = prepared(transformers.LlamaModel(transformers.LlamaConfig(
                    **(dict(num_key_value_heads=1, vocab_size=100, **small) if b.dry else dict(
                        hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8,
                        num_hidden_layers=1, vocab_size=1000)))))  # fmt: skip
                call = lambda t: model(input_ids=t, use_cache=False).last_hidden_state  # noqa: E731
            return call, (torch.randint(0, 100, (b.size(batch, min(batch, 2)), b.size(length, 8)), device=b.device),)

        return make

    def image(kind, batch):
        def make():
            if kind == "vit":
                sizes = dict(image_size=32, patch_size=8, **small) if b.dry else {}
                model = prepared(transformers.ViTModel(transformers.ViTConfig(**sizes)))
                return (lambda x: model(pixel_values=x).last_hidden_state), (b.random(b.size(batch, 1), 3, b.size(224, 32), b.size(224, 32)),)
            sizes = dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]) if b.dry else {}
            model = prepared(transformers.ResNetModel(transformers.ResNetConfig(**sizes)))
            return (lambda x: model(x).last_hidden_state), (b.random(b.size(batch, 1), 3, b.size(224, 32), b.size(224, 32)),)

        return make

    for batch in (1, 32):
        for name, make in (("BERT-base", text("bert", batch)), ("GPT-2", text("gpt2", batch)), ("ViT-B", image("vit", batch)),
                           ("ResNet-50", image("resnet", batch)), ("Llama block", text("llama", batch))):  # fmt: skip
            yield Row(f"{name}, batch {batch}", "1.05; first call 3", "inductor", make)


def host(b: Bench):
    """The overhead of the host, measured by calls of an almost empty graph."""
    yield Row("x + 1, 16 numbers: the host", "above 1", "inductor", lambda: (lambda x: x + 1, (b.random(16, dtype=torch.float32),)))


GROUPS = {"gemm": gemm, "linear": linear, "fused": fused, "attention": attention, "rows": rows, "models": models, "host": host}


def host_microseconds(b: Bench, row: Row) -> dict:
    """Measures the wall time per call of many consecutive calls, without waiting for the device."""
    torch._dynamo.reset()
    function, inputs = row.make()
    calls = [b.ours(function), b.theirs(row, function, inputs)]
    count, found = (10, [[], []]) if b.dry else (500, [[], []])
    with torch.no_grad():
        for call in calls:
            call(*inputs)
        for _ in range(3 if b.dry else 21):
            for call, times in zip(calls, found, strict=True):
                start = time.perf_counter()
                for _ in range(count):
                    call(*inputs)
                times.append(1e3 * (time.perf_counter() - start) / count)
                if not b.dry:
                    torch.cuda.synchronize()
    ratios = [theirs / ours for ours, theirs in zip(*found, strict=True)]
    return {"ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios), "ours_ms": statistics.median(found[0]),
            "peer_ms": statistics.median(found[1]), "rounds": len(ratios)}  # fmt: skip


def run_group(name: str, dry: bool, seconds: float) -> None:
    """Prints a line of JSON for each row."""
    end = math.inf if dry else time.monotonic() + seconds
    bench = Bench(dry)
    todo = list(GROUPS[name](bench))
    for at, row in enumerate(todo):
        now = time.monotonic()
        result = {"group": name, "row": row.name, "peer": row.peer, "bar": row.bar}
        if now > end:
            result["failed"] = "skipped: the time limit of the group is reached"
        else:
            try:
                share = now if dry else now + (end - now) / (len(todo) - at)
                result |= host_microseconds(bench, row) if name == "host" else bench.race(row, share)
            except Exception as error:  # the next rows continue if the device still works
                result["failed"] = f"{type(error).__name__}: {error}"[:600]
        print("ROW " + json.dumps(result), flush=True)


def collect(name: str, dry: bool) -> list[dict]:
    command = [sys.executable, __file__, "--group", name, *(["--dry"] if dry else [])]
    limit = 1200 if dry else SECONDS[name] + START
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        out, errors, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        out, errors, code = (error.stdout or b"").decode(), "", f"a timeout of {limit} s"
    found = [json.loads(line[4:]) for line in out.splitlines() if line.startswith("ROW ")]
    if code:
        found.append({"group": name, "row": "the group", "peer": "", "bar": "", "failed": f"ended with {code}: {errors[-400:]}"})
    return found


def table(results: list[dict]) -> str:
    lines = ["| row | peer | bar | peer / ours [95%] | ours, ms | peer, ms | first call, s: ours, peer | difference |", "|---|---|---|---|---|---|---|---|"]
    for r in results:
        if "failed" in r:
            lines.append(f"| {r['row']} | {r['peer']} | {r['bar']} | {' '.join(r['failed'].split())[:160].replace('|', '/')} | | | | |")
            continue
        first = f"{r['first_ours']:.2f}, {r['first_peer']:.2f}" if "first_ours" in r else ""
        lines.append(f"| {r['row']} | {r['peer']} | {r['bar']} | {r['ratio']:.3f} [{r['low']:.3f}, {r['high']:.3f}] | {r['ours_ms']:.4f} | "
                     f"{r['peer_ms']:.4f} | {first} | {r.get('difference', 0):.1e} |")  # fmt: skip
    good = [r["ratio"] for r in results if r["group"] == "linear" and r["peer"] == "eager" and "ratio" in r]
    if good:
        lines.append(f"\nlinear layers of 64 rows and more: geometric mean {math.exp(sum(map(math.log, good)) / len(good)):.3f} of {len(good)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--rows", default=",".join(GROUPS), help="groups of benchmarks, separated by commas")
    parser.add_argument("--dry", action="store_true", help="tiny sizes on the emulated device")
    parser.add_argument("--group", choices=GROUPS, help="run only this group in this process (used internally)")
    chosen = parser.parse_args()
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    if chosen.group:
        return run_group(chosen.group, chosen.dry, SECONDS[chosen.group])
    results = []
    for name in chosen.rows.split(","):
        results += collect(name, chosen.dry)
        (chosen.out / "gpu-bench.json").write_text(json.dumps(results, indent=1))
        (chosen.out / "gpu-bench.md").write_text(table(results) + "\n")
    print(table(results))
    if chosen.dry:
        sys.exit(any("failed" in r for r in results))


if __name__ == "__main__":
    main()
