"""One compile for every batch of a convolution."""

from __future__ import annotations

import contextlib


@contextlib.contextmanager
def any_batch():
    """Around the first call of a compiled model whose batch is marked dynamic:

        torch._dynamo.mark_dynamic(images, 0, min=2, max=256)
        with tilewright.any_batch():
            compiled(images)

    While it traces a CPU convolution, torch asks which of eager's implementations would run, and the answer is a guard
    on batch >= 16 in f32 (oneDNN, NNPACK: aten/src/ATen/native/Convolution.cpp). No backend is asked, and none can take
    it back. Here both are switched off for the process until the block ends; what runs in eager meanwhile is
    slower, and computes the same within rounding.
    """
    import torch

    # torch.backends.mkldnn.flags would set TF32 modes too, and warn where there is no Intel GPU.
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        with torch.backends.nnpack.flags(enabled=False):
            yield
    finally:
        torch._C._set_mkldnn_enabled(before)
