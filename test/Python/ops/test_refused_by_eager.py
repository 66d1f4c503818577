"""Tests that calls that eager rejects raise the same type of error when they are compiled or when the program is called."""

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed
from torch.nn import functional as F

from tilewright.dynamo.backend import tilewright

f64 = torch.float64
X, IDS = torch.ones(4, 5), torch.arange(3)
BOOLS = torch.tensor([True, False, True])

# name: (function, arguments)
REFUSED = {
    "index_add_negative": (lambda x, i, s: torch.index_add(x, 0, i, s), (X, torch.tensor([-1]), torch.ones(1, 5))),
    "index_copy_negative": (lambda x, i, s: torch.index_copy(x, 0, i, s), (X, torch.tensor([-1]), torch.ones(1, 5))),
    "embedding_negative": (F.embedding, (torch.tensor([-1]), X)),
    "gather_outside": (lambda x, i: x.gather(1, i), (X, torch.tensor([[9]]))),
    "scatter_outside": (lambda x, i: x.scatter(0, i, 1.0), (X, torch.tensor([[9]]))),
    "take_outside": (torch.take, (X, torch.tensor([20]))),
    "max_of_nothing": (torch.max, (torch.empty(0),)),
    "max_along_nothing": (lambda x: x.max(dim=0), (torch.empty(0, 3),)),
    "negative_power_of_integers": (lambda x: x**-1, (IDS,)),
    "subtraction_of_bools": (lambda x, y: x - y, (IDS, BOOLS)),
    "negation_of_bools": (lambda x: -x, (BOOLS,)),
    "bits_of_floats": (lambda x: x & 1, (X,)),
    "softmax_of_integers": (lambda x: x.softmax(0), (IDS,)),
    "cross_product_of_bools": (lambda x: torch.linalg.cross(x, x), (BOOLS,)),
    "product_of_bools": (lambda x: x @ x, (BOOLS,)),
    "parts_of_two_dtypes": (lambda x, y: torch.view_as_real(torch.complex(x, y)), (X, X.double())),
    "weights_of_another_dtype": (lambda x, t, w: F.nll_loss(x, t, w), (X, torch.tensor([0, 1, 2, 0]), torch.ones(5, dtype=f64))),
    "argmax_of_bools": (torch.argmax, (BOOLS,)),
    "topk_of_bools": (lambda x: x.topk(1), (BOOLS,)),
    "output_padding_of_the_stride": (lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=2), (torch.ones(1, 2, 4, 4), torch.ones(2, 3, 3, 3))),
    "adaptive_pool_of_integers": (lambda x: F.adaptive_avg_pool2d(x, 2), (torch.ones(1, 1, 4, 4, dtype=torch.int64),)),
    "convolution_of_bools": (F.conv2d, (torch.ones(1, 2, 9, 9, dtype=torch.bool), torch.ones(2, 2, 5, 5, dtype=torch.bool))),
    "dilated_convolution_of_integers": (lambda x, w: F.conv2d(x, w, dilation=2), (torch.ones(1, 2, 9, 9, dtype=torch.uint8), torch.ones(2, 2, 3, 3, dtype=torch.uint8))),
    "batch_norm_of_two_dtypes": (F.batch_norm, (torch.ones(2, 3, 4), torch.zeros(3, dtype=f64), torch.ones(3, dtype=f64))),
    "linear_of_two_dtypes": (lambda x: F.linear(x, torch.ones(3, 5), torch.ones(3)), (X.double(),)),
    "mm_of_two_dtypes": (torch.mm, (X, X.double().t())),
    "mm_of_two_halves": (torch.mm, (X.half(), X.bfloat16().t())),
    "mm_of_floats_and_integers": (torch.mm, (X, torch.ones(5, 2, dtype=torch.int64))),
    "bmm_of_two_dtypes": (torch.bmm, (X[None], X.double().t()[None])),
    "mv_of_two_dtypes": (torch.mv, (X, torch.ones(5, dtype=f64))),
    "addmm_of_two_dtypes": (torch.addmm, (torch.ones(4, dtype=f64), X, X.t())),
    "addbmm_of_two_dtypes": (torch.addbmm, (torch.ones(4, 4), X[None], X.double().t()[None])),
    "baddbmm_of_two_dtypes": (torch.baddbmm, (torch.ones(1, 4, 4, dtype=f64), X[None], X.t()[None])),
    "cross_product_of_two_dtypes": (torch.linalg.cross, (torch.ones(3), torch.ones(3, dtype=f64))),
    "cdist_of_two_dtypes": (torch.cdist, (X, X.double())),
    "grid_of_another_dtype": (lambda x, g: F.grid_sample(x, g, align_corners=False), (torch.ones(1, 1, 4, 4), torch.zeros(1, 2, 2, 2, dtype=f64))),
    "index_copy_of_two_dtypes": (lambda x, i, s: torch.index_copy(x, 0, i, s), (X, torch.tensor([1]), X.double()[:1])),
    "embedding_bag_of_two_dtypes": (lambda i, w, p: F.embedding_bag(i, w, mode="sum", per_sample_weights=p), (torch.zeros(2, 3, dtype=torch.int64), X, torch.ones(2, 3, dtype=f64))),
    "cross_entropy_of_two_dtypes": (F.binary_cross_entropy, (torch.rand(4), torch.rand(4, dtype=f64))),
    "index_put_of_two_dtypes": (lambda x, i, v: torch.index_put(x, (i,), v), (torch.ones(4), torch.tensor([1]), torch.ones(1, dtype=f64))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_call_rejected_by_eager_raises_the_same_error_type(name):
    function, arguments = REFUSED[name]
    with pytest.raises(Exception) as eager:
        function(*arguments)
    with pytest.raises(Exception) as ours:
        torch.compile(function, backend=tilewright)(*arguments)
    assert isinstance(ours.value, eager.type) and not isinstance(ours.value, BackendCompilerFailed)
