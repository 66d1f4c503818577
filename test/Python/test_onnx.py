""".onnx files: models of torch.onnx.export against eager by the numbers rule, and models made with helpers of the
package onnx."""

import copy
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from numbers_rule import assert_numbers, widen, with_threads
from torch import nn
from torch.export import Dim

import tilewright

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

BUILD = pathlib.Path(tilewright.__file__).parents[2]
PROGRAM = BUILD / "bin" / "tilewright"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")


def command(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)


def call(path, inputs, folder):
    """Returns the results by name of the program, called on arrays by name."""
    folder.mkdir(exist_ok=True)
    words = []
    for number, (name, array) in enumerate(inputs.items()):
        np.save(folder / f"{number}.npy", array)
        words += ["--input", f"{name}={folder / str(number)}.npy"]
    done = command("run", path, *words, "--output", folder / "results")
    assert done.returncode == 0, done.stderr
    return {file.stem: np.load(file) for file in (folder / "results").iterdir()}


def refusal(path):
    done = command("compile", path, "--emit=graph")
    assert done.returncode == 1
    return done.stderr


def exported(model, inputs, dynamic_shapes, path):
    pytest.importorskip("onnxscript")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(model, inputs, dynamo=True, dynamic_shapes=dynamic_shapes, verbose=False)
    program.save(str(path))
    return onnx.load(path, load_external_data=False).graph


def check(model, inputs, tmp_path, dynamic_shapes=None, others=()):
    """Exports `model`, which takes and returns one tensor, and compares the program's results with eager's."""
    model = model.eval()
    graph = exported(model, (inputs,), dynamic_shapes, tmp_path / "model.onnx")
    wide = copy.deepcopy(model).double()
    for number, given in enumerate([inputs, *others]):
        results = call(tmp_path / "model.onnx", {graph.input[0].name: given.numpy()}, tmp_path / str(number))
        with torch.no_grad():
            eager = [[with_threads(n, lambda: model(given))] for n in (1, 2)]  # noqa: B023
            reference = [wide(widen(given))]
        assert_numbers([torch.from_numpy(results[graph.output[0].name])], eager, reference)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.pool, self.head = nn.MaxPool2d(2), nn.Linear(128, 5)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(torch.relu(self.norm(self.conv(x)))), 1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
        self.words, self.layers = nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, words):
        return torch.log_softmax(self.layers(self.words(words)), -1)


def test_perceptron_with_symbolic_batch_matches_eager(tmp_path):
    model = nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 10))
    check(model, torch.randn(5, 24), tmp_path, ({0: Dim("batch", max=64)},), [torch.randn(n, 24) for n in (1, 33)])


def test_convolutions_with_symbolic_batch_match_eager(tmp_path):
    check(ConvNet(), torch.randn(4, 3, 16, 16), tmp_path, ({0: Dim("batch", max=64)},), [torch.randn(7, 3, 16, 16)])


@pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="exporting it takes 10 s: --full")
def test_transformer_with_symbolic_batch_and_length_matches_eager(tmp_path):
    sizes = ({0: Dim("batch", max=64), 1: Dim("length", max=128)},)
    check(Encoder(), torch.randint(0, 50, (2, 9)), tmp_path, sizes, [torch.randint(0, 50, (3, 12))])


def save(path, nodes, inputs, outputs, initializers=(), opset=17, functions=(), opsets=()):
    values = [helper.make_tensor_value_info(*v) for v in inputs], [helper.make_tensor_value_info(*v) for v in outputs]
    graph = helper.make_graph(nodes, "g", *values, list(initializers))
    imports = [helper.make_opsetid("", opset), *opsets]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10, functions=functions)
    onnx.save(model, path)
    return model


F, I = TensorProto.FLOAT, TensorProto.INT64  # noqa: E741


def test_softmax_follows_the_operator_set(tmp_path):
    """Before opset 13, all dimensions from the axis on are reduced together."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4), dtype=np.float32)
    for opset, dims in ((11, (1, 2)), (13, (1,))):
        save(tmp_path / "m.onnx", [helper.make_node("Softmax", ["x"], ["y"], axis=1)], [("x", F, [2, 3, 4])], [("y", F, [2, 3, 4])], opset=opset)
        exact = np.exp(x.astype(np.float64))
        exact /= exact.sum(dims, keepdims=True)
        np.testing.assert_allclose(call(tmp_path / "m.onnx", {"x": x}, tmp_path / str(opset))["y"], exact, rtol=1e-6)


def test_external_data_is_read_only_from_the_folder_of_the_model(tmp_path):
    """External data is read only from the model's folder."""
    weight = np.arange(12, dtype=np.float32).reshape(4, 3)
    model = save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, ["n", 4])], [("y", F, ["n", 3])],
                 [numpy_helper.from_array(weight, "w")])  # fmt: skip
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(call(tmp_path / "m.onnx", {"x": x}, tmp_path / "run")["y"], x @ weight)
    (tmp_path / "w.bin").rename(tmp_path / "kept.bin")
    assert "there is no such file in the model's folder" in refusal(tmp_path / "m.onnx")
    (tmp_path / "w.bin").symlink_to("/etc/passwd")
    assert "a symbolic link to a file outside of the model's folder" in refusal(tmp_path / "m.onnx")
    (tmp_path / "w.bin").unlink()
    (tmp_path / "w.bin").write_bytes((tmp_path / "kept.bin").read_bytes()[:20])
    assert "is beyond the end of 'w.bin'" in refusal(tmp_path / "m.onnx")


