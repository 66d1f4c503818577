"""Bad input leads to one clear error that states what is wrong, where, and what to do. Nothing crashes."""

import pathlib
import subprocess
import warnings

import pytest
import torch

import tilewright
from tilewright.dynamo.backend import tilewright as backend
from tilewright.fx.walker import walk
from tilewright.options import CompileOptions
from tilewright.runtime.compiled import build


def run(fn, *arguments, **options):
    torch._dynamo.reset()
    with torch.no_grad():
        return torch.compile(fn, backend=backend, fullgraph=True, options=options)(*arguments)


def program(fn, *arguments, dynamic=False):
    """Returns the compiled program of `fn` without torch's guards."""
    from torch._dynamo.backends.common import aot_autograd

    seen = []

    def capture(gm, _inputs, **_):
        seen.append(gm)
        return gm.forward

    with torch.no_grad():
        door = aot_autograd(fw_compiler=capture, inference_compiler=capture)
        torch.compile(fn, backend=door, dynamic=dynamic)(*arguments)
    return build(walk(seen[0]), CompileOptions())


# -- at a call of the compiled program ----------------------------------------------


def test_wrong_dtype_shape_rank_device_or_count_is_refused():
    call = program(lambda x: x * 2 + 1, torch.ones(3, 4))
    assert torch.equal(call([torch.ones(3, 4)])[0], torch.full((3, 4), 3.0))
    for bad, kind, text in [
        (torch.ones(3, 4, dtype=torch.float64), TypeError, "is float64; the graph was compiled for float32; convert it"),
        (torch.ones(3, 4, dtype=torch.complex64), TypeError, "; the graph was compiled for float32"),
        (torch.ones(3, 5), ValueError, r"has the sizes \[3, 5\]; the graph was compiled for \[3, 4\]; compile for these sizes"),
        (torch.ones(3), ValueError, r"has the sizes \[3\]; the graph was compiled for \[3, 4\]"),
        (torch.ones(3, 4, device="meta"), (TypeError, ValueError), "no memory|not on the CPU"),
        ("text", TypeError, "argument .* is <class 'str'>"),
        (None, TypeError, "argument .* is <class 'NoneType'>"),
    ]:
        with pytest.raises(kind, match="tilewright: argument .*" + text.removeprefix("argument ")):
            call([bad])
    with pytest.raises(TypeError, match="tilewright: the graph takes 1 arguments, 2 were given"):
        call([torch.ones(3, 4), torch.ones(3, 4)])


def test_wrong_symbolic_sizes_are_refused():
    call = program(lambda x: x * 2, torch.ones(6, 4), dynamic=True)
    x = torch.ones(6, 4)
    assert torch.equal(call([6, 4, x])[0], x * 2)
    for bad in (x, "six", 2**70):
        with pytest.raises(TypeError, match="tilewright: argument 0 is a symbolic size, an integer of 64 bits; it is"):
            call([bad, 4, x])
    with pytest.raises(ValueError, match=r"has the sizes \[6, 4\]; the graph was compiled for \[7, 4\]"):
        call([7, 4, x])
    with pytest.raises(ValueError, match=r"has the sizes \[6\]; the graph was compiled for \[6, 4\]"):
        call([6, 4, torch.ones(6)])


# -- tensors that cannot be compiled ---------------------------------------------------

COMPLEX = torch.randn(4, dtype=torch.complex64)


@pytest.mark.parametrize("fn, argument, text", [
    (lambda x: x.sqrt(), COMPLEX, r"complex64\[4\]\), read by aten\.sqrt\.default: its dtype torch\.complex64"),
    (lambda x: x.float() * 2, torch.randn(4).to(torch.float8_e4m3fnuz), r"float8_e4m3fnuz\[4\]\), read by aten"),
    (lambda x: x.float() * 2, torch.randn(4).to(torch.float8_e5m2fnuz), r"float8_e5m2fnuz\[4\]\), read by aten"),
    (lambda x: (x * 2).to(torch.float8_e5m2fnuz), torch.randn(4), r"aten\._to_copy\.default: its result: its dtype torch\.float8_e5m2fnuz"),
    (lambda x: x * 2, torch.ones(3, device="meta"), r"it is on meta; Tilewright compiles for cpu"),
], ids=["complex", "float8 e4m3fnuz", "float8 e5m2fnuz", "to float8", "meta"])  # fmt: skip
def test_unsupported_dtype_or_device_runs_in_eager_with_reason(fn, argument, text):
    with pytest.raises(Exception, match=r"(?s)strict mode.*" + text + r".*test_bad_input\.py:\d+"):
        run(fn, argument, strict=True)
    from tilewright.runtime import compiled as module

    module._warned.clear()
    with pytest.warns(UserWarning, match=r"(?s)run in eager.*" + text):
        got = run(fn, argument)
    if argument.device.type == "cpu":
        assert torch.equal(got.to(torch.complex64), fn(argument).to(torch.complex64))


