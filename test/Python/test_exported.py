"""tilewright.export, and the .pt2 files that it writes, called by the C++ program and compared with eager by the
numbers rule."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from numbers_rule import assert_numbers, widen, with_threads
from torch import nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import tilewright

BUILD = pathlib.Path(tilewright.__file__).parents[2]
PROGRAM = BUILD / "bin" / "tilewright"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")


def to_numpy(tensor):
    """Returns a NumPy array. bfloat16, which NumPy does not have, becomes bytes."""
    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else tensor.numpy()


def from_numpy(array):
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == np.dtype("V2") else torch.from_numpy(array)


def command(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)


def call(path, inputs, folder):
    """Returns the results by name of the program, called on `inputs` by name."""
    words = []
    for name, tensor in inputs.items():
        np.save(folder / f"{name}.npy", to_numpy(tensor))
        words += ["--input", f"{name}={folder / name}.npy"]
    done = command("run", path, *words, "--output", folder / "results")
    assert done.returncode == 0, done.stderr
    return {file.stem: from_numpy(np.load(file)) for file in (folder / "results").iterdir()}


def tensors_of(value):
    return [leaf.contiguous() for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def check(model, inputs, tmp_path, names, dynamic_shapes=None, others=()):
    """Exports `model` for `inputs`, a dict, and compares the program's results for them and for `others` with eager.
    `names` are those of the results."""
    path = tmp_path / "model.pt2"
    program = tilewright.export(model, (), path, kwargs=inputs, dynamic_shapes=dynamic_shapes)
    wide = copy.deepcopy(model).double()
    for number, given in enumerate([inputs, *others]):
        folder = tmp_path / str(number)
        folder.mkdir()
        results = call(path, given, folder)
        assert sorted(results) == sorted(names)
        with torch.no_grad():
            eager = [with_threads(n, lambda: tensors_of(model(**given))) for n in (1, 2)]
            reference = tensors_of(wide(**{name: widen(tensor) for name, tensor in given.items()}))
        assert_numbers([results[name] for name in names], eager, reference, names=names)
    return program


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(24, 96), nn.Linear(96, 10)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


def test_exported_perceptron_matches_eager(tmp_path):
    check(Perceptron(), {"x": torch.randn(5, 24)}, tmp_path, ["0"])


def test_exported_model_with_symbolic_batch_matches_eager(tmp_path):
    batch = Dim("batch", max=64)
    others = [{"x": torch.randn(n, 24)} for n in (1, 2, 33, 64)]
    check(Perceptron(), {"x": torch.randn(5, 24)}, tmp_path, ["0"], {"x": {0: batch}}, others)


def test_exported_bf16_model_matches_eager(tmp_path):
    check(Perceptron().bfloat16(), {"x": torch.randn(40, 24).bfloat16()}, tmp_path, ["0"])


def test_exported_integer_and_bool_ops_match_eager(tmp_path):
    class Integers(nn.Module):
        def forward(self, i, u, b):
            return {"sum": i * 3 + u, "shifted": u >> 1, "where": torch.where(b, i, -i), "any": b.any()}

    check(Integers(), {"i": torch.arange(-6, 6).view(3, 4), "u": torch.arange(250, 254, dtype=torch.uint8), "b": torch.eye(3, 4) > 0},
          tmp_path, ["sum", "shifted", "where", "any"])  # fmt: skip


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))

    def forward(self, x):
        return torch.relu(x + self.norms[1](self.second(torch.relu(self.norms[0](self.first(x))))))


def residual_network():
    model = nn.Sequential(nn.Conv2d(3, 16, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1), ResidualBlock(16), ResidualBlock(16),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))  # fmt: skip
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_exported_residual_network_matches_eager(tmp_path, layout):
    batch = Dim("batch", max=16)
    model = residual_network().to(memory_format=layout)
    check(model, {"input": torch.randn(2, 3, 48, 48)}, tmp_path, ["0"], {"input": {0: batch}}, [{"input": torch.randn(3, 3, 48, 48)}])


def test_exported_bert_with_symbolic_sizes_matches_eager(tmp_path):
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=200)
    batch, length = Dim("batch", max=16), Dim("length", max=128)

    def inputs(rows, columns):
        mask = torch.ones(rows, columns, dtype=torch.int64)
        mask[0, columns // 2 :] = 0
        return {"input_ids": torch.randint(0, 200, (rows, columns)), "attention_mask": mask}

    sizes = {0: batch, 1: length}
    check(BertModel(config).eval(), inputs(2, 16), tmp_path, ["last_hidden_state", "pooler_output"],
          {"input_ids": sizes, "attention_mask": sizes}, [inputs(3, 37)])  # fmt: skip


def test_exported_gpt2_with_symbolic_sizes_matches_eager(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=200, n_positions=128, use_cache=False, bos_token_id=0, eos_token_id=0)
    sizes = {0: Dim("batch", max=16), 1: Dim("length", max=128)}
    others = [{"input_ids": torch.randint(0, 200, (1, 100))}]
    check(GPT2LMHeadModel(config).eval(), {"input_ids": torch.randint(0, 200, (2, 12))}, tmp_path, ["logits"], {"input_ids": sizes}, others)


class Strange(nn.Module):
    """Weights that are views, empty, expanded, shared or returned; inputs that are returned or not used."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 4))
        self.part = nn.Parameter(self.weight.detach().t()[1:3])
        self.none = nn.Parameter(torch.randn(0, 4))
        self.expanded = nn.Parameter(torch.ones(1).expand(3, 4))
        self.register_buffer("places", torch.arange(4.0), persistent=False)

    def forward(self, x, unused):
        return x, {"weight": self.weight, "b": [self.part @ x, None, torch.cat([self.expanded * x[0, 0], self.none]) + self.places]}, x.t()


