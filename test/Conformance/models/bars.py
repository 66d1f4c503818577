"""Counts the results of a run: how many architectures are right and native, the ops that run in eager, and the causes of
graph breaks."""

from __future__ import annotations

from collections import Counter, defaultdict

from modes import MODES, Case
from states import state_of
from expected import count
from verdict import FAILING, PASSING, Outcome

Results = dict[Case, list[Outcome]]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}% ({part} of {whole})" if whole else "none were run"


def rows(results: Results) -> list[tuple[str, str]]:
    found = []
    able: dict[str, list] = defaultdict(list)
    for mode in MODES:
        cases = {c: state_of(o).word for c, o in results.items() if c.mode == mode}
        run = {c: w for c, w in cases.items() if w not in ("torch", "eager")}
        unbroken = [c for c, w in run.items() if w == "native" and not count(results[c], "breaks")]
        if mode == "exported":
            found.append(("exported: right without Python; the others are refused",
                          percent(sum(w == "native" for w in run.values()), len(run))))  # fmt: skip
            continue
        found += [(f"{mode}: right", percent(sum(w in PASSING for w in run.values()), len(run))),
                  (f"{mode}: native", percent(sum(w == "native" for w in run.values()), len(run))),
                  (f"{mode}: native and whole (no graph break)", percent(len(unbroken), len(run)))]  # fmt: skip
        for case, word in run.items():
            able[case.entry].append(word)
    found.append(("architectures: right in all modes", percent(sum(all(w in PASSING for w in words) for words in able.values()),
                 len(able))))
    found.append(("architectures: native in all modes",
                 percent(sum(all(w == "native" for w in words) for words in able.values()), len(able))))
    skipped = Counter(state_of(o).word for o in results.values())
    found.append(("cases that eager refuses, that torch.compile refuses with aot_eager, too",
                 f"{skipped['eager']}, {skipped['torch']}"))
    drawn = sum(any(o.facts.get("random") for o in outcomes) for outcomes in results.values())
    found.append(("cases that draw random numbers: distributions are compared", str(drawn)))
    return found


def show(results: Results, long: bool = False) -> None:
    for name, value in rows(results):
        print(f"{name:76} {value}")
    if not long:
        return
    ops, breaks = defaultdict(set), defaultdict(set)
    for case, outcomes in results.items():
        for outcome in outcomes:
            for op in outcome.ops:
                ops[op].add(str(case))
            for reason in outcome.facts.get("breaks", {}):
                breaks[reason].add(str(case))
    for title, found in (("ops in eager", ops), ("graph breaks", breaks)):
        print(f"\n{title}:")
        for name, cases in sorted(found.items(), key=lambda item: -len(item[1])):
            print(f"{len(cases):4}  {name}: {', '.join(sorted(cases)[:5])}{', ...' if len(cases) > 5 else ''}")
    print("\nnot right:")
    for case, outcomes in results.items():
        for outcome in outcomes:
            if outcome.state in FAILING or outcome.state in ("eager", "torch"):
                print(f"  {case}: {outcome.state}: {outcome.reason}: {outcome.detail.strip()[:200]}")
