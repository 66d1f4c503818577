"""Compiles small models of the architectures of `transformers` with Tilewright. docs/conformance.md describes what is
compared.

    python test/Conformance/transformers case bert [--mode training]   one case, in this process
    python test/Conformance/transformers share                   some architectures, the same ones each time
    python test/Conformance/transformers full                    every case of the table
    python test/Conformance/transformers run --entries 'qwen.*'  the architectures that match
    python test/Conformance/transformers table --results FILE    writes the results of a run into table.json
    python test/Conformance/transformers summary --results FILE  prints the counts of a run

--results FILE stores the results of a run; running the same command again continues that run.
"""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), *(str(here.parent / name) for name in ("models", "harness")), str(here.parent.parent / "Python")]

import built  # noqa: E402, F401
from command import main  # noqa: E402
from settings import SUBJECT  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(SUBJECT, __doc__))
