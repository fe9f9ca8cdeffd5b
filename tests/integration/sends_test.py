"""Each send takes its turn and is counted, also where a server makes libcurl want to send again by
itself; what must not be repeated goes again only where the server says that it was not carried out.

SENDS_WHOLE=1 tries every byte instead of some."""
import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

import log
import servers
from work import Work, gets, measured, post, succeeded

STEP = 1 if os.environ.get("SENDS_WHOLE") else 7
FIXED = "--law", "fixed", "--cold"


def sent_at(at, method, path):
    return log.Request(at, at, 0, method, path, "")


def reset(connection):
    """What the peer has sent since is not read: it gets an RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def close(connection):
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def answer(status=200, body=b"ok", more=""):
    return f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


class Server:
    """Notes each request as soon as its head is there, or without a path if `heads` is false at its
    first byte. `speak(connection, sent, before)` reads the rest and answers; False if it closed."""

    def __init__(self, speak, heads=True):
        self.speak, self.heads, self.sent = speak, heads, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        before = 0
        with contextlib.suppress(OSError), connection:
            while connection.recv(1, socket.MSG_PEEK):
                method, path = self.head(connection).split()[:2] if self.heads else ("", "")
                self.sent.append(sent_at(time.monotonic(), method, path))
                if self.speak(connection, self.sent[-1], before) is False:
                    return
                before += 1

    @staticmethod
    def head(connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1) or b"\r\n\r\n"
        return head.decode()


@contextlib.contextmanager
def http2_server(folder, certificate):
    """Of refusals.js: its url, and a function that tells what it has heard so far."""
    script = Path(__file__).resolve().parent / "refusals.js"
    command = ["setpriv", "--pdeathsig", "KILL", "node", script, certificate]
    heard = folder / "heard"
    with open(heard, "wb") as out, subprocess.Popen(command, stdout=out) as node:
        try:
            while b"\n" not in heard.read_bytes():
                assert node.poll() is None, "node did not start"
                time.sleep(0.01)
            port, *_ = heard.read_text().split()
            lines = lambda: (line.split() for line in heard.read_text().splitlines()[1:])
            yield f"https://127.0.0.1:{port}", lambda: [
                sent_at(int(at) / 1e9, method, path) for at, method, path in lines()
            ]
        finally:
            node.terminate()


class Counting(unittest.TestCase):
    def counted(self, results, sent, attempts_max, rate=None):
        """What the server heard is what the results say, within the bounds. How often each path was sent."""
        self.assertEqual(len(sent), sum(result["attempts"] for result in results))
        times = Counter(one.path for one in sent)
        if times.keys() != {""}:
            self.assertLessEqual(max(times.values()), attempts_max)
        if rate:
            worst = log.Log(sent).busiest(1)
            self.assertLessEqual(worst, 1.2 * rate, "in the worst second")
            measured(f"{len(sent)} sends of {len(results)} lines, {worst} in the worst second")
        return times


class Sends(Counting):
    def test_a_server_that_closes_at_the_second_request_of_each_connection(self):
        """With 40 connections in the pool first."""
        for end in close, reset:
            with self.subTest(end.__name__):
                all_wait = threading.Barrier(40)

                def speak(connection, sent, before):
                    if before > 0:
                        end(connection)
                        return False
                    if int(sent.path[1:]) <= 40 and not all_wait.broken:
                        with contextlib.suppress(threading.BrokenBarrierError):
                            all_wait.wait(10)
                            all_wait.abort()
                    connection.sendall(answer())

                with Server(speak) as server, Work(gets(server, 120)) as work:
                    rate = "--rate", "80/s", "--concurrency", "40", "--attempts-max", "2"
                    self.assertEqual(work.run(*FIXED, *rate), 0, work.stderr())
                    self.assertEqual(work.outcomes(), succeeded(120))
                    self.counted(work.results(), server.sent, 2, rate=80)
                    self.assertGreater(len(server.sent), 140)

    def test_a_server_that_resets_after_the_head_of_a_post(self):
        for size in 10, 100_000, 3_000_000:

            def speak(connection, sent, before):
                if before > 0:
                    reset(connection)
                    return False
                left = size
                while left > 0:
                    left -= len(connection.recv(left))
                connection.sendall(answer())

            with self.subTest(size), Server(speak) as server:
                body = "." * size
                with Work([post(server, f"{i}", body=body) for i in range(12)]) as work:
                    work.run(*FIXED, "--concurrency", "1")
                    times = self.counted(work.results(), server.sent, 1)
                    self.assertEqual(len(times), 12)
                    self.assertEqual(set(work.outcomes().values()), {"success", "unknown"})

    def test_a_reset_at_each_byte_of_a_request(self):
        for method, twice in ("GET", True), ("POST", False):
            with self.subTest(method):
                cuts = iter(range(0, 110, STEP))

                def speak(connection, sent, before):
                    cut = next(cuts, None) if before == 1 else None
                    if cut is None:
                        Server.head(connection)
                        connection.sendall(answer())
                    else:
                        connection.recv(cut)
                        reset(connection)
                        return False

                line = lambda url: post_without_body(url) if method == "POST" else url
                with Server(speak, heads=False) as server:
                    with Work([line(url) for url in gets(server, 2 * len(range(0, 110, STEP)))]) as work:
                        work.run(*FIXED, "--concurrency", "1", "--attempts-max", "2")
                        self.counted(work.results(), server.sent, 2 if twice else 1)
                        self.assertIsNone(next(cuts, None), "no reset at some byte")
                        ends = {"success"} if twice else {"success", "unknown"}
                        self.assertEqual(set(work.outcomes().values()), ends)

    def test_an_answer_that_ends_at_each_of_its_bytes(self):
        for status in 429, 404:
            whole = answer(status, b"no", "Retry-After: 0\r\n")
            told = len("HTTP/1.1 429 x\r\n") if status == 429 else len(whole)  # that it was not carried out
            cuts = range(0, len(whole), STEP)
            for method, end in ("GET", close), ("GET", reset), ("POST", close), ("POST", reset):
                with self.subTest(status=status, method=method, end=end.__name__):
                    first = {}

                    def speak(connection, sent, before):
                        if first.setdefault(sent.path, sent) is not sent:
                            connection.sendall(answer())
                            return None
                        connection.sendall(whole[: int(sent.path[1:])])
                        time.sleep(0.002)  # that it has been read when the connection goes
                        end(connection)
                        return False

                    line = post_without_body if method == "POST" else str
                    with Server(speak) as server:
                        with Work([line(f"{server.url}/{cut}") for cut in cuts]) as work:
                            work.run(*FIXED, "--concurrency", "8", "--attempts-max", "2")
                            self.counted(work.results(), server.sent, 2)
                            results = sorted(work.results(), key=lambda r: r["line"])
                    for cut, result in zip(cuts, results):
                        unknown = method == "POST" and cut < told
                        expected = ("unknown", 1, 0) if unknown else ("success", 2, cut >= told)
                        got = tuple(result[k] for k in ("outcome", "attempts", "throttled"))
                        self.assertEqual(got, expected, cut)

    def test_an_answer_that_is_cut_off(self):
        def speak(connection, sent, before):
            status = int(sent.path.split("/")[1])
            if sum(1 for one in server.sent if one.path == sent.path) > 1:
                connection.sendall(answer())
                return None
            more = {301: "Location: /200/x\r\n", 429: "Retry-After: 1\r\n"}.get(status, "")
            connection.sendall(answer(status, b"x" * 100, more)[:-98])
            close(connection)
            return False

        statuses = 200, 301, 400, 404, 409, 425, 429, 500, 503
        with Server(speak) as server:
            lines = [f"{server.url}/{status}/get" for status in statuses]
            lines += [post_without_body(f"{server.url}/{status}/post") for status in statuses]
            with Work(lines) as work:
                work.run(*FIXED, "--attempts-max", "2")
                times = self.counted(work.results(), server.sent, 2)
                outcomes = work.outcomes()
            for i, status in enumerate(statuses):
                with self.subTest(status):
                    self.assertEqual((outcomes[str(i + 1)], times[f"/{status}/get"]), ("success", 2))
                    again = status in (429, 503)
                    self.assertEqual(
                        (outcomes[str(i + 10)], times[f"/{status}/post"]),
                        ("success", 2) if again else ("unknown", 1),
                    )
            refused = [one.start for one in server.sent if one.path.startswith("/429")]
            self.assertGreater(max(refused) - min(refused), 0.9, "Retry-After")

    def test_a_success_that_says_when_to_come_back(self):
        says = {
            "Retry-After": "retry-after-ms: 400\r\nRateLimit-Remaining: 0\r\n",
            "nothing left": "RateLimit-Limit: 10\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 0.4\r\n",
        }
        for name, more in says.items():
            speak = lambda connection, sent, _: connection.sendall(answer(more=more))
            with self.subTest(name), Server(speak) as server, Work(gets(server, 4)) as work:
                self.assertEqual(work.run(*FIXED, "--concurrency", "1"), 0, work.stderr())
                at = [one.start for one in server.sent]
                self.assertGreater(min(b - a for a, b in zip(at, at[1:])), 0.39)
                with Work(gets(server, 4)) as again:
                    self.assertEqual(again.run(*FIXED, "--wait-max", "100ms"), 75, again.stderr())
                    self.assertEqual(len(server.sent), 5)
                    self.assertEqual(len(again.results()), 1)

    def test_a_success_that_says_when_to_come_back_though_nothing_is_used_up(self):
        for more in ("", "RateLimit-Remaining: 1\r\n"):
            speak = lambda connection, sent, _: connection.sendall(answer(more=f"Retry-After: 60\r\n{more}"))
            with self.subTest(more), Server(speak) as server, Work(gets(server, 4)) as work:
                self.assertEqual(work.run(*FIXED, "--wait-max", "100ms"), 0, work.stderr())
                self.assertEqual(len(server.sent), 4)

    def test_an_answer_in_the_middle_of_a_long_post(self):
        """The server wants no more of it, and what it has not read makes of its close a reset."""
        first = {}

        def speak(connection, sent, before):
            left = 1_000_000
            if first.setdefault(sent.path, sent) is sent:
                connection.recv(10_000)
                status = int(sent.path.split("/")[1])
                connection.sendall(answer(status, b"no more", "Connection: close\r\n"))
                return False
            while left > 0:
                left -= len(connection.recv(left))
            connection.sendall(answer())

        with Server(speak) as server:
            lines = [post(server, f"{429 if i % 2 else 413}/{i}", body="." * 1_000_000) for i in range(80)]
            with Work(lines) as work:
                work.run(*FIXED, "--concurrency", "4", "--no-canary")
                results = work.results()
        times = Counter(one.path for one in server.sent)
        self.assertEqual(times, {f"/{r['id']}": 1 if "413" in r["id"] else 2 for r in results})
        ends = Counter((r["id"].split("/")[0], r["outcome"], r["status"], r["throttled"]) for r in results)
        self.assertEqual(ends, {("429", "success", 200, 1): 40, ("413", "failed", 413, 0): 40})
        self.assertEqual({r["body"] for r in results if r["status"] == 413}, {"no more"})

    def test_two_lengths(self):
        bodies = {
            "differ": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\nokok",
            "list": b"HTTP/1.1 200 OK\r\nContent-Length: 2, 4\r\n\r\nokok",
            "same": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length:2\r\n\r\nok",
        }
        speak = lambda connection, sent, _: connection.sendall(bodies[sent.path[1:]])
        with Server(speak) as server:
            lines = [f"{server.url}/{name}" for name in bodies]
            with Work(lines + [post_without_body(line) for line in lines]) as work:
                work.run(*FIXED, "--attempts-max", "2")
                results = {r["id"]: r for r in work.results()}
                self.assertEqual(
                    [results[str(i)]["outcome"] for i in range(1, 7)],
                    ["failed", "failed", "success", "unknown", "unknown", "success"],
                )
                self.assertIn("two different Content-Lengths", results["1"]["reason"])
                self.assertEqual(Counter(s.path for s in server.sent), {"/differ": 3, "/list": 3, "/same": 2})

class Http2(Counting):
    """By one server, each kind of answer on paths of its own."""

    @classmethod
    def setUpClass(cls):
        work = cls.enterClassContext(Work())
        cls.certificate = servers.certificate(work.path)
        cls.url, heard = cls.enterClassContext(http2_server(work.path, cls.certificate))
        cls.all_heard = staticmethod(heard)

    def sends(self, paths, *options, method="GET"):
        """The exit code, the results and what the server heard, which is what was counted."""
        before = len(self.all_heard())
        line = {"GET": str, "POST": post_without_body, "BODY": post_with_body}[method]
        with Work([line(f"{self.url}/{path}") for path in paths]) as work:
            code = work.run(*FIXED, "--attempts-max", "2", "--cacert", self.certificate, *options)
            heard = self.all_heard()[before:]
            return code, work.results(), self.counted(work.results(), heard, 2, rate=None)

    def test_refuses_all(self):
        before = len(self.all_heard())
        with Work([f"{self.url}/refused/{i}" for i in range(40)]) as work:
            rate = "--rate", "40/s", "--attempts-max", "2", "--cacert", self.certificate, "--no-canary"
            self.assertEqual(work.run(*FIXED, *rate), 1, work.stderr())
            heard = self.all_heard()[before:]
            self.assertEqual(len(heard), 80)
            self.counted(work.results(), heard, 2, rate=40)

    def test_what_it_says(self):
        # (outcome, attempts, throttled) of a GET and of a POST
        again, again_throttled = (("success", 2, 0),) * 2, (("success", 2, 1),) * 2
        perhaps = ("success", 2, 0), ("unknown", 1, 0)
        expected = {
            "once-refused": again,
            "once-calm": again_throttled,
            "once-below": again,
            "once-calm-below": again_throttled,
            "once-broken": perhaps,
            "once-above": perhaps,
            "once-cut": perhaps,
            "once-death": perhaps,
            "once-reset": perhaps,
        }
        for kind, (get, *post) in expected.items():
            for method, end in ("GET", get), ("POST", *post), ("BODY", *post):
                with self.subTest(kind, method=method):
                    # One at a time: each is alone on its connection when it is refused, and what is
                    # not refused has made that.
                    paths = [f"{name}/{method}{i}" for i in range(4) for name in ("ok", kind)]
                    _, results, _ = self.sends(paths, "--concurrency", "1", method=method)
                    got = {
                        (r["outcome"], r["attempts"], r["throttled"])
                        for r in results
                        if r["line"] % 2 == 0
                    }
                    # The first request of a connection is never below.
                    spared = {("success", 1, 0)} if "below" in kind else set()
                    self.assertEqual(got - spared, {end})

    def test_what_it_refuses_among_others(self):
        """Many streams of one connection: what was refused goes again, what was answered does not."""
        kinds = "ok", "once-refused", "once-calm", "ok"
        paths = [f"{kinds[i % 4]}/among{i}" for i in range(60)]
        code, results, times = self.sends(paths, "--concurrency", "12", method="POST")
        self.assertEqual(code, 0)
        self.assertEqual({path for path, count in times.items() if count == 2},
                         {f"/{path}" for path in paths if path.startswith("once")})  # fmt: skip

    def test_wants_http1(self):
        code, _, times = self.sends(["ok/old"] + [f"old/{i}" for i in range(5)], "--concurrency", "1")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(times.values()), [1, 1, 1, 1, 1, 2])


def post_without_body(url):
    return '{"url": "%s", "method": "POST"}' % url


def post_with_body(url):
    return '{"url": "%s", "body": "%s"}' % (url, "." * 200_000)


if __name__ == "__main__":
    unittest.main()
