"""Records the times of all schedules of kernels on this GPU, with `tilewright tune --record-tables`.

The rows in tables.jsonl have all tables. The products among them that one kernel computes with wgmma are also written to
products.jsonl, in the form of test/Tuner/Inputs/gpu/h200-products.jsonl, which `gpu-model` and tools/dev/fit_wgmma.py read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

from . import table_rows
from .children import Job, Outcome, run_jobs, run_rows
from .results import Results
from .setting import Setting
from .table_format import converted

LIMIT = 300.0  # seconds of the schedules of a row
PEER_LIMIT = 60.0
GROUP = 6  # rows that are exported together


def prepare(setting: Setting, keys: list[str], say: Callable[[str], None]) -> dict[str, dict]:
    """Exports the rows and measures eager. Returns a dict per row."""
    folder = setting.work / "exported"
    folder.mkdir(exist_ok=True)
    found: dict[str, dict] = {}

    def command(rest: list[str]) -> list[str]:
        return setting.worker("rows", f"peers:{folder}", str(setting.deadline), json.dumps({key: [] for key in rest}))

    def done(row: dict) -> None:
        found[row["key"]] = row
        if row.get("failed"):
            say(f"tables: {row['key']}: {row['failed']}")

    run_rows(command, keys, PEER_LIMIT, setting.deadline, setting.environment(), setting.work / "logs", done)
    return found


def record(setting: Setting, key: str, prepared: dict) -> dict | None:
    """Returns the row, or None if the deadline has passed before it is complete."""
    known = table_rows.rows(setting.dry)[key]
    folder = setting.work / "recorded" / table_rows.file_name(key)
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(setting.program()), "tune", "--target=cuda", prepared["model"], f"--record-tables={folder}"]
    outcomes: list[Outcome] = []
    run_jobs([Job(key, command, LIMIT)], 1, setting.deadline, setting.environment(), setting.work / "logs", lambda _, outcome: outcomes.append(outcome))
    if not outcomes or outcomes[0].stopped:
        return None
    row = {"key": key, "peer_ms": prepared["peer_ms"], "flops": known.flops, "bytes": known.bytes, "seconds": outcomes[0].seconds}
    tables = [converted(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    if known.kernel:
        row["kernel"] = known.kernel
    if outcomes[0].reason or not tables:
        row["failed"] = outcomes[0].reason or "no kernel of this row has several schedules"
    return row | {"tables": tables}


def whole_products(tables: list[dict]) -> list[dict]:
    """Returns the tables of products with the schedule wgmma. Returns no table if the sum of a product is divided into parts, because the
    table then has the times of a part."""
    if any("sum of parts" in table["operations"] for table in tables):
        return []
    return [table for table in tables if "matmul" in table["operations"] and any("consumer_rows" in knobs for knobs, _ in table["schedules"])]


def write_products(results: Results, setting: Setting) -> None:
    lines = []
    for row in results.rows.values():
        products = whole_products(row.get("tables", []))
        if row.get("kernel") and products:
            (table, *_) = products
            lines.append({"kernel": row["kernel"], "peer_ms": row["peer_ms"], "default_ms": table["default_ms"], "flops": row["flops"],
                          "bytes": row["bytes"], "machine": table["machine"], "schedules": table["schedules"]})  # fmt: skip
    (setting.out / "products.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(setting: Setting, say: Callable[[str], None]) -> None:
    results = Results(setting, "tables")
    chosen = setting.chosen(list(table_rows.rows(setting.dry)))
    keys = results.missing(chosen)
    for at in range(0, len(keys), GROUP):
        if setting.left() < 5:
            break
        prepared = prepare(setting, keys[at : at + GROUP], say)
        for key, start in prepared.items():
            row = start if start.get("failed") else record(setting, key, start)
            if row is None:
                break
            results.add(row)
            write_products(results, setting)
            count = sum(len(table["schedules"]) for table in row.get("tables", []))
            say(f"tables: {key}: " + (row.get("failed") or f"{count} schedules in {row['seconds']:.0f} s"))
    left = len(results.missing(chosen))
    say(f"tables: {left} rows are left for another call" if left else "tables: complete")
    results.close()
