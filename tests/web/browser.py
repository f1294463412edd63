"""A headless Chromium, driven through its DevTools protocol over a pipe: no package, no port."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def chromium():
    """The path of Chromium; None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. Errors of its console, and requests that it makes, are kept."""

    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def descriptors():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        # Descriptors 3 and 4 may be those of the pipes themselves: they are moved out of the way first.
        to_browser, from_browser = os.dup(os.dup(to_browser)), os.dup(os.dup(from_browser))
        self.process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=descriptors)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.errors = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Sends a command and returns its result; events that come meanwhile are looked at."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self, seconds=60):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError("Chromium does not answer")
            self.buffer += os.read(self.input, 1 << 20)
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str(parameters["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, path):
        self.call("Page.navigate", url=f"file://{path}")
        self.wait("document.querySelector('#method') !== null || document.querySelector('#page > p') !== null")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def wait(self, condition, seconds=30, about="null"):
        """Waits until an expression holds; the page is asked at each of its frames. The failure shows what `about` is then."""
        held = self.value(f"new Promise(done => {{ const end = performance.now() + {seconds * 1000}; const look = () => {{"
                          f" if ({condition}) done(true); else if (performance.now() > end) done(false);"
                          " else requestAnimationFrame(look); }; look(); })")
        assert held, f"did not happen: {condition}; there is {self.value(about)}; errors: {self.errors}"

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def settle(self):
        """Waits until what was done, as scrolling, is drawn: only then a mouse finds what is at its place."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def drag(self, start, end):
        self.settle()
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        self.settle()
        self.mouse("mouseMoved", (start[0] + end[0]) / 2, end[1], button="left", buttons=1)
        self.mouse("mouseMoved", *end, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
        # d3 swallows the click that a browser makes of a drag, until its own timer of no time runs; ours runs after it.
        self.value("new Promise(done => setTimeout(done, 0))")

    def screenshot(self, path, whole=True):
        import base64
        more = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
