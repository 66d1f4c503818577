"""Products, attention and convolutions at sizes around every tile, in f32, bf16, f16 and int8. test_machines.py runs
it on the machine that TILEWRIGHT_CPU or TILEWRIGHT_EMULATE_AMX names. `machines_program.py f16` runs only those of
f16. With TILEWRIGHT_TEST_SHARES, only every third check runs. At the end, the program prints the number of all
checks."""

import copy
import os
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers quantized_decomposed)

from numbers_rule import assert_numbers, leaves

sys.path.insert(0, str(Path(__file__).parents[1] / "Conformance" / "harness"))
import quick_process  # noqa: E402

quick_process.prepare()
torch.manual_seed(0)
checks = 0
parts = 3 if os.environ.get("TILEWRIGHT_TEST_SHARES") else 1


def is_selected() -> bool:
    """Counts a check, and returns whether it is one of those to run."""
    global checks
    checks += 1
    return checks % parts == 0


def check(function, arguments, module=None):
    if not is_selected():
        return
    torch._dynamo.reset()
    target = module if module is not None else function
    wide = copy.deepcopy(module).double() if module is not None else function
    with torch.no_grad():
        got = torch.compile(target, backend="tilewright", fullgraph=True, options={"strict": True})(*arguments)
        eager = [[target(*arguments)]]
        exact = [wide(*(a.double() for a in arguments))]
    assert_numbers(leaves(got), [leaves(run) for run in eager], leaves(exact))


# Each entry is (rows, columns, k). The sizes are 1, and sizes below, at and above those of tiles (8, 16 and 32) and K-blocks. For the last
# two entries, one with a single K-block and one with several, AMX kernels round and store results row by row while they compute later rows.
products = [(1, 1, 1), (1, 100, 70), (5, 40, 33), (8, 48, 256), (17, 16, 31), (31, 33, 32), (32, 32, 64), (33, 97, 47),
            (64, 64, 600), (300, 40, 2100), (100, 96, 256), (128, 64, 768)]
attentions = [(1, 3, 40, 64), (2, 2, 130, 48), (1, 1, 700, 33)]
# Images with few channels, whose windows are gathered (one with longer lines than are gathered at once, one with a single
# channel), and images with more channels.
convolutions = [(1, 3, 20, 24, 7, 2, 3), (1, 3, 75, 40, 5, 1, 1), (2, 1, 37, 70, (3, 4), (1, 3), 2), (1, 20, 13, 36, 3, 1, 1),
                (1, 33, 9, 17, 1, 2, 0), (2, 16, 8, 8, (2, 5), (1, 2), 0)]
# (groups, channels per group, filters per group, ...) of depthwise convolutions, of convolutions with two filters per
# channel, and of convolutions whose groups are smaller or larger than a vector.
grouped = [(40, 1, 1, 3, 1, 1), (9, 1, 1, 7, 2, 3), (12, 1, 2, 5, 1, 2), (10, 4, 4, 3, 1, 1), (3, 8, 8, 3, 2, 1), (2, 40, 40, 3, 1, 1),
           (3, 5, 3, 3, 1, 0)]


def module_weight(window, dtype):
    return torch.randn(40, 1, window, window, dtype=dtype)


def depthwise_gradient(stride, padding):
    """Returns a function that computes the gradients of a depthwise convolution with respect to its input and its weight."""

    def gradients(x, w):
        y = F.conv2d(x, w, None, stride, padding, 1, 40)
        return torch.ops.aten.convolution_backward(y, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 40,
                                                   [True, True, False])[:2]  # fmt: skip

    return gradients


def attention_gradient(q, k, v):
    """Returns the gradient of half the sum of the squares of the result."""
    result, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(result, q, k, v, result, logsumexp, 0.0, True)


only_f16 = sys.argv[1:] == ["f16"]
for dtype in (torch.float16,) if only_f16 else (torch.float32, torch.bfloat16, torch.float16):
    for m, n, k in products:
        check(None, [torch.randn(m, k, dtype=dtype)], torch.nn.Linear(k, n, dtype=dtype))
        # Neither operand is a parameter; the left one is transposed.
        check(torch.matmul, [torch.randn(k, m, dtype=dtype).t(), torch.randn(k, n, dtype=dtype)])
    for shape in attentions:
        check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
              [torch.randn(*shape, dtype=dtype) for _ in range(3)])
        check(attention_gradient, [torch.randn(*shape, dtype=dtype) for _ in range(3)])
    for batch, channels, size, filters, window, stride, padding in convolutions:
        module = torch.nn.Conv2d(channels, filters, window, stride, padding).to(dtype)
        check(None, [torch.randn(batch, channels, size, size, dtype=dtype)], module)
    for groups, channels, filters, window, stride, padding in grouped:
        module = torch.nn.Conv2d(groups * channels, groups * filters, window, stride, padding, groups=groups).to(dtype)
        check(None, [torch.randn(2, groups * channels, 13, 30, dtype=dtype)], module)
        check(depthwise_gradient(stride, padding), [torch.randn(2, 40, 13, 30, dtype=dtype), module_weight(window, dtype)])
    check(None, [torch.randn(9, 129, dtype=dtype)],
          torch.nn.Sequential(torch.nn.Linear(129, 65), torch.nn.GELU(), torch.nn.LayerNorm(65)).to(dtype))
    # The input has enough rows for the product and the norm after it to form one kernel.
    check(None, [torch.randn(1057, 40, dtype=dtype)],
          torch.nn.Sequential(torch.nn.Linear(40, 70), torch.nn.LayerNorm(70)).to(dtype))
for m, n, k in products:  # denormal f16 numbers (below 2^-14) and large ones
    check(torch.matmul, [torch.rand(m, k).mul(2**-15).half(), torch.rand(k, n).mul(2**15).half()])


def check_bytes(product, a, b):
    """Checks `product` of bytes with zero points 5 and -3. The sums are exact; only two roundings remain."""
    if not is_selected():
        return
    q = torch.ops.quantized_decomposed

    def quantized(a, b):
        return product(q.dequantize_per_tensor(a, 0.02, 5, -128, 127, torch.int8), q.dequantize_per_tensor(b, 0.01, -3, -128, 127, torch.int8))

    torch._dynamo.reset()
    with torch.no_grad():
        got = torch.compile(quantized, backend="tilewright", fullgraph=True, options={"strict": True})(a, b)
        exact = product((a.double() - 5) * 0.02, (b.double() + 3) * 0.01)
    assert_numbers([got], [[quantized(a, b)]], [exact])


def signed_bytes(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)


for m, n, k in [] if only_f16 else products:
    check_bytes(F.linear, signed_bytes(m, k), signed_bytes(n, k))
    check_bytes(torch.matmul, signed_bytes(k, m).t(), signed_bytes(k, n))
for batch, channels, size, filters, window, stride, padding in [] if only_f16 else convolutions:
    height, width = window if isinstance(window, tuple) else (window, window)
    check_bytes(lambda x, w: F.conv2d(x, w, None, stride, padding), signed_bytes(batch, channels, size, size),
                signed_bytes(filters, channels, height, width))  # fmt: skip
print(checks, "checks")
