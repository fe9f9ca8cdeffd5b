"""A run that cannot succeed ends soon, says why, and leaves the lines for a later one."""
import contextlib
import socket
import time
import unittest

import servers
import sockets
from work import Work, gets, measured, post, succeeded, wait_for


def closed():
    """A port that refuses connections while its socket is open, and its URL."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return holder, f"http://127.0.0.1:{holder.getsockname()[1]}"


def dead_runs(dead, server):
    """Lines and options of runs to servers that are not there; `server` is."""
    lines = [f"{dead[0]}/{i}" for i in range(50)]
    return {
        "one line": (lines[:1], ()),
        "one that must not be sent twice": (['{"url": "%s", "body": {}}' % dead[0]], ()),
        "one attempt a line": (lines, ("--attempts-max", "1")),
        "the default law": (lines, ()),
        "a fixed law": (lines, ("--law", "fixed")),
        "little patience": (lines, ("--request-deadline", "1s", "--wait-max", "1s")),
        "50 hosts in turn": ([f"{dead[i % 50]}/{i}" for i in range(10_000)], ()),
        "50 hosts one by one": ([f"{dead[i // 200]}/{i}" for i in range(10_000)], ()),
        "names that are not found": ([f"http://none{i}.invalid/" for i in range(100)], ()),
        "others answer": (
            [line for i, url in enumerate(gets(server, 200)) for line in (url, f"{dead[i % 2]}/{i}")],
            (),
        ),
    }


class Vain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Starts what takes its time: a server that is late is to be found."""
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        holders, cls.dead = zip(*(closed() for _ in range(50)))
        for holder in holders:
            stack.enter_context(holder)
        cls.alive = stack.enter_context(servers.nginx())
        cls.began = time.monotonic()
        cls.runs = {}
        for name, (lines, options) in dead_runs(cls.dead, cls.alive).items():
            work = stack.enter_context(Work(lines))
            process = stack.enter_context(work.start(*options))
            stack.callback(process.kill)
            cls.runs[name] = work, process

    def test_servers_that_are_not_there(self):
        others, rest = self.runs.pop("others answer")
        host = self.dead[0][7:]
        for name, (work, process) in self.runs.items():
            with self.subTest(name):
                self.assertEqual(process.wait(60), 77, work.stderr())
                self.assertEqual(work.results(), [], "nothing of it is its own fault")
                why = "name not found, " if "names" in name else f"{host}: connection refused, "
                self.assertIn(why, work.stderr())
                self.assertIn("nothing was ever answered", work.stderr())
        self.assertEqual(rest.wait(60), 75, others.stderr())
        self.assertEqual(others.outcomes(), {str(i): "success" for i in range(1, 400, 2)})
        self.assertEqual(len(self.alive.log()), 200)
        for dead in self.dead[:2]:
            self.assertIn(f"{dead[7:]}: connection refused, ", others.stderr())
        measured(f"{len(self.runs) + 1} runs ended within {time.monotonic() - self.began:.0f} s")
        work, _ = self.runs["one line"]
        self.assertEqual(work.run("--no-canary", "--attempts-max", "1"), 1, work.stderr())
        self.assertEqual(work.outcomes(), {"1": "failed"})

    def test_one_that_is_late_is_found(self):
        """What was tried before costs no line an attempt."""
        holder, url = closed()
        port = holder.getsockname()[1]
        holder.close()
        with Work([f"{url}/{i}" for i in range(1, 101)]) as work:
            with work.start("--attempts-max", "2", "--progress", "json") as process:
                wait_for(lambda: '"waiting_for":"broken: connection refused (' in work.stderr())
                time.sleep(2)
                with sockets.Scripted(lambda n, _: (200, {}, b""), port) as server:
                    self.assertEqual(process.wait(30), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(100))
            self.assertEqual(len(server.log), 100)

    def test_one_that_fails_at_first_costs_no_line(self):
        """Before: each line failed for good after four attempts, 20 a second in all."""
        ends = time.monotonic() + 15
        script = lambda n, _: (500 if time.monotonic() < ends else 200, {}, b"")
        with sockets.Scripted(script) as server, Work(gets(server, 40)) as work:
            self.assertEqual(work.run("--progress", "json", timeout=60), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(40))
            self.assertIn('"waiting_for":"broken: status 500 (', work.stderr())
            self.assertLess(len(server.log), 40 + 16 + 50)

    def test_one_that_only_fails(self):
        with sockets.Scripted(lambda n, _: (500, {}, b"")) as server, Work(gets(server, 40)) as work:
            self.assertEqual(work.run("--wait-max", "2s", timeout=60), 75, work.stderr())
            self.assertEqual(work.results(), [])
            self.assertIn(f"{server.url[7:]}: status 500, 16 lines and ", work.stderr())
            self.assertEqual(work.run("--no-canary", "--attempts-max", "1", timeout=60), 1, work.stderr())
            self.assertEqual(len(work.results()), 40)
        with sockets.Scripted(lambda n, _: (500, {}, b"")) as server, Work(gets(server, 15)) as work:
            self.assertEqual(work.run("--attempts-max", "2", timeout=60), 1, work.stderr())
            self.assertEqual(len(work.results()), 15, "few lines are not the server's fault")

    def test_a_certificate_that_is_refused(self):
        with Work() as work:
            certificate = servers.certificate(work.path, ends="20010101000000Z")
            with servers.nginx(certificate=certificate) as server, servers.nginx() as other:
                work.write([*gets(server, 30), post(server, "post")])
                self.assertEqual(work.run("--cacert", certificate), 77, work.stderr())
                self.assertIn(f"{server.url[8:]}: certificate refused, 1 of 1 attempts", work.stderr())
                self.assertEqual(work.results(), [])
                work.write([*gets(server, 30), post(server, "post"), *gets(other, 30)])
                self.assertEqual(work.run("--cacert", certificate), 75, work.stderr())
                self.assertEqual(work.outcomes(), {str(i): "success" for i in range(32, 62)})
                self.assertEqual(server.log(), [])

    def key(self, status, good):
        """A server that refuses the caller by `status` unless `good(number)`."""
        return sockets.Scripted(lambda n, _: (200 if good(n) else status, {}, b""))

    def test_a_server_that_refuses_the_caller_fails_twenty_lines(self):
        with contextlib.ExitStack() as stack:
            cases = []
            for status in (401, 402, 403, 407):
                server = stack.enter_context(self.key(status, lambda n: n < 30))
                work = stack.enter_context(Work(gets(server, 300)))
                options = "--wait-max", "3s", "--law", "fixed", "--concurrency", "1"
                cases.append((status, server, work, work.start(*options)))
            for status, server, work, process in cases:
                with self.subTest(status), process:
                    self.assertEqual(process.wait(60), 75, work.stderr())
                    self.assertEqual(list(work.outcomes().values()), ["success"] * 30 + ["failed"] * 20)
                    self.assertIn(f"refuses the caller ({status})", work.stderr())
                    probes = server.log[50:]
                    gaps = [at - before for (before, *_), (at, *_) in zip(server.log[49:], probes)]
                    self.assertEqual(len(probes), 2, gaps)
                    self.assertGreaterEqual(gaps[0], 0.99)
                    self.assertGreaterEqual(gaps[1], 1.9)
                    self.assertEqual(len({path for _, path, _ in server.log}), 52, "a line went twice")
            server.script = lambda n, _: (200, {}, b"")  # the key is good again
            self.assertEqual(work.run("--law", "fixed"), 1, work.stderr())
            self.assertEqual(len(work.outcomes()), 300)

    def test_a_success_ends_refusals(self):
        """Of what flew when it began nothing fails either."""

        def script(n, _):  # good again when the run only asks now and then
            asks = n > 30 and time.monotonic() - server.log[-1][0] > 1.5
            good = n < 30 or asks or (n > 30 and server.log[-1][2] == 200)
            return 200 if good else 403, {}, b""

        with sockets.Scripted(script) as server:
            with Work(post(server, str(i)) for i in range(200)) as work:
                options = "--law", "fixed", "--concurrency", "5", "--progress", "json"
                self.assertEqual(work.run(*options, timeout=60), 1, work.stderr())
                outcomes = list(work.outcomes().values())
                self.assertEqual(len(outcomes), 200)
                self.assertIn(outcomes.count("failed"), range(20, 25))
                self.assertIn('"waiting_for":"refuses the caller (403)","waiting_at":"' + server.url[7:], work.stderr())

    def test_refusals_of_lines_change_nothing(self):
        """Refusals of lines; refusals among others; where the user says so; before any success."""
        never = lambda n: n < 30
        for status, good, options, code in (
            (404, never, (), 1),
            (409, never, (), 1),
            (403, lambda n: n < 30 or n % 15 == 0, (), 1),
            (403, never, ("--no-canary",), 1),
            (403, never, ("--ok", "200,403"), 0),
            (403, lambda n: False, (), 77),
        ):
            with self.subTest(status=status, options=options, code=code), self.key(status, good) as server:
                with Work(gets(server, 150)) as work:
                    self.assertEqual(work.run("--law", "fixed", "--concurrency", "1", *options), code, work.stderr())
                    if code != 77:
                        self.assertEqual((len(server.log), len(work.outcomes())), (150, 150))


if __name__ == "__main__":
    unittest.main()
