"""The rows of a part, as lines of JSON. Each row is written as soon as it is known, because the machine may be taken
away at any time. A call that finds rows of an earlier call measures only the missing rows."""

from __future__ import annotations

import json
import math
import pathlib

from .setting import Setting


def plain(value):
    """Returns the value with floats rounded to 6 digits. NaN and infinity, which JSON does not support, become text."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def read(path: pathlib.Path) -> list[dict]:
    """Returns the rows of a file, without an incomplete last line."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


class Results:
    """The rows of one part, by key.

    The folders `out` and `work` have the same rows. A row of the kind `first` describes the first call of one engine
    (stages.py); the other rows are results.
    """

    def __init__(self, setting: Setting, part: str):
        self.rows: dict[str, dict] = {}
        self.first: dict[tuple[str, str], dict] = {}
        for folder in [*setting.earlier, setting.work, setting.out]:
            for row in read(folder / f"{part}.jsonl"):
                self._take(row)
        self.files = []
        for folder in dict.fromkeys([setting.work, setting.out]):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{part}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in [*self.first.values(), *self.rows.values()]))
            self.files.append(path.open("a"))

    def _take(self, row: dict) -> None:
        if row.get("kind") == "first":
            self.first[row["key"], row["engine"]] = row
        elif "key" in row:
            self.rows[row["key"]] = row

    def add(self, row: dict) -> None:
        row = plain(row)
        self._take(row)
        for file in self.files:
            file.write(json.dumps(row) + "\n")
            file.flush()

    def missing(self, keys: list[str]) -> list[str]:
        return [key for key in keys if key not in self.rows]

    def close(self) -> None:
        for file in self.files:
            file.close()
