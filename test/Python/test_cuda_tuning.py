"""Tests of the tuner for the target cuda. The tuner measures on a device of the fake driver, whose kernels take the times that a table
lists for their schedules, and may fault, hang or compute wrong results."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from test_cuda_driver import FAKE

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = FAKE.parent.parent / "bin" / "tilewright"
TABLES = ROOT / "test" / "Tuner" / "Inputs" / "gpu" / "h200-products.jsonl"
pytestmark = pytest.mark.skipif(not FAKE.exists(), reason=f"{FAKE} is not built")

# Five schedules of this product have tiles of 64 rows; these tiles have 8 to 128 columns. The sum has one step along k, so
# it cannot be split.
SMALL = """func.func @main(%a: tensor<64x64xbf16> {tw.name = "x"}, %b: tensor<128x64xbf16> {tw.name = "w"}) -> (tensor<64x128xbf16> {tw.name = "y"}) {
  %t = tw.permute %b {permutation = array<i64: 1, 0>} : tensor<128x64xbf16> -> tensor<64x128xbf16>
  %c = tw.matmul %a, %t : (tensor<64x64xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %c : tensor<64x128xbf16>
}
"""
SCHEDULE = "wgmma, threads 256, block 64x{}x64, consumers 1, stages 2"


def environment(tmp_path, times, **settings):
    (tmp_path / "times").write_text("".join(f"{nanoseconds} {outcome} {schedule}\n" for nanoseconds, outcome, schedule in times))
    configured = ",".join([f"times={tmp_path / 'times'}", "capability=9.0", *(f"{name}={value}" for name, value in settings.items())])
    return {**os.environ, "TILEWRIGHT_LIBCUDA": str(FAKE), "TILEWRIGHT_FAKE_CUDA": configured, "TILEWRIGHT_PTXAS": "off",
            "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TILEWRIGHT_RECORDS_DIR": str(tmp_path / "records")}  # fmt: skip


def tune_all(tmp_path, model, times, *arguments, **settings):
    """Tunes the model. Returns the rows of its kernels in the report, by name."""
    (tmp_path / "model.mlir").write_text(model)
    report = tmp_path / "report.json"
    subprocess.run([PROGRAM, "tune", "--target=cuda", tmp_path / "model.mlir", f"--report={report}", *arguments],
                   env=environment(tmp_path, times, **settings), check=True, timeout=600)  # fmt: skip
    return {row["name"]: row for row in json.loads(report.read_text())["kernels"]}


def tune(*arguments, **settings):
    """Tunes a model. Returns the row of its only kernel in the report."""
    (row,) = tune_all(*arguments, **settings).values()
    return row


def columns(schedule):
    return int(re.search(r"\bn=(\d+)", schedule)[1])


def test_tuner_chooses_the_fastest_schedule_that_neither_faults_nor_hangs_nor_is_wrong(tmp_path):
    times = [(100e3, "good", 8), (10e3, "fault", 16), (20e3, "hang", 32), (30e3, "wrong", 64), (50e3, "good", 128)]
    times = [(nanoseconds, outcome, SCHEDULE.format(n)) for nanoseconds, outcome, n in times]
    row = tune(tmp_path, SMALL, times, "--seconds=300")
    assert row["measurements"] == 5 and columns(row["chosen"]) == 128 and row["ratio"] == pytest.approx(0.5), row
    reasons = {columns(failure["schedule"]): failure["reason"] for failure in row["failures"]}
    assert reasons.keys() == {16, 32, 64}
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in reasons[16] and "did not end" in reasons[32] and "wrong numbers" in reasons[64]
    assert {columns(seen["schedule"]) for seen in row["seen"]} == {128}

    # A second call of the tuner measures nothing, and a compilation uses the record.
    again = tune(tmp_path, SMALL, times)
    assert again["measurements"] == 0 and again["recorded"] and again["chosen"] == row["chosen"]
    tiled = subprocess.run([PROGRAM, "compile", "--target=cuda", "--tune=strict", f"--records={tmp_path / 'records'}", "--emit=tiled", tmp_path / "model.mlir"],
                           env=environment(tmp_path, times), check=True, capture_output=True, text=True).stdout  # fmt: skip
    assert re.search(r"block = \[64, 128, 64\], consumers = 1, stages = 2, record = \"[0-9a-f]{12}\"", tiled), tiled

    # The record contains the name of the GPU, so a compilation for another GPU does not use it.
    other = subprocess.run([PROGRAM, "compile", "--target=cuda", "--tune=strict", f"--records={tmp_path / 'records'}", "--emit=tiled", tmp_path / "model.mlir"],
                           env=environment(tmp_path, times, name="Other GPU"), capture_output=True, text=True)  # fmt: skip
    assert other.returncode == 1 and "no tuning record for kernel matmul_0" in other.stderr


def test_kernels_without_a_product_are_tuned(tmp_path):
    """The schedules of this softmax have groups of 32 to 128 threads per row, and 1 to 8 rows per block."""
    model = """func.func @main(%x: tensor<8x768xbf16> {tw.name = "x"}) -> (tensor<8x768xbf16> {tw.name = "y"}) {
  %s = tw.softmax %x {dim = 1 : i64} : tensor<8x768xbf16> -> tensor<8x768xbf16>
  return %s : tensor<8x768xbf16>
}
"""
    special = {(128, 8, 32): (100e3, "good"), (64, 8, 64): (60e3, "good"), (256, 8, 32): (40e3, "wrong")}
    sizes = [(group * rows, vector, group) for vector in (2, 4, 8) for group, rows in ((32, 1), (32, 2), (32, 4), (32, 8), (64, 1), (128, 1))]
    times = [(*special.get(size, (200e3, "good")), "rows, threads {}, vector {}, group {}".format(*size)) for size in sizes]
    row = tune(tmp_path, model, times, "--seconds=300", "--tier=full")
    assert row["chosen"] == "group=64 rows_per_block=1 vector=8 cluster=1" and row["ratio"] == pytest.approx(0.6), row
    assert [failure["schedule"] for failure in row["failures"]] == ["group=32 rows_per_block=8 vector=8 cluster=1"]


def test_kernels_that_the_target_makes_are_tuned(tmp_path):
    """The kernel of the convolution pads its image, the sum of the product is divided into parts, and the weight is transposed once
    for each version. The model has no kernel with these names before the target selects schedules."""
    model = """func.func @main(%x: tensor<1x64x10x10xbf16> {tw.name = "x"}, %w: tensor<16x64x3x3xbf16> {tw.name = "w", tw.static}, %a: tensor<8x32768xbf16> {tw.name = "a"},
    %b: tensor<64x32768xbf16> {tw.name = "b", tw.static}) -> (tensor<1x16x10x10xbf16> {tw.name = "y"}, tensor<8x64xbf16> {tw.name = "z"}) {
  %c = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x64x10x10xbf16>, tensor<16x64x3x3xbf16>) -> tensor<1x16x10x10xbf16>
  %t = tw.permute %b {permutation = array<i64: 1, 0>} : tensor<64x32768xbf16> -> tensor<32768x64xbf16>
  %p = tw.matmul %a, %t : (tensor<8x32768xbf16>, tensor<32768x64xbf16>) -> tensor<8x64xbf16>
  return %c, %p : tensor<1x16x10x10xbf16>, tensor<8x64xbf16>
}
"""
    fastest = {"convolution_permute_4_padded": "wgmma, threads 256, block 64x64x64, consumers 1, stages 6",
               "matmul_3_parts": "wgmma, threads 256, block 64x8x64, consumers 1, stages 4, swapped", "matmul_3": "elements, threads 128, vector 8"}  # fmt: skip
    rows = tune_all(tmp_path, model, [(100e3, "good", schedule) for schedule in fastest.values()], "--seconds=300", execute=0)
    assert {name: row["ratio"] for name, row in rows.items() if name in fastest} == pytest.approx(dict.fromkeys(fastest, 0.1)), rows
    assert [row["verdict"] for row in rows.values() if row["name"] == "permute_2"] == ["it runs once for each version of the parameters"]
    tiled = subprocess.run([PROGRAM, "compile", "--target=cuda", f"--records={tmp_path / 'records'}", "--emit=tiled", tmp_path / "model.mlir"],
                           env=environment(tmp_path, []), check=True, capture_output=True, text=True).stdout  # fmt: skip
    tuned = set(re.findall(r'func.func private @(\w+)\(.*record = "[0-9a-f]{12}"', tiled))
    assert tuned == {name for name, row in rows.items() if row["chosen"] != row["default"]} and set(fastest) <= tuned, tiled


def test_gradient_of_the_weight_of_a_convolution_is_tuned(tmp_path):
    """The kernel reads patches of the images, and blocks of a cluster share its sum. The tuner runs the passes that select schedules again, which must not change it."""
    model = """func.func @main(%x: tensor<16x16x16x64xbf16> {tw.name = "x"}, %g: tensor<16x16x16x64xbf16> {tw.name = "g"}) -> (tensor<3x3x64x64xbf16> {tw.name = "d"}) {
  %d = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x16x16x64xbf16>, tensor<16x16x16x64xbf16>) -> tensor<3x3x64x64xbf16>
  return %d : tensor<3x3x64x64xbf16>
}
"""
    (row,) = [row for name, row in tune_all(tmp_path, model, [], "--seconds=300", execute=0).items() if "_padded" in name]
    assert row["measurements"] > 8 and not row["failures"] and "split_k" in row["chosen"], row


def recorded(kernel):
    """Returns the sizes of a product of the H200's tables, and its times by schedule, without clusters."""
    for line in TABLES.read_text().splitlines():
        table = json.loads(line)
        if table["kernel"] != kernel:
            continue
        times = []
        for knobs, milliseconds in table["schedules"]:
            if knobs["cluster"] > 1:
                continue
            text = f"wgmma, threads {(knobs['consumers'] + 1) * 128}, block {knobs['group_m'] * knobs['consumers']}x{knobs['n']}x64, consumers {knobs['consumers']}, stages {knobs['stages']}"
            for name, old in (("tile_rows_per_band", "raster"), ("tiles_per_block", "in_turn")):
                text += f", {name} {knobs[old]}" if knobs[old] > 1 else ""
            times.append((milliseconds * 1e6, "good", text))
        return [int(size) for size in re.findall(r"\d+", kernel.partition("-")[2])], times
    raise KeyError(kernel)


