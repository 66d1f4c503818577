"""Mutation sites of a kernel: single changes of its PTX or of its launch, by kind.

Index arithmetic is the backward slice, over integer instructions, of the registers in address brackets.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass

KINDS = ("wait", "commit", "barrier", "fence", "arrive", "phase", "size", "index", "swizzle", "bound")

STATEMENT = re.compile(r"^\s*(?:@(!?)(%\w+)\s+)?([a-z][\w.:]*)\s*(.*?);")
REGISTER = re.compile(r"%[a-z]+\d+")
NUMBER = re.compile(r"(?<![\w%.])-?\d+(?![\w.])")
INTEGER = re.compile(r"(add|sub|mul|mad|shl|shr|and|or|xor|bfe|mov|cvt|selp|min|max|mul\.wide|rem|div)\b.*\.[usb](32|64)(\.[us](32|16|8))?$")
ADDRESSED = re.compile(r"(ld|st|cp|ldmatrix|stmatrix|red|atom|mbarrier|prefetch)\b")
INVERSE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "lo": "ls", "ls": "lo", "hi": "hs", "hs": "hi"}


@dataclass(frozen=True)
class Site:
    """One change: line `line` (from 0) of the text becomes `new`; if `line` is -1, the launch is changed."""

    case: str
    kind: str
    line: int
    old: str
    new: str
    twin: int = 0  # index among the lines with the same text

    @property
    def key(self) -> str:
        """A key that does not change as long as the line and its index among equal lines do not."""
        return f"{self.case}: {self.kind}: {self.old} -> {self.new or 'nothing'} #{self.twin}"

    def rank(self, seed: int) -> str:
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()


def squeezed(line: str) -> str:
    return " ".join(line.split())


def body_of(lines: list[str], kernel: str) -> range:
    """Returns the lines of a kernel, from its .entry to its closing brace."""
    begin = next(i for i, line in enumerate(lines) if re.search(rf"\.entry\s+{re.escape(kernel)}\b", line))
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith("}"))
    return range(begin, end)


def index_lines(lines: list[str], body: range) -> set[int]:
    """Returns the line numbers of the integer instructions whose results reach an address."""
    made = defaultdict(list)  # register -> lines that write it
    wanted: list[str] = []
    for i in body:
        if not (m := STATEMENT.match(lines[i])):
            continue
        if ADDRESSED.match(m[3]):
            for bracket in re.findall(r"\[([^\]]*)\]", m[4]):
                wanted += REGISTER.findall(bracket)
        if INTEGER.match(m[3]):
            if target := REGISTER.match(m[4].strip()):
                made[target[0]].append(i)
    found: set[int] = set()
    seen: set[str] = set()
    while wanted:
        register = wanted.pop()
        if register in seen:
            continue
        seen.add(register)
        for i in made[register]:
            found.add(i)
            operands = STATEMENT.match(lines[i])[4].split(",", 1)
            wanted += REGISTER.findall(operands[1]) if len(operands) > 1 else []
    return found


def other_numbers(value: int) -> list[int]:
    """Returns plausible wrong constants: adjacent ones, half, twice."""
    return sorted({n for n in (value - 1, value + 1, value // 2, value * 2) if n != value})


def shifted(value: int) -> list[int]:
    return [value - 1, value + 1] if value > 0 else [value + 1]


def changed_numbers(text: str, choose) -> list[str]:
    """Returns `text` with its last number replaced by each of the numbers that `choose` returns."""
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return []
    last = numbers[-1]
    return [text[: last.start()] + str(n) + text[last.end() :] for n in choose(int(last[0]))]


def without_branch(lines: list[str], i: int) -> list[tuple[int, str]]:
    """Turns a spinning wait into a single test: removes the branch back, which is in the next two lines."""
    for j in (i + 1, i + 2):
        if re.match(r"^\s*@!?%p\w*\s+bra", lines[j]):
            return [(j, "")]
    return []


def of_statement(lines: list[str], i: int, m, phases: set[str], indices: set[int], matrices: bool):
    """Yields (kind, line, replacement) for the statement in line i."""
    line, guard, op, operands = lines[i], m[2], m[3], m[4]
    if re.match(r"(cp\.async|wgmma|cp\.async\.bulk)\.wait_(group|all)", op):
        yield "wait", i, ""
        for new in changed_numbers(line, lambda n: [n + 1]):
            yield "wait", i, new
    elif "try_wait" in op or "test_wait" in op:
        for at, new in without_branch(lines, i):
            yield "wait", at, new
    elif "commit_group" in op:
        yield "commit", i, ""
    elif re.match(r"(bar|barrier)\.", op):
        yield "barrier", i, ""
    elif re.match(r"(fence|membar|wgmma\.fence)", op):
        yield "fence", i, ""
    elif op.startswith("mbarrier.arrive") or op.startswith("mbarrier.expect_tx"):
        yield "arrive", i, ""
        for new in changed_numbers(line, lambda n: [n // 2, n * 2, n - 16, n + 16]) if "expect_tx" in op else []:
            yield "arrive", i, new
    elif op.startswith("mbarrier.init"):
        for new in changed_numbers(line, shifted):
            if int(NUMBER.findall(new)[-1]) > 0:
                yield "arrive", i, new
        yield "arrive", i, ""
    elif op.startswith("setp") and re.search(r"\.[usb](16|32|64)$", op):
        comparison = op.split(".")[1]
        if comparison in INVERSE:
            yield "bound", i, line.replace(f".{comparison}.", f".{INVERSE[comparison]}.", 1)
        for new in changed_numbers(line, lambda n: [n + 1, n - 1] if n > 1 else [n + 1]):
            yield "bound", i, new
    elif op.startswith("selp") and i in indices:
        target, one, other, predicate = [part.strip() for part in operands.split(",")]
        yield "bound", i, f"\t{op} {target}, {other}, {one}, {predicate};"
        yield "bound", i, f"\t{op} {target}, {one}, {one}, {predicate};"
    elif op.startswith("mov.b64") and "0x" in operands:
        value = int(operands.split("0x")[1], 16)
        for changed in (value ^ 1 << 16, value ^ 1 << 32, value ^ 1 << 62):  # the descriptor's two offsets, and its swizzle
            yield ("swizzle" if changed >> 60 != value >> 60 else "index"), i, line.replace(f"0x{value:x}", f"0x{changed:x}")
    elif i in indices:
        if op.startswith("xor") and matrices and not guard and REGISTER.search(operands):
            parts = [part.strip() for part in operands.split(",")]
            yield "swizzle", i, f"\tmov.b{op[-2:]} {parts[0]}, {parts[1]};"
            if not REGISTER.match(parts[2]):
                for new in changed_numbers(line, shifted):
                    yield "swizzle", i, new
        elif len(NUMBER.findall(operands)):
            for new in changed_numbers(line, shifted if op.startswith(("sh", "bfe", "mov")) else other_numbers):
                if not (op.startswith("mul") and re.search(r", -?0;", new)):
                    yield "index", i, new
    if ADDRESSED.match(op) and (offset := re.search(r"\[(%\w+)\+(-?\d+)\]", operands)):
        for n in (int(offset[2]) + 16, int(offset[2]) * 2, 0):
            if n != int(offset[2]):
                yield "index", i, line.replace(offset[0], f"[{offset[1]}+{n}]", 1)
    if guard and not re.match(r"(bra|ret|exit)", op):
        yield "bound", i, line.replace(f"@{m[1]}{guard}", f"@{'' if m[1] else '!'}{guard}", 1)
        yield "bound", i, re.sub(r"@!?%\w+\s+", "", line, count=1)
    if target := REGISTER.match(operands.strip()):
        if target[0] in phases:
            if op.startswith("mov") and NUMBER.search(operands):
                yield "phase", i, re.sub(r"\b([01]);", lambda n: f"{1 - int(n[1])};", line)
            elif op.startswith("xor"):
                yield "phase", i, ""


def phase_registers(lines: list[str], body: range) -> set[str]:
    """Returns the registers that try_wait.parity compares with."""
    found = set()
    for i in body:
        if "_wait.parity" in lines[i]:
            found |= set(REGISTER.findall(lines[i].split("]", 1)[1]))
    return found


def of_launch(case: str, launch: dict):
    """Yields changes of tensor maps and of the shared memory of the launch."""
    if size := launch.get("dynamic_shared"):
        for new in (size - 16, size // 2, size * 3 // 4):
            yield Site(case, "size", -1, f"dynamic_shared {size}", f"dynamic_shared {new}")
    for i, argument in enumerate(launch["arguments"]):
        if "tensor_map" in argument and (swizzle := argument["tensor_map"].get("swizzle")):
            for new in {0, 32, 64} - {swizzle}:
                box = argument["tensor_map"]["box"][0] * 2
                if new == 0 or box <= new:
                    yield Site(case, "swizzle", -1, f"map {i} swizzle {swizzle}", f"map {i} swizzle {new}")


def sites(case: str, text: str, launch: dict) -> list[Site]:
    lines = text.splitlines()
    body = body_of(lines, launch["kernel"])
    indices, phases = index_lines(lines, body), phase_registers(lines, body)
    matrices = any("ldmatrix" in lines[i] for i in body)
    found, seen, counted = list(of_launch(case, launch)), set(), defaultdict(list)
    for i in body:
        counted[squeezed(lines[i])].append(i)
    outside = [i for i, line in enumerate(lines) if line.startswith(".shared")]
    for i in [*outside, *body]:
        if shared := re.match(r"^(\s*\.shared\s.*\.b8\s+\w+\[)(\d+)(\];)", lines[i]):
            for size in (int(shared[2]) // 2, int(shared[2]) * 3 // 4, int(shared[2]) - 16, int(shared[2]) - 8):
                if 0 < size < int(shared[2]):
                    found.append(Site(case, "size", i, squeezed(lines[i]), f"{shared[1]}{size}{shared[3]}".strip()))
    for i in body:
        if m := STATEMENT.match(lines[i]):
            for kind, at, new in of_statement(lines, i, m, phases, indices, matrices):
                old = squeezed(lines[at])
                if squeezed(new) != old and (at, squeezed(new)) not in seen:
                    seen.add((at, squeezed(new)))
                    found.append(Site(case, kind, at, old, squeezed(new), counted[old].index(at) if at in counted[old] else 0))
    return found


def mutate(text: str, launch: dict, site: Site) -> tuple[str, dict]:
    """Returns the text and the launch with the site's change."""
    if site.line < 0:
        launch = copy.deepcopy(launch)
        words = site.new.split()
        if words[0] == "dynamic_shared":
            launch["dynamic_shared"] = int(words[1])
        else:
            launch["arguments"][int(words[1])]["tensor_map"]["swizzle"] = int(words[3])
        return text, launch
    lines = text.splitlines()
    assert squeezed(lines[site.line]) == site.old
    lines[site.line] = "\t" + site.new
    return "\n".join(lines) + "\n", launch


def draw(every: list[Site], seed: int, count: int) -> list[Site]:
    """Returns `count` sites. Kinds get equal shares as far as they have sites, and so do cases within a kind."""
    shelves: dict[str, list[Site]] = {}
    for kind in KINDS:
        cases = defaultdict(list)
        for site in sorted((s for s in every if s.kind == kind), key=lambda s: s.rank(seed)):
            cases[site.case].append(site)
        order = sorted(cases, key=lambda case: hashlib.sha256(f"{seed} {kind} {case}".encode()).hexdigest())
        shelves[kind] = [cases[c][i] for i in range(max(map(len, cases.values()), default=0)) for c in order if i < len(cases[c])]
    drawn: list[Site] = []
    while len(drawn) < count and any(shelves.values()):
        for kind in KINDS:
            if shelves[kind] and len(drawn) < count:
                drawn.append(shelves[kind].pop(0))
    return drawn
