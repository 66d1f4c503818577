"""Checks the text of kernel.cpp and weights.h against rules that vendors' tools have for dataflow designs.

Each complaint begins with the rule's name:
  region     a dataflow region contains only declarations and calls: no condition, no loop, no early exit
  channel    a local array or stream has one task that writes it and, after that, one that reads it
  port       a port of the top function is used by one task; every memory port has a separate bundle
  bounds     loops have constant bounds and count up
  pipeline   a pipelined loop contains no loop that is not unrolled
  partition  an array has at most 4096 banks, and each factor is at most the dimension's size
  name       a pragma names a variable of its function; labels occur once
  storage    no array of a function is static, and nothing is allocated; constants are in weights.h
"""

from __future__ import annotations

import re

FUNCTION = re.compile(r"^(?:static )?void (\w+)\((.*)\) \{$")
ARRAY = re.compile(r"^(static const )?(?:[\w:]+(?:<[^>]*>)?) (\w+)((?:\[\d+\])+)( =.*)?;?$")
STREAM = re.compile(r"^hls::stream(?:_of_blocks)?<(.*)> (\w+)[(;]")
LOCK = re.compile(r"^hls::(?:read|write)_lock<(.*)> (\w+)\((\w+)\);$")
CALL = re.compile(r"^(\w+)\((.*)\);$")
FOR = re.compile(r"^(?:(\w+): )?for \(int (\w+) = (\S+); (\w+) < (\S+); (.*)\) \{$")


class Function:
    def __init__(self, name, parameters):
        self.name, self.lines = name, []
        self.parameters = [p.strip() for p in split(parameters)]

    def writes(self, position: int) -> bool:
        return not self.parameters[position].startswith("const ")