def test_sparse_and_quantized_tensors_run_in_eager():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparse = torch.eye(3).to_sparse()
        quantized = torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8)
        for fn, argument in [(lambda x: (x * 2).to_dense(), sparse), (lambda x: x.dequantize() * 2, quantized)]:
            torch._dynamo.reset()
            with torch.no_grad():
                assert torch.equal(torch.compile(fn, backend=backend)(argument), fn(argument))


@pytest.mark.parametrize("argument", [COMPLEX.conj().imag, COMPLEX.conj()])
def test_lazy_negative_and_conjugate_arguments_equal_eager(argument):
    assert argument.is_neg() or argument.is_conj()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex numbers run in eager
        assert torch.equal(run(lambda x: x * 2, argument), argument * 2)
    assert torch.equal(run(lambda x: x * 2, COMPLEX.conj().imag.resolve_neg()), COMPLEX.conj().imag * 2)


def test_in_place_write_to_lazy_negative_equals_eager():
    def fn(x):
        x.mul_(2)
        return x + 1

    ours, theirs = COMPLEX.clone().conj().imag, COMPLEX.clone().conj().imag
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(run(fn, ours), fn(theirs))
    assert torch.equal(ours, theirs)


def test_guards_detect_a_negative_bit_in_a_later_call():
    torch._dynamo.reset()
    with torch.no_grad():
        fn = torch.compile(lambda x: x * 2, backend=backend)
        fn(torch.ones(4))
        assert torch.equal(fn(COMPLEX.conj().imag), COMPLEX.conj().imag * 2)


# -- memory ---------------------------------------------------------------------------------


def test_out_of_memory_for_the_arena_raises_memory_error():
    with pytest.raises(MemoryError, match=r"tilewright: out of memory: this call needs an arena of \d+ bytes.*smaller inputs"):
        run(lambda a, b: torch.softmax(a @ b, 0) @ a, torch.ones(10**7, 4), torch.ones(4, 10**7))  # a softmax of rows would be an attention


def test_out_of_memory_for_a_result_raises_memory_error():
    with pytest.raises(MemoryError, match=r"out of memory: a result float32\[10000000, 10000000\] needs 400000000000000 bytes"):
        run(lambda a, b: a @ b, torch.ones(10**7, 4), torch.ones(4, 10**7))
    assert torch.equal(run(lambda x: x * 2, torch.ones(3)), torch.full((3,), 2.0))


# -- the driver -------------------------------------------------------------------------------


def driver():
    for folder in pathlib.Path(tilewright.__file__).resolve().parents:
        for at in (folder / "bin", folder / "build" / "bin"):
            if (at / "tilewright").exists():
                return str(at / "tilewright")
    pytest.skip("the driver was not built")


@pytest.mark.parametrize("content, text", [
    (b"", "is empty"),
    (b"PK\x03\x04\x14\x00", "the file is cut off"),
    (b"\x7fELF\x00\x00", "is a binary file"),
    (b"import torch\n", "is not valid MLIR"),
    (b"ML\xefR\x07broken", "is not valid MLIR"),
], ids=["empty", "zip", "elf", "text", "bytecode"])  # fmt: skip
def test_driver_refuses_a_file_that_is_not_a_model(tmp_path, content, text):
    (tmp_path / "model").write_bytes(content)
    done = subprocess.run([driver(), "compile", str(tmp_path / "model")], capture_output=True)
    message = done.stderr.decode(errors="replace")
    assert done.returncode == 1 and text in message and str(tmp_path / "model") in message