@pytest.mark.parametrize("kernel", ["bf16-4096x768x768", "bf16-64x6144x4096"])
def test_tuning_with_recorded_times_reaches_the_best_recorded_schedule(kernel, tmp_path):
    """Schedules without a recorded time take 1 ms, so the search must find the recorded schedules by the cost model."""
    (m, n, k), times = recorded(kernel)
    model = f"""func.func @main(%a: tensor<{m}x{k}xbf16> {{tw.name = "x"}}, %b: tensor<{n}x{k}xbf16> {{tw.name = "w"}}) -> (tensor<{m}x{n}xbf16> {{tw.name = "y"}}) {{
  %t = tw.permute %b {{permutation = array<i64: 1, 0>}} : tensor<{n}x{k}xbf16> -> tensor<{k}x{n}xbf16>
  %c = tw.matmul %a, %t : (tensor<{m}x{k}xbf16>, tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xbf16>
  return %c : tensor<{m}x{n}xbf16>
}}
"""
    row = tune(tmp_path, model, times, "--seconds=300", "--tier=full", execute=0)
    best = min(nanoseconds for nanoseconds, _, _ in times)
    chosen = row["defaultNanoseconds"] * row["ratio"]
    assert best / chosen >= 0.9, (best, chosen, row["measurements"], row["chosen"])


