# SPDX-License-Identifier: MIT
"""A page in a headless Chromium, driven by the DevTools protocol over a pipe: no other package is needed."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
           "--remote-debugging-pipe"]


def find():
    """The program; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. .requests: what it asked the network for, .errors: what scripts or the console said."""

    def __init__(self, folder, timeout_s=60):
        self.timeout_s, self.number, self.waiting = timeout_s, 0, b""
        self.requests, self.errors, self.answers, self.loads = [], [], {}, 0
        command, reply = os.pipe(), os.pipe()
        # Chromium reads from descriptor 3, and writes to 4; no pipe has these numbers here.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (command[0], reply[1])]
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&%d 4>&%d' % tuple(ends), "bash", find(), *OPTIONS,
             "--user-data-dir=%s" % folder, "about:blank"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (command[0], reply[1], *ends):
            os.close(end)
        self.to, self.back, self.session = command[1], reply[0], None
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.session = None
            self.call("Browser.close")
        os.close(self.to)
        os.close(self.back)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        number = self.number
        self.until(lambda: number in self.answers, method)
        answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def until(self, condition, what):
        deadline = time.monotonic() + self.timeout_s
        while not condition():
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.back], [], [], left)[0], "Chromium did not answer: %s" % what
            part = os.read(self.back, 1 << 20)
            assert part, "Chromium has ended before: %s" % what
            *messages, self.waiting = (self.waiting + part).split(b"\0")
            for message in messages:
                self.take(json.loads(message))

    def take(self, message):
        method, parameters = message.get("method"), message.get("params")
        if "id" in message:
            self.answers[message["id"]] = message
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(parameters["args"])
        elif method == "Log.entryAdded":
            self.errors.append(parameters["entry"])
        elif method == "Page.loadEventFired":
            self.loads += 1

    # --- a page ----------------------------------------------------------------------

    def size(self, width, height, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=touch)

    def scheme(self, name):
        """light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path):
        loads = self.loads
        self.call("Page.navigate", url="file://%s" % path)
        self.until(lambda: self.loads > loads, "the page to load")

    def ask(self, expression):
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        """kind: mousePressed, mouseReleased, mouseMoved or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, begin, end, modifiers=0):
        held = {"button": "left", "buttons": 1, "modifiers": modifiers}
        self.mouse("mousePressed", *begin, clickCount=1, **held)
        for share in (0.3, 0.7, 1):
            self.mouse("mouseMoved", *(a + (b - a) * share for a, b in zip(begin, end)), **held)
        self.mouse("mouseReleased", *end, clickCount=1, **{**held, "buttons": 0})

    def picture(self, path, whole=False):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
