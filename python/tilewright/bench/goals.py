"""The performance goals: workloads, peers, and the required ratios (bars) on machines without and with AMX."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from .race import Race
from .workloads import GEMM_SHAPES

ROOF = 0.95  # a goal is also reached if its kernels reach this share of the roof (roof.py)
BEST = ("inductor", "inductor-freezing", "inductor-autotune")


@dataclass(frozen=True)
class Bar:
    """The required ratio of the time of the fastest peer in `against` to the time of Tilewright. The `worst` fields are bounds of the
    smallest ratio of several workloads."""

    against: tuple[str, ...]
    plain: float  # required ratio on machines without AMX
    amx: float  # required ratio on machines with AMX
    worst_plain: float = 0.0
    worst_amx: float = 0.0


@dataclass(frozen=True)
class Goal:
    title: str
    dtype: str
    workloads: tuple[str, ...]
    bars: tuple[Bar, ...]
    measure: str = "speed"  # speed, first, peak, frozen-peak, backend, native or sweep
    each: bool = True  # True: each workload must reach the bar; else the geometric mean must reach it, and each workload `worst`

    def peers(self) -> list[str]:
        ours = ["tilewright"] + ["tilewright-frozen"] * (self.measure == "frozen-peak")
        return ours + list(dict.fromkeys(peer for bar in self.bars for peer in bar.against))


def _speed(title: str, dtype: str, *workloads: str, best=None, openvino=None, inductor=None) -> Goal:
    bars = []
    if best:
        bars.append(Bar(BEST, *best))
    if openvino:
        bars.append(Bar(("openvino",), *openvino))
    if inductor:
        bars.append(Bar(("inductor",), *inductor))
    return Goal(title, dtype, workloads, tuple(bars))


_GEMMS = tuple(f"gemm:{shape}" for shape in GEMM_SHAPES)
_OPERATIONS = ("softmax", "layer-norm", "gelu", "add", "sum", "cross-entropy", "chain")

GOALS = (
    Goal("f32 GEMM, 19 shapes", "f32", _GEMMS, (Bar(("eager",), 2.0, 0.97, 1.6, 0.9),), each=False),
    Goal("bf16 GEMM, 19 shapes", "bf16", _GEMMS, (Bar(("eager",), 1.0, 1.05, 0.9, 0.9),), each=False),
    _speed("encoder block f32", "f32", "encoder-128", "encoder-512", best=(2.4, 1.1), openvino=(1.05, 1.0)),
    _speed("encoder block bf16", "bf16", "encoder-128", "encoder-512", best=(1.25, 1.2), openvino=(1.0, 1.0)),
    _speed("BERT-base, ViT-B f32", "f32", "bert", "vit", best=(2.4, 1.1), openvino=(1.05, 1.0)),
    _speed("BERT-base, ViT-B bf16", "bf16", "bert", "vit", best=(1.15, 1.15), openvino=(1.05, 1.0)),
    _speed("GPT-2 f32", "f32", "gpt2", best=(2.2, 1.1)),
    _speed("GPT-2 bf16", "bf16", "gpt2", best=(1.2, 1.15)),
    _speed("Llama, 128 tokens, f32", "f32", "llama", best=(2.2, 1.05)),
    _speed("Llama, one token, bf16", "bf16", "llama-1", best=(1.1, 1.1)),
    _speed("ResNet-50 f32", "f32", "resnet50", best=(1.15, 1.0), openvino=(1.0, 0.95)),
    _speed("ResNet-50 bf16", "bf16", "resnet50", best=(1.15, 1.0), openvino=(0.9, 0.9)),
    Goal("small operations, native side", "f32", _OPERATIONS, (Bar(("eager", "inductor"), 1.3, 1.3, 1.0, 1.0),), each=False),
    _speed("training step of BERT-base, batch 4", "f32", "bert-train", inductor=(1.5, 1.05)),
    _speed("training step of ResNet-50, batch 4", "f32", "resnet50-train", inductor=(1.0, 1.0)),
    Goal("first call of BERT-base", "f32", ("bert",), (Bar(("inductor",), 4.0, 4.0),), "first"),
    Goal("backend compile of BERT-base, at most 1.2 s; warm, 0.1 s", "f32", ("bert",), (), "backend"),
    Goal("call of an almost empty graph, native side", "f32", ("empty",), (), "native"),
    _speed("call of an almost empty graph, all of it", "f32", "empty-whole", inductor=(1.0, 1.0)),
    Goal("32 sequence lengths, one model, compiles included", "f32", ("bert-2",), (Bar(("inductor",), 3.0, 3.0),), "sweep"),
    Goal("peak memory of BERT-base", "f32", ("bert",), (Bar(("inductor-freezing",), 1.0, 1.0),), "peak"),
    Goal("peak memory of BERT-base, freeze", "f32", ("bert",), (Bar(("inductor-freezing",), 1 / 0.7, 1 / 0.7),), "frozen-peak"),
)


def geometric_mean(values: list[float]) -> float:
    return statistics.geometric_mean(values) if values else float("nan")


@dataclass
class Verdict:
    """The measured result for one bar of a goal."""

    goal: str
    against: str
    value: float
    bar: float
    worst: float = 0.0  # the minimum over the workloads
    worst_bar: float = 0.0
    worst_name: str = ""
    short: tuple[str, ...] = ()  # workloads that miss the required ratio, and pass only if they reach ROOF
    roof: float = 0.0  # share of the roof of `short`: the minimum if `each`, else the geometric mean; 0: not measured

    @property
    def held(self) -> bool:
        return (self.value >= self.bar and self.worst >= self.worst_bar) or self.roof >= ROOF


def judge(goal: Goal, races: list[Race], amx: bool) -> list[Verdict]:
    """Returns a verdict for each bar of the goal whose peers ran. `races` contains the races of the goal's workloads."""
    verdicts = []
    for bar in goal.bars:
        ratios = {race.workload: ratio for race in races if (ratio := _ratio(goal, race, bar.against)) is not None}
        if not ratios:
            continue
        name, worst = min(ratios.items(), key=lambda item: item[1])
        value = worst if goal.each else geometric_mean(list(ratios.values()))
        verdict = Verdict(goal.title, " or ".join(bar.against), value, bar.amx if amx else bar.plain, worst,
                          bar.worst_amx if amx else bar.worst_plain, name)  # fmt: skip
        if goal.measure == "speed" and not verdict.held:
            verdict.short = tuple(workload for workload, ratio in ratios.items() if ratio < verdict.bar)
        verdicts.append(verdict)
    return verdicts


def _ratio(goal: Goal, race: Race, against: tuple[str, ...]) -> float | None:
    if goal.measure in ("speed", "sweep"):
        return race.ratio(*against)
    ours = race.entries["tilewright-frozen" if goal.measure == "frozen-peak" else "tilewright"]
    theirs = [race.entries[peer] for peer in against if not race.entries[peer].failed]
    if ours.failed or not theirs:
        return None
    what = "first" if goal.measure == "first" else "peak"
    mine = getattr(ours, what)
    return min(getattr(entry, what) for entry in theirs) / mine if mine else None
