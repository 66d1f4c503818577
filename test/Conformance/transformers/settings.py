"""What every process of the harness sets before it runs a model."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from architectures import architectures
from subject import Subject


def prepare() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded
    os.environ.setdefault("TILEWRIGHT_CACHE", "0")  # each case is compiled
    warnings.filterwarnings("ignore")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    # Past the limit of recompiles Dynamo would silently call eager.
    torch._dynamo.config.fail_on_recompile_limit_hit = True


SUBJECT = Subject(Path(__file__).resolve().parent, architectures, prepare, parts=24, share_seconds=240)