def test_functions_of_the_model_receive_attributes_and_defaults(tmp_path):
    """Attributes of the call, and defaults, are passed to the function's nodes."""
    reference = helper.make_node("LeakyRelu", ["a"], ["b"])
    reference.attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    imports = [helper.make_opsetid("", 17)]
    own = helper.make_function("own", "Bend", ["a"], ["b"], [reference], imports, attribute_protos=[helper.make_attribute("slope", 0.5)])
    nodes = [helper.make_node("Bend", ["x"], ["h"], domain="own"), helper.make_node("Bend", ["h"], ["y"], domain="own", slope=0.25)]
    save(tmp_path / "m.onnx", nodes, [("x", F, [2])], [("y", F, [2])], functions=[own], opsets=[helper.make_opsetid("own", 1)])
    assert call(tmp_path / "m.onnx", {"x": np.array([-8, 8], np.float32)}, tmp_path / "run")["y"].tolist() == [-1, 8]


def test_int4_weights_are_unpacked_and_int4_results_are_int8(tmp_path):
    """int4 weights are unpacked when the model is read; int4 results are int8."""
    packed = helper.make_tensor("w", TensorProto.INT4, [3], [-8, 3, 7])
    nodes = [helper.make_node("DequantizeLinear", ["w", "scale"], ["h"]), helper.make_node("Add", ["x", "h"], ["y"]),
             helper.make_node("Cast", ["y"], ["z"], to=TensorProto.INT4)]  # fmt: skip
    scale = numpy_helper.from_array(np.float32(0.5), "scale")
    save(tmp_path / "m.onnx", nodes, [("x", F, [3])], [("y", F, [3]), ("z", TensorProto.INT4, [3])], [packed, scale], opset=21)
    results = call(tmp_path / "m.onnx", {"x": np.zeros(3, np.float32)}, tmp_path / "run")
    assert results["y"].tolist() == [-4, 1.5, 3.5]
    assert results["z"].dtype == np.int8 and results["z"].tolist() == [-4, 1, 3]


def test_output_shape_that_contradicts_the_nodes_is_refused(tmp_path):
    save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", F, [2, 3])], [("y", F, [3, 2])])
    assert "the output 'y' is float32[2, 3] according to its nodes, but float32[3, 2] according to the file" in refusal(tmp_path / "m.onnx")


def test_refusals_name_operator_set_and_node(tmp_path):
    nodes = [helper.make_node("Unique", ["x"], ["u"], name="first"), helper.make_node("Relu", ["u"], ["y"]),
             helper.make_node("Relu", ["nowhere"], ["z"], name="second"),
             helper.make_node("StringNormalizer", ["u"], ["s"], name="third"), helper.make_node("Concat", [], ["c"], axis=0)]  # fmt: skip
    save(tmp_path / "m.onnx", nodes, [("x", F, [4])], [("y", F, ["k"]), ("z", F, [4]), ("s", F, [4]), ("c", F, [4])])
    said = refusal(tmp_path / "m.onnx")
    assert "4 items in the model cannot be compiled" in said
    assert "Concat (operator set 17): it has no inputs" in said
    assert "Unique (operator set 17) 'first': this operator is not supported" in said
    assert "Relu (operator set 17) 'second': its input 'nowhere' is not the result of an earlier node" in said
    assert "StringNormalizer (operator set 17) 'third': this operator is not supported" in said