def split(text: str) -> list[str]:
    """Splits at commas that are not inside < >."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p for p in [*parts, part] if p.strip()]


def functions_of(text: str) -> dict[str, Function]:
    found, current = {}, None
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            current = found[match[1]] = Function(match[1], match[2])
        elif line == "}":
            current = None
        elif current:
            current.lines.append(line)
    return found


def constants_of(text: str) -> dict[str, list[int]]:
    """Returns the sizes of arrays outside of functions, which are ROMs."""
    found = {}
    for line in text.splitlines():
        if (match := ARRAY.match(line)) and match[1]:
            found[match[2]] = [int(n) for n in re.findall(r"\[(\d+)\]", match[3])]
    return found


def name_of(parameter: str) -> str:
    return re.sub(r"[\[&*].*", "", parameter.split()[-1].lstrip("*&")) if parameter else ""


def lint_region(top: Function, functions, constants) -> list[str]:
    complaints, channels, used = [], {name: ["ROM"] for name in constants}, {}
    ports = {name_of(p) for p in top.parameters}
    for raw in top.lines:
        line = raw.strip()
        if not line or line.startswith(("#pragma", "//")):
            continue
        if match := ARRAY.match(line):
            channels[match[2]] = []
        elif match := STREAM.match(line):
            channels[match[2]] = []
        elif (match := CALL.match(line)) and match[1] in functions:
            for position, argument in enumerate(split(match[2])):
                argument = argument.strip()
                writes = functions[match[1]].writes(position)
                if "hls::stream" in functions[match[1]].parameters[position]:
                    body = "\n".join(functions[match[1]].lines)
                    name = name_of(functions[match[1]].parameters[position])
                    writes = f"{name}.write(" in body or re.search(rf"hls::write_lock<.*>.*\({name}\);", body) is not None
                if argument in channels:
                    channels[argument].append("write" if writes else "read")
                elif argument not in ports:
                    complaints.append(f"name: {match[1]} has the argument '{argument}', which is not declared")
                elif used.setdefault(argument, match[1]) != match[1] or f"{argument} twice" in used:
                    complaints.append(f"port: {argument} is used by {used[argument]} and {match[1]}")
                else:
                    used[f"{argument} twice"] = match[1]
        else:
            complaints.append(f"region: '{line}' is not allowed in the dataflow region of {top.name}")
    for name, uses in channels.items():
        if uses not in (["write", "read"], ["ROM", "read"]):
            complaints.append(f"channel: {name} has {' then '.join(uses) or 'no'} uses")
    return complaints


def lint_interfaces(top: Function) -> list[str]:
    bundles = re.findall(r"m_axi port=(\w+) bundle=(\w+)", "\n".join(top.lines))
    complaints = [f"port: bundle {b} of {p} has another port, too" for i, (p, b) in enumerate(bundles) if b in [x for _, x in bundles[:i]]]
    pointers = {name_of(p) for p in top.parameters if "*" in p}
    return complaints + [f"port: {p} has no m_axi bundle" for p in sorted(pointers - {p for p, _ in bundles})]


def lint_body(function: Function, constants) -> list[str]:
    complaints, labels, loops = [], set(), []
    arrays = dict(constants)
    for parameter in function.parameters:
        arrays[name_of(parameter)] = [int(n) for n in re.findall(r"\[(\d+)\]", parameter)]
    banks: dict[str, int] = {}
    for raw in function.lines:
        line = raw.strip()
        if match := ARRAY.match(line):
            arrays[match[2]] = [int(n) for n in re.findall(r"\[(\d+)\]", match[3])]
        if match := STREAM.match(line) or LOCK.match(line):
            arrays[match[2]] = [int(n) for n in re.findall(r"\[(\d+)\]", match[1])]
        if line.startswith("static "):
            complaints.append(f"storage: '{line}' in {function.name}")
        if re.search(r"\b(malloc|new|free|delete)\b", line):
            complaints.append(f"storage: '{line}' in {function.name}")
        if line.startswith("for (") or ": for (" in line:
            match = FOR.match(line)
            if not match or not match[3].isdigit() or not match[5].isdigit() or not match[6].startswith(("++", match[2] + " += ")):
                complaints.append(f"bounds: '{line}' in {function.name}")
            elif match[1] and match[1] in labels:
                complaints.append(f"name: label {match[1]} occurs twice in {function.name}")
            elif match[1]:
                labels.add(match[1])
            loops.append({"line": line, "pipelined": False, "unrolled": False})
            continue
        if line == "#pragma HLS unroll" and loops:
            loops[-1]["unrolled"] = True
        if line.startswith("#pragma HLS pipeline") and loops:
            loops[-1]["pipelined"] = True
        if match := re.match(r"#pragma HLS array_partition variable=(\w+) type=(\w+)(?: factor=(\d+))? dim=(\d+)", line):
            name, kind, factor, dim = match[1], match[2], match[3], int(match[4])
            if name not in arrays or dim > len(arrays[name]):
                complaints.append(f"name: a partition of '{name}', which is not declared, in {function.name}")
                continue
            size = arrays[name][dim - 1]
            parts = size if kind == "complete" else int(factor)
            banks[name] = banks.get(name, 1) * parts
            if parts > size or banks[name] > 4096:
                complaints.append(f"partition: {name} in {function.name} has {banks[name]} banks, {parts} of them along a size of {size}")
        if (match := re.match(r"#pragma HLS dependence variable=(\w+) ", line)) and match[1] not in arrays:
            complaints.append(f"name: a dependence of '{match[1]}', which is not declared, in {function.name}")
        if line.endswith("{") and not line.endswith("= {"):
            loops.append({"line": line, "pipelined": False, "unrolled": True})
        if line in ("}", "};") and loops and line == "}":
            inner = loops.pop()
            if any(outer["pipelined"] for outer in loops) and not inner["unrolled"]:
                complaints.append(f"pipeline: '{inner['line']}' in a pipelined loop of {function.name} is not unrolled")
    return complaints


def lint(text: str, weights: str = "") -> list[str]:
    """Returns the complaints about kernel.cpp and, if there is one, weights.h."""
    functions, constants = functions_of(text), constants_of(weights)
    tops = [f for f in functions.values() if any(line.startswith("#pragma HLS dataflow") for line in f.lines)]
    complaints = [] if len(tops) == 1 else [f"region: {len(tops)} functions have a dataflow region, expected 1"]
    for top in tops:
        complaints += lint_region(top, functions, constants) + lint_interfaces(top)
    for function in functions.values():
        complaints += lint_body(function, constants)
    return complaints
