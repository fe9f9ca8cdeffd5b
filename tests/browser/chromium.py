"""A headless Chromium, spoken to through a pipe: the DevTools protocol, without a library."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One tab. `events` are all that came, in order: (method, parameters)."""

    def __init__(self):
        self.events = []
        self.last = 0
        self.home = tempfile.mkdtemp(prefix="headway-chromium-")
        to_read, self.to = os.pipe()
        self.source, to_write = os.pipe()

        def pipes():  # Chromium reads commands from 3 and writes answers to 4
            low = os.dup(to_read), os.dup(to_write)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        # What it sends itself (updates, safe browsing) must not leave this machine either.
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.home}", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.home})
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.session = None
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(t for t in targets if t["type"] == "page")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.source, 1 << 16)
            if not more:
                raise ConnectionError("chromium ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append((answer["method"], answer["params"]))

    def look(self, width, height, scheme):
        """The window's size (CSS pixels) and the colour scheme."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        begin = len(self.events)
        self.send("Page.navigate", url=url)
        deadline = time.monotonic() + 30
        while not any(method == "Page.loadEventFired" for method, _ in self.events[begin:]):
            if time.monotonic() > deadline:
                raise TimeoutError(url)
            self.evaluate("0")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def press(self, key):
        for what in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=what, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "End": 35}.get(key, 0))

    def screenshot(self, file):
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """What went wrong: exceptions, console errors and warnings, breaches of the page's own policy."""
        for method, what in self.events:
            if method == "Runtime.exceptionThrown":
                yield what["exceptionDetails"].get("exception", {}).get("description", "exception")
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                yield what["entry"]["text"]
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                yield str(what["args"])

    def requests(self):
        return [what["request"]["url"] for method, what in self.events if method == "Network.requestWillBeSent"]