def test_weights_that_are_views_empty_expanded_or_returned_match_eager(tmp_path):
    names = ["0", "1.weight", "1.b.0", "1.b.2", "2"]
    check(Strange(), {"x": torch.randn(6, 3), "unused": torch.randn(2)}, tmp_path, names)


def test_exported_model_with_tied_weights_matches_eager(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 32)
            self.head = nn.Linear(32, 50, bias=False)
            self.head.weight = self.words.weight

        def forward(self, ids):
            return self.head(self.words(ids))

    check(Tied(), {"ids": torch.randint(0, 50, (2, 7))}, tmp_path, ["0"])


def test_dropout_of_exported_model_depends_on_the_seed_only(tmp_path):
    path = tmp_path / "dropout.pt2"
    tilewright.export(nn.Dropout(0.5).train(), (torch.ones(4000),), path)
    first, again, other = (command("run", path, "--seed", seed).stdout for seed in (1, 1, 2))
    assert "result 0 (0): f32[4000]" in first and first == again != other


def refused(model, inputs, tmp_path, **more):
    path = tmp_path / "refused.pt2"
    with pytest.raises(tilewright.ExportError) as error:
        tilewright.export(model, inputs, path, **more)
    assert list(tmp_path.iterdir()) == []  # nothing is left
    return str(error.value)


def test_export_refuses_ops_that_would_run_in_eager(tmp_path):
    class Eager(nn.Module):
        def forward(self, x):
            y = torch.linalg.eigvalsh(x)
            return torch.relu(y), torch.fft.fft(x).real

    text = refused(Eager(), (torch.eye(3),), tmp_path)
    assert "Eager is not exported" in text and "2 items in the model cannot be compiled" in text
    assert "aten._linalg_eigh.default" in text and "aten._fft_r2c.default" in text
    line = Eager.forward.__code__.co_firstlineno
    assert f"{pathlib.Path(__file__).name}:{line + 1} in forward" in text and f"{pathlib.Path(__file__).name}:{line + 2}" in text
    assert "relu" not in text  # it is only a consequence


def test_export_refuses_a_model_that_writes_its_buffers(tmp_path):
    text = refused(nn.BatchNorm1d(4).train(), (torch.randn(3, 4),), tmp_path)
    assert "the model writes 'running_mean'" in text and "return the new value instead" in text


