#!/usr/bin/env python3
"""The dashboard of a proxy that works: each figure on it is that of the /api/state that it was drawn from, and that is
what clients and the server behind know.

usage: proxy_dashboard_test.py   with HEADWAY_BINARY in the environment
"""
import json
import sys
import threading
import time
import unittest
from datetime import datetime
from pathlib import Path

import chromium

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from proxy import Proxy
from sockets import Server
from work import wait_for

CONFIG = """
[[upstream]]
name = "api"
url = "{url}"
prefix = "/api"
concurrency = 2
quota = ["tokens=90k/min"]
[[upstream]]
name = "unused"
url = "http://127.0.0.1:1"
prefix = "/unused"
"""

# Keeps each answer that the page asked for, as it came.
WATCH = """(() => { const asked = window.fetch; window.looks = 0;
  window.fetch = async (...how) => { const answer = await asked(...how);
    window.seen = await answer.clone().json(); window.looks++; return answer; }; })()"""


def number(v):
    if v is None:
        return "–"
    if abs(v) >= 100:
        return f"{round_half_up(v):,}"
    return f"{float(f'{v:.3g}'):,.9f}".rstrip("0").rstrip(".")


def round_half_up(v):
    return int(v + 0.5)


def span(s):
    if s is None:
        return "–"
    if s < 0.0995:
        return f"{number(round_half_up(s * 1000))} ms"
    if s < 9.95:
        return f"{s:.1f} s"
    if s < 99.5:
        return f"{round_half_up(s)} s"
    minutes = round_half_up(s / 60)
    return f"{minutes} min" if minutes < 100 else f"{round_half_up(s / 3600)} h"


def rate(v):
    return "–" if v is None else f"{number(v)}/s"


def plural(n, one, many):
    return f"{number(n)} {one if n == 1 else many}"


