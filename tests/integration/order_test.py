"""--keep-order: the results in the order of JOBS, whatever happened; and --out-headers, --retry-budget."""
import json
import threading
import unittest

import servers
import sockets
from work import Work, gets, succeeded, wait_for

KEEP = "--keep-order", "--concurrency", "20", "--law", "reno"


def lines_of(text):
    return [json.loads(line)["line"] for line in text.splitlines()]


class KeepOrder(unittest.TestCase):
    def lines(self, work, name="jobs.results.jsonl"):
        return lines_of((work.path / name).read_text())

    def test_results_are_in_the_order_of_jobs(self):
        with servers.nginx(latency_ms=(0, 60)) as server:
            orders = []
            for options in (KEEP, KEEP[1:]):
                with Work(["# first", *gets(server, 300)]) as work:
                    self.assertEqual(work.run(*options), 0, work.stderr())
                    orders.append(self.lines(work))
                    self.assertEqual(len(work.outcomes()), 300)
            self.assertEqual(orders[0], list(range(2, 302)))
            self.assertNotEqual(orders[1], orders[0])  # else this test proves nothing

    def test_on_standard_output(self):
        with servers.nginx(latency_ms=(0, 60)) as server, Work(gets(server, 200)) as work:
            self.assertEqual(work.run(*KEEP, "--out", "-"), 0, work.stderr())
            self.assertEqual(self.lines(work, "stdout"), list(range(1, 201)))
            self.assertEqual(work.run(*KEEP, "--out", "-"), 0, work.stderr())
            self.assertEqual(self.lines(work, "stdout"), list(range(1, 201)))
            with open(work.path / "jobs.txt") as jobs:
                self.assertEqual(work.run(*KEEP, jobs="-", stdin=jobs), 0, work.stderr())
            self.assertEqual(self.lines(work, "stdout"), list(range(1, 201)))

    def test_after_an_interruption_and_on_going_on(self):
        with servers.nginx(latency_ms=(0, 60)) as server, Work(gets(server, 600)) as work:
            for stop in ("terminate", "kill", "terminate"):
                with work.start(*KEEP) as process:
                    before = len(server.log())
                    wait_for(lambda: len(server.log()) > before + 60)
                    getattr(process, stop)()
                    process.wait(30)
                    if stop == "terminate":
                        lines = self.lines(work)
                        self.assertEqual(lines, sorted(lines))
                        self.assertGreater(len(lines), 50)
            self.assertEqual(work.run(*KEEP), 0, work.stderr())
            self.assertEqual(self.lines(work), list(range(1, 601)))
            self.assertEqual(work.outcomes(), succeeded(600))
            self.assertEqual(list(work.path.glob("*.new")), [])

    def test_killed_while_it_sorts(self):
        """The file is what it was, or in order, and of the same length: a later run goes on."""
        with servers.nginx(latency_ms=(0, 20)) as server, Work(gets(server, 400)) as work:
            self.assertEqual(work.run(*KEEP[1:], "--only", "399"), 0, work.stderr())
            strace = "strace", "-f", "-o", "/dev/null", "-e", "inject=rename:signal=KILL:when=1"
            unsorted = self.lines(work)
            with work.start(*KEEP, prlimit=("--", *strace)) as process:
                self.assertNotEqual(process.wait(60), 0)
            self.assertIn(sorted(self.lines(work)), ([*range(1, 400)], [*range(1, 401)]))
            self.assertNotEqual(unsorted, sorted(unsorted))
            self.assertEqual(work.run(*KEEP), 0, work.stderr())
            self.assertEqual(self.lines(work), list(range(1, 401)))

    def test_done_again_beside_what_was_before(self):
        bad = sockets.ok().replace(b"200 OK", b"404 No", 1)
        with sockets.Server(lambda r, before: bad if r.path == "/3" else sockets.ok()) as server:
            with Work(gets(server, 5)) as work:
                self.assertEqual(work.run(*KEEP), 1, work.stderr())
                server.answer = lambda request, before: sockets.ok()
                self.assertEqual(work.run(*KEEP, "--again", "failed"), 0, work.stderr())
                self.assertEqual(self.lines(work), [1, 2, 3, 3, 4, 5])
                outcomes = [r["outcome"] for r in work.results() if r["line"] == 3]
                self.assertEqual(outcomes, ["failed", "success"])

    def test_an_id_that_looks_like_a_line(self):
        with servers.nginx(latency_ms=(0, 30)) as server, Work() as work:
            meta = {"a": "", "line": 7}
            ids = [f'x","line":{900 - i},"y' for i in range(100)]
            work.write(
                [
                    json.dumps({"url": f"{server.url}/{i}", "id": id, "meta": meta})
                    for i, id in enumerate(ids)
                ]
            )
            self.assertEqual(work.run(*KEEP), 0, work.stderr())
            self.assertEqual([r["id"] for r in work.results()], ids)

    def test_large_bodies(self):
        gate = threading.Event()
        body = b"x" * 1_000_000

        def answer(request, before):
            if request.path == "/1":
                gate.wait(10)
            elif request.path == "/6":
                gate.set()
            return sockets.ok(body + request.path.encode())

        with sockets.Server(answer) as server, Work(gets(server, 6)) as work:
            self.assertEqual(work.run(*KEEP), 0, work.stderr())
            self.assertEqual(self.lines(work), [1, 2, 3, 4, 5, 6])
            self.assertEqual(
                [r["body"][-2:] for r in work.results()], [f"/{i}" for i in range(1, 7)]
            )

    def test_a_pipe_has_no_order(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            self.assertEqual(work.run("--keep-order", "--out", "/dev/null"), 2)
            self.assertIn("--keep-order wants --out in a regular file", work.stderr())


class OutHeaders(unittest.TestCase):
    def test_results_have_what_the_server_sent(self):
        header = (
            'add_header Set-Cookie a=1; add_header Set-Cookie b=2; add_header X-Odd "q\\"\xe9";'
        )
        with servers.nginx(header) as server, Work(gets(server, 1)) as work:
            self.assertEqual(work.run("--out-headers"), 0, work.stderr())
            headers = work.results()[0]["headers"]
            self.assertEqual(headers["set-cookie"], ["a=1", "b=2"])
            self.assertEqual(headers["x-odd"], ['q"\xe9'])
            self.assertEqual(headers["content-type"], ["text/plain"])
        with servers.nginx(header) as server, Work(gets(server, 1)) as work:
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertNotIn("headers", work.results()[0])

    def test_what_is_no_text(self):
        odd = b"HTTP/1.1 404 No\r\nX-Odd: \xe9\xff\r\nContent-Length: 0\r\n\r\n"
        with sockets.Server(lambda r, before: odd) as server, Work(gets(server, 1)) as work:
            self.assertEqual(work.run("--out-headers"), 1, work.stderr())
            self.assertEqual(work.results()[0]["headers"]["x-odd"], ["\xe9\xff"])


class RetryBudget(unittest.TestCase):
    def attempts(self, *options):
        """Of 10 requests that all break."""
        with servers.nginx("return 500;") as server, Work(gets(server, 10)) as work:
            self.assertEqual(work.run(*options, "--law", "reno"), 1, work.stderr())
            return len(server.log()), [r.get("reason") for r in work.results()]

    def test_retries_are_a_share_of_successes(self):
        sent, reasons = self.attempts("--retry-budget", "0%,1/h", "--request-deadline", "30s")
        self.assertEqual(sent, 10 + 1)
        self.assertIn("gave up after", reasons[-1])

    def test_off(self):
        sent, _ = self.attempts("--retry-budget", "off", "--attempts-max", "3")
        self.assertEqual(sent, 3 * 10)

    def test_what_is_none(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            for text in ("20", "101%", "5%,", "5%,x", "on"):
                with self.subTest(text):
                    self.assertEqual(work.run("--retry-budget", text), 2)
                    self.assertIn(f"--retry-budget '{text}'", work.stderr())
                    self.assertEqual(work.stderr().count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
