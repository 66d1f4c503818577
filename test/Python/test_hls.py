"""Tests of the target hls: the linter detects violations, the types of the check headers compute like integers, and the
example of the docs is correct.

test/Conformance/hls compiles and runs whole designs (tools/test.sh).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "lib" / "Codegen" / "HLS" / "CheckHeaders"
PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
sys.path.insert(0, str(ROOT / "test" / "Conformance" / "hls"))

import hls_trial  # noqa: E402
from hls_lint import lint  # noqa: E402

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hls") / "residual"
    model = ROOT / "test" / "Conformance" / "hls" / "designs" / "residual.mlir"
    subprocess.run([PROGRAM, "compile", model, "--target=hls", "-o", folder], check=True, timeout=120)
    return (folder / "kernel.cpp").read_text()


def test_lint_accepts_a_generated_kernel(kernel):
    assert lint(kernel) == []


@pytest.mark.parametrize(
    "rule, old, new",
    [
        ("region", "  load_x(x, x_chip, x_chip_2);", "  if (x)\n  load_x(x, x_chip, x_chip_2);"),
        ("region", "#pragma HLS dataflow\n", ""),
        ("channel", "  store_y(y_chip, y);\n", ""),
        ("channel", "  load_x(x, x_chip, x_chip_2);", "  load_x(x, x_chip, x_chip_2);\n  load_x(x, x_chip, x_chip_2);"),
        ("channel", "  load_w1(w1, w1_chip);\n", "  load_w1(w1, w1_chip);\n  float unused[4];\n"),
        ("port", "  load_w1(w1, w1_chip);", "  load_w1(x, w1_chip);"),
        ("port", "port=w1 bundle=gmem1", "port=w1 bundle=gmem0"),
        ("port", "#pragma HLS interface m_axi port=w1 bundle=gmem1 offset=slave depth=4489\n", ""),
        ("bounds", "j < 67; ++j", "j < i; ++j"),
        ("pipeline", "matmul_j: for (int j = 0; j < 67; ++j) {\n", "matmul_j: for (int j = 0; j < 67; ++j) {\n#pragma HLS pipeline II=1\n  for (int z = 0; z < 4; ++z) {\n  }\n"),
        ("partition", "  float matmul_out_chip[1][67];\n", "  float matmul_out_chip[1][67];\n#pragma HLS array_partition variable=matmul_out_chip type=cyclic factor=68 dim=2\n"),
        ("name", "  float matmul_out_chip[1][67];\n", "  float matmul_out_chip[1][67];\n#pragma HLS array_partition variable=absent type=complete dim=1\n"),
        ("name", "load_w1_j: for", "load_w1_i: for"),
        ("storage", "  float matmul_2_out_chip[1][67];", "  static float matmul_2_out_chip[1][67];"),
    ],
)
def test_lint_reports_each_violation(kernel, rule, old, new):
    assert old in kernel
    complaints = lint(kernel.replace(old, new, 1))
    assert any(complaint.startswith(rule + ":") for complaint in complaints), complaints


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """A design whose products pass on blocks of their results."""
    folder = tmp_path_factory.mktemp("hls") / "2mm_small"
    model = ROOT / "test" / "Conformance" / "hls" / "designs" / "2mm_small.mlir"
    subprocess.run([PROGRAM, "compile", model, "--target=hls", "--budget", "dsp=220", "-o", folder], check=True, timeout=120)
    return (folder / "kernel.cpp").read_text()


def test_lint_reports_violations_in_streams_of_blocks(blocks):
    assert lint(blocks) == []
    call = re.search(r"^  matmul\(.*\);\n", blocks, re.M)[0]
    banks = re.search(r"hls::stream_of_blocks<.*> (\w+);\n", blocks)
    for rule, wrong in [
        ("channel", blocks.replace(call, "")),
        ("channel", blocks.replace(call, call + call)),
        ("name", blocks.replace(f"variable={banks[1]} ", "variable=absent ")),
        ("partition", blocks.replace(banks[0], f"{banks[0]}#pragma HLS array_partition variable={banks[1]} type=cyclic factor=4097 dim=2\n")),
    ]:
        assert wrong != blocks
        assert any(complaint.startswith(rule + ":") for complaint in lint(wrong)), rule


def test_chart_of_pareto_front_is_written_as_png(tmp_path):
    """front() keeps the designs to which no other design is superior, and the chart is a PNG."""
    pytest.importorskip("matplotlib")
    from hls_chart import draw, front, points_of

    assert front([(4, 9), (2, 9), (8, 3), (9, 5)]) == [(2, 9), (8, 3)]
    points = points_of("gemm_small", (2, 40, 220))  # two are not enough for this design
    assert len(points) == 2 and points[0][0] <= 40 < points[1][0] <= 220
    draw({"gemm_small": points}, {}, tmp_path / "pareto.png")
    assert (tmp_path / "pareto.png").read_bytes().startswith(b"\x89PNG")


# One program tests the operators of ap_int and ap_uint for pairs of widths and signs, against Python's integers.

PAIRS = [(1, 1), (2, 5), (5, 3), (7, 8), (8, 8), (13, 31), (16, 32), (31, 33), (32, 32), (33, 47), (48, 12), (63, 63), (63, 64), (64, 64), (65, 60), (100, 28), (127, 1), (128, 128)]
OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "^", "<", "==", "<<", ">>"]


def kinds():
    return [(signed, other, wide, narrow) for signed in (True, False) for other in (True, False) for wide, narrow in PAIRS]


def type_of(signed, width):
    return f"ap_{'' if signed else 'u'}int<{width}>"


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    """A program that reads 'case operator a b' and answers 'bits'. Numbers are 32 hexadecimal digits of two's
    complement."""
    cases = "\n".join(
        f"case {number}: return answer<{type_of(signed, wide)}, {type_of(other, narrow)}>(op, a, b);"
        for number, (signed, other, wide, narrow) in enumerate(kinds())
    )
    text = f"""