def test_torch_measures_once_and_a_second_process_measures_nothing(tmp_path):
    program = """
import torch, tilewright
torch.manual_seed(0)
x, w = torch.randn(64, 64).bfloat16(), torch.randn(128, 64).bfloat16()
compiled = torch.compile(torch.nn.functional.linear, backend="tilewright", options={"target": "cuda", "strict": True, "tune": "quick"})
y = compiled(x, w)
torch.testing.assert_close(y.float(), x.float() @ w.float().t(), rtol=0.02, atol=0.2)
"""
    times = [(nanoseconds, "good", SCHEDULE.format(n)) for nanoseconds, n in ((90e3, 8), (80e3, 16), (70e3, 32), (40e3, 64), (60e3, 128))]

    def run():
        dump = tmp_path / "dump"
        done = subprocess.run([sys.executable, "-c", program], env=environment(tmp_path, times) | {"TILEWRIGHT_DUMP": str(dump), "TILEWRIGHT_CACHE": "0"},
                              capture_output=True, text=True, timeout=600)  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        (tiled,) = dump.rglob("*-tiled.mlir")
        assert "block = [64, 64, 64]" in tiled.read_text()
        shutil.rmtree(dump)

    run()
    (record,) = (tmp_path / "records").glob("*.json")
    assert columns(json.loads(record.read_text())["chosen"]) == 64
    written = record.stat().st_mtime_ns
    run()
    assert record.stat().st_mtime_ns == written


