"""Drives a headless Chromium over its DevTools websocket: opens a page, asks it, presses keys, hears its complaints."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

from websockets.sync.client import connect

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
PATIENCE = 60.0


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Chromium:
    """One browser process with a profile of its own."""

    def __init__(self, binary, profile):
        self.profile = Path(profile)
        self.process = subprocess.Popen(
            [binary, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _port(self):
        known = self.profile / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if known.is_file() and (lines := known.read_text().split()):
                return int(lines[0])
            assert self.process.poll() is None, "chromium ended before it could be asked"
            time.sleep(0.05)
        raise TimeoutError("chromium did not open its DevTools port")

    def open(self, path, width=1280, height=900):
        """Open a file in a new tab and wait until it has loaded."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._port()}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            tab = Tab(json.load(answer)["webSocketDebuggerUrl"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.send(f"{domain}.enable")
        tab.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        tab.navigate(Path(path).resolve().as_uri())
        return tab


class Tab:
    """One page: `complaints` are its errors, `requests` every address that it asked for."""

    def __init__(self, address):
        self.closing = contextlib.ExitStack()
        self.socket = self.closing.enter_context(connect(address, max_size=None, open_timeout=PATIENCE))
        self.number = 0
        self.complaints, self.requests, self.loaded = [], [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.send("Page.close")
        self.closing.close()

    def _hear(self):
        message = json.loads(self.socket.recv(timeout=PATIENCE))
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" or (
            method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}
        ):
            self.complaints.append(json.dumps(params))
        return message

    def send(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = self._hear()
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]

    def navigate(self, address):
        before = self.loaded
        self.send("Page.navigate", url=address)
        while self.loaded == before:
            self._hear()

    def ask(self, expression):
        """Return the value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def pdf(self):
        answer = self.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(answer["data"])

    def screenshot(self):
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])
