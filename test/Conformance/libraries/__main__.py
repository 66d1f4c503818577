"""Compiles small models of libraries of models (timm, torchvision, diffusers, MONAI, PyTorch Geometric, vit-pytorch,
x-transformers) with Tilewright: docs/conformance.md describes what is compared.

    python test/Conformance/libraries install                   installs the libraries into build/libraries
    python test/Conformance/libraries case timm/resnet [--mode training]   one case, in this process
    python test/Conformance/libraries full                      every case of the table
    python test/Conformance/libraries run --entries 'timm/.*'   the models that match
    python test/Conformance/libraries table --results FILE      writes the results of a run into table.json
    python test/Conformance/libraries summary --results FILE    prints the counts of a run

--results FILE stores the results of a run; running the same command again continues that run.
"""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), *(str(here.parent / name) for name in ("models", "harness")), str(here.parent.parent / "Python")]

import built  # noqa: E402, F401
from command import main  # noqa: E402
from installed import demand, install  # noqa: E402
from library_models import SUBJECT  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ("case", "full", "run", "share"):
        demand()
    sys.exit(install() if sys.argv[1:] == ["install"] else main(SUBJECT, __doc__))
