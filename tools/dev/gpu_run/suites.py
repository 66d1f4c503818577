"""The parts that measure rows with several engines: models, tuned and kernels."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable

import torch

from . import attention_rows, convolution_rows, drawn_models, kernel_rows, model_rows, product_rows
from .model_list import INFERENCE, TRAINING, Models, Work
from .table_rows import PeerSuite
from .timing import Device


class Suite:
    workers = 0  # processes that make first calls at the same time; 0: one per core
    group = 8  # rows that are compiled together, before they are measured
    first_limit = 240.0  # seconds of a first call
    row_limit = 150.0  # seconds of a row

    def __init__(self, dry: bool):
        self.device = Device(dry)

    def compiles(self, engine: str) -> bool:
        """Returns True if a first call of the engine compiles something. In a dry run, the peers are eager."""
        return engine.startswith("tilewright") if self.device.dry else engine not in ("eager", "copy")

    def follows(self, engine: str) -> bool:
        return engine.endswith("-graph")

    def clean(self) -> None:
        """Releases the memory of a row."""
        torch.compiler.reset()
        gc.collect()
        if not self.device.dry:
            torch.cuda.empty_cache()


class ModelSuite(Suite):
    inference = ["eager", "inductor", "inductor-graph", "tilewright", "tilewright-graph"]
    training = ["eager", "inductor", "tilewright"]

    def keys(self) -> list[str]:
        return [*INFERENCE, *TRAINING, *drawn_models.DRAWN]

    def engines(self, key: str) -> list[str]:
        return self.training if key in TRAINING else self.inference

    def work(self, key: str) -> Work:
        torch.manual_seed(0)
        if key in drawn_models.DRAWN:
            return drawn_models.build(key, self.device.name)
        return {**INFERENCE, **TRAINING}[key](Models(self.device.name, self.device.dry))

    def first_call(self, key: str, engine: str) -> dict:
        return model_rows.first_call(self.work(key), engine, self.device)

    @functools.cached_property
    def limits(self) -> dict:
        from tilewright.bench import gpu_peaks

        return {} if self.device.dry else gpu_peaks.peaks()

    def measure(self, key: str, engines: list[str], say: Callable[[str], None]) -> dict:
        try:
            work = self.work(key)
        except ImportError as error:
            return {"failed": f"the library of this model is not installed: {error}"}
        return model_rows.measure(work, engines, self.device, self.limits, say) | {"peaks": self.limits}

    def line(self, row: dict) -> str:
        times = ", ".join(f"{engine} {ms:.3f}" for engine, ms in row["ms"].items())
        return f"{row.get('ratio', 0):.2f} of Inductor; ms: {times}"


class TunedSuite(ModelSuite):
    """Both engines measure candidates on the device when they compile, so first calls run one after the other."""

    inference = ["inductor-tuned", "inductor-tuned-no-graph", "tilewright-tuned", "tilewright-tuned-graph"]
    training = ["inductor-tuned-no-graph", "tilewright-tuned"]
    workers, group = 1, 1


class KernelSuite(Suite):
    group = 32
    row_limit = 60.0

    def __init__(self, dry: bool):
        super().__init__(dry)
        kernels = kernel_rows.Kernels(self.device)
        rows = [row for module in (product_rows, attention_rows, kernel_rows, convolution_rows) for row in module.rows(kernels)]
        self.rows = {row.key: row for row in rows}

    def keys(self) -> list[str]:
        return list(self.rows)

    def engines(self, key: str) -> list[str]:
        return ["tilewright", self.rows[key].peer]

    def first_call(self, key: str, engine: str) -> dict:
        return kernel_rows.first_call(self.rows[key], engine, self.device)

    def measure(self, key: str, engines: list[str], say: Callable[[str], None]) -> dict:
        return kernel_rows.measure(self.rows[key], engines, self.device, say)

    def line(self, row: dict) -> str:
        return f"{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}], {row['ours_ms']:.4f} ms"


SUITES: dict[str, type[Suite]] = {"models": ModelSuite, "tuned": TunedSuite, "kernels": KernelSuite}


def suite_of(part: str, dry: bool):
    name, _, folder = part.partition(":")
    return PeerSuite(dry, folder) if name == "peers" else SUITES[name](dry)
