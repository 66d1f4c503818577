"""docs/examples/server: built, called by many clients at once, given bad requests, and stopped."""

import http.client
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"

pytestmark = pytest.mark.skipif(
    not shutil.which("c++") or not Path("/usr/include/httplib.h").exists(), reason="needs c++ and libcpp-httplib-dev")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(ROOT / "docs/examples/ahead-of-time/classify.mlir", folder)
    shutil.copy(ROOT / "docs/examples/server/server.cpp", folder)
    for command in ([DRIVER, "compile", "classify.mlir", "-o", "classify.so"],
                    ["c++", "-std=c++17", "-Wall", "-Werror", "server.cpp", "./classify.so", "-Wl,-rpath,$ORIGIN",
                     "-lcpp-httplib", "-lpthread", "-o", "server"]):  # fmt: skip
        subprocess.run(command, cwd=folder, check=True, timeout=200)
    return folder


@pytest.fixture
def server(folder):
    """Yields the address of a server. A call of the model waits 200 ms for further requests."""
    process = subprocess.Popen(["./server", "0", "200"], cwd=folder, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip().removesuffix("/classify")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0


def ask(url, body=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def expected(folder, points):
    np.save(folder / "x.npy", np.float32(points))
    subprocess.run([DRIVER, "run", "classify.so", "--input", "x=x.npy", "--output", "."], cwd=folder, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return np.load(folder / "probabilities.npy")


def test_requests_are_batched_and_get_their_own_rows(folder, server):
    random = np.random.default_rng(0)
    requests = [random.random((1 + i % 5, 2)).round(3).tolist() for i in range(24)]
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(lambda points: ask(f"{server}/classify", points), requests))
    for points, answer in zip(requests, answers):
        np.testing.assert_allclose(answer, expected(folder, points), rtol=1e-5)
    counted = ask(f"{server}/statistics")
    assert counted["requests"] == 24 and counted["points"] == sum(len(points) for points in requests)
    assert counted["calls"] < 24


@pytest.mark.parametrize("body, said", [
    (b"{", "parse error"), (b"[]", "a list of 1 to 4096 points"), (b"7", "a list of"), ([[1]], r"a point has 2 numbers: [1]"),
    ([[1, "a"]], "type must be number"), (b"[" * 80_000, "nothing in them"), (b'{"a":' * 30_000, "nothing in them"),
    (b"[[" + b'{"a":' * 20_000, "nothing in them"), (b"[[" + b"1," * 9_000 + b"1]]", "a point has 2 numbers: [1,1,1,"), ([[0, 0]] * 4097, "a list of 1 to 4096 points"),
])  # fmt: skip
def test_bad_request_gets_status_400_with_a_reason(server, body, said):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(f"{server}/classify", body)
    assert caught.value.code == 400 and said in caught.value.read().decode()
    assert len(ask(f"{server}/classify", [[1, 0]])) == 1  # it continues to run


@pytest.mark.parametrize("body", [b"[" * 10**6, b" " * 10**6 + b"[[1, 0]]"], ids=["lists", "spaces"])
def test_request_that_is_too_large_is_refused(server, body):
    with pytest.raises((urllib.error.HTTPError, ConnectionError, urllib.error.URLError)) as caught:
        ask(f"{server}/classify", body)
    if isinstance(caught.value, urllib.error.HTTPError):  # else it closed the connection while the request was being sent
        assert caught.value.code == 413
    assert len(ask(f"{server}/classify", [[1, 0]])) == 1


def test_answer_does_not_wait_for_a_tcp_acknowledgement(folder):
    """Nagle's algorithm delays the second packet of an answer until the client's system acknowledges the first: 40
    ms."""
    process = subprocess.Popen(["./server", "0", "0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip().removeprefix("http://").removesuffix("/classify")
        connection = http.client.HTTPConnection(address, timeout=30)
        times = []
        for _ in range(40):
            start = time.perf_counter()
            connection.request("POST", "/classify", b"[[1, 0]]", {"Content-Type": "application/json"})
            assert len(json.load(connection.getresponse())) == 1
            times.append(time.perf_counter() - start)
        assert statistics.median(times) < 0.02, times
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_port_that_is_in_use_is_an_error(folder, server):
    port = server.rsplit(":", 1)[1]
    done = subprocess.run(["./server", port], cwd=folder, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and f"cannot listen on port {port}" in done.stderr
