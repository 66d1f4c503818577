#!/usr/bin/env python3
"""Checks that no two files of a library define the same local name, so that they can be compiled as one translation unit.

    python3 tools/dev/check_unity.py [repository]

The release build compiles several files of a library together. The groups change if a file is added, so that two files that were in different groups
before may be in the same group. This script compares the types, constants and functions that the files define in anonymous namespaces or as `static`.
Functions are compared with the types of their parameters, because overloads may be in one unit.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum(?: class)?) (\w+)(?: final)?(?: :.*)?(?: \{|$)")
CONSTANT = re.compile(r"(?:static |inline )?(?:constexpr|const) [\w:<>* ]+?[ *](\w+)(?: = |\[|\{)")
FUNCTION = re.compile(r"(?:static )?[\w:<>,*& ]+[ *&](\w+)\(([^()]*)\)(?: const)? \{")


def names(text: str) -> set[str]:
    """Returns the local names that a file defines, each with its namespace and, for a function, the types of its parameters."""
    found, spaces = set(), []
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            spaces.append(opened[1] or "")
        elif line.startswith("} // namespace") and spaces:
            spaces.pop()
        elif not line.startswith(" "):
            local = "" in spaces
            within = "::".join(space for space in spaces if space)
            if (match := TYPE.match(line)) and local or (match := CONSTANT.match(line)):
                found.add(f"{within}::{match[1]}")
            elif (match := FUNCTION.match(line)) and (local or line.startswith("static ")):
                types = ", ".join(re.sub(r"\s*\w+$", "", part.strip()) for part in match[2].split(","))
                found.add(f"{within}::{match[1]}({types})")
    return found


def conflicts(files: dict[str, str], libraries: list[str]) -> list[str]:
    """Returns a line for each name that several files of one library define. `files` maps paths to texts."""
    where: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, text in sorted(files.items()):
        library = max((folder for folder in libraries if path.startswith(f"{folder}/")), key=len, default=None)
        if library is not None:
            for name in names(text):
                where[library, name].append(path)
    return [f"{name} is defined in {' and '.join(paths)}" for (_, name), paths in sorted(where.items()) if len(paths) > 1]


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "*.cpp"], capture_output=True, text=True, check=True).stdout.split()
    build_files = [*root.glob("lib/**/CMakeLists.txt"), *root.glob("dialects/**/CMakeLists.txt"), *root.glob("tools/**/CMakeLists.txt")]
    libraries = [file.parent.relative_to(root).as_posix() for file in build_files if re.search("tilewright_(library|unity)", file.read_text())]
    found = conflicts({path: (root / path).read_text() for path in listed if (root / path).exists()}, libraries)
    print("\n".join(found) or "check_unity: no library defines a local name twice")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
