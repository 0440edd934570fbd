# SPDX-License-Identifier: BSD-3-Clause
"""A real browser for tests: Chromium without a window, told what to do by its driver
(W3C WebDriver, a protocol of JSON over HTTP)."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.request

import jobs

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # a word of the protocol
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " ", "ArrowRight": "\ue014",
        "ArrowLeft": "\ue012", "ArrowDown": "\ue015", "End": "\ue010", "Home": "\ue011"}


def find_program(*names):
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    raise jobs.Skip(f"there is no {names[0]}: make setup-browser")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    """One window. To be used with `with`."""

    def __init__(self, width=1280, is_dark=False):
        driver = find_program("chromedriver")
        self.port = free_port()
        self.profile = tempfile.TemporaryDirectory(prefix="tm-browser-")
        self.driver = subprocess.Popen(
            [driver, f"--port={self.port}"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self.profile.name})
        self.session = None
        try:
            self.open(width, is_dark)
        except BaseException:
            self.close()
            raise

    def open(self, width, is_dark):
        def is_up():
            try:
                return self.call("GET", "/status")["ready"]
            except OSError:
                return False

        if not jobs.wait_until(is_up):
            raise jobs.Failure("chromedriver does not answer")
        options = {"binary": find_program("chromium", "google-chrome"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage",
                            f"--user-data-dir={self.profile.name}/profile",
                            f"--window-size={width},900"]}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        self.devtools("Emulation.setEmulatedMedia", features=[{
            "name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        if self.session:
            self.here("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=jobs.DEADLINE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise jobs.Failure(f"{path}: {error.read().decode()[:800]}") from error

    def here(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, **parameters):
        return self.here("POST", "/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def go(self, url):
        self.here("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What a script returns; what it promises is waited for."""
        return self.here("POST", "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("const it = document.querySelector(arguments[0]);"
                        "return it && it.textContent;", selector)

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS[key]}
                   for key in keys for kind in ("keyDown", "keyUp")]
        self.here("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def complaints(self):
        """What the browser has complained of: policies broken, scripts that failed."""
        return [entry["message"] for entry in self.here(
            "POST", "/se/log", {"type": "browser"})]

    def picture(self, path, height=None):
        """Of the whole page, or of its upper part. The name says which kind: .png, .webp."""
        size = self.run("const it = document.documentElement;"
                        "return [it.clientWidth, it.scrollHeight];")
        kind = os.path.splitext(path)[1][1:]
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                             format=kind, **({"quality": 60} if kind == "webp" else {}),
                             clip={"x": 0, "y": 0, "width": size[0],
                                   "height": min(size[1], height or size[1]), "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
