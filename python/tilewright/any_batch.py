"""A context manager with which one compilation of a convolution supports all batch sizes."""

from __future__ import annotations

import contextlib


@contextlib.contextmanager
def any_batch():
    """Prevents a guard on the batch size during the first call of a compiled model whose batch is marked dynamic::

        torch._dynamo.mark_dynamic(images, 0, min=2, max=256)
        with tilewright.any_batch():
            compiled(images)

    While torch traces a CPU convolution, it checks which of eager's implementations would run. This check adds a guard on
    batch >= 16 in f32 (oneDNN, NNPACK: aten/src/ATen/native/Convolution.cpp). A backend can neither prevent nor
    remove this guard. Within the `with` block, this context manager disables both implementations for the whole
    process. Convolutions that eager executes during this time are slower, and their results may differ by rounding.
    The context manager takes no arguments, and yields no value.
    """
    import torch

    # torch.backends.mkldnn.flags is not used, because it also sets TF32 modes and warns on machines without an Intel GPU.
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        with torch.backends.nnpack.flags(enabled=False):
            yield
    finally:
        torch._C._set_mkldnn_enabled(before)
