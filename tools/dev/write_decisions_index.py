#!/usr/bin/env python3
"""Writes docs/decisions/index.md, the list of the decision records by number.

    python3 tools/dev/write_decisions_index.py

test/Python/test_docs_site.py fails if a record is missing from the index.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs/decisions"


def text() -> str:
    rows = []
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        number, title = re.fullmatch(r"# (\d{4}): (.+)", path.read_text().splitlines()[0]).groups()
        rows.append(f"| [{number}]({path.name}) | {title[0].upper()}{title[1:]} |")
    return "\n".join([
        "# Decisions", "",
        "A decision record describes the alternatives, the decision, its reasons and its costs. If a later record replaces a decision, the earlier record",
        "is not rewritten; the later record refers to it.", "", "| record | decision |", "|---|---|", *rows, "",
        "```{toctree}", ":hidden:", ":glob:", "", "0*", "```", "",
    ])  # fmt: skip


if __name__ == "__main__":
    (FOLDER / "index.md").write_text(text())
