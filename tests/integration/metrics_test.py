"""--metrics: promtool accepts the text, and what Prometheus scraped is what the results say."""
import contextlib
import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import servers
from ctl_test import Line
from proxy import Proxy
from work import RUNTIME, Work, cpu_seconds, gets, measured, wait_for

BUCKET = "burst=10 nodelay; limit_req_status 429"


def figures(text):
    """Values by name and labels."""
    found = re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)
    return {(name, frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))): float(v) for name, labels, v in found}


def total(all, name, **labels):
    return sum(v for (n, l), v in all.items() if n == name and set(labels.items()) <= l)


class Metrics(unittest.TestCase):
    def check(self, text):
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def agree(self, all, results):
        for outcome in ("success", "failed", "unknown"):
            self.assertEqual(
                total(all, "headway_requests_total", outcome=outcome),
                sum(r["outcome"] == outcome for r in results),
            )
        self.assertEqual(total(all, "headway_attempts_total"), sum(r["attempts"] for r in results))
        self.assertEqual(
            total(all, "headway_attempts_total", outcome="throttle"), sum(r["throttled"] for r in results)
        )

    def test_a_text_file_for_a_collector(self):
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 150)) as work:
            work.write(
                [*gets(server, 150), *(json.dumps({"url": f"{server.url}/{i}", "scope": f's"{i}\\'}) for i in range(130))]
            )
            self.assertIn(work.run("--metrics", "run.prom"), (0, 1), work.stderr())
            file = work.path / "run.prom"
            text = file.read_text()
            self.check(text)
            self.agree(figures(text), work.results())
            self.assertEqual(file.stat().st_mode & 0o777, 0o644)
            scopes = {dict(l)["scope"] for (n, l) in figures(text) if n == "headway_requests_total"}
            self.assertEqual(len(scopes), 101)
            self.assertIn("other", scopes)

    def test_of_exec(self):
        with Work() as work:
            (work.path / "values").write_text("".join(f"{i}\n" for i in range(60)))
            fails = 'test $(({} % 10)) != 3 || { echo "Rate exceeded" >&2; test -e again{} || { touch again{}; exit 75; }; exit 5; }'
            code = work.exec("values", "--name", "mine", "--metrics", "exec.prom", "--throttle-exit", "75", "--", "sh", "-c", fails)
            self.assertEqual(code, 1, work.stderr())
            text = (work.path / "exec.prom").read_text()
            self.check(text)
            all = figures(text)
            results = [json.loads(line) for line in (work.path / "values.results.jsonl").read_text().splitlines()]
            self.agree(all, results)
            self.assertEqual(total(all, "headway_attempts_total", scope="mine", outcome="throttle"), 6)
            self.assertEqual(total(all, "headway_build_info", surface="exec"), 1)

    def test_of_a_proxy(self):
        with servers.limit_req(20, BUCKET) as server, Proxy(server.url, "--cold", "--alone") as proxy:
            with ThreadPoolExecutor(16) as crowd:
                statuses = list(crowd.map(lambda i: proxy.ask("GET", f"/{i}")[0], range(60)))
            self.assertEqual(statuses, [200] * 60)
            text = proxy.look("/metrics")[1].decode()
            self.check(text)
            all = figures(text)
            log = server.log()
            self.assertEqual(total(all, "headway_requests_total", outcome="success"), 60)
            self.assertEqual(total(all, "headway_attempts_total", outcome="success"), len(log.accepted()))
            self.assertEqual(total(all, "headway_attempts_total", outcome="throttle"), len(log.throttled()))
            self.assertEqual(total(all, "headway_attempt_seconds_count"), len(log))
            self.assertGreater(total(all, "headway_scope_held_seconds_total"), 0)
            self.assertEqual(total(all, "headway_build_info", surface="proxy"), 1)

    def test_prometheus_scrapes_it(self):
        if not shutil.which("prometheus"):
            self.skipTest("no prometheus")
        with servers.closed_port() as port, servers.closed_port() as own:
            pass
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 300)) as work, \
                tempfile.TemporaryDirectory() as folder:
            Path(folder, "p.yml").write_text(
                "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: run\n"
                f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
            )
            prometheus = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={folder}/p.yml",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{own}"],
                stderr=subprocess.DEVNULL,
            )
            try:
                def query(text):
                    """Values by name and labels."""
                    url = f"http://127.0.0.1:{own}/api/v1/query?" + urllib.parse.urlencode({"query": text})
                    rows = json.load(urllib.request.urlopen(url))["data"]["result"]
                    for row in rows:
                        row["name"] = row["metric"].pop("__name__", "?")
                    return {(r["name"], frozenset(r["metric"].items())): float(r["value"][1]) for r in rows}

                def scrapes():
                    with contextlib.suppress(OSError):  # it listens before it is ready
                        return query("up")

                wait_for(scrapes, 60)  # seconds after its start
                self.assertEqual(work.run("--metrics", f"127.0.0.1:{port}"), 0, work.stderr())
                often = query("sum_over_time(up[5m])")
                # What it has fetched, it stores in its own time.
                last, stored = 'last_over_time({__name__=~"headway.*"}[5m])', len(work.results())
                wait_for(lambda: total(query(last), "headway_requests_total") == stored, 10)
                all = query(last)
            finally:
                prometheus.kill()
                prometheus.wait()
            measured(f"{sum(often.values()):.0f} scrapes, {len(all)} series")
            self.agree(all, work.results())

    def test_the_last_figures_reach_a_collector_that_is_late(self):
        with servers.closed_port() as port:
            pass
        with servers.nginx() as server, Work(gets(server, 120)) as work:
            with work.start("--metrics", f":{port}", "--rate", "50/s") as run:
                wait_for(lambda: servers.listening(port))

                def fetch():
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                        return page.read().decode()

                for pause in (0, 1.2, 0.05):  # the second was late
                    time.sleep(pause)
                    fetch()
                wait_for(lambda: len(work.results()) == 120)
                time.sleep(0.8)
                text = fetch()
                self.assertEqual(run.wait(30), 0, work.stderr())
            self.agree(figures(text), work.results())

    def test_what_may_fetch_it(self):
        with servers.closed_port() as port:
            pass
        with servers.nginx(latency_ms=(5, 5)) as server, Work(gets(server, 100)) as work:
            with work.start("--metrics", f":{port}", "--rate", "100/s") as run:
                wait_for(lambda: servers.listening(port))

                def status(request):
                    with socket.create_connection(("127.0.0.1", port), 5) as s:
                        s.sendall(request)
                        return s.recv(65536).split(b"\r\n")[0]

                for request, expected in {
                    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n": b"HTTP/1.1 200 OK",
                    b"HEAD /metrics?x HTTP/1.1\r\nHost: [::1]:9\r\n\r\n": b"HTTP/1.1 200 OK",
                    b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n": b"HTTP/1.1 421 Misdirected Request",
                    b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n": b"HTTP/1.1 405 Method Not Allowed",
                    b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n": b"HTTP/1.1 404 Not Found",
                    b"\0\0\r\n\r\n": b"HTTP/1.1 400 Bad Request",
                }.items():
                    with self.subTest(request):
                        self.assertEqual(status(request), expected)
                self.assertEqual(run.wait(30), 0, work.stderr())

    def test_watching_costs_little(self):
        """A scrape and a question each second take less than 3 % of a core of the run, with as many scopes as have names."""
        with servers.closed_port() as port:
            pass
        with servers.nginx() as server, Work() as work:
            work.write(json.dumps({"url": f"{server.url}/{i}", "scope": f"s{i % 120}"}) for i in range(6000))
            with work.start("--metrics", f":{port}", "--rate", "1/s", "--cold", "--alone") as run:
                wait_for(lambda: len(server.log()) > 150)
                fetch = lambda: len(urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read())

                def ask():
                    line = Line(RUNTIME.name, run.pid)
                    with line.socket, line.file:
                        line.say("status")

                took = []
                for act in (fetch, ask):
                    before = cpu_seconds(run.pid)
                    for _ in range(20):
                        act()
                    took.append((cpu_seconds(run.pid) - before) / 20)
                measured(f"a scrape of {fetch():,} bytes takes {took[0] * 1e3:.1f} ms of CPU, a question {took[1] * 1e3:.1f} ms, the run's own included")
                self.assertLess(sum(took), 0.03)
                run.kill()

    def test_bad_addresses_are_one_line(self):
        with servers.nginx() as server, Work(gets(server, 3)) as work:
            for where, said in {
                f"127.0.0.1:{server.port}": "Address already in use",
                "nowhere": "want FILE.prom, or HOST:PORT",
                "localhost:x": "want HOST:PORT",
                "localhost:99999": "want HOST:PORT",
            }.items():
                with self.subTest(where):
                    self.assertEqual(work.run("--metrics", where), 2, work.stderr())
                    self.assertEqual(work.stderr().count("\n"), 1, work.stderr())
                    self.assertIn(said, work.stderr())
            self.assertEqual(work.run("--metrics", "none/run.prom"), 74)
            self.assertEqual(server.log(), [])


if __name__ == "__main__":
    unittest.main()