def test_each_class_of_sizes_has_a_launch_with_its_schedule(tmp_path):
    """A kernel for another class of sizes is launched with a grid of 0 blocks."""
    model = """#x = affine_map<()[s0] -> (s0, 128)>
func.func @main(%n: index {tw.symbol = "n", tw.min = 1 : i64, tw.max = 512 : i64}, %a: tensor<?x128xbf16, #x> {tw.name = "x"},
                %b: tensor<128x128xbf16> {tw.name = "w"}) -> (tensor<?x128xbf16, #x> {tw.name = "y"}) {
  %t = tw.permute %b {permutation = array<i64: 1, 0>} : tensor<128x128xbf16> -> tensor<128x128xbf16>
  %c = tw.matmul %a, %t : (tensor<?x128xbf16, #x>, tensor<128x128xbf16>) -> tensor<?x128xbf16, #x>
  return %c : tensor<?x128xbf16, #x>
}
"""
    tune(tmp_path, model, [(200e3, "good", "wgmma, threads 256, block 64x8x64, consumers 1, stages 2")], "--seconds=300", execute=0)
    records = sorted((tmp_path / "records").glob("*.json"))
    assert len(records) == 3
    # Change the record of one class of sizes, so that two classes have different schedules.
    record = json.loads(records[0].read_text())
    knobs = dict(word.split("=") for word in record["chosen"].split())
    knobs["n"] = "16" if knobs["n"] != "16" else "32"
    record["chosen"] = " ".join(f"{name}={value}" for name, value in knobs.items())
    records[0].write_text(json.dumps(record))
    vector = subprocess.run([PROGRAM, "compile", "--target=cuda", f"--records={tmp_path / 'records'}", "--emit=vector", tmp_path / "model.mlir"],
                            env=environment(tmp_path, []), check=True, capture_output=True, text=True).stdout  # fmt: skip
    launches = re.findall(r"tw_plan.launch @(matmul_0\w*)", vector)
    assert 2 <= len(launches) <= 3
    # Each kernel and each launch has an attribute with its class of sizes.
    assert vector.count("tw.sizes_between = array<i64") == 2 * len(launches)
    assert "1125899906842624" in vector, "no grid depends on the class of sizes"