def test_complex_inputs_are_refused(tmp_path):
    class Real(nn.Module):
        def forward(self, z):
            return z.real

    assert "the input 'z': its dtype complex64 is not supported" in refused(Real(), (torch.zeros(2, dtype=torch.complex64),), tmp_path)


def test_export_refuses_a_result_that_is_a_number(tmp_path):
    class Numbers(nn.Module):
        def forward(self, x):
            return x + 1, x.shape[0]

    assert "the result '1' is a number, not a tensor" in refused(Numbers(), (torch.zeros(2),), tmp_path)


def test_conditions_on_sizes_are_checked_at_each_call(tmp_path):
    """Conditions that Dim.AUTO infers are checked at a call: ranges and equal sizes by the types, other relations by
    guards (test_size_guards.py)."""
    class Rows(nn.Module):
        def forward(self, x, y):
            torch._check(x.shape[0] <= 40)
            return x + 1, y.view(-1, x.shape[0] * 2)

    class Pairs(nn.Module):
        def forward(self, x, y):
            torch._check(x.shape[0] <= 40)
            return x[1:] + y[:-1]

    auto = ({0: Dim.AUTO}, {0: Dim.AUTO})
    tilewright.export(Rows(), (torch.randn(8, 4), torch.randn(32)), tmp_path / "rows.pt2", dynamic_shapes=auto)
    assert command("run", tmp_path / "rows.pt2", "--sizes", "8", "--sizes", "32").returncode == 0
    done = command("run", tmp_path / "rows.pt2", "--sizes", "8", "--sizes", "33")
    assert done.returncode == 1 and "(L['y'].size()[0] % (2*L['x'].size()[0])) == 0 must hold" in done.stderr, done.stderr
    path = tmp_path / "pairs.pt2"
    tilewright.export(Pairs(), (torch.randn(8, 4), torch.randn(8, 4)), path, dynamic_shapes=auto)
    done = command("run", path, "--sizes", "41")
    assert done.returncode == 1 and "2 to 40" in done.stderr


class Joined(nn.Module):
    def forward(self, pair, scale, *, shift):
        return torch.cat([pair[0], pair[1]]) * scale + shift


@pytest.mark.parametrize("form", ["by_name", "by_position"])
def test_sizes_have_the_names_of_the_user(tmp_path, form):
    """The names are used in the graph, in the header and the manifest of a library, in errors, and for --dynamic, also
    if arguments are nested."""
    rows, others = Dim("rows", min=2, max=64), Dim("others", min=2, max=9)
    shapes = {"pair": ({0: rows}, {0: others}), "scale": None, "shift": {}}
    inputs = ((torch.randn(3, 4), torch.randn(5, 4)), torch.randn(4))
    tilewright.export(Joined(), inputs, tmp_path / "m.pt2", kwargs={"shift": torch.randn(4)},
                      dynamic_shapes=shapes if form == "by_name" else tuple(shapes.values()))  # fmt: skip
    graph = command("compile", tmp_path / "m.pt2", "--emit=graph", "--dynamic", "rows=2..8").stdout
    assert re.findall(r'tw.max = (\d+) .*?tw.symbol = "(\w+)"', graph) == [("8", "rows"), ("9", "others")]
    assert command("compile", tmp_path / "m.pt2", "-o", tmp_path / "m.so").returncode == 0
    header = (tmp_path / "m.h").read_text()
    assert "rows: 2 to 64" in header, header
    assert '"others"' in (tmp_path / "m.json").read_text()
    refused = command("run", tmp_path / "m.pt2", "--sizes", "3,10").stderr
    assert "--sizes gives others the value 10; the model takes 2 to 9" in refused


