"""Prepares data for a compilation when Dynamo starts to trace, seconds before Dynamo calls the backend.

torch calls a callback at the start of a compilation (`torch._dynamo.on_compile_start`), but does not pass the frame and
the backend. This file reads them from the local variables of Dynamo's `_compile` (torch/_dynamo/convert_frame.py). If a
version of torch stores them elsewhere, the work starts when the backend is called.

torch holds a lock while it calls the start callbacks. The compilation of a lazily compiled backward graph starts during
the user's function, where Dynamo traces each frame that is executed. If Dynamo traced the callback, it would start a
compilation that waits for this lock forever. Therefore the callback runs with Dynamo disabled, and never raises.
Test: test/Python/test_training_steps.py
"""

from __future__ import annotations

import logging
import sys
import threading
from types import FrameType

import torch
from torch import nn
from torch._dynamo import convert_frame
from torch._dynamo.callback import CallbackTrigger, callback_handler
from torch.utils._triton import has_triton_package

from ..options import CompileOptions, read_options
from ..runtime import prefault
from .torch_key import restore_torch_key

log = logging.getLogger(__name__)


def _compiling() -> tuple[object, dict] | None:
    """Returns the backend and the local variables of the frame that the current thread compiles, or None."""
    code = getattr(getattr(convert_frame, "_compile", None), "__code__", None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    if frame is None:
        return None
    known = frame.f_locals
    values = known.get("locals")
    return (known.get("compiler_fn"), values) if isinstance(values, dict) else None


def _options(backend, ours) -> CompileOptions | None:
    """Returns the user's options if `backend` is `ours` or wraps it directly or indirectly, else None."""
    keywords: dict = {}
    while backend is not None and backend is not ours:
        keywords = getattr(backend, "kwargs", keywords)
        backend = getattr(backend, "_torchdynamo_orig_backend", None) or getattr(backend, "compiler_fn", None)
    if backend is None:
        return None
    try:
        return read_options(keywords.get("options"), keywords.get("mode"))
    except (TypeError, ValueError):
        return None  # the backend itself raises the error


def _key() -> None:
    """Prepares data for the key of AOTAutogradCache: torch's digest of its sources, and a module that torch imports to find Triton
    kernels."""
    restore_torch_key()
    if has_triton_package():
        import torch._inductor.codegen.wrapper  # noqa: F401


def watch(ours) -> None:
    """Registers a callback that prepares each later compilation with the backend `ours`, until `torch._dynamo.reset()` is called."""
    if any(getattr(callback, "backend", None) is ours for callback in callback_handler.start_callbacks):
        return

    def prepare(found) -> None:
        options = _options(found[0], ours) if found else None
        if options is None:
            return
        if options.cache:
            # A daemon thread that waits for the GIL while the interpreter exits is unwound through torch's C++ frames, which aborts the
            # process. Therefore this thread is not a daemon.
            threading.Thread(target=_key).start()
        for value in list(found[1].values()):
            if isinstance(value, nn.Module):
                prefault.bring(prefault.weights(value), options)

    def begins(arguments) -> None:
        try:
            if arguments.callback_trigger is CallbackTrigger.DYNAMO:
                prepare(_compiling())
        except Exception:  # a module may override parameters() or have no attributes yet; the compile itself does not depend on this
            log.debug("tilewright: the preparation of a compilation failed", exc_info=True)

    callback = torch._dynamo.disable(begins, reason="it runs while torch holds a lock that a compilation acquires")
    callback.backend = ours
    callback_handler.register_start_callback(callback)