class Gate(Server):
    """Refuses the first tries of /refused…, fails /broken…, and answers /held… once it is opened."""

    def __init__(self):
        super().__init__(self.answered)
        self.open, self.tries = threading.Event(), 0

    def answered(self, request, _):
        if request.path.startswith("/held"):
            self.open.wait(60)
        if request.path.startswith("/refused"):
            self.tries += 1
            if self.tries < 2:
                return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"
        if request.path.startswith("/broken"):
            return b"HTTP/1.1 500 Broken\r\nContent-Length: 2\r\n\r\nno"
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.origin = Gate().__enter__()
        self.addCleanup(self.origin.__exit__)
        proxy = Proxy(None, "--config=proxy.toml", "--cold", "--alone", "--law=fixed", "--queue=6")
        Path(proxy.folder, "proxy.toml").write_text(CONFIG.format(url=self.origin.url))
        self.proxy = proxy.__enter__()
        self.addCleanup(proxy.__exit__)
        self.addCleanup(self.origin.open.set)
        self.page = chromium.Page()
        self.addCleanup(self.page.close)

    def ask(self, expression):
        return self.page.evaluate(expression)

    def traffic(self):
        """What is known of it: 7 answered, of which one was refused and one failed; 2 fly, 6 wait, 1 was refused."""
        for name in ("web", "<b>bold</b>", "web", "web", "web"):
            self.assertEqual(self.proxy.ask("GET", "/api/fine?key=canary", headers={"X-Headway-Client": name})[0], 200)
        self.assertEqual(self.proxy.ask("POST", "/api/refused", b"{}", {"X-Headway-Client": "web"})[0], 200)
        self.assertEqual(self.proxy.ask("POST", "/api/broken/<i>x</i>", b"{}", {"X-Headway-Client": "web"})[0], 500)
        kept = []
        for i, first in enumerate(["normal"] * 2 + ["interactive", "normal", "normal", "batch", "batch", "batch"]):
            kept.append(self.proxy.send(
                f"GET /api/held{i} HTTP/1.1\r\nHost: a\r\nX-Headway-Priority: {first}\r\nX-Headway-Client: job{i % 2}\r\n\r\n"))
            wait_for(lambda: self.counts() == i + 1 and self.flies() == min(i + 1, 2))
        self.assertEqual(self.proxy.ask("GET", "/api/late", headers={"X-Headway-Client": "late"})[0], 503)
        self.assertEqual(self.proxy.ask("GET", "/nowhere")[0], 404)
        return kept

    def counts(self):
        u = self.proxy.state()["upstreams"][0]
        return sum(u["waiting"].values()) + u["in_flight"]

    def flies(self):
        return self.proxy.state()["upstreams"][0]["in_flight"]

    def shown(self):
        """The page, and the state that it was drawn from."""
        looks = self.ask("window.looks ?? 0")
        wait_for(lambda: self.ask("window.looks ?? 0") > looks, 20)
        return json.loads(self.ask("""new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
          const visible = (s, root = document) => [...root.querySelectorAll(s)].filter(e => e.checkVisibility());
          const texts = (s, root) => visible(s, root).map(e => e.textContent);
          const rows = (label, root) => visible(`[aria-label^="${label}"] tbody tr`, root).map(r => [...r.cells].map(c => c.textContent));
          done(JSON.stringify({seen, title: document.title, up: texts("#up")[0],
            upstreams: visible(".upstream").map(root => ({title: texts("h2", root)[0], paragraphs: texts("p", root),
              captions: texts("figcaption b", root), plots: visible(".plot", root).map(p => p.chart?.data[1]),
              scopes: rows("Scopes", root), clients: rows("Clients", root),
              quotas: visible("meter", root).map(m => [m.value, m.max]), quota_words: texts(".quotas li > span:last-child", root)})),
            hour: texts("#share-list li"), last: rows("The newest"), foreign: document.querySelectorAll("#last i, td b, td i").length}));
        })))"""))

    def agree(self, shown):
        """Every figure of the page, worked out anew."""
        s = shown["seen"]
        waits = lambda u: sum(u["waiting"].values())
        self.assertEqual(shown["title"], f"{number(sum(map(waits, s['upstreams'])))} waiting · headway proxy")
        self.assertEqual(shown["up"], f"{s['version']} · up {span(s['uptime_s'])} · {s['listen']} · "
                         f"{plural(s['connections']['clients'], 'client connection', 'client connections')} of {number(s['connections']['max'])}")
        self.assertEqual(len(shown["upstreams"]), len(s["upstreams"]))
        for part, u in zip(shown["upstreams"], s["upstreams"]):
            self.assertEqual(part["title"], f"{u['name']} → {u['url']}")
            if not u["scopes"]:
                self.assertEqual((part["scopes"], part["clients"], part["plots"]), ([], [], []))
                self.assertIn(f"http://{s['listen']}/{u['name']}", "".join(part["paragraphs"]))
                continue
            words = "\n".join(part["paragraphs"])
            self.assertIn(f"{plural(waits(u), 'request waits', 'requests wait')}, {number(u['in_flight'])} in flight.", words)
            m = u["last_minute"]
            share = f" ({number(100 * m['throttled'] / m['requests'])} %)" if m["requests"] else ""
            self.assertIn(
                f"Last minute: {plural(m['requests'], 'request', 'requests')}, {number(m['throttled'])} throttled{share}, "
                f"{number(m['failed'])} failed, {number(m['refused'])} refused by the proxy, {number(m['left'])} left by their clients; "
                f"waits {span(m['wait_p50_s'])} in the median, {span(m['wait_p99_s'])} at the 99th percentile.", words)
            self.assertIn(f"Connections: {number(u['connections']['busy'])} busy, {number(u['connections']['idle'])} idle.", words)
            self.assertIn(f"the profile {u['profile']}.", words)
            (scope,) = u["scopes"]
            if scope["expected_wait_s"] is not None:
                self.assertIn(f"waits about {span(scope['expected_wait_s'])}", words)
                self.assertIn(f"room for {number(u['queue_max'])}.", words)
            self.assertEqual([row[:2] + row[3:] for row in part["scopes"]], [
                [scope["name"], scope["held"]["why"] or "nothing", number(scope["waiting"]), number(scope["in_flight"]),
                 rate(scope["rate_per_s"]), number(scope["window"]), scope["found"] or "nothing yet", scope["law"]]])
            self.assertEqual(part["clients"], [[c["name"], number(c["waiting"]), number(c["served_minute"])] for c in u["clients"]])
            self.assertEqual(part["quotas"], [[q["remaining"], q["limit"]] for q in scope["quotas"]])
            for text, q in zip(part["quota_words"], scope["quotas"]):
                self.assertTrue(text.startswith(f"{number(q['remaining'])} of {number(q['limit'])}"), text)
            for key, plot, caption in zip(("sent", "throttled", "waiting"), part["plots"], part["captions"]):
                wanted = {r["t"] + 120: r[key] for r in scope["recent"] if -120 <= r["t"] < 0}
                self.assertEqual(plot, [wanted.get(t) for t in range(120)])
                self.assertEqual(caption, number([v for v in plot if v is not None][-1]))
        self.assertEqual(shown["hour"], [f"{t['why']} {number(100 * t['share'])} %" for t in s["last_hour"]])
        clock = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone().strftime("%H:%M:%S")
        said = lambda r: f"{r['status']}{', ' + r['reason'] if r['reason'] else ''}" if r["status"] else "the client left"
        self.assertEqual(shown["last"], [
            [clock(r["at"]), f"{r['method']} {r['path']}", r["upstream"], said(r), span(r["waited_s"]),
             f"{r['attempts']}{' (%d throttled)' % r['throttled'] if r['throttled'] else ''}", span(r["took_s"]), r["client"]]
            for r in s["last"]])
        self.assertEqual(shown["foreign"], 0)
        self.assertNotIn("canary", json.dumps(shown))
        return s

    def test_each_figure_is_that_of_the_state(self):
        """Planted: in_flight is drawn where waiting belongs."""
        self.page.look(1280, 900, "light")
        kept = self.traffic()
        url = f"http://127.0.0.1:{self.proxy.admin}/"
        self.page.open(url)
        self.ask(WATCH)
        s = self.agree(self.shown())
        # The state is what we did.
        api = s["upstreams"][0]
        self.assertEqual((api["waiting"], api["in_flight"]), ({"interactive": 1, "normal": 2, "batch": 3}, 2))
        m = api["last_minute"]
        self.assertEqual([m[k] for k in ("requests", "throttled", "failed", "refused", "left")], [8, 1, 1, 1, 0])
        clients = {c["name"]: (c["waiting"], c["served_minute"]) for c in api["clients"]}
        self.assertEqual(clients, {"web": (0, 6), "<b>bold</b>": (0, 1), "job0": (3, 0), "job1": (3, 0)})
        self.assertEqual([(r["path"], r["status"], r["attempts"], r["throttled"], r["reason"]) for r in s["last"]][:4], [
            ("/nowhere", 404, 0, 0, "route"), ("/api/late", 503, 0, 0, "queue_full"),
            ("/api/broken/<i>x</i>", 500, 1, 0, ""), ("/api/refused", 200, 2, 1, "")])
        self.assertEqual(s["connections"]["clients"], 8)
        self.assertEqual(sum(r["sent"] for r in api["scopes"][0]["recent"]), 5 + 2 + 1 + 2)
        self.assertEqual(sum(r["throttled"] for r in api["scopes"][0]["recent"]), 1)
        # One leaves, the others are answered; the page follows.
        kept.pop().close()
        wait_for(lambda: self.counts() == 7)
        self.origin.open.set()
        wait_for(lambda: self.counts() == 0)
        s = self.agree(self.shown())
        self.assertEqual((s["upstreams"][0]["last_minute"]["requests"], s["upstreams"][0]["last_minute"]["left"]), (16, 1))
        for each in kept:
            each.close()
        self.assertLessEqual(set(self.page.requests()), {url, url + "api/state"})
        self.assertEqual(list(self.page.complaints()), [])


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        print("skipped: chromium is not installed (Debian: chromium)")
        sys.exit(77)
    unittest.main(verbosity=2)