def test_names_of_sizes_that_are_no_identifiers_are_not_used(tmp_path):
    """If a file was edited manually, torch's symbols remain its names."""
    path = tmp_path / "m.pt2"
    tilewright.export(nn.ReLU(), (torch.randn(3, 4),), path, dynamic_shapes=({0: Dim("rows")},))
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in entries if name.endswith("tilewright/sizes.json"))
    symbol = next(iter(json.loads(entries[name])))
    for text in (json.dumps({symbol: "rows; exit(1)"}), json.dumps({symbol: 7}), json.dumps([symbol]), "{", json.dumps({symbol: "a" * 100})):
        with zipfile.ZipFile(path, "w") as archive:
            for entry, content in entries.items():
                archive.writestr(entry, text if entry == name else content)
        done = command("compile", path, "--emit=graph")
        assert f'tw.symbol = "{symbol}"' in done.stdout, done.stderr


def test_size_that_is_not_a_multiple_as_exported_is_refused(tmp_path):
    """With a size of 2 * n (torch's Dim), n is computed from the input, also in a library. A size that is not a
    multiple of 2 is an error."""
    class Pairs(nn.Module):
        def forward(self, x):
            return x.view(-1, 2, x.shape[1]).sum(1)

    path = tmp_path / "model.pt2"
    check(Pairs(), {"x": torch.randn(8, 3)}, tmp_path, ["0"], {"x": {0: 2 * Dim("n", max=40)}}, [{"x": torch.randn(6, 3)}])
    done = command("compile", path, "-o", tmp_path / "model.so")
    assert done.returncode == 0, done.stderr
    (tmp_path / "pairs").mkdir()
    x = torch.randn(80, 3)
    assert torch.allclose(call(tmp_path / "model.so", {"x": x}, tmp_path / "pairs")["0"], Pairs()(x))
    for rows, said in ((7, "'x' is float32[7, 3], and the model takes"), (82, "has the size 82")):
        np.save(tmp_path / "odd.npy", np.zeros((rows, 3), "f4"))
        for file in (path, tmp_path / "model.so"):
            done = command("run", file, "--input", f"x={tmp_path}/odd.npy")
            assert done.returncode == 1 and said in done.stderr, done.stderr


def test_export_refuses_wrong_paths_and_arguments(tmp_path):
    with pytest.raises(ValueError, match="does not end in .pt2"):
        tilewright.export(Perceptron(), (torch.zeros(1, 24),), tmp_path / "model.so")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        tilewright.export(Perceptron(), (torch.zeros(1, 24),), tmp_path / "absent" / "model.pt2")
    with pytest.raises(TypeError, match="not the tensor x"):
        tilewright.export(Perceptron(), torch.zeros(1, 24), tmp_path / "model.pt2")


def test_files_of_torch_export_save_are_read(tmp_path):
    """Files of torch.export.save without decompositions are read. Ops that are in the table are compiled
    (test_plain_operators.py); others are named."""
    path = tmp_path / "plain.pt2"
    torch.export.save(torch.export.export(Perceptron(), (torch.zeros(2, 24),)), path)
    assert command("run", path).returncode == 0
    torch.export.save(torch.export.export(nn.MaxUnpool3d(2), (torch.zeros(1, 1, 1, 2, 3), torch.arange(6).reshape(1, 1, 1, 2, 3))), path)
    done = command("compile", path, "--emit=graph")
    assert done.returncode == 1 and "aten.max_unpool3d" in done.stderr and "tilewright.export(model, inputs, path)" in done.stderr


def test_emit_prints_graph_and_target_stages(tmp_path):
    path = tmp_path / "model.pt2"
    tilewright.export(Perceptron(), (torch.zeros(2, 24),), path)
    graph = command("compile", path, "--emit=graph", "--locations").stdout
    assert 'tw.name = "up.weight", tw.static' in graph and pathlib.Path(__file__).name in graph
    assert "dense<" not in graph  # weights stay in the file
    assert "llvm.func" in command("compile", path, "--emit=target").stdout


