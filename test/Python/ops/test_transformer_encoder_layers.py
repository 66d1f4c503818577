"""Tests torch.nn's transformer layers in inference. Eager executes each layer as one operator. The compiled layers must have no fallbacks and
satisfy the numbers rule."""

import pytest
import torch
from torch import nn

from numbers_rule import assert_numbers, leaves, widen, with_threads

torch.manual_seed(0)
X, Y = torch.randn(3, 9, 64), torch.randn(3, 7, 64)
PADDING = torch.zeros(3, 9, dtype=torch.bool)
PADDING[1, 5:] = True
NOTHING = PADDING.clone()
NOTHING[2] = True  # masks all keys of a batch element
CAUSAL = nn.Transformer.generate_square_subsequent_mask(9)

CASES = {
    "first norms": (dict(norm_first=True), dict()), "gelu": (dict(activation="gelu"), dict()),
    "padding": (dict(), dict(src_key_padding_mask=PADDING)), "all keys masked": (dict(), dict(src_key_padding_mask=NOTHING)),
    "causal": (dict(norm_first=True), dict(src_mask=CAUSAL)), "boolean": (dict(), dict(src_mask=CAUSAL < 0)),
}  # fmt: skip
ATTENTION = {"weights": (True, True, None, None), "no weights": (False, True, None, None), "weights of each head": (True, False, None, None),
             "padding": (True, True, PADDING, 1), "causal": (False, True, CAUSAL < 0, 0), "both masks": (False, True, (PADDING[:, None, None] | (CAUSAL < 0)).expand(3, 4, 9, 9), 2)}  # fmt: skip


class Attention(nn.Module):
    """Calls the operator of nn.MultiheadAttention's fast path, which Dynamo does not trace."""

    def __init__(self, weights, average, mask, kind):
        super().__init__()
        self.given, self.weights = (mask, weights, average, kind), weights
        self.all, self.out = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, x):
        found = torch._native_multi_head_attention(x, x, x, 64, 4, self.all.weight, self.all.bias, self.out.weight, self.out.bias, *self.given)
        return found if self.weights else found[0]


def check(make, fast, *inputs, **others):
    from tilewright.dynamo.backend import tilewright

    torch._dynamo.reset()
    seen = []

    def watch(graph, example_inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return tilewright(graph, example_inputs, options={"strict": True})

    model = make().eval()
    with torch.no_grad():
        got = leaves(torch.compile(model, backend=watch, fullgraph=True)(*inputs, **others))
        eager = [leaves(with_threads(n, lambda: model(*inputs, **others))) for n in (1, 2)]
        wide = make().double().eval()
        wide.load_state_dict(model.state_dict())
        exact = leaves(wide(*widen(list(inputs)), **{name: widen(x) for name, x in others.items()}))
    assert any(fast in target for target in seen), seen  # otherwise the test no longer covers the operator
    assert_numbers(got, eager, exact)


@pytest.mark.parametrize("name", CASES)
def test_transformer_encoder_layer_matches_eager(name):
    made, called = CASES[name]
    check(lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, **made), "_transformer_encoder_layer_fwd", X, **called)


def test_bf16_transformer_encoder_layer_matches_eager():
    check(lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).bfloat16(), "_transformer_encoder_layer_fwd", X.bfloat16())


@pytest.mark.parametrize("name", ATTENTION)
def test_native_multi_head_attention_matches_eager(name):
    check(lambda: Attention(*ATTENTION[name]), "_native_multi_head_attention", X)