#include <ap_int.h>
#include <stdio.h>
typedef tilewright::UWide U;
template <typename A, typename B> static U answer(int op, U x, U y) {{
  const A a(x);
  const B b(y);
  switch (op) {{
  case 0: return (a + b).bits;
  case 1: return (a - b).bits;
  case 2: return (a * b).bits;
  case 3: return (a / b).bits;
  case 4: return (a % b).bits;
  case 5: return (a & b).bits;
  case 6: return (a | b).bits;
  case 7: return (a ^ b).bits;
  case 8: return a < b;
  case 9: return a == b;
  case 10: return (a << (int)(unsigned)(y & 127)).bits;
  default: return (a >> (int)(unsigned)(y & 127)).bits;
  }}
}}
static U compute(int number, int op, U a, U b) {{
  switch (number) {{
  {cases}
  }}
  return 0;
}}
int main() {{
  int number, op;
  unsigned long long a, b, c, d;
  while (scanf("%d %d %16llx%16llx %16llx%16llx", &number, &op, &a, &b, &c, &d) == 6) {{
    const U result = compute(number, op, (U)a << 64 | b, (U)c << 64 | d);
    printf("%016llx%016llx\\n", (unsigned long long)(result >> 64), (unsigned long long)result);
    fflush(stdout);
  }}
}}
"""
    folder = tmp_path_factory.mktemp("ap_int")
    (folder / "calculator.cpp").write_text(text)
    words = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-I", HEADERS, "calculator.cpp", "-o", "calculator"]
    subprocess.run(words, cwd=folder, check=True, timeout=120)
    process = subprocess.Popen([folder / "calculator"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.stdin.close()
    assert process.wait(timeout=10) == 0


def wrap(value, width, signed):
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def expected(op, a, b, left, right):
    """Returns the exact result, truncated to the width of the operator's result."""
    (sa, wa), (sb, wb) = left, right
    signed = sa or sb
    common = max(wa + (signed and not sa), wb + (signed and not sb))
    cut = lambda value, width, its=signed: wrap(value, min(width, 128), its)  # noqa: E731
    match op:
        case "+":
            return cut(a + b, common + 1)
        case "-":
            return cut(a - b, common + 1, True)
        case "*":
            return cut(a * b, wa + wb)
        case "/":
            return cut(abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1), wa + sb)
        case "%":
            return cut(abs(a) % abs(b) * (-1 if a < 0 else 1), min(wa, wb + (sa and not sb)), sa)
        case "&":
            return cut(a & b, common)
        case "|":
            return cut(a | b, common)
        case "^":
            return cut(a ^ b, common)
        case "<":
            return int(a < b)
        case "==":
            return int(a == b)
        case "<<":
            return cut(a << (b & 127), wa, sa) if (b & 127) < wa else 0
        case ">>":
            return cut(a >> (b & 127), wa, sa)


