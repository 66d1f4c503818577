"""Every op of the models is imported, and the resulting module passes the verifier."""

import os

import pytest
import torch

from models import MODELS, graphs_of


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_every_op_of_the_model_is_imported(name, dtype, training, dynamic):
    if dynamic and dtype == torch.bfloat16 and not os.environ.get("TILEWRIGHT_TEST_FULL"):
        pytest.skip("run by tools/test.sh --full: torch traces symbolic sizes for two minutes, and the ops are those of f32 with other dtypes")
    graphs = graphs_of(name, dtype, training, dynamic)
    kinds = [kind for kind, _, _ in graphs]
    assert kinds == (["forward", "backward"] if training else ["inference"])
    for _, _, text in graphs:
        assert "func.func @main" in text and "tw." in text
        assert "unrealized_conversion_cast" not in text
        assert dynamic == ("tw.symbol" in text)
