"""Measures the first call in a second process, with filled caches: the time from the end of Dynamo's tracing to the
first result.

    python test/Conformance/warm_start.py [--processes 5] [--layers 12]

BERT-base, 128 tokens, float32. A first process fills the caches of torch and Tilewright in a folder of this run; each further
process times its first call. Dynamo's part of this time is the time before the backend is called, and the time between the
backend and the first call of its result (guards and code). The rest is Tilewright's and AOTAutograd's: finding the
graph, loading machine code, packing parameters, running the model. Medians are printed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings


def measure(layers: int) -> dict:
    import torch
    from transformers import BertConfig, BertModel

    from tilewright.dynamo.backend import tilewright

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=layers)).eval()
    tokens = torch.randint(0, 30000, (1, 128))
    at = {}

    def backend(gm, inputs):
        at["backend"] = time.perf_counter()
        compiled = tilewright(gm, inputs)
        at["compiled"] = time.perf_counter()

        def run(*arguments):
            at.setdefault("run", time.perf_counter())
            results = compiled(*arguments)
            at.setdefault("result", time.perf_counter())
            return results

        return run

    backend._torchdynamo_orig_backend = tilewright  # the attribute by which Dynamo finds a wrapped backend
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    with torch.no_grad():
        start = time.perf_counter()
        compiled(tokens)
        end = time.perf_counter()
        calls = []
        for _ in range(5):
            before = time.perf_counter()
            compiled(tokens)
            calls.append(time.perf_counter() - before)
    return {"first call": end - start, "restoring the graph": at["compiled"] - at["backend"],
            "packing parameters and running": at["result"] - at["run"], "a later call": statistics.median(calls),
            "beyond tracing": at["compiled"] - at["backend"] + at["result"] - at["run"]}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--one", action="store_true", help="measure only this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.layers)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TILEWRIGHT_CACHE_DIR=f"{folder}/tilewright", TORCHINDUCTOR_CACHE_DIR=f"{folder}/torch")
        environment.pop("TILEWRIGHT_CACHE", None)

        def run() -> dict:
            command = [sys.executable, __file__, "--one", "--layers", str(arguments.layers)]
            return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])

        cold, warm = run(), [run() for _ in range(arguments.processes)]
    print(f"{'seconds':32} {'caches empty':>12} {'warm, median':>13} {'least':>7} {'most':>7}")
    for what in cold:
        times = [one[what] for one in warm]
        print(f"{what:32} {cold[what]:12.3f} {statistics.median(times):13.3f} {min(times):7.3f} {max(times):7.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
