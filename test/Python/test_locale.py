"""Numbers are written and read with a decimal point, in every locale that the host program sets."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """Returns the environment of a process that may set a locale with a decimal comma."""
    folder = tmp_path_factory.mktemp("locales")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")], capture_output=True, text=True)
    assert (folder / "de_DE.UTF-8").exists(), f"no locale can be made; tools/setup.sh installs Debian's package 'locales': {made.stderr}"
    return {**os.environ, "LOCPATH": str(folder)}


PROGRAM = """
import ctypes, locale, sys
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
text = ctypes.create_string_buffer(16)
ctypes.CDLL(None).snprintf(text, 16, b"%.1f", ctypes.c_double(0.5))
assert text.value == b"0,5", text.value
import torch, tilewright
"""


def run(german, code, **environment):
    done = subprocess.run([sys.executable, "-c", PROGRAM + textwrap.dedent(code)], capture_output=True, text=True, timeout=500,
                          env={**german, **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_tuning_in_a_german_locale_writes_decimal_points(german, tmp_path):
    folders = {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TILEWRIGHT_RECORDS_DIR": str(tmp_path / "records")}
    run(german, """
        import logging
        lines = []
        class Kept(logging.Handler):
            def emit(self, record): lines.append(record.getMessage())
        logging.getLogger("tilewright").addHandler(Kept())
        logging.getLogger("tilewright").setLevel(logging.INFO)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).eval()
        x = torch.randn(64, 256)
        with torch.no_grad():
            y = torch.compile(model, backend="tilewright", options={"tune": "quick"})(x)
            torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)
        said = "\\n".join(lines)
        assert "the race was lost" not in said and "0,0" not in said, said
        """, **folders)  # fmt: skip
    records = sorted((tmp_path / "records").glob("*.json"))
    assert records
    explained = subprocess.run([BUILD / "bin" / "tilewright", "tune", "--explain", f"--records={tmp_path / 'records'}"],
                               capture_output=True, text=True, timeout=60)  # fmt: skip
    assert explained.returncode == 0 and "damaged" not in explained.stdout and f"{len(records)} record" in explained.stdout
    for record in records:
        assert not re.search(r"\d,\d*[1-9]\d*[,\n]", re.sub(r'"[^"]*"', "", record.read_text())), record.read_text()


def test_report_page_is_written_in_a_german_locale(german, tmp_path):
    run(german, f"""
        f = torch.compile(lambda x: torch.softmax(x * 0.1, 1) @ x, backend="tilewright", options={{"record": True}})
        x = torch.randn(64, 64)
        torch.testing.assert_close(f(x), torch.softmax(x * 0.1, 1) @ x)
        tilewright.report().html({str(tmp_path / "page.html")!r})
        assert " ms" in str(tilewright.report())
        """, TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"))  # fmt: skip
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_tuning_records_are_read_in_a_german_locale(german, tmp_path):
    """Records are written in the C locale and read in a German locale."""
    model = tmp_path / "mlp.mlir"
    model.write_text("""
        func.func @main(%x: tensor<64x128xf32> {tw.name = "x"}, %w: tensor<128x256xf32> {tw.name = "w", tw.static})
            -> (tensor<64x256xf32> {tw.name = "y"}) {
          %h = tw.matmul %x, %w : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
          return %h : tensor<64x256xf32>
        }""")
    driver, records = BUILD / "bin" / "tilewright", f"--records={tmp_path / 'records'}"
    subprocess.run([driver, "tune", model, records, "--trials=5"], check=True, timeout=300, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TILEWRIGHT_TUNE_TIMES": "made-up"})  # fmt: skip
    run(german, f"""
        from tilewright import _tilewright
        assert _tilewright.records_digest({str(tmp_path / "records")!r})
        """)  # fmt: skip


# BY_LOCALE matches symbols of functions that format or parse floats in the current locale, and MAY lists the folders that may use them. llvm::format,
# llvm::formatv, raw_ostream << double, std::to_string(double) and streams of the standard library are matched for each float type.
BY_LOCALE = re.compile(r"""\b(strtod|strtof|strtold|atof|_ZN4llvm11raw_ostreamlsEd|_ZN4llvm12write_doubleE\w*
    |_ZN9__gnu_cxx12__to_xstringI\w*E[df]?|_ZNSolsE[dfe]|_ZNSo9_M_insertI[de]E\w*|_ZNSi10_M_extractI[dfe]E\w*
    |_ZNK4llvm13format_objectIJ\w*?d\w*EE7snprintEPcj|_ZN4llvm7support6detail23provider_format_adapterIR?K?[df]E6format\w*)\b""", re.X)
MAY = {
    "lib/Import/TorchExport/Reader": {"strtod"},  # nlohmann::json, which looks up the locale's decimal point
    "tools/gpu-model": {"strtod"},
    "tools/hls-estimate": {"strtod"},
    "tools/ptx-check": {"strtod"},
}


def test_no_object_writes_or_reads_numbers_by_the_locale():
    objects = [path for top in ("dialects", "lib", "tools", "python") for path in (BUILD / top).rglob("*.o")]
    assert len(objects) > 50, f"{BUILD} has no object files, which this test reads"
    found = []
    for path in objects:
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        name = path.relative_to(BUILD).as_posix()
        allowed = next((may for folder, may in MAY.items() if name.startswith(folder + "/")), set())
        found += [f"{name}: {symbol}" for symbol in sorted({m.group(1) for m in BY_LOCALE.finditer(symbols)} - allowed)]
    assert not found, "use lib/Interfaces/NumberText.h:\n" + "\n".join(found)


# The symbols of these functions do not show whether a call formats floats. Only the files in HOME and WITHOUT_FLOATS may call them.
SOURCES = re.compile(r"""\b(llvm::json::parse|json::OStream|sn?printf|llvm::formatv?|std::sto[dfl]d?)\s*\(|formatv\(""")
HOME = {"lib/Interfaces/NumberText.h", "lib/Interfaces/JsonText.h"}
WITHOUT_FLOATS = {
    "lib/Report/WriteRecord.cpp", "lib/AOT/Manifest.cpp",  # json::OStream, after PlainNumbers
    "lib/Runtime/CUDA/SaveLaunch.cpp", "lib/PtxInterpreter/Access.cpp",  # integers
}  # fmt: skip


def test_no_source_formats_floats_without_number_text():
    found = []
    for top in ("dialects", "include", "lib", "python/module", "tools"):
        for path in sorted((ROOT / top).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix not in (".h", ".cpp") or "CheckHeaders" in name or name in HOME | WITHOUT_FLOATS:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                if SOURCES.search(re.sub(r'"(\\.|[^"\\])*"', '""', code)) and "nlohmann" not in code and "fprintf" not in code:
                    found.append(f"{name}:{number}: {line.strip()}")
    assert not found, "use numberText(), parseJson() or jsonText():\n" + "\n".join(found)
