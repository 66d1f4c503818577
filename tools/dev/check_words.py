#!/usr/bin/env python3
"""Checks that comments, docstrings and documentation use no word that docs/glossary.md has replaced.

    python3 tools/dev/check_words.py [repository]

The words are private metaphors and terms for which the field has a standard one. Code, strings, code blocks, IR and quoted names are not
checked.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

# For each replaced word or phrase, the words to use instead. The keys are regular expressions that match whole words in any case.
WORDS = {
    r"tenants?": "target",
    r"house|houses|house's": "project, library",
    r"rooms?": "folder, library; space",
    r"by and by": "gradually",
    r"turned (operand|product|operands|products|matrix|weight|weights|b|a)": "transposed",
    r"few apart": "small stride",
    r"beside each other": "next to each other, concatenated",
    r"(is|are|was|were) told": "is reported, is passed",
    r"tells? (us|people|the user|it|them)": "reports, says",
    r"lies? (in|on|at|along|behind|beside|between|within)": "is in, is stored in, is contiguous along",
    r"stands? (in|on|behind|beside|before) (the|a|an|its|their)": "is in, is after",
    r"at hand": "available",
    r"as it may": "perhaps",
    r"neighbours?|neighbouring": "adjacent, neighbor",
    r"extremes": "maxima and minima",
    r"alike": "equally, in the same way",
    r"for ever": "forever",
}  # fmt: skip
PATTERN = re.compile(r"\b(" + "|".join(f"(?:{pattern})" for pattern in WORDS) + r")\b", re.IGNORECASE)
SKIPPED = {"docs/glossary.md", "docs/contributing/style.md", "tools/dev/check_words.py"}


def of_cpp(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        at = re.search(r"(^|\s)//+[/<!]*\s?(.*)", line)
        if at and not at[2].startswith(("RUN", "CHECK")):
            yield number, at[2]


def of_python(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, clean=False):
            first = node.body[0]
            for offset, line in enumerate(ast.get_docstring(node, clean=False).splitlines()):
                yield first.lineno + offset, line


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


READERS = {".cpp": of_cpp, ".h": of_cpp, ".py": of_python, ".md": of_markdown}


def findings(root: Path) -> list[str]:
    names = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    found = []
    for name in filter(None, names):
        reader = READERS.get(Path(name).suffix)
        if reader is None or name in SKIPPED or not (root / name).is_file():
            continue
        for number, line in reader((root / name).read_text()):
            plain = re.sub(r"`[^`]*`|\"[^\"]*\"", "", line)
            if at := PATTERN.search(plain):
                advice = next(words for pattern, words in WORDS.items() if re.fullmatch(pattern, at[1], re.IGNORECASE))
                found.append(f"{name}:{number}: '{at[1]}': write {advice}: {line.strip()}")
    return found


def main() -> int:
    found = findings(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found))
    print(f"check_words: {len(found)} lines use a word that the glossary replaces" if found else "check_words: no replaced words")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
