"""Makes the built package importable here and in the workers if it is not installed."""

import os
import sys
from pathlib import Path

try:
    import tilewright  # noqa: F401
except ImportError:
    folder = str(Path(__file__).resolve().parents[3] / "build" / "python")
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
