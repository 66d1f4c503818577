"""The settings of the harness, and of each of its processes."""

from __future__ import annotations

from pathlib import Path

from architectures import architectures
from startup import prepare_process
from subject import Subject


def prepare() -> None:
    prepare_process()
    import transformers

    transformers.logging.set_verbosity_error()


SUBJECT = Subject(Path(__file__).resolve().parent, architectures, prepare, parts=24, share_seconds=240)
