"""Which entries a commit's share has: those whose name and commit hash to 0."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path


def commit() -> str:
    here = Path(__file__).resolve().parent
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True).stdout.strip() or "none"


def share(names, commit: str, parts: int) -> list[str]:
    """About one of `parts` of the entries."""
    return [name for name in names if int(hashlib.sha256(f"{commit} {name}".encode()).hexdigest(), 16) % parts == 0]
