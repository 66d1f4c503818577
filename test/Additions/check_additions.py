"""Checks the worked examples of docs/contributing/add-an-op.md, in a build of the sources with all patches of this folder.
test/Python/test_additions.py makes that build and runs this program.

    PYTHONPATH=BUILD/python python test/Additions/check_additions.py BUILD/bin/tilewright
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Python"))
from numbers_rule import check  # noqa: E402

PROGRAM = sys.argv[1]


def exported(function, *inputs) -> str:
    """Returns the graph, as the program prints it, of a function that torch.export wrote."""

    class Module(torch.nn.Module):
        def forward(self, *values):
            return function(*values)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.pt2")
        torch.export.save(torch.export.export(Module(), inputs), path)
        return subprocess.run([PROGRAM, "compile", path, "--emit=graph"], check=True, capture_output=True, text=True).stdout


def elementwise_op() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        for shape in [(), (0,), (17,), (33, 67)]:
            check(F.mish, torch.randn(shape, dtype=dtype) * 8)
    check(lambda x: F.mish(x @ x), torch.randn(40, 40))
    assert "tw.mish" in exported(F.mish, torch.randn(3))


def reduction() -> None:
    def equal(function, x):
        compiled = torch.compile(function, backend="tilewright", options={"strict": True}, fullgraph=True)
        assert torch.equal(compiled(x), function(x)), (function, x.dtype, x.shape)

    for dtype in (torch.int64, torch.int32, torch.uint8):
        for shape in [(1,), (17,), (33, 67), (128, 1031)]:
            x = torch.randint(0, 200, shape, dtype=dtype)
            torch._dynamo.reset()
            equal(torch.hash_tensor, x)
            equal(lambda x: torch.hash_tensor(x, dim=-1), x)
            equal(lambda x: torch.hash_tensor(x, dim=0, keepdim=True), x)
    assert "tw.reduce xor" in exported(torch.hash_tensor, torch.arange(5))


def storage_dtype() -> None:
    x = torch.randn(6, 8).to(torch.float8_e4m3fnuz)
    for function in (lambda x: x.t().clone(), lambda x: x.view(3, 16)[:, 1::2].contiguous(), lambda x: x[2:4].clone()):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="tilewright", options={"strict": True}, fullgraph=True)
        assert torch.equal(compiled(x).view(torch.uint8), function(x).view(torch.uint8))
    assert "tensor<8x6xf8E4M3FNUZ>" in exported(lambda x: x.t().clone(), x)


for example in (elementwise_op, reduction, storage_dtype):
    example()
    print(f"{example.__name__}: correct")
