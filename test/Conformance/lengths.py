"""Checks that one compilation serves every length: models of test/Conformance/transformers, whose text length is marked
dynamic, are called with 2, 3, ... 256 tokens. Compilations after the first call are counted. Results of some lengths
are compared with eager's by the numbers rule.

    python test/Conformance/lengths.py [NAME ...] [--to 256]

Each model runs in a separate process. Without names, all models that read only text run.
"""

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [*(str(here / name) for name in ("transformers", "models", "harness")), str(here.parent / "Python")]

COMPARED = (2, 3, 16, 33, 100, 255)


def with_length(arguments: dict, length: int) -> dict:
    """Returns `arguments`, which were drawn for 17 tokens, for another number of tokens."""
    import torch
    from inputs import LENGTH, right_padded

    made = {}
    for name, value in arguments.items():
        if name == "attention_mask":
            value = right_padded(length)
        elif isinstance(value, torch.Tensor) and value.dim() >= 2 and value.shape[1] == LENGTH:
            value = value.repeat(1, -(-length // LENGTH), *[1] * (value.dim() - 2))[:, :length].contiguous()
        made[name] = value
    return made


def with_positions(settings: dict, last: int) -> dict:
    """Returns a configuration's arguments for texts of `last` tokens: small configurations have few positions."""
    made = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            value = with_positions(value, last)
        elif isinstance(value, int) and re.search("position_embeddings|n_positions|max_seq|seq_len", name):
            value = max(value, 2 * last)
        made[name] = value
    return made


def marked(arguments: dict, length: int) -> dict:
    import torch

    for value in arguments.values():
        if isinstance(value, torch.Tensor) and value.dim() >= 2 and value.shape[1] == length:
            torch._dynamo.mark_dynamic(value, 1)
    return arguments


def measure(name: str, last: int, using: str) -> dict:
    from settings import prepare

    prepare()
    import torch
    from architectures import architectures
    from numbers_rule import with_threads
    from torch._dynamo.utils import counters
    from trial import Trial, compare

    from tilewright.dynamo.backend import tilewright as backend

    architecture = architectures()[name]
    trial = Trial(dataclasses.replace(architecture, arguments=with_positions(architecture.arguments, last)), "inference")
    drawn = trial.arguments(0)
    while last > 2:  # some models have few positions
        try:
            trial.eager(with_length(drawn, last))
            break
        except Exception:
            last //= 2
    forward, missed, first = trial.compiled(backend if using == "tilewright" else using), [], 0
    for length in range(2, last + 1):
        arguments = with_length(drawn, length)
        if length in COMPARED and using == "tilewright":
            runs = [with_threads(n, trial.eager, arguments) for n in (1, 2)]
            missed += compare(trial.call(trial.model, lambda length=length, **a: forward(**marked(a, length)), arguments), runs,
                              trial.exact(arguments), [])  # fmt: skip
        else:
            with torch.no_grad():
                forward(**marked(arguments, length))
        first = first or counters["stats"]["unique_graphs"]
    return {"last": last, "graphs": first, "again": counters["stats"]["unique_graphs"] - first, "missed": missed}


def known() -> list[str]:
    """Returns the names of the architectures that read only text and support inference."""
    from families import decoders, text

    return [one.name for family in (text, decoders) for one in family.ARCHITECTURES if one.has("inference")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", type=int, default=256)
    parser.add_argument("--one", metavar="BACKEND", help="run the model with this backend in this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.names[0], arguments.to, arguments.one)))
        return 0
    built = str(here.parent.parent / "build" / "python")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [built, os.environ.get("PYTHONPATH")]))}
    names, held, unable = arguments.names or known(), 0, 0

    def run(name: str, using: str) -> dict | None:
        command = [sys.executable, __file__, name, "--to", str(arguments.to), "--one", using]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        if ran.returncode:
            said = [line.strip() for line in ran.stderr.splitlines() if line.strip(" ^~")]
            print(f"{name:24} fails with {using}: {(said or ['no output'])[-1][:160]}", flush=True)
        return None if ran.returncode else json.loads(ran.stdout.splitlines()[-1])

    for name in names:
        found = run(name, "tilewright")
        if found is None:
            unable += run(name, "aot_eager") is None  # the length is not a symbol in this model (its window, a list of lengths)
            continue
        right = "right" if not found["missed"] else f"violates the numbers rule: {found['missed'][:3]}"
        beyond = found["again"]
        if beyond and (torchs := run(name, "aot_eager")):
            beyond = max(0, beyond - torchs["again"])
            right += f"; with aot_eager, {torchs['again']} compiled again"
        print(f"{name:24} lengths 2 to {found['last']:3}: {found['graphs']} graphs, {found['again']} compiled again, {right}", flush=True)
        held += not beyond and not found["missed"]
    print(f"{held} of {len(names)} models are right and compile once for all lengths, except for lengths that torch specializes with any "
          f"backend; {unable} models fail with aot_eager, too")  # fmt: skip
    return int(held + unable < len(names))


if __name__ == "__main__":
    sys.exit(main())
