"""torch.distributed under torch.compile: two gloo processes on this machine, compared with eager by the numbers rule."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest
import torch
from numbers_rule import assert_numbers

import tilewright

PROGRAM = pathlib.Path(__file__).parent / "distributed_program.py"


def start(case: str, folder: pathlib.Path) -> list[subprocess.Popen]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    package = str(pathlib.Path(tilewright.__file__).parent.parent)
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": package}
    return [subprocess.Popen([sys.executable, PROGRAM, case, folder / f"{rank}.pt"], env={**common, "RANK": str(rank)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]  # fmt: skip


def finish(processes, timeout: float = 240) -> list[str]:
    try:
        return [process.communicate(timeout=timeout)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()


@pytest.mark.parametrize("case", ["ddp", "fsdp", "tensor_parallel", "pipeline", "collectives"])
def test_distributed_module_on_two_processes_matches_eager(case, tmp_path):
    processes = start(case, tmp_path)
    said = finish(processes)
    for process, text in zip(processes, said):
        assert process.returncode == 0, text
    for rank in range(2):
        results = torch.load(tmp_path / f"{rank}.pt")
        assert results["graphs"] and all(segments >= 1 for _, segments, _ in results["graphs"])
        assert len(results["ours"]) == len(results["eager"]) > 0
        assert_numbers(results["ours"], [results["eager"]], results["exact"])
        refused = {target: reason for _, _, refusals in results["graphs"] for target, reason in refusals}
        assert all("_c10d_functional" in target or "_dtensor" in target for target in refused), refused


def test_exit_of_one_rank_is_an_error_in_the_other(tmp_path):
    processes = start("broken", tmp_path)
    said = finish(processes, timeout=120)
    assert processes[1].returncode == 3
    assert processes[0].returncode not in (0, 3) and "RuntimeError" in said[0], said[0]
