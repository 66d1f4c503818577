"""A process that runs cases: models/work.py."""

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), *(str(here.parent / name) for name in ("models", "harness")), str(here.parent.parent / "Python")]

from library_models import SUBJECT  # noqa: E402
from work import work  # noqa: E402

if __name__ == "__main__":
    work(SUBJECT)