def test_comparison_of_an_empty_size_with_zero_is_not_folded(tmp_path):
    """The range of --dynamic may begin at 0, so that a comparison with 0 depends on the call."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Equal", ["s", "zero"], ["e"]),
        helper.make_node("Cast", ["e"], ["y"], to=F),
    ]
    zero = numpy_helper.from_array(np.zeros(1, np.int64), "zero")
    save(tmp_path / "m.onnx", nodes, [("x", F, [4, 2])], [("y", F, [1])], [zero])
    done = command("compile", tmp_path / "m.onnx", "--dynamic", "x:0=0..8", "-o", tmp_path / "m.so")
    assert done.returncode == 0, done.stderr
    library = tilewright.load(tmp_path / "m.so")
    assert [float(library(torch.ones(n, 2))) for n in (0, 1, 3)] == [1.0, 0.0, 0.0]
    positive = command("compile", tmp_path / "m.onnx", "--dynamic", "x:0=1..8", "--emit=graph")
    assert positive.returncode == 0 and "tw.eq" not in positive.stdout, "a size of at least 1 is not 0"


def test_dynamic_option_makes_sizes_of_two_inputs_one_symbol(tmp_path):
    """The option --dynamic replaces fixed sizes of the file by one symbol."""
    save(tmp_path / "m.onnx", [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("ReduceSum", ["s"], ["y"], keepdims=0)],
         [("a", F, [1, 3, 4]), ("b", F, [1, 3, 4])], [("y", F, [])])  # fmt: skip
    done = command("compile", tmp_path / "m.onnx", "--dynamic", "a:0,b:0=2..9", "--dynamic", "a:2,b:2=1..", "--emit=graph")
    assert done.returncode == 0, done.stderr
    assert 'tw.max = 9 : i64, tw.min = 2 : i64, tw.symbol = "a_0"' in done.stdout and done.stdout.count("tensor<?x3x?xf32") >= 3
    apart = command("compile", tmp_path / "m.onnx", "--dynamic", "a:0=2..9", "--dynamic", "b:0=2..9", "--emit=graph")
    assert apart.returncode == 0 and "must be" in apart.stdout  # each call checks that both are equal: test_size_guards.py


def test_sizes_whose_names_differ_only_in_punctuation_stay_two_sizes(tmp_path):
    save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", F, ["n-1", "n_1", None])], [("y", F, ["n-1", "n_1", None])])
    done = command("compile", tmp_path / "m.onnx", "--dynamic", "n-1=2..9", "--emit=graph")
    assert done.returncode == 0, done.stderr
    assert 'tw.max = 9 : i64, tw.min = 2 : i64, tw.symbol = "n_1"' in done.stdout
    assert 'tw.symbol = "n_1_2"' in done.stdout and 'tw.symbol = "x_2"' in done.stdout
    other = command("compile", tmp_path / "m.onnx", "--dynamic", "n_1=3..4", "--emit=graph")
    assert other.returncode == 0 and 'tw.max = 4 : i64, tw.min = 3 : i64, tw.symbol = "n_1_2"' in other.stdout
    twice = command("compile", tmp_path / "m.onnx", "--dynamic", "n-1=4", "--dynamic", "n-1=2..9", "--emit=graph")
    assert twice.returncode == 1 and "it has no size 'n-1'; its sizes are n_1" in twice.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler (cc) on this machine")
def test_onnx_example_program_equals_the_reference_evaluator(tmp_path):
    """The example of docs/examples/onnx is a model of one image. A C program calls it with batches, and the results are
    compared with those of onnx's reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    shutil.copytree(PROGRAM.parents[2] / "docs" / "examples" / "onnx", tmp_path, dirs_exist_ok=True)
    here = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True, "timeout": 300}
    subprocess.run([sys.executable, "make_model.py"], **here)
    subprocess.run([PROGRAM, "compile", "digits.onnx", "--dynamic", "image:0=1..64", "-o", "digits.so"], **here)
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "./digits.so", "-Wl,-rpath,$ORIGIN", "-o", "digits"], **here)
    said = subprocess.run(["./digits"], **here).stdout.splitlines()

    x, y = np.meshgrid(np.arange(28) - 13.5, np.arange(28) - 13.5)
    model = ReferenceEvaluator(str(tmp_path / "digits.onnx"))
    lines = []
    for number in range(5):
        image = (np.abs(x * x + y * y - (4 + 2 * number) ** 2) < 12).astype(np.float32)
        (row,) = model.run(None, {"image": image.reshape(1, 1, 28, 28)})[0]
        lines.append(f"{row.argmax()} ({row.max():.3f})")
    assert said == [f"batch of {n}: " + " ".join(lines[:n]) for n in (1, 3, 5)]


def test_commands_of_the_onnx_how_to_run(tmp_path, monkeypatch):
    """Runs the program and the commands of docs/how-to/onnx.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "how-to" / "onnx.md").read_text()
    blocks = dict(re.findall(r"```(python|sh)\n(.*?)```", page, re.S))
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    exec(blocks["python"], {})  # noqa: S102 -- the page's own
    np.save("x.npy", np.zeros((7, 16), "f4"))
    for line in blocks["sh"].splitlines():
        done = command(*line.split("#")[0].split()[1:])
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert np.load("results/y.npy").shape == (7, 4)
    assert (tmp_path / "model.so").exists()