def test_recorded_tables_have_the_times_of_the_device(tmp_path):
    (tmp_path / "model.mlir").write_text(SMALL)
    expected = [90e3, 80e3, 70e3, 40e3, 60e3]
    times = [(nanoseconds, "good", SCHEDULE.format(n)) for nanoseconds, n in zip(expected, (8, 16, 32, 64, 128), strict=True)]
    subprocess.run([PROGRAM, "tune", "--target=cuda", tmp_path / "model.mlir", f"--record-tables={tmp_path / 'tables'}"],
                   env=environment(tmp_path, times, execute=0), check=True, timeout=300)  # fmt: skip
    (table,) = (tmp_path / "tables").glob("*.json")
    table = json.loads(table.read_text())
    assert table["nanoseconds"] == pytest.approx(expected, rel=1e-3) and table["machine"] == "Fake GPU, sm_90a"


def test_bench_prints_the_kernels_of_a_model_on_the_device(tmp_path):
    """The report lists the name, the time on the device, the operations per second, the schedule and the ops of each kernel."""
    times = [(40e3, "good", SCHEDULE.format(8))]
    done = subprocess.run([sys.executable, "-m", "tilewright.bench", "gemm:64x128x128", "--dtype=bf16", "--per-kernel", "--device=cuda", "--threads=1"],
                          env=environment(tmp_path, times), capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    # The product has 2 * 64 * 128 * 128 operations and takes 40 us.
    assert re.search(r"^ +40\.0 100\.0% +0% +52\.4 .* 1  matmul_add_64x128x128: wgmma, threads 256, block 64x8x64, .*matmul", done.stdout, re.MULTILINE), done.stdout
    assert "torch finds no GPU, so the peaks are not known" in done.stdout
    refused = subprocess.run([sys.executable, "-m", "tilewright.bench", "bert", "--device=cuda"], capture_output=True, text=True)
    assert refused.returncode == 2 and "--device=cuda measures kernels; add --per-kernel" in refused.stderr


def test_report_lists_the_kernels_on_the_device_with_their_times(tmp_path):
    """With the option `record`, the report has the times of all calls so far."""
    program = """
import json, torch, tilewright
x, w = torch.randn(64, 128).bfloat16(), torch.randn(128, 128).bfloat16()
def layer(x, w):
    return torch.nn.functional.linear(x, w), x.softmax(-1)
compiled = torch.compile(layer, backend="tilewright", options={"target": "cuda", "device": "cuda:0", "strict": True, "record": True})
for _ in range(3):
    compiled(x, w)
print(tilewright.report())
(graph,) = tilewright.report()
print("JSON", json.dumps([vars(row) for row in graph.device_kernels()]))
assert graph.to_dict()["device_kernels"] == [vars(row) for row in graph.device_kernels()]
"""
    (tmp_path / "layer.py").write_text(program)
    done = subprocess.run([sys.executable, tmp_path / "layer.py"], env=environment(tmp_path, [(40e3, "good", SCHEDULE.format(8))], execute=0),
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    product, softmax = sorted(json.loads(done.stdout.split("JSON ")[1]), key=lambda row: row["kernel"])
    assert product["kernel"] == "matmul_64x128x128" and softmax["kernel"] == "softmax_64x128"
    assert product["microseconds"] == pytest.approx(40, rel=0.01) and softmax["microseconds"] == pytest.approx(1000, rel=0.01)
    assert product["launches"] == 1 and product["share"] == pytest.approx(40 / 1040, rel=0.01)
    assert product["teraflops"] == pytest.approx(2 * 64 * 128 * 128 / 40e-6 / 1e12, rel=0.01) and product["gigabytes"] > 0
    assert re.search(r"kernels on the GPU, per call \(1040\.\d us\):", done.stdout)
    assert re.search(r"40\.0 us +3\.8% .* 1 x matmul_64x128x128: wgmma, .*; matmul.* \[.*layer.py:5\]", done.stdout), done.stdout
