"""BERT-base through torch.compile(model, backend="tilewright"): prints the number of kernels, the times, the errors and some fusion decisions."""

import copy
import statistics
import time

import torch
import transformers

import tilewright


def step(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def rms(difference: torch.Tensor) -> float:
    return difference.double().pow(2).mean().sqrt().item()


def main() -> None:
    torch.manual_seed(0)
    step("making BERT-base: 12 layers, random weights, batch 1, 128 tokens, float32")
    config = transformers.BertConfig()
    model = transformers.BertModel(config).eval()
    tokens = torch.randint(0, config.vocab_size, (1, 128))
    with torch.no_grad():
        step("running it in float64, the reference")
        exact = copy.deepcopy(model).double()(tokens)[0]
        eager = model(tokens)[0]
        step("compiling with Tilewright")
        compiled = torch.compile(model, backend="tilewright")
        start = time.perf_counter()
        ours = compiled(tokens)[0]
        first = time.perf_counter() - start
        details = [d for graph in tilewright.report() for d in graph.details()]
        backend = sum(ms for d in details for _, ms in d["stage_milliseconds"])
        step("measuring: 20 paired rounds")
        ratios, eager_times, our_times = [], [], []
        for _ in range(3):
            model(tokens), compiled(tokens)
        for _ in range(20):
            start = time.perf_counter()
            model(tokens)
            middle = time.perf_counter()
            compiled(tokens)
            end = time.perf_counter()
            eager_times.append(middle - start)
            our_times.append(end - middle)
            ratios.append((middle - start) / (end - middle))

    print()
    print(f"operations imported     {sum(d['operations'] for d in details)}")
    print(f"kernels formed          {sum(d['kernels'] for d in details)}, distinct {sum(d['distinct_kernels'] for d in details)}")
    print(f"compile time            {backend / 1e3:.2f} s in the backend, first call {first:.2f} s with Dynamo and AOTAutograd")
    print(f"time per call           eager {statistics.median(eager_times) * 1e3:.1f} ms, here {statistics.median(our_times) * 1e3:.1f} ms, "
          f"speed-up {statistics.median(ratios):.2f} (median of paired ratios)")  # fmt: skip
    print(f"RMS error to float64    eager {rms(eager - exact):.2e}, here {rms(ours - exact):.2e}")
    decisions = [x for d in details for x in d["decisions"] if x["kind"] == "fusion"]
    examples = [x for x in decisions if x["done"]][:1] + [x for x in decisions if not x["done"]][:2]
    print("decisions")
    for decision in examples:
        why = "" if decision["done"] else f": {decision['reason']}"
        print(f"  {'fused' if decision['done'] else 'not fused'}: {decision['subject']}{why}  [{decision['where']}]")


if __name__ == "__main__":
    main()
