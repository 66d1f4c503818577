"""States of samples and cases, worst first, and comparisons of results with eager's."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field

import torch
from numbers_rule import rms

# A case has the state of its worst sample. "refused": a file was refused, with a reason. "torch": torch.compile fails
# with the backend aot_eager, too. "eager": eager raises an error.
STATES = ("crash", "hang", "memory", "wrong", "error", "refused", "fallback", "native", "torch", "eager")
PASSING = ("fallback", "native")
FAILING = ("crash", "hang", "memory", "wrong", "error")


@dataclass
class Outcome:
    """The outcome of one sample.

    `state`: see STATES. `reason`: short, for the table. `detail`: further text for the user. `ops`: the ops that fell back.
    `facts`: further data that the harness reports.
    """

    state: str
    reason: str = ""
    detail: str = ""
    ops: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    def fields(self) -> dict:
        return asdict(self)


class Wrong(Exception):
    """Raised if a result differs from eager's. `kind` is a word for the table."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


def short(text: str) -> str:
    """Returns a reason for the table: no numbers, no paths, one line."""
    line = next((s for s in text.strip().splitlines() if s.strip()), "")
    line = re.sub(r"(/[\w.+-]+)+", "PATH", line)
    line = re.sub(r"0x[0-9a-f]+", "ADDRESS", line)
    line = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", line)
    return line.strip()[:70]


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same numbers as a dense real tensor."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()


def check_metadata(got, want, what: str) -> None:
    if type(got) is not type(want) and not isinstance(got, torch.Tensor):
        raise Wrong("type", f"{what}: {type(got).__name__}, eager returns {type(want).__name__}")
    if got.dtype != want.dtype:
        raise Wrong("dtype", f"{what}: {got.dtype}, eager returns {want.dtype}")
    if got.shape != want.shape:
        raise Wrong("shape", f"{what}: {list(got.shape)}, eager returns {list(want.shape)}")
    if got.layout != want.layout:
        raise Wrong("layout", f"{what}: {got.layout}, eager returns {want.layout}")
    if got.layout == torch.strided and got.numel():
        strides = [(a, b) for a, b, size in zip(got.stride(), want.stride(), got.shape) if size > 1]
        if any(a != b for a, b in strides):
            raise Wrong("strides", f"{what}: strides {got.stride()}, eager returns {want.stride()}")
        # A result that is a part of an intermediate value may have a separate storage of exactly its extent.
        extent = 1 + sum((size - 1) * stride for size, stride in zip(got.shape, got.stride()))
        alone = got.storage_offset() == 0 and got.untyped_storage().nbytes() == extent * got.element_size()
        if got.storage_offset() != want.storage_offset() and not alone:
            raise Wrong("offset", f"{what}: it begins at element {got.storage_offset()} of its memory, eager's at {want.storage_offset()}")


def check_numbers(got, runs, exact, largest: float, what: str) -> None:
    """Applies the numbers rule (docs/conformance.md) to one result. `runs` are eager's results with one thread and with
    two, and `exact` is the result in float64."""
    want = runs[0]
    if not got.numel():
        return
    if not got.is_floating_point():
        # Integers can depend on rounded floats. Therefore each element must be that of eager in the same dtype or in
        # float64.
        wrong = (got != want) & (got != exact.to(want.dtype))
        if wrong.any():
            raise Wrong("integers", f"{what}: {int(wrong.sum())} of {got.numel()} differ: {got[wrong][:3].tolist()}, eager returns "
                                    f"{want[wrong][:3].tolist()}")  # fmt: skip
        return
    # At a pole, eager may return a finite number that consists only of rounding error. Therefore infinity is accepted,
    # too.
    pole = got.isinf() & want.isfinite() & exact.isfinite() & ((want.double() - exact).abs() > exact.abs() / 2)
    if pole.any():
        got, want, exact, runs = got[~pole], want[~pole], exact[~pole], [run[~pole] for run in runs]
    for name, test in (("NaN", torch.isnan), ("infinities", torch.isinf)):
        if not torch.equal(test(got), test(want)):
            where = test(got) != test(want)
            raise Wrong(name, f"{what}: {name} at other indices than in eager: {got[where][:3].tolist()}, eager returns {want[where][:3].tolist()}")
    infinite = got.isinf()
    if not torch.equal(got[infinite], want[infinite]):
        raise Wrong("infinities", f"{what}: infinities with another sign than in eager")
    finite = want.isfinite() & exact.isfinite()
    error, size = rms((got.double() - exact)[finite]), rms(exact[finite])
    if got.dtype == torch.float64:
        allowed, factor = max(1e-12 * max(size, largest), 1e-300), 1
    else:
        own = max(rms((run.double() - exact)[finite]) for run in runs)
        allowed = max(own, torch.finfo(got.dtype).eps * max(size, largest), torch.finfo(got.dtype).tiny)
        factor = 3 if got.numel() < 1000 else 2
    if math.isnan(error) or error > factor * allowed:
        raise Wrong("numbers", f"{what}: RMS error {error:.3g}, {error / allowed:.1f} times the allowed {allowed:.3g}")


def same_numbers(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = plain(a), plain(b)
    return a.shape == b.shape and torch.equal(torch.nan_to_num(a.double(), 1e30), torch.nan_to_num(b.double(), 1e30))


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Returns the largest difference between the distribution functions of two samples: 0 to 1.

    Values that differ by at most two roundings count as equal. Otherwise, a value that many elements have, such as
    that of dropped elements, would be at another position in the samples if its computation was rounded differently.
    """
    eps = torch.finfo(a.dtype).eps if a.dtype.is_floating_point else 0.0
    a, b = (plain(t).flatten().double().sort().values for t in (a, b))
    at = torch.cat([a, b])
    if not at.numel():
        return 0.0

    def share(sample: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:
        return torch.searchsorted(sample, limits, right=True) / max(sample.numel(), 1)

    upper = at + 2 * eps * at.abs()
    return max(0.0, (share(a, at) - share(b, upper)).max().item(), (share(b, at) - share(a, upper)).max().item())


def check_distribution(got, draws, what: str) -> None:
    """Applies the two-sample Kolmogorov-Smirnov test.

    Draws of one distribution fail it once in a million times. If elements depend on each other (a channel is
    dropped as a whole), the `draws` of eager differ as much from each other.
    """
    n = got.numel()
    if n < 8 or any(plain(t).isnan().any() for t in (got, *draws)):
        return
    among = max(distance(a, b) for i, a in enumerate(draws) for b in draws[:i])
    found = min(distance(got, d) for d in draws)
    if found > max(2.69 * math.sqrt(2 / n), 1.5 * among):
        raise Wrong("distribution", f"{what}: another distribution than eager's: the distribution functions differ by {found:.3f}")
