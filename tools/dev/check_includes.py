"""The include rule of the house: a stage's room includes no other stage; nothing outside includes from a target.

Only lib/Pipelines and lib/Compiler see several rooms. Exit 1 with file:line of each breach.
"""

import re
import sys
from pathlib import Path

STAGES = {"Frontend", "Graph", "Structured", "Tiled", "Vector", "Target", "Runtime", "Tuner"}


def breaches(root: Path):
    for path in sorted((root / "lib").rglob("*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        here = path.relative_to(root).parts
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "lib/(\w+)/(?:(\w+)/)?', line)
            if not match:
                continue
            room, inner = match.groups()
            if room in STAGES and here[1] in STAGES and room != here[1]:
                yield f"{path.relative_to(root)}:{number}: stage {here[1]} includes stage {room}"
            if room == "Target" and here[1:3] != ("Target", inner):
                yield f"{path.relative_to(root)}:{number}: reaches into target {inner} from outside"


def main() -> int:
    found = list(breaches(Path(__file__).resolve().parents[2]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