@pytest.mark.parametrize("words, reason", [
    (["--input", "y=x.npy"], "the model has no input 'y'; its inputs are a, mask"),
    (["--input", "maskk=x.npy"], "did you mean 'mask'?"),
    (["--input", "a"], "--input must be NAME=FILE.npy, not 'a'"),
    (["--input", "a=absent.npy"], "the input 'a': cannot open 'absent.npy'"),
    (["--input", "a=a.npy"], "some inputs are missing: mask: bool[batch]"),
    (["--input", "a=a.npy", "--input", "a=a.npy"], "the input 'a' is given twice"),
    (["--input", "a=mask.npy"], "'mask.npy' has the dtype '|b1'; float32 ('<f4') is expected"),
    (["--input", "a=wide.npy", "--input", "mask=mask.npy"], "the input 'a' is float32[3, 5]; the model takes float32[batch, 4], with batch = 3"),
    (["--input", "a=a.npy", "--input", "mask=long.npy"], "the input 'mask' is bool[4]; the model takes bool[batch], with batch = 3"),
    (["--input", "a=many.npy", "--input", "mask=many-mask.npy"],
     "the input 'a' has the size 9 in dimension 0; the model takes float32[batch, 4], where batch is 0 to 8"),
    (["--input", "a=mask.npy", "--sizes", "3"], "--sizes applies only to random inputs"),
    (["--input", "a=text.npy"], "'text.npy' is not a .npy file"),
    (["--input", "a=cut.npy"], "fewer elements than its shape requires"),
    (["--input", "a=flat.npy"], "the input 'a' is float32[12]; the model takes float32[batch, 4]"),
])  # fmt: skip
def test_run_refuses_wrong_inputs_with_a_reason(tmp_path, monkeypatch, words, reason):
    class Masked(nn.Module):
        def forward(self, a, mask):
            return torch.where(mask[:, None], a, 0)

    monkeypatch.chdir(tmp_path)
    batch = Dim("batch", max=8)
    arrays = {"a": np.zeros((3, 4), "f4"), "wide": np.zeros((3, 5), "f4"), "mask": np.zeros(3, bool), "long": np.zeros(4, bool),
              "many": np.zeros((9, 4), "f4"), "many-mask": np.zeros(9, bool), "flat": np.zeros(12, "f4")}  # fmt: skip
    for name, array in arrays.items():
        np.save(name, array)
    pathlib.Path("text.npy").write_text("1 2 3")
    pathlib.Path("cut.npy").write_bytes(pathlib.Path("a.npy").read_bytes()[:-1])
    tilewright.export(Masked(), (torch.zeros(2, 4), torch.zeros(2, dtype=torch.bool)), "masked.pt2",
                      dynamic_shapes={"a": {0: batch}, "mask": {0: batch}})  # fmt: skip
    done = command("run", "masked.pt2", *words)
    assert done.returncode == 1 and reason in done.stderr, done.stderr


def test_npy_file_in_column_major_order_is_read(tmp_path):
    """NumPy writes transposed arrays in column-major order."""
    path = tmp_path / "model.pt2"
    tilewright.export(nn.Identity(), (torch.zeros(2, 3, 4),), path)
    array = np.arange(24, dtype="f4").reshape(4, 3, 2).T
    np.save(tmp_path / "x.npy", array)
    assert np.load(tmp_path / "x.npy").flags.f_contiguous
    done = command("run", path, "--input", f"input={tmp_path / 'x.npy'}", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "0.npy"), array)


def test_commands_of_the_export_how_to_run(tmp_path, monkeypatch):
    """Runs the program and the commands of docs/how-to/export.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "how-to" / "export.md").read_text()
    blocks = dict(re.findall(r"```(python|sh)\n(.*?)```", page, re.S))
    monkeypatch.chdir(tmp_path)
    exec(blocks["python"], {})  # noqa: S102 -- the page's own
    np.save("x.npy", np.zeros((7, 16), "f4"))
    for line in blocks["sh"].splitlines():
        done = command(*line.split("#")[0].split()[1:])
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert np.load("results/0.npy").shape == (7, 4)


def test_damaged_graphs_are_refused(tmp_path):
    """Sizes, arguments and ops are changed at random: the result is a module or a reason, never a crash."""
    here = pathlib.Path(__file__).parent
    words = [here / "damaged_models_program.py", here.parent / "Tools" / "Inputs" / "perceptron.pt2", tmp_path / "damaged.pt2", "600"]
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    imported, refused = map(int, re.findall(r"\d+", done.stdout))
    assert imported > 20 and refused > 300