def edges(width, signed):
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return st.one_of(st.sampled_from(sorted({low, high, 0, min(1, high), max(low, -1), high // 2})), st.integers(low, high))


@settings(max_examples=4000 if os.environ.get("TILEWRIGHT_TEST_FULL") else 400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_ap_int_operators_equal_python_integers(calculator, data):
    number = data.draw(st.integers(0, len(kinds()) - 1))
    signed, other, wide, narrow = kinds()[number]
    op = data.draw(st.sampled_from(OPERATORS))
    a, b = data.draw(edges(wide, signed)), data.draw(edges(narrow, other))
    if op in "/%" and b == 0:
        return
    digits = lambda value: f"{value & (1 << 128) - 1:032x}"  # noqa: E731
    calculator.stdin.write(f"{number} {OPERATORS.index(op)} {digits(a)} {digits(b)}\n")
    calculator.stdin.flush()
    got = int(calculator.stdout.readline(), 16)
    assert got == expected(op, a, b, (signed, wide), (other, narrow)) & (1 << 128) - 1, (kinds()[number], op, a, b)


def test_remainder_of_a_signed_number_and_a_narrower_unsigned_number_keeps_its_sign_bit(calculator):
    number = kinds().index((True, False, 48, 12))
    calculator.stdin.write(f"{number} {OPERATORS.index('%')} {(-4095 - 4000) & (1 << 128) - 1:032x} {4095:032x}\n")
    calculator.stdin.flush()
    assert wrap(int(calculator.stdout.readline(), 16), 13, True) == -4000


def test_documented_hls_example_prints_the_documented_output(tmp_path):
    """The commands of docs/targets/hls.md run as written, and print the documented output."""
    text = (ROOT / "docs" / "targets" / "hls.md").read_text()
    model = re.search(r"```mlir\n(.*?)```", text, re.S)[1]
    (tmp_path / "residual.mlir").write_text(model)
    shell = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    done = subprocess.run(["bash", "-ec", shell], cwd=tmp_path, capture_output=True, text=True, timeout=300, env={"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == re.search(r"```text\n(.*?)```", text, re.S)[1]
    shown = re.search(r"```cpp\n(.*?)```", text, re.S)[1]
    assert shown in (tmp_path / "out" / "kernel.cpp").read_text()


@pytest.mark.skipif(not shutil.which("iverilog"), reason="there is no iverilog (Debian: iverilog)")
def test_documented_verilog_example_prints_the_documented_output(tmp_path):
    """The commands of the Verilog example of docs/targets/hls.md print the documented output."""
    text = (ROOT / "docs" / "targets" / "hls.md").read_text().split("## Verilog")[1]
    (tmp_path / "relu.mlir").write_text(re.search(r"```mlir\n(.*?)```", text, re.S)[1])
    shell = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    done = subprocess.run(["bash", "-ec", shell], cwd=tmp_path, capture_output=True, text=True, timeout=300, env={"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == re.search(r"```text\n(.*?)```", text, re.S)[1]


def test_design_of_exported_model_passes_its_bench(tmp_path):
    """A .pt2 of torch: the weights are ROMs or ports, and names are those of the model."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.LayerNorm(20), torch.nn.GELU(), torch.nn.Linear(20, 5)).eval()
    tilewright.export(model, (torch.randn(4, 12),), tmp_path / "model.pt2")
    for place in ("external", "embedded", ""):
        folder = tmp_path / f"out{place}"
        made = hls_trial.generate(tmp_path / "model.pt2", folder, "--part=xc7z020", *([f"--weights={place}"] if place else []))
        assert made.returncode == 0, made.stderr
        kernel = (folder / "kernel.cpp").read_text()
        ports = re.search(r"void model\((.*)\) \{", kernel)[1]
        if place == "external":
            assert re.match(r"const float \*\w*0_weight, const float \*\w*0_bias", ports), ports
            assert not (folder / "weights.h").exists()
        else:
            assert re.fullmatch(r"const float \*\w+, float \*\w+", ports), ports
            constants = (folder / "weights.h").read_text()
            first = model[0].weight[0, 0].item()
            assert re.search(r"static const float \w*0_weight\[20\]\[12\] =\s*\{\{" + re.escape(f"{first:.7g}"[:8]), constants), constants[:500]
            assert re.search(r"bind_storage variable=\w*0_weight type=rom_2p impl=(bram|lutram)", kernel)
            assert len(list((folder / "data").glob("input_*"))) == 1
        assert hls_trial.lint_folder(folder) == []
        done = build_and_run(folder)
        assert done.stdout.endswith("PASS\n"), done.stdout + done.stderr


def test_weights_that_exceed_the_budget_are_ports_or_refused(tmp_path):
    """The weights stay ports because of their size. If ROMs are requested, the error states the required resources."""
    import torch

    tilewright.export(torch.nn.Linear(256, 256).eval(), (torch.randn(1, 256),), tmp_path / "model.pt2")
    made = hls_trial.generate(tmp_path / "model.pt2", tmp_path / "out", "--budget=bram=15,uram=0,dsp=10")
    assert "bram=15" in made.stderr and "ROMs" not in made.stderr, made.stderr
    made = hls_trial.generate(tmp_path / "model.pt2", tmp_path / "ultra", "--budget=bram=15,dsp=10")
    assert made.returncode == 0, made.stderr
    assert "impl=uram" in (tmp_path / "ultra" / "kernel.cpp").read_text() and re.search(r"URAM \d+ of 960", (tmp_path / "ultra" / "report.md").read_text())
    assert build_and_run(tmp_path / "ultra").stdout.endswith("PASS\n")
    made = hls_trial.generate(tmp_path / "model.pt2", tmp_path / "out", "--budget=bram=2,dsp=10", "--weights=embedded")
    assert re.search(r"bram=\d+ \(18 kbit each\), \d+ of them for weights in ROMs, and the budget has bram=2; --weights=external replaces the ROMs by ports", made.stderr), made.stderr
    made = hls_trial.generate(tmp_path / "model.pt2", tmp_path / "out", "--weights=rom")
    assert "--weights must be embedded or external, not 'rom'" in made.stderr


def build_and_run(folder):
    words = ["g++", *hls_trial.STRICT, "-DTILEWRIGHT_THREADS", *hls_trial.SOURCES, "check/dataflow_check.cpp", "-pthread", "-o", "bench"]
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr[:3000]
    return subprocess.run(["./bench"], cwd=folder, capture_output=True, text=True, timeout=60)


def make(tmp_path, text):
    (tmp_path / "model.mlir").write_text(text)
    made = hls_trial.generate(tmp_path / "model.mlir", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    return tmp_path / "out"


def test_design_with_reserved_tensor_names_passes_its_bench(tmp_path):
    """The tensors have the names of C++ keywords, of macros, of functions that the printer calls, of helpers, and of
    variables of the test bench."""
    table = (ROOT / "lib" / "Codegen" / "HLS" / "Names.cpp").read_text()
    words = re.findall(r'"(\w+)"', re.search(r"reserved\[\] = \{(.*?)\};", table, re.S)[1])
    words += ["NAN", "INFINITY", "linux", "unix", "model", "bench", "argc", "argv", "tasks", "expf", "nullptr", "decltype", "larger", "max_or_nan"]
    words = list(dict.fromkeys(words))
    inputs = ", ".join(f'%a{i}: tensor<2xf32> {{tw.name = "{word}"}}' for i, word in enumerate(words))
    kind = "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    lines, results = [], []
    for begin in range(0, len(words), 40):
        last = f"%a{begin}"
        for i in range(begin + 1, min(begin + 40, len(words))):
            lines.append(f"  %s{i} = tw.add {last}, %a{i} : {kind}")
            last = f"%s{i}"
        lines.append(f"  %t{begin} = tw.exp {last} : (tensor<2xf32>) -> tensor<2xf32>")
        results.append(f"%t{begin}")
    types = ", ".join(["tensor<2xf32>"] * len(results))
    folder = make(tmp_path, f"func.func @main({inputs}) -> ({types}) {{\n" + "\n".join(lines) + f"\n  return {', '.join(results)} : {types}\n}}\n")
    done = build_and_run(folder)
    assert done.stdout.endswith("PASS\n"), done.stdout + done.stderr


def test_bench_compares_int64_results_exactly(tmp_path):
    """The difference between two int64_t results is smaller than the precision of a double."""
    folder = make(tmp_path, 'func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {\n  %y = tw.mul %x, %x : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>\n  return %y : tensor<4xi64>\n}\n')
    (folder / "data" / "input_0.bin").write_bytes((2**30).to_bytes(8, "little") * 4)
    (folder / "data" / "output_0.bin").write_bytes((2**60).to_bytes(8, "little") * 4)
    assert build_and_run(folder).stdout.endswith("PASS\n")
    (folder / "data" / "output_0.bin").write_bytes((2**60 + 1).to_bytes(8, "little") * 4)
    assert "FAIL, integers differ" in build_and_run(folder).stdout


def test_design_with_more_than_64_operands_passes_its_bench(tmp_path):
    inputs = ", ".join(f"%a{i}: tensor<6xf32>" for i in range(71))
    kind = "(tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>"
    sums = "\n".join(f"  %s{i} = tw.add {'%a0' if i == 1 else f'%s{i - 1}'}, %a{i} : {kind}" for i in range(1, 70))
    folder = make(tmp_path, f"func.func @main({inputs}) -> tensor<6xf32> {{\n{sums}\n  return %s69 : tensor<6xf32>\n}}\n")
    assert build_and_run(folder).stdout.endswith("PASS\n")


def test_loop_labels_of_seven_dimensions_are_distinct(tmp_path):
    """The labels of the loops over a tensor with seven dimensions are distinct."""
    model = """func.func @main(%x: tensor<2x1x2x1x2x3x2xf32>) -> tensor<2x1x2x1x2x2x3xf32> {
  %p = tw.permute %x {permutation = array<i64: 0, 1, 2, 3, 4, 6, 5>} : tensor<2x1x2x1x2x3x2xf32> -> tensor<2x1x2x1x2x2x3xf32>
  return %p : tensor<2x1x2x1x2x2x3xf32>
}
"""
    folder = make(tmp_path, model)
    assert lint((folder / "kernel.cpp").read_text()) == []
    assert build_and_run(folder).stdout.endswith("PASS\n")


def test_torch_compile_with_target_hls_is_refused():
    import torch

    compiled = torch.compile(torch.nn.ReLU(), backend="tilewright", options={"target": "hls", "strict": True})
    with pytest.raises(Exception, match="target 'hls' generates C\\+\\+ for a vendor's tool"):
        compiled(torch.ones(4))


def test_bench_that_passes_with_damaged_weights_is_reported(tmp_path):
    """A bench that passes with damaged weights is reported. The file is restored afterwards."""
    (tmp_path / "data").mkdir()
    for number in range(2):
        (tmp_path / "data" / f"input_{number}.bin").write_bytes(b"abc")
    bench = tmp_path / "run_g_"
    bench.write_text("#!/bin/sh\nif grep -q abc data/input_0.bin; then echo PASS; else echo FAIL; exit 1; fi\n")
    bench.chmod(0o755)
    failures = hls_trial.damaged(tmp_path)
    assert len(failures) == 1 and "input_1.bin" in failures[0]
    assert (tmp_path / "data" / "input_1.bin").read_bytes() == b"abc"


def test_error_bound_of_a_bench_is_three_times_the_error_of_f32_loops(tmp_path):
    """The loops add the terms of a sum one after another. The bound is therefore equal on all machines."""
    folder = make(
        tmp_path,
        """func.func @main(%a: tensor<50x400xf32>, %x: tensor<400x1xf32>) -> tensor<50x1xf32> {
  %y = tw.matmul %a, %x : (tensor<50x400xf32>, tensor<400x1xf32>) -> tensor<50x1xf32>
  return %y : tensor<50x1xf32>
}
""",
    )
    read = lambda name: np.frombuffer((folder / "data" / name).read_bytes(), np.float32)  # noqa: E731
    a, x = read("input_0.bin").reshape(50, 400), read("input_1.bin")
    loops = np.zeros(50, np.float32)
    for k in range(400):
        loops = loops + a[:, k] * x[k]
    exact = a.astype(np.float64) @ x.astype(np.float64)
    error = np.sqrt(np.mean((loops - exact.astype(np.float32).astype(np.float64)) ** 2))
    assert error > 2**-23 * np.sqrt(np.mean(exact**2))  # otherwise the bound would be 3 * eps * RMS
    bound = float((folder / "data" / "output_0.bound").read_text())
    assert bound == pytest.approx(3 * error, rel=0.1)  # a multiply-add may round once instead of twice


def test_integer_result_that_differs_from_target_cpu_is_reported(tmp_path):
    """A difference of one bit between an integer result and the cpu target's is reported; floats are not compared."""
    model = tmp_path / "sums_inner.mlir"
    model.write_text(
        """func.func @main(%x: tensor<8xf32> {tw.name = "x"}) -> (tensor<8xf32>, tensor<8xi32>) {
  %y = tw.add %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %i = tw.cast %y : (tensor<8xf32>) -> tensor<8xi32>
  return %y, %i : tensor<8xf32>, tensor<8xi32>
}
"""
    )
    folder = tmp_path / "sums"
    made = hls_trial.generate(model, folder)
    assert made.returncode == 0, made.stderr
    assert hls_trial.integers_of_cpu(model, folder) == []
    file = folder / "data" / "output_1.bin"
    data = bytearray(file.read_bytes())
    data[4] ^= 1
    file.write_bytes(data)
    assert hls_trial.integers_of_cpu(model, folder) == ["cpu: result 1 differs in 1 of 8 elements"]


def _designs():
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return {
        "transposed": (torch.nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), (torch.randn(1, 3, 5, 5),)),
        "transposed 1d": (torch.nn.ConvTranspose1d(4, 4, 4, stride=2, groups=2), (torch.randn(1, 4, 8),)),
        "logsumexp": (lambda x: torch.logsumexp(x * 100, 1), (x,)),
        "cast": (lambda x: ((x * 1000) @ torch.ones(8, 8) / 7).to(torch.int32), (x,)),
        "comparison": (lambda x: (x.softmax(1).sum(1) > 1).to(torch.int64), (torch.randn(64, 33),)),
        "argmax": (lambda x: x.softmax(1).argmax(1), (x,)),
        "soft labels": (lambda x, t: F.cross_entropy(x, t), (x, torch.randn(4, 8).softmax(1))),
    }


@pytest.mark.parametrize("name", ["transposed", "transposed 1d", "logsumexp", "cast", "comparison", "argmax", "soft labels"])
def test_design_of_exported_function_passes_its_bench(tmp_path, name):
    import torch

    class Model(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *inputs):
            return self.function(*inputs)

    function, inputs = _designs()[name]
    tilewright.export(Model(function).eval(), inputs, tmp_path / "model.pt2")
    made = hls_trial.generate(tmp_path / "model.pt2", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    ran = build_and_run(tmp_path / "out")
    assert ran.returncode == 0 and "PASS" in ran.stdout, ran.stdout + ran.stderr


def test_model_that_calls_another_function_is_refused(tmp_path):
    (tmp_path / "model.mlir").write_text("""func.func private @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = func.call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}""")
    made = hls_trial.generate(tmp_path / "model.mlir", tmp_path / "out")
    assert made.returncode == 1 and ":6: 'func.call': calls are not supported in a model's graph; inline the callee" in made.stderr, made.stderr
