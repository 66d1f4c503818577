"""Runs the kernels of every kind of machine on this machine, if its CPU has the instructions: AVX2, AVX-512, vdpbf16ps,
vpdpbusd, and AMX tiles, which are also emulated with vectors."""

import os
import pathlib
import subprocess
import sys

import pytest
import torch

here = pathlib.Path(__file__).parent


def flags():
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            found = set(line.split())
            return found | {"amx_fp16"} if torch.cpu._is_amx_fp16_supported() else found  # Linux does not list it
    return set()


AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"}
MACHINES = {
    "avx2": ({"TILEWRIGHT_CPU": "x86-64-v3"}, {"avx2", "fma"}),
    "avx512": ({"TILEWRIGHT_CPU": "x86-64-v4"}, AVX512),
    "bf16-dot": ({"TILEWRIGHT_CPU": "znver5"}, AVX512 | {"avx512_bf16", "avx512_vnni", "avx512vbmi", "avx_vnni"}),
    "amx-as-vectors": ({"TILEWRIGHT_EMULATE_AMX": "bf16"}, AVX512),
    "amx-f16-as-vectors": ({"TILEWRIGHT_EMULATE_AMX": "1"}, AVX512),  # the other dtypes are those of amx-as-vectors
    "amx": ({"TILEWRIGHT_CPU": "sapphirerapids"}, AVX512 | {"amx_tile", "amx_bf16", "amx_int8", "avx512_fp16"}),
    "amx-f16": ({"TILEWRIGHT_CPU": "graniterapids"}, AVX512 | {"amx_tile", "amx_bf16", "amx_int8", "avx512_fp16", "amx_fp16"}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_kernels_of_each_machine_pass_their_checks(name):
    environment, needed = MACHINES[name]
    missing = needed - flags()
    if missing:
        pytest.skip(f"this CPU has no {', '.join(sorted(missing))}")
    path = os.pathsep.join([str(here)] + [p for p in sys.path if p])
    f16 = name == "amx-f16-as-vectors"
    done = subprocess.run([sys.executable, str(here / "machines_program.py")] + ["f16"] * f16, capture_output=True, text=True,
                          env={**os.environ, **environment, "PYTHONPATH": path}, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("64 checks" if f16 else "198 checks"), done.stdout
