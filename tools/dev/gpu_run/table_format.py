"""Converts a table of `tilewright tune --record-tables` to the form of test/Tuner/Inputs/gpu/h200-products.jsonl."""

from __future__ import annotations

import itertools
import math


def holds(constraint: dict, point: list[int]) -> bool:
    """Returns True if the point satisfies the constraint (ScheduleSpace.h)."""
    kind, knobs = constraint["kind"], [point[knob] for knob in constraint["knobs"]]
    if kind == "product at most":
        return constraint["factor"] * math.prod(knobs) <= constraint["limit"]
    if kind in ("tasks at most", "tasks at least"):
        tasks = math.prod(-(-size // max(knob, 1)) for size, knob in zip(constraint["sizes"], knobs, strict=True))
        return tasks <= constraint["limit"] if kind == "tasks at most" else tasks >= constraint["limit"]
    if kind == "together":
        return knobs[0] != constraint["value"] or all(knob < size for knob, size in zip(knobs[1:], constraint["sizes"][1:], strict=True))
    if kind == "sum at most":
        return sum(term["factor"] * math.prod(point[knob] for knob in term["knobs"]) for term in constraint["terms"]) <= constraint["limit"]
    raise ValueError(f"a constraint of the kind {kind!r} is not known")


def points(space: dict) -> list[list[int]]:
    """Returns the points of a space in the order in which their times are recorded: ScheduleSpace::points()."""
    initial = [knob["initial"] for knob in space["knobs"]]
    every = (list(point) for point in itertools.product(*(knob["values"] for knob in space["knobs"])))
    return [point for point in every if point == initial or all(holds(constraint, point) for constraint in space["constraints"])]


def converted(table: dict) -> dict:
    """Returns the measured schedules with their milliseconds; the default is the first."""
    space, nanoseconds = table["space"], table["nanoseconds"]
    known = points(space)
    if len(known) != len(nanoseconds):
        raise ValueError(f"the space has {len(known)} points, but the table has {len(nanoseconds)} times")
    names = [knob["name"] for knob in space["knobs"]]
    initial = [knob["initial"] for knob in space["knobs"]]
    measured = [(point, time) for point, time in zip(known, nanoseconds, strict=True) if time > 0]
    measured.sort(key=lambda pair: pair[0] != initial)
    default = next((time for point, time in measured if point == initial), 0)
    return {"operations": table["operations"], "machine": table["machine"], "default_ms": default / 1e6,
            "schedules": [[dict(zip(names, point, strict=True)), time / 1e6] for point, time in measured],
            "failed_schedules": len(known) - len(measured)}  # fmt: skip
