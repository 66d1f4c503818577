"""The measurement of a model: the times of all engines, and the kernels of Tilewright's and of Inductor's call."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .model_list import Work
from .timing import Device, difference, medians, tensors_of

OURS = "tilewright"
# The arguments of torch.compile for each engine. An engine whose name begins with another engine's name shares the compiled code of that
# engine.
ENGINES: dict[str, dict] = {
    "eager": {},
    "inductor": {"backend": "inductor"},
    "inductor-graph": {"backend": "inductor", "mode": "reduce-overhead"},
    "inductor-tuned": {"backend": "inductor", "mode": "max-autotune"},
    "inductor-tuned-no-graph": {"backend": "inductor", "mode": "max-autotune-no-cudagraphs"},
    "tilewright": {"backend": "tilewright", "options": {}},
    "tilewright-graph": {"backend": "tilewright", "options": {"cuda_graph": True}},
    "tilewright-tuned": {"backend": "tilewright", "options": {"tune": "quick"}},
    "tilewright-tuned-graph": {"backend": "tilewright", "options": {"tune": "quick", "cuda_graph": True}},
}
WARM_UP = 4  # calls; CUDA graphs are recorded in one of them
SECONDS = 8.0  # time of all rounds of a row


def compiled(function: Callable, engine: str, device: Device, **options) -> Callable:
    """Returns the function as the engine runs it. In a dry run, the peers are eager."""
    arguments = ENGINES[engine]
    if not arguments or (device.dry and not engine.startswith(OURS)):
        return function
    if engine.startswith(OURS):
        own = {"target": "cuda", "device": "cuda:0"} if device.dry else {}
        return torch.compile(function, backend="tilewright", options={**own, **options, **arguments["options"]})
    return torch.compile(function, **arguments)


def called(program: Callable, engine: str) -> Callable:
    """Returns a function that calls the program as a new step, because Inductor's CUDA graphs reuse the memory of the previous step."""
    if not engine.startswith("inductor") or engine == "inductor":
        return program

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        return program()

    return step


def first_call(work: Work, engine: str, device: Device) -> dict:
    program = called(work.call(compiled(work.model, engine, device), device.name), engine)
    device.synchronize()
    return {"seconds": device.seconds(program)}


def our_kernels(program: Callable, graphs: list, device: Device, dtype: str, limits: dict) -> list[dict]:
    """Returns a row for each distinct kernel of Tilewright's call."""
    from tilewright.bench import roof

    calls = 2 if device.dry else 10
    rows, _ = roof.measure_calls([call for graph in graphs for call in graph.calls], program, dtype, limits, calls, device.synchronize)
    busy = sum(row.seconds for row in rows) or 1.0
    return [{"name": row.kernel or "copy", "us": 1e6 * row.seconds, "launches": row.launches, "share": row.seconds / busy,
             "tflops": row.flops / row.seconds / 1e12 if row.seconds else 0.0, "gbps": row.bytes / row.seconds / 1e9 if row.seconds else 0.0,
             "of_limit": row.share, "schedule": row.schedule, "operators": row.operations, "line": row.line} for row in rows]  # fmt: skip


def peer_kernels(program: Callable, device: Device, most: int = 40) -> list[dict]:
    """Returns the kernels of another engine's call as torch's profiler sees them."""
    if device.dry:
        return []
    from torch.profiler import ProfilerActivity, profile

    calls = 3
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(calls):
            program()
        torch.cuda.synchronize()
    found: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            entry = found.setdefault(event.name, [0.0, 0.0])
            entry[0] += event.time_range.elapsed_us()
            entry[1] += 1
    rows = [{"name": name[:160], "us": us / calls, "launches": round(count / calls, 2)} for name, (us, count) in found.items()]
    return sorted(rows, key=lambda row: -row["us"])[:most]


def measure(work: Work, engines: list[str], device: Device, limits: dict, say: Callable[[str], None]) -> dict:
    import tilewright

    programs: dict[str, Callable] = {}
    errors: dict[str, str] = {}
    differences: dict[str, float] = {}
    fallbacks = graphs = None
    eager = tensors_of(work.call(work.model, device.name)())
    for engine in engines:
        say(engine)
        before = list(tilewright.report())
        try:
            program = called(work.call(compiled(work.model, engine, device), device.name), engine)
            for _ in range(WARM_UP):
                result = program()
            device.synchronize()
            differences[engine] = difference(tensors_of(result), eager)
            programs[engine] = program
        except Exception as error:
            errors[engine] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
            if not device.is_alive():
                raise
            continue
        new = [graph for graph in tilewright.report() if not any(graph is old for old in before)]
        if engine in (OURS, "tilewright-tuned"):
            graphs, fallbacks = new, sum(graph.eager_segments for graph in new)
    say("rounds")
    times = medians(device.race(programs, SECONDS))
    row: dict = {"ms": times, "difference": differences, "errors": errors}
    try:  # if this fails, the row still has the times
        if graphs:
            say("kernels of Tilewright")
            ours = next(engine for engine in (OURS, "tilewright-tuned") if engine in programs)
            dtype = {torch.bfloat16: "bf16", torch.float16: "f16"}.get(work.dtype, "f32")
            row |= {"eager_segments": fallbacks, "kernels": our_kernels(programs[ours], graphs, device, dtype, limits)}
        peer = next((engine for engine in ("inductor", "inductor-tuned-no-graph") if engine in programs), "")
        if peer:
            say("kernels of Inductor")
            row["peer_kernels"] = peer_kernels(programs[peer], device)
    except Exception as error:
        errors["kernels"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
    return row | ratio_of(times)


def ratio_of(times: dict[str, float]) -> dict:
    """Returns the time of Inductor's faster mode divided by the time of Tilewright's faster mode."""
    ours = [ms for engine, ms in times.items() if engine.startswith(OURS)]
    theirs = [ms for engine, ms in times.items() if engine.startswith("inductor")]
    return {"ratio": min(theirs) / min(ours)} if ours and theirs else {}
