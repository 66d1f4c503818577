"""Tests of the target reference: every op of the table, and small models, satisfy the numbers rule."""

import pytest
import torch
import torch.nn.functional as F

from models import MODELS, first_tensor
from numbers_rule import assert_numbers, check, check_gradient, leaves
from ops.table import ACTIVATIONS, BINARY, REDUCTIONS, SCALARS, UNARY, VIEWS
from ops.test_contractions import CONVOLUTIONS
from ops.test_tables import DTYPES, make


@pytest.fixture(autouse=True)
def on_reference(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "reference")


def test_target_option_selects_the_reference(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_TARGET")
    x = torch.randn(33)
    with torch.no_grad():
        fn = torch.compile(torch.exp, backend="tilewright", options={"target": "reference"})
        assert torch.equal(fn(x), x.double().exp().float())  # rounded once; cpu's and eager's results differ by an ulp for some elements


@pytest.mark.parametrize("name", UNARY)
def test_unary_op_on_reference_matches_eager(name):
    kind, dtypes = UNARY[name]
    for dtype in dtypes:
        check(getattr(torch, name), make((7, 17), DTYPES[dtype], kind))


@pytest.mark.parametrize("name", BINARY)
def test_binary_op_on_reference_matches_eager(name):
    kind, dtypes = BINARY[name]
    for dtype in dtypes:
        check(getattr(torch, name), make((5, 1, 17), DTYPES[dtype], kind), make((3, 1), DTYPES[dtype], kind))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_and_gradient_on_reference_match_eager(name):
    check(ACTIVATIONS[name], make((7, 17), torch.float32))
    check(ACTIVATIONS[name], make((7, 17), torch.bfloat16))
    check_gradient(ACTIVATIONS[name], make((7, 17), torch.float32))


@pytest.mark.parametrize("name", SCALARS)
def test_op_with_scalar_on_reference_matches_eager(name):
    for dtype in ("f32", "bf16", "f16"):
        check(SCALARS[name], make((7, 17), DTYPES[dtype]))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_on_reference_matches_eager(name):
    for dtype in ("f32", "bf16", "f64"):
        check(REDUCTIONS[name], make((7, 13), DTYPES[dtype]))


@pytest.mark.parametrize("name", VIEWS)
def test_view_op_on_reference_matches_eager(name):
    check(VIEWS[name], make((7, 13), torch.float32))


def test_empty_and_scalar_inputs_on_reference_match_eager():
    for shape in [(), (0,), (3, 0)]:
        check(torch.exp, make(shape, torch.float32))
    check(lambda x: x.sum(), make((0,), torch.float32))


def test_dynamic_sizes_on_reference_match_eager():
    check(lambda x, w: F.gelu(x @ w).softmax(-1), torch.randn(7, 13), torch.randn(13, 9), dynamic=True)
    check(lambda x, y: F.layer_norm(torch.cat([x, y], 0), (x.shape[1],)).t() + 1, torch.randn(6, 8), torch.randn(3, 8), dynamic=True)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv2d_on_reference_matches_eager(name, dtype):
    options = dict(CONVOLUTIONS[name])
    k, groups = options.pop("k"), options.get("groups", 1)
    dtype = DTYPES[dtype]
    x, w, b = torch.randn(1, 4, 9, 11).to(dtype), torch.randn(8, 4 // groups, k, k).to(dtype), torch.randn(8).to(dtype)
    check(lambda x, w, b: F.conv2d(x, w, b, **options), x, w, b)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "f64"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_on_reference_matches_eager(dtype, causal):
    q, k, v = (torch.randn(2, 4, 17, 8).to(DTYPES[dtype]) for _ in range(3))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), q, k, v)


@pytest.mark.parametrize("name", MODELS)
def test_model_on_reference_matches_eager(name):
    """Compares with the float64 run of the model itself."""
    import copy

    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model = model.eval()
    wide = copy.deepcopy(model).double()
    with torch.no_grad():
        want = first_tensor(model(*inputs))
        exact = first_tensor(wide(*[x.double() if x.is_floating_point() else x for x in inputs]))
        compiled = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True)
        got = first_tensor(compiled(*inputs))
    assert_numbers(leaves(got), [leaves(want)], leaves(exact))
