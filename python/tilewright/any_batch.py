"""A context manager that lets one compile serve every batch size of a convolution."""

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
    remove this guard. This context manager switches both implementations off for the process until the block ends.
    Meanwhile, convolutions in eager are slower; their results are equal within rounding.
    Takes no arguments, and yields no value.
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
