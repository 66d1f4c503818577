"""Controls headless Chromium over a pipe with its DevTools protocol, without a package and without a port."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = next((found for name in ("chromium-headless-shell", "chromium") if (found := shutil.which(name))), None)
MISSING = "there is no Chromium here (Debian: apt-get install chromium-headless-shell; tools/test.sh --full does it)"


class Browser:
    """One page, used as a context manager: `with Browser(width=1400) as page: page.open(path)`."""

    def __init__(self, width=1400, height=900, dark=False, timeout=180):
        self.size, self.dark, self.deadline = (width, height), dark, time.monotonic() + timeout
        self.number, self.buffer, self.complaints, self.requests = 0, b"", [], []

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="tilewright-browser-")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                   f"--user-data-dir={self.profile}", f"--window-size={self.size[0]},{self.size[1]}", "about:blank"]  # fmt: skip
        # With --remote-debugging-pipe, the browser reads commands from file descriptor 3 and writes answers to 4.
        plumbing = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self.process = subprocess.Popen(["bash", "-c", plumbing, "bash", *command], pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        while not (pages := [t for t in self.call("Target.getTargets", session=None)["targetInfos"] if t["type"] == "page"]):
            time.sleep(0.02)  # the browser answers before its first page exists; call() ends at the deadline
        (target, *_) = pages
        self.session = self.call("Target.attachToTarget", session=None, targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)
        scheme = "dark" if self.dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        return self

    def __exit__(self, *_):
        os.close(self.writer)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self) -> dict:
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            if not (bytes_read := os.read(self.reader, 1 << 20)):
                raise RuntimeError("the browser has ended")
            self.buffer += bytes_read
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, message: dict) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method: str, session="page", **parameters) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, path: Path, fragment: str = "") -> None:
        self.call("Page.navigate", url=Path(path).resolve().as_uri() + fragment)
        self.until("document.readyState === 'complete'")
        self.next_frame()  # Chromium drops input that arrives before the first frame of a page

    def next_frame(self) -> None:
        """Waits for the first frame after the last input. In this frame, the page's ResizeObservers fill the lists of rows."""
        frame = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
        self.call("Runtime.evaluate", expression=frame, awaitPromise=True)

    def value(self, expression: str):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "an exception"))
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        while not self.value(expression):
            time.sleep(0.02)
            if time.monotonic() > self.deadline:
                raise TimeoutError(expression)

    def click(self, selector: str, index: int = 0) -> None:
        """Clicks like a mouse, near the left end of the element, because rows may be wider than the visible part."""
        at = self.value(f"""(() => {{ const box = document.querySelectorAll({json.dumps(selector)})[{index}]?.getBoundingClientRect();
            return box && [box.left + Math.min(box.width / 2, 20), (box.top + box.bottom) / 2]; }})()""")
        assert at, f"there is no {selector} [{index}]"
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
        self.next_frame()

    def press(self, key: str, text: str = "") -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text or (key if len(key) == 1 else ""))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.next_frame()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.next_frame()

    def choose(self, selector: str, value: str) -> None:
        """Selects `value` in the list that `selector` names, like a user."""
        self.value(f"""(() => {{ const choice = document.querySelector({json.dumps(selector)});
            choice.value = {json.dumps(value)}; choice.dispatchEvent(new Event('change')); }})()""")
        self.next_frame()

    def screenshot(self, path: Path) -> None:
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
