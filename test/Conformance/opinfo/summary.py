"""Prints the counts of samples and entries of a run, the ops that run in eager, and the failures."""

from __future__ import annotations

from collections import Counter, defaultdict

from cases import Case
from verdict import FAILING, PASSING, Outcome

Results = dict[Case, list[Outcome]]
MAIN = ("f32", "i64", "bool")


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}% ({part} of {whole})" if whole else "none were run"


def select(results: Results, mode: str, dtypes=None) -> Results:
    return {c: o for c, o in results.items() if c.mode == mode and (dtypes is None or c.dtype in dtypes)}


def counts(results: Results) -> Counter:
    return Counter(o.state for outcomes in results.values() for o in outcomes)


def of_entries(results: Results) -> dict[str, list[Outcome]]:
    """Returns for each entry the outcomes of samples that torch.compile can run."""
    found = defaultdict(list)
    for case, outcomes in results.items():
        found[case.entry] += [o for o in outcomes if o.state not in ("torch", "eager")]
    return {entry: outcomes for entry, outcomes in found.items() if outcomes}


def passing(states: Counter) -> str:
    able = sum(states[s] for s in PASSING + FAILING)
    return percent(sum(states[s] for s in PASSING), able)


def rows(results: Results) -> list[tuple[str, str]]:
    forward, main = counts(select(results, "forward")), select(results, "forward", MAIN)
    gradient, dynamic = counts(select(results, "gradient", ("f32",))), counts(select(results, "dynamic"))
    by_entry = of_entries(main)
    native = sum(all(o.state == "native" for o in outcomes) for outcomes in by_entry.values())
    everything = counts(results)
    return [
        ("cases, samples", f"{len(results)}, {sum(everything.values())}"),
        ("forward: wrong results / crashes", f"{forward['wrong']} / {forward['crash'] + forward['hang'] + forward['memory']}"),
        ("forward, f32 and i64 and bool: samples that pass, fallback allowed", passing(counts(main))),
        ("forward, f32 and i64 and bool: entries wholly native", percent(native, len(by_entry))),
        ("gradients, f32: samples that pass", passing(gradient)),
        ("gradients, f32: wrong results / crashes", f"{gradient['wrong']} / {gradient['crash'] + gradient['hang'] + gradient['memory']}"),
        ("dynamic=True: samples that pass", passing(dynamic)),
        ("dynamic=True: wrong results / crashes", f"{dynamic['wrong']} / {dynamic['crash'] + dynamic['hang'] + dynamic['memory']}"),
        ("samples that eager refuses, and samples that torch.compile with aot_eager refuses", f"{everything['eager']}, {everything['torch']}"),
    ]


def blockers(results: Results) -> list[tuple[int, int, str, list]]:
    """Returns for each op: the number of entries that are not native only because of it, the number of entries that
    contain it, the op, and these entries."""
    have, alone = defaultdict(set), defaultdict(set)
    for entry, outcomes in of_entries(select(results, "forward", MAIN)).items():
        ops = {op for o in outcomes for op in o.ops}
        for op in ops:
            have[op].add(entry)
        if len(ops) == 1:
            alone[next(iter(ops))].add(entry)
    return sorted(((len(alone[op]), len(names), op, sorted(names)) for op, names in have.items()), reverse=True)


def show(results: Results, long: bool = False) -> None:
    for name, value in rows(results):
        print(f"{name:76} {value}")
    if not long:
        return
    print("\nnumber of entries that are not native only because of an op, number of entries that contain it, the op:")
    for alone, have, op, names in blockers(results):
        print(f"{alone:4} {have:4}  {op}: {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}")
    print("\nfailures:")
    for case, outcomes in results.items():
        failed = [o for o in outcomes if o.state in FAILING]
        if failed:
            kinds = Counter(f"{o.state}: {o.reason}" for o in failed)
            print(f"  {case}: {len(failed)} of {len(outcomes)}: " + "; ".join(f"{n} {k}" for k, n in kinds.most_common(3)))
