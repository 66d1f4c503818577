"""tilewright explain: the contents of its record of a model, and its page, which is one file in which untrusted names
are text.

test_explain_browser.py tests the behavior of the page.
"""

import base64
import hashlib
import html.parser
import json
import os
import re
import runpy
import subprocess
from pathlib import Path

import pytest
import torch

import tilewright

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"
STAGES = ["model", "graph", "structured", "tiled", "vector", "target", "assembly"]
VIEWS = {"tw.permute"}  # the kernels read their operands in another order: these ops have no code

MODEL = """import torch


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = torch.nn.LayerNorm(size)
        self.up = torch.nn.Linear(size, 2 * size)
        self.down = torch.nn.Linear(2 * size, size)

    def forward(self, x):
        y = self.norm(x)
        y = self.up(y)
        y = torch.nn.functional.gelu(y)
        return x + self.down(y)


model = torch.nn.Sequential(Block(32), Block(32)).eval()
"""


def explain(*arguments, status=0):
    done = subprocess.run([DRIVER, "explain", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def page_of(path: Path, *arguments) -> str:
    explain(path, "--html", path.with_suffix(".html"), *arguments)
    return path.with_suffix(".html").read_text()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    (folder / "blocks.py").write_text(MODEL)
    model = runpy.run_path(str(folder / "blocks.py"))["model"]
    tilewright.export(model, (torch.randn(16, 32),), str(folder / "blocks.pt2"))
    return folder / "blocks.pt2"


@pytest.fixture(scope="module")
def record(exported):
    explain(exported, "--json", exported.with_suffix(".json"))
    return json.loads(exported.with_suffix(".json").read_text())


def origins_at(record, stage):
    """Returns the operations from which any line of the stage originates."""
    lines = next(one for one in record["stages"] if one["name"] == stage)
    return {origin for number in lines["sets"] if number >= 0 for origin in record["sets"][number]}


def test_every_operation_has_its_source_line(record):
    texts = {file["name"]: {line["number"]: line["text"] for line in file["lines"]} for file in record["sources"]}
    lines = MODEL.splitlines()
    assert len(record["origins"]) == 18
    for origin in record["origins"]:
        assert origin["file"].endswith("blocks.py") and origin["label"].startswith("aten."), origin
        assert texts[origin["file"]][origin["line"]] == lines[origin["line"] - 1]
    assert {lines[origin["line"] - 1].strip() for origin in record["origins"] if origin["operation"] == "tw.gelu"} == {
        "y = torch.nn.functional.gelu(y)"}  # fmt: skip


def test_every_operation_reaches_a_kernel_and_assembly(record):
    assert [stage["name"] for stage in record["stages"]] == STAGES
    computing = {i for i, origin in enumerate(record["origins"]) if origin["operation"] not in VIEWS}
    in_kernels = {origin for kernel in record["kernels"] for origin in kernel["origins"]}
    assert len(computing) == 14 and computing <= in_kernels
    for stage in STAGES:
        missing = computing - origins_at(record, stage)
        assert not missing, (stage, [record["origins"][i] for i in missing])


def test_structured_lines_are_attributed_to_their_operations(record):
    """The lines with erf are attributed only to the gelus, and those with rsqrt only to the layer norms."""
    stage = next(one for one in record["stages"] if one["name"] == "structured")
    rows = [(line, record["sets"][number]) for line, number in zip(stage["lines"], stage["sets"]) if number >= 0]

    def named(name):
        return {i for i, origin in enumerate(record["origins"]) if origin["operation"] == name}

    erfs = [set(origins) for line, origins in rows if "math.erf" in line]
    assert erfs and all(origins == named("tw.gelu") for origins in erfs)  # both blocks: they share a kernel
    roots = [set(origins) for line, origins in rows if "math.rsqrt" in line]
    assert roots and all(origins == named("tw.layer_norm") for origins in roots)


def test_assembly_is_attributed_to_its_kernel(record):
    assembly = record["stages"][-1]
    functions = {one["name"]: one for one in assembly["functions"]}
    assert set(functions) == {kernel["name"] for kernel in record["kernels"]}
    for kernel in record["kernels"]:
        inside = range(functions[kernel["name"]]["first"], functions[kernel["name"]]["last"] + 1)
        assert assembly["lines"][inside[0]] == kernel["name"] + ":"
        assert sum(line.strip().startswith("ret") for line in (assembly["lines"][i] for i in inside)) >= 1
        own = {origin for i in inside if assembly["sets"][i] >= 0 for origin in record["sets"][assembly["sets"][i]]}
        assert own & set(kernel["origins"]), kernel
        assert kernel["code_bytes"] > 50
    assert not any(re.search(r"\.loc\b|\.cfi_|debug_line", line) for line in assembly["lines"])


def test_record_has_consistent_kernels_edges_plan_and_times(record):
    running = [kernel for kernel in record["kernels"] if not kernel["once"]]
    assert sum(kernel["launches"] for kernel in running) == len(record["plan"]["steps"])
    assert all(kernel["expected_us"] > 0 and kernel["bound"] and "tiles" in kernel["schedule"] for kernel in running)
    assert all(edge["kind"] in ("fusion", "quantize", "pack", "vectorize") for edge in record["edges"])
    edges = [edge for edge in record["edges"] if edge["kind"] == "fusion"]
    unfused = [edge for edge in edges if not edge["done"]]
    assert unfused and len(unfused) < len(edges)
    for edge in unfused:
        assert edge["reason"] and "blocks.py:" in edge["where"] and edge["set"] >= 0, edge
    plan = record["plan"]
    assert plan["arena"] and not plan["problem"]
    for buffer in plan["arena"]:
        assert 0 <= buffer["first"] <= buffer["last"] < len(plan["steps"])
        assert buffer["offset"] + buffer["bytes"] <= plan["arena_bytes"]
    for a in plan["arena"]:
        for b in plan["arena"]:
            together = a["first"] <= b["last"] and b["first"] <= a["last"]
            apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
            assert a is b or not together or apart, (a, b)
    by_name = {stage["name"]: stage for stage in record["stages"]}
    assert all(by_name[name]["ms"] > 0 and by_name[name]["passes"] for name in STAGES[1:-1])
    assert "tw-form-kernels" in {one["name"] for one in by_name["structured"]["passes"]}
    for name in STAGES[1:-1]:  # passes over the module run sequentially
        formed = [one["ms"] for one in by_name[name]["passes"] if one["name"] in ("tw-form-kernels", "tw-build-plan")]
        assert sum(formed) <= by_name[name]["ms"]


def test_record_has_the_options_of_the_compile(exported, record):
    assert record["options"]["rounding"] == "fused" and record["options"]["threads"] == str(record["threads"])
    explain(exported, "--rounding=eager", "--json", exported.with_name("eager.json"))
    eager = json.loads(exported.with_name("eager.json").read_text())["options"]
    assert {name for name in eager if eager[name] != record["options"][name]} == {"rounding"}


def test_record_of_torch_compile_has_the_options_of_python():
    torch._dynamo.reset()
    model = torch.compile(torch.nn.Linear(4, 4), backend="tilewright", options={"record": True, "deterministic": True})
    with torch.no_grad():
        model(torch.randn(2, 4))
    (graph,) = tilewright.report(model)
    assert json.loads(graph.records[0])["options"]["deterministic"] == "yes"


class Copies(torch.nn.Module):
    """A padded convolution on pixels of three channels, a slice that is reshaped, and a concatenation."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, x):
        rows = self.linear(self.conv(x).flatten(2).transpose(1, 2).reshape(-1, 16))
        return torch.cat([rows[:, 4:12].reshape(-1), x.reshape(-1)]), x


def test_every_step_that_only_copies_has_a_reason(tmp_path):
    tilewright.export(Copies().eval(), (torch.randn(2, 3, 16, 16),), str(tmp_path / "copies.pt2"))
    explain(tmp_path / "copies.pt2", "--json", tmp_path / "copies.json")
    plan = json.loads((tmp_path / "copies.json").read_text())["plan"]
    steps = plan["once"] + plan["steps"]
    computing = [step["operations"] for step in steps if not step["reason"]]
    assert computing == ["convolution", "add", "matmul+add"]
    reasons = "\n".join(step["reason"] for step in steps)
    for text in ("convolution reads all elements in row-major order, and the tensor is a view that permutes dimensions",
                 "convolution reads its operand with the padding around it", "a slice is reshaped, and a reshape needs",
                 "reads the operand in panels, which are adjacent in the copy; copied once for each version of the parameter",
                 "a result of the call is also an input", "an operation of the model moves elements: aten.cat.default"):  # fmt: skip
        assert text in reasons, text


def test_measured_record_has_the_time_of_each_kernel(exported):
    path = exported.with_name("measured.json")
    explain(exported, "--measure", "--calls", 3, "--json", path)
    record = json.loads(path.read_text())
    assert record["measured"]
    for kernel in record["kernels"]:
        assert ("measured_us" in kernel) == (not kernel["once"]), kernel
        assert kernel["once"] or (kernel["measured_us"] > 0 and kernel["roof_us"] > 0)


def test_plan_of_record_has_the_given_symbolic_sizes(tmp_path):
    (tmp_path / "rows.mlir").write_text(
        "#s = affine_map<()[s0] -> (s0, 4)>\n"
        'func.func @main(%n: index {tw.symbol = "rows", tw.min = 2 : i64, tw.max = 64 : i64},\n'
        "    %x: tensor<?x4xf32, #s>) -> tensor<?x4xf32, #s> {\n"
        "  %y = tw.exp %x : (tensor<?x4xf32, #s>) -> tensor<?x4xf32, #s>\n"
        "  return %y : tensor<?x4xf32, #s>\n}\n")  # fmt: skip
    for flags, rows in ((), 8), (("--sizes", 40), 40):
        explain(tmp_path / "rows.mlir", *flags, "--json", tmp_path / "rows.json")
        plan = json.loads((tmp_path / "rows.json").read_text())["plan"]
        assert plan["symbols"] == [{"name": "rows", "value": rows, "min": 2, "max": 64}]
        assert plan["output_bytes"] == rows * 4 * 4


def test_source_shows_python_files_only(tmp_path):
    """A model file names its sources, and may come from an untrusted author."""
    (tmp_path / "secret").write_text("not for the page\n")
    (tmp_path / "long.py").write_text("".join(f"line = {i}\n" for i in range(1, 101)))
    places = [(tmp_path / "secret", 1), (tmp_path / "long.py", 50), (tmp_path / "absent.py", 7), (tmp_path, 1)]
    body = "".join(f'  %{i + 1} = tw.exp %{i} : (tensor<4xf32>) -> tensor<4xf32> loc("{file}":{line}:0)\n'
                   for i, (file, line) in enumerate(places))  # fmt: skip
    (tmp_path / "m.mlir").write_text(
        f"func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {{\n{body}  return %4 : tensor<4xf32>\n}}\n")  # fmt: skip
    explain(tmp_path / "m.mlir", "--json", tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    files = {Path(file["name"]).name: file for file in json.loads(text)["sources"]}
    assert "not for the page" not in text
    assert files["secret"]["problem"] == "not a Python file: its text is not shown"
    assert files["absent.py"]["problem"] == "not found on this machine"
    assert [line["number"] for line in files["long.py"]["lines"]] == list(range(46, 55))


class Elements(html.parser.HTMLParser):
    """The elements of the page, as far as a tag parser finds them."""

    def __init__(self, text):
        super().__init__()
        self.starts, self.texts, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.starts.append((tag, dict(attributes)))
        self.open = (tag, dict(attributes).get("id"))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] = self.texts.get(self.open, "") + data


def test_page_is_one_file_with_a_strict_content_security_policy(exported, record):
    page = page_of(exported)
    found = Elements(page)
    assert not [attributes for _, attributes in found.starts if {"src", "href", "srcset", "style", "onclick"} & set(attributes)]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", found.texts[("script", None)] + found.texts[("style", None)])
    policy = next(a["content"] for tag, a in found.starts if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    script, style = ("'sha256-" + base64.b64encode(hashlib.sha256(found.texts[(tag, None)].encode()).digest()).decode() + "'"
                     for tag in ("script", "style"))  # fmt: skip
    assert policy == f"default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'"
    data = json.loads(found.texts[("script", "data")])
    assert data["against"] is None and data["records"][0]["origins"] == record["origins"]


HOSTILE = '</script><script>alert(1)</script><!--<b>&amp;"</script x="<!--<script '


def hostile_model(folder: Path) -> Path:
    """A model whose file, source and operation have HTML as names."""
    path = folder / '<' / 'script><script>alert(1)<' / 'script><!--<b>&amp;"'
    path.mkdir(parents=True)
    name = json.dumps(HOSTILE)
    (path / "m.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        f"  %y = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc({name}({name}:3:0))\n"
        "  return %y : tensor<4xf32>\n}\n")  # fmt: skip
    return path / "m.mlir"


def test_hostile_names_are_escaped(tmp_path):
    path = hostile_model(tmp_path)
    explain(path, "--html", tmp_path / "page.html", "--json", tmp_path / "record.json")
    page = (tmp_path / "page.html").read_text()
    found = Elements(page)
    assert [tag for tag, _ in found.starts].count("script") == 2 == page.count("</script>")
    assert not set("<>&") & set(re.search(r'id="data">(.*)</script>\n<script>', page, re.DOTALL)[1])
    record = json.loads(found.texts[("script", "data")])["records"][0]
    assert record["model"] == str(path)
    assert record["origins"][0]["label"] == record["origins"][0]["file"] == HOSTILE
    # The text of a record from another author, which --against adds to the page, is escaped, too.
    explain(path, "--html", tmp_path / "both.html", "--against", tmp_path / "record.json")
    both = (tmp_path / "both.html").read_text()
    assert both.count("</script>") == 2 and json.loads(Elements(both).texts[("script", "data")])["against"]["model"] == str(path)
