"""A headless Chromium, spoken to through a pipe: the DevTools protocol, without a library."""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = sys.argv.pop(1) if len(sys.argv) > 1 else None
SETTLE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def sample(*arguments):
    """What the program of PAGE_SAMPLE prints."""
    return subprocess.run([os.environ["PAGE_SAMPLE"], *arguments], check=True, capture_output=True, timeout=30).stdout


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
        self.evaluate(SETTLE)

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


class PageTest(unittest.TestCase):
    """Tests of one page at `url`, which its class sets: nothing goes wrong there, and it asks nothing else for anything."""

    url = None
    asks = ()  # for what else it may ask, after its url

    @classmethod
    def setUpClass(cls):
        cls.page = Page()

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        self.page.events.clear()
        self.show(1280, "light")

    def tearDown(self):
        self.assertLessEqual(set(self.page.requests()), {self.url, *(self.url + path for path in self.asks)})
        self.assertNotIn("Page.javascriptDialogOpening", [method for method, _ in self.page.events])
        self.assertEqual([c for c in self.page.complaints() if not self.expected(c)], [])

    def expected(self, complaint):
        return False

    def show(self, width, scheme):
        self.page.look(width, 900, scheme)
        self.page.open(self.url)

    def ask(self, expression):
        return self.page.evaluate(expression)

    def texts(self, selector):
        """Of what can be seen."""
        return self.ask(f"[...document.querySelectorAll({selector!r})].filter(e => e.checkVisibility()).map(e => e.textContent)")

    def rows(self, label):
        return self.ask(f"[...document.querySelectorAll('[aria-label^=\"{label}\"] tbody tr')].map(r => [...r.cells].map(c => c.textContent))")

    def reached(self, presses):
        """The labels that the keyboard comes to."""
        found = set()
        for _ in range(presses):
            self.page.press("Tab")
            found.add(self.ask("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))
        return found

    def each_look(self, name, narrow):
        """Wide and narrow, light and dark; nothing is wider than the window, and dark is not light."""
        seen = {}
        for width in (1280, narrow):
            for scheme in ("light", "dark"):
                with self.subTest(width=width, scheme=scheme):
                    self.show(width, scheme)
                    if SHOTS:
                        self.page.screenshot(f"{SHOTS}/{name}-{width}-{scheme}.png")
                    self.assertLessEqual(self.ask("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.ask("""[...document.querySelectorAll('h1, h2, p, li, figcaption, summary, button, .choice')].filter(
                        e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)"""), [])
                    seen[scheme] = self.ask("getComputedStyle(document.body).backgroundColor")
                    yield width, scheme
        self.assertNotEqual(seen["light"], seen["dark"])

    def refuses_requests(self):
        """The page's own policy lets no script ask another address."""
        refused = self.ask("""new Promise(done => {
            document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
            fetch("http://127.0.0.1:9/").catch(() => {});
        })""")
        self.page.events[:] = [(m, p) for m, p in self.page.events if "127.0.0.1:9/" not in str(p)]
        self.assertEqual(refused, "connect-src")


class FileTest(PageTest):
    """The sample's page from a file, as a user opens it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        file = Path(cls.folder.name) / "page.html"
        cls.text = sample()
        file.write_bytes(cls.text)
        cls.url = file.as_uri()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()


def main():
    if PROGRAM is None:
        print("skipped: chromium is not installed (Debian: chromium)")
        sys.exit(77)
    unittest.main(verbosity=2)
