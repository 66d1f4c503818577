"""Names of the ops that ran in eager, from tilewright.report()."""

from __future__ import annotations

from verdict import short


def fallback_name(refusal) -> str:
    """Returns a word for the table: the op, or the reason."""
    if "complex" in refusal.reason:
        return "complex"
    if "contents of a tensor" in refusal.reason or "_assert_scalar" in refusal.target or refusal.target.startswith("<built-in"):
        return "data-dependent size"
    return refusal.target if "." in refusal.target.split()[0] else short(refusal.reason)


def fallback_ops(reports) -> list[str]:
    ops = set()
    for graph in reports:
        ops.update(fallback_name(refusal) for refusal in graph.refusals if not refusal.follows)
        if graph.eager_segments and not graph.refusals:
            ops.add("segment")
    return sorted(ops)
