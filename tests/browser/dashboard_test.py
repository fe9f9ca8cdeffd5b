#!/usr/bin/env python3
"""The dashboard as a browser shows it: each figure is that of /api/state, at each look; text stays text.

usage: dashboard_test.py [SCREENSHOT-FOLDER]   with PAGE_SAMPLE in the environment
"""
import http.server
import json
import threading
import time

import chromium


class Admin(http.server.ThreadingHTTPServer):
    """The page of the sample, and a state that a test may change; None: it answers 503."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.page = chromium.sample()
        self.first = chromium.sample("--state")
        self.looks = 0
        self.state = json.loads(self.first)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        api = self.path == "/api/state"
        self.server.looks += api
        body = json.dumps(self.server.state).encode() if api else self.server.page
        self.send_response(503 if api and self.server.state is None else 200)
        self.send_header("Content-Type", "application/json" if api else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Dashboard(chromium.PageTest):
    asks = ("api/state",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = Admin()
        cls.url = cls.admin.url

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.admin.shutdown()
        cls.admin.server_close()

    def setUp(self):
        self.admin.state = json.loads(self.admin.first)
        super().setUp()

    def expected(self, complaint):
        return "503" in complaint

    def await_look(self):
        """Waits for an answer that was asked for after now, and until it is drawn."""
        looks = self.admin.looks
        deadline = time.monotonic() + 20
        while self.admin.looks < looks + 2:
            self.assertLess(time.monotonic(), deadline, "the page asks no more")
            time.sleep(.05)
        self.ask(chromium.SETTLE)

    def test_answers_in_the_order_of_the_questions(self):
        self.assertTrue(self.texts("#up")[0].endswith(" · up 14 min · 127.0.0.1:8080 · 41 client connections of 4,096"))
        self.assertEqual(self.texts("h2"), ["openai → https://api.example", "github → https://github.example",
                                            "Where the last hour went", "Last requests"])
        self.assertEqual(self.texts(".now")[0],
                         "542 requests wait, 37 in flight. Held by pace (a limit of about 48.5/s), for 21 ms.")
        self.assertEqual(self.texts(".now + p")[0],
                         "A request of a new client waits about 11 s (interactive: 0.1 s). There is room for 1,000.")
        self.assertEqual(self.texts(".quiet")[1],
                         "Last minute: 2,904 requests, 31 throttled (1.07 %), 7 failed, 3 refused by the proxy, 2 left by their "
                         "clients; waits 0.4 s in the median, 9.7 s at the 99th percentile. Answers are read by the "
                         "profile openai. Connections: 37 busy, 12 idle.")
        self.assertEqual(self.ask("document.title"), "542 waiting · headway proxy")
        self.assertEqual(self.texts(".quotas li > span:last-child"), ["1,200 of 90,000, all back in 41 s", "450 of 500"])
        self.assertEqual(self.ask("[...document.querySelectorAll('meter')].map(m => [m.value, m.max])"), [[1200, 90000], [450, 500]])
        self.assertEqual(self.texts("#share-list li"), ["pace 61 %", "quota 22 %", "not waiting 13 %", "server hint 4 %"])

    def test_tables_are_the_state(self):
        self.assertEqual(self.rows("Scopes"), [
            ["https://api.example gpt-5 (key …a1f3)", "pace", "for 21 ms", "542", "37", "48.5/s", "–", "a limit of about 48.5/s", "seek"],
            ["gpt-5-mini </script><img src=x onerror=alert(1)>", "nothing", "free", "0", "0", "–", "–", "nothing yet", "seek"]])
        self.assertEqual(self.rows("Clients"), [["batch-job", "530", "1,201"], ["<b>web</b>", "12", "88"]])
        last = self.rows("The newest")
        self.assertEqual([row[1:] for row in last], [
            ["POST /v1/chat/completions", "openai", "200", "1.2 s", "3 (2 throttled)", "4.4 s", "web"],
            ["POST /v1/<i>embeddings</i>", "openai", "503, queue", "1.2 s", "3 (2 throttled)", "4.4 s", "web"],
            ["POST /v1/a/very/long/path/of/a/request/that/has/no/blank/in/it/and/goes/on/and/on", "openai", "the client left",
             "1.2 s", "3 (2 throttled)", "4.4 s", "web"]])
        self.assertEqual(self.ask("document.querySelectorAll('img, #last i, td b, iframe, object').length"), 0)

    def test_plots_are_the_last_two_minutes(self):
        ys = self.ask("[...document.querySelectorAll('.upstream .plot')].slice(0, 3).map(p => p.chart.data[1])")
        recent = self.admin.state["upstreams"][0]["scopes"][0]["recent"]
        for y, key in zip(ys, ("sent", "throttled", "waiting")):
            self.assertEqual(y, [r[key] for r in recent])
        self.assertEqual(self.texts(".upstream figcaption b")[:3], ["48", "0", "599"])

    def test_each_look_changes_what_changed_and_keeps_the_focus(self):
        self.ask("document.querySelector('[aria-label^=Clients]').focus(); document.querySelector('[aria-label^=Clients] tr').dataset.mine = 1")
        state = self.admin.state
        openai = state["upstreams"][0]
        openai["waiting"] = {"interactive": 1, "normal": 0, "batch": 0}
        openai["clients"].reverse()
        openai["scopes"][0]["held"] = {"why": "server hint", "for_s": 7200}
        openai["scopes"][0]["waiting"] = 1
        state["draining"] = True
        self.await_look()
        self.assertRegex(self.texts(".now")[0],
                         r"^1 request waits, 37 in flight\. Held by server hint \(a limit of about 48.5/s\), for 2 h, till \d\d:\d\d:\d\d\.$")
        self.assertEqual(self.texts("#alarm"), ["Draining: no new connection is taken; requests that wait are still sent."])
        self.assertEqual([row[0] for row in self.rows("Clients")], ["<b>web</b>", "batch-job"])
        self.assertEqual(self.ask("document.activeElement.getAttribute('aria-label')"), "Clients: each gets its turn")
        del state["upstreams"][0]
        self.await_look()
        self.assertEqual(self.texts("h2")[0], "github → https://github.example")
        self.assertEqual(self.ask("document.title"), "0 waiting · headway proxy")

    def test_says_what_to_type_where_nothing_has_come(self):
        self.assertEqual(self.texts(".empty"), [
            "No request has come yet. Point a client at http://127.0.0.1:8080/github instead of https://github.example; "
            "nothing else changes."])
        self.assertEqual(len(self.texts(".upstream .plots")), 1)

    def test_says_since_when_there_is_no_answer(self):
        self.admin.state = None
        self.await_look()
        self.assertRegex(self.texts("#alarm")[0], r"^No answer from the proxy since \d\d:\d\d:\d\d \(status 503\)\. ")
        self.assertEqual(self.texts(".now")[0][:3], "542")
        self.admin.state = json.loads(self.admin.first)
        self.await_look()
        self.assertEqual(self.texts("#alarm"), [""] if self.texts("#alarm") else [])

    def test_the_keyboard_reaches_each_table(self):
        self.assertLessEqual({"Scopes: each has a limit of its own", "Clients: each gets its turn", "The newest first"},
                             self.reached(12))

    def test_light_dark_and_narrow(self):
        self.assertEqual(len(list(self.each_look("dashboard", 390))), 4)

    def test_asks_its_own_address_alone(self):
        self.refuses_requests()


if __name__ == "__main__":
    chromium.main()