def test_driver_refuses_a_truncated_module(tmp_path):
    run(lambda x: torch.softmax(x, -1), torch.ones(3, 4), dump=str(tmp_path / "dump"))
    whole = (tmp_path / "dump" / "0-imported.mlir").read_text()
    for cut in range(1, len(whole) - 4, max(1, len(whole) // 20)):
        (tmp_path / "cut.mlir").write_text(whole[:cut])
        done = subprocess.run([driver(), "compile", str(tmp_path / "cut.mlir")], capture_output=True)
        assert done.returncode == 1 and done.stderr, cut


# -- data that torch asserts -----------------------------------------------------


def classes(index, weight):
    return torch.nn.functional.one_hot(index, 5).float() @ weight


@pytest.mark.parametrize("dynamic", [False, True])
def test_failed_assert_raises_the_error_of_torch_with_location(dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(classes, backend="tilewright", fullgraph=True, dynamic=dynamic, options={"strict": True})
    weight = torch.randn(5, 3, requires_grad=True)
    for index in (torch.tensor([0, 4, 2]), torch.tensor([3, 3, 1])):
        assert torch.equal(compiled(index, weight), classes(index, weight))
        compiled(index, weight).sum().backward()
    for bad, text in (([1, 7], "smaller than num_classes"), ([-1, 2], "non-negative")):
        with pytest.raises(RuntimeError, match=text):
            classes(torch.tensor(bad), weight)
        with pytest.raises(RuntimeError, match=rf"{text}.*test_bad_input.py:\d+ in classes"):
            compiled(torch.tensor(bad), weight)
    assert torch.equal(compiled(torch.tensor([4, 0]), weight), classes(torch.tensor([4, 0]), weight))


def test_failed_asserts_between_segments_raise_the_errors_of_torch():
    """The first assert is in a program that is followed by ops in eager. The second assert checks the result of such an
    op."""

    def function(x):
        torch._assert_async(x.sum() > 0, "the sum is not positive")
        y = torch.fft.rfft(x * 2).abs()
        torch._assert_async(torch.isfinite(y).all(), "infinite")
        return y + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(function, backend="tilewright", fullgraph=True)
        torch.testing.assert_close(compiled(torch.ones(8)), function(torch.ones(8)))
        for bad in (-torch.ones(8), torch.full((8,), float("inf"))):
            with pytest.raises(RuntimeError) as theirs:
                function(bad)
            with pytest.raises(RuntimeError) as ours:
                compiled(bad)
            assert str(theirs.value) in str(ours.value)


def test_assert_in_a_graph_with_in_place_write_raises_error():
    def function(x, y):
        torch._assert_async((y > 0).all(), "not positive")
        return x.add_(1)

    compiled = torch.compile(function, backend="tilewright", fullgraph=True, options={"strict": True})
    x = torch.zeros(3)
    assert compiled(x, torch.ones(2)) is x and torch.equal(x, torch.ones(3))
    with pytest.raises(RuntimeError, match="not positive"):
        compiled(x, -torch.ones(2))


def inverse(x):
    return torch.linalg.inv(x) * 2


@pytest.mark.parametrize("training", [False, True])
def test_inverse_of_a_singular_matrix_raises_the_error_of_torch(training):
    """torch represents the check of `info` as an op with a side effect, whose order a token determines."""
    torch._dynamo.reset()
    compiled = torch.compile(inverse, backend="tilewright", fullgraph=True, options={"strict": True})
    x = torch.eye(3) * 2 + 1
    torch.testing.assert_close(compiled(x.requires_grad_(training)), inverse(x))
    singular = torch.ones(3, 3, requires_grad=training)
    with pytest.raises(torch.linalg.LinAlgError) as theirs:
        inverse(singular)
    with pytest.raises(torch.linalg.LinAlgError, match=r"test_bad_input.py:\d+ in inverse\)$") as ours:
        compiled(singular)
    assert str(ours.value).startswith(str(theirs.value).splitlines()[0])


def test_graph_with_several_inverses_raises_error_for_each():
    def both(x, y):
        return torch.linalg.inv(x) + torch.linalg.inv(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Eager's LAPACK computes the inverse of a 17 x 17 matrix. The check of its `info` returns torch's effect token.
        for fn, n in ((both, 3), (both, 17), (lambda x, y: both(x, y) + torch.fft.fft(torch.linalg.inv(x)).real, 3),
                      (lambda x, y: torch.linalg.cholesky(both(x, y)) * torch.linalg.inv(x[:3, :3]).sum(), 17)):  # fmt: skip
            torch._dynamo.reset()
            compiled = torch.compile(fn, backend="tilewright", fullgraph=True)
            x, y = torch.eye(n) * 2 + 1, torch.eye(n)
            torch.testing.assert_close(compiled(x, y), fn(x, y))
            for bad in ((torch.zeros(n, n), y), (x, torch.zeros(n, n))):
                with pytest.raises(torch.linalg.LinAlgError, match="singular"):
                    compiled(*bad)
