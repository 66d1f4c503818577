"""Tests the overloads of attention that torch uses for tensors on a GPU. Eager has no CPU kernels for these overloads. The tests check the
results on the CPU, and the import with graphs of fake tensors."""


import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.decompositions.families import own
from tilewright.decompositions.table import decompositions
from tilewright.fx.walker import walk

aten = torch.ops.aten
FLASH, EFFICIENT, CUDNN = (getattr(aten, f"_scaled_dot_product_{name}_attention").default for name in ("flash", "efficient", "cudnn"))
OF_FLASH, OF_EFFICIENT, OF_CUDNN = (getattr(aten, f"_scaled_dot_product_{name}_attention_backward").default
                                    for name in ("flash", "efficient", "cudnn"))  # fmt: skip


def run_flash(op, back, q, k, v, mask, causal, scale, grad):
    out, lse, *rest = op(q, k, v, 0.0, causal, scale=scale)
    return out, back(grad, q, k, v, out, lse, *rest[:4], 0.0, causal, *rest[4:6], scale=scale)


def run_efficient(op, back, q, k, v, mask, causal, scale, grad):
    out, lse, seed, offset = op(q, k, v, mask, True, 0.0, causal, scale=scale)
    assert lse.shape == (*q.shape[:2], -(-q.shape[2] // 32) * 32)
    return out, back(grad, q, k, v, mask, out, lse, seed, offset, 0.0, [True, True, True, mask is not None], causal, scale=scale)


def run_cudnn(op, back, q, k, v, mask, causal, scale, grad):
    out, lse, of_q, of_k, most_q, most_k, seed, offset, _ = op(q, k, v, mask, True, 0.0, causal, scale=scale)
    assert lse.shape == (*q.shape[:3], 1)
    return out, back(grad, q, k, v, out, lse, seed, offset, mask, of_q, of_k, most_q, most_k, 0.0, causal, scale=scale)


KINDS = {"flash": (run_flash, FLASH, OF_FLASH), "efficient": (run_efficient, EFFICIENT, OF_EFFICIENT), "cudnn": (run_cudnn, CUDNN, OF_CUDNN)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_attention_overload_and_gradient_match_float64(kind, masked, causal):
    if masked and (causal or kind == "flash"):
        pytest.skip("there is no such call")
    run, op, back = KINDS[kind]
    q, k, v, grad = (torch.randn(2, 3, 37, 16) for _ in range(4))
    mask = torch.randn(2, 3, 37, 37) if masked else None
    out, gradients = run(own()[op], own()[back], q, k, v, mask, causal, 0.3, grad)
    wide = [x.double().requires_grad_() for x in (q, k, v)] + [mask.double().requires_grad_() if masked else None]
    wanted = F.scaled_dot_product_attention(*wide[:3], attn_mask=wide[3], is_causal=causal, scale=0.3)
    wanted.backward(grad.double())
    torch.testing.assert_close(out.double(), wanted, atol=2e-6, rtol=1e-5)
    for got, of in zip(gradients, wide):
        if of is not None and got is not None:
            torch.testing.assert_close(got.double(), of.grad, atol=5e-6, rtol=1e-5)
    if masked and kind == "efficient":
        assert gradients[3] is not None


def traced(fn, *shapes, dtype=torch.bfloat16):
    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda:0", dtype=dtype) for shape in shapes]
        return make_fx(fn, decomposition_table=decompositions(), tracing_mode="fake")(*inputs)


@pytest.mark.parametrize("heads_of_keys", [6, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_attention_graph_is_imported_without_refusals(kind, heads_of_keys):
    """Gradients of grouped heads are decomposed, like the CPU's."""
    run, op, back = KINDS[kind]
    of_queries, of_keys = (2, 6, 40, 16), (2, heads_of_keys, 40, 16)

    def both(q, k, v, grad):
        out, gradients = run(op, back, q, k, v, None, True, None, grad)
        return [out, *(g for g in gradients if g is not None)]

    imported = walk(traced(both, of_queries, of_keys, of_keys, of_queries))
    assert not imported.refusals, imported.refusals
    assert imported.device == torch.device("cuda:0")


def test_attention_with_dropout_is_not_decomposed():
    gm = traced(lambda q, k, v: FLASH(q, k, v, 0.1, False)[:1], *[(2, 3, 40, 16)] * 3)
    assert any(node.target is FLASH for node in gm.graph.nodes)


def test_causal_attention_with_unequal_lengths_is_not_decomposed():
    gm = traced(lambda q, k, v: FLASH(q, k, v, 0.0, True)[:1], (2, 3, 8, 16), (2, 3, 40, 16), (2, 3, 40, 16))
    assert any(node.target is FLASH for node in gm.graph.nodes)


# Without a GPU, torch cannot index a fake tensor on a GPU. Therefore these decompositions must not index tensors.
@pytest.mark.parametrize("fn", [
    lambda x: aten._cdist_forward(x, x, 2.0, None), lambda x: aten.kthvalue(x, 3)[0], lambda x: aten.mode(x)[0],
    lambda x: aten.index_reduce(x, 0, x.select(0, 0).long().abs().clamp(max=7), x, "amax"),
    lambda x: aten.logspace(0, 1, 5, device=x.device) + x.sum(), lambda x: aten.median(x)])  # fmt: skip
def test_decompositions_create_tensors_on_the_gpu(fn):
    gm = traced(fn, (8, 8), dtype=torch.float32)
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        assert not isinstance(value, torch.Tensor) or value.device.type == "cuda" or value.dim() == 0, node.format_node()
