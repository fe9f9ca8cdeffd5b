"""Servers that mean harm: whatever they answer, each request ends once, in bounded time, memory and CPU.

HEADWAY_LONG=1 has bodies as large as they may be.
"""
import collections
import gzip
import itertools
import json
import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import servers
import sockets
from memory_test import high_water_kib
from work import Work, gets, measured, succeeded

MIB = 1 << 20
BODY_MAX = 64 * MIB
DEADLINE = 2  # seconds
BODIES, STOPPED = ((512, 62), 20) if os.environ.get("HEADWAY_LONG") else ((64, 15), 2)  # MiB; seconds
HEAD = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(bytes(BODY_MAX + MIB))
NESTED = b'{"error":' + b"[" * 100_000


def chunked(parts):
    yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    for part in parts:
        yield b"%x\r\n%s\r\n" % (len(part), part)


def slowly(parts, seconds=0.2):
    for part in parts:
        yield part
        time.sleep(seconds)


def packed(encoding, body):
    return HEAD + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (encoding, len(body)) + body


def stops(head, part):
    yield head + part
    time.sleep(10 * STOPPED)


def silent():
    yield HEAD
    time.sleep(30)


def forever(part):
    return itertools.repeat(part)


LARGE = "the body is longer than 64 MiB"
LATE = f"gave up after {DEADLINE}.0 s"
HEADERS = "the header of the answer is longer than"

# What it sends, and what the reason of the failure must say.
HOSTILE = {
    "a body without an end": (lambda: chunked(forever(b"x" * MIB)), LARGE),
    "a body without an end or length": (lambda: itertools.chain([HEAD, b"\r\n"], forever(b"\x01" * MIB)), LARGE),
    "a bomb": (lambda: [packed(b"gzip", BOMB)], LARGE),
    "a bomb in a bomb": (lambda: [packed(b"gzip, gzip", gzip.compress(BOMB))], "Content-Encoding"),
    "a byte now and then": (lambda: itertools.chain([HEAD, b"\r\n"], slowly(forever(b"x"))), LATE),
    "a header now and then": (lambda: itertools.chain([HEAD], slowly(forever(b"X: y\r\n"))), LATE),
    "a status now and then": (lambda: slowly(forever(b"HTTP/1.1 103 Early Hints\r\n\r\n")), LATE),
    "silence": (silent, LATE),
    "10^6 headers": (lambda: itertools.chain([HEAD], (b"X-%d: y\r\n" % i * 1000 for i in range(1000)), [b"\r\n"]), HEADERS),
    "one header without an end": (lambda: itertools.chain([HEAD, b"X: "], forever(b"x" * MIB)), ""),
    "interim answers without an end": (lambda: forever(b"HTTP/1.1 103 E\r\nX: y\r\n\r\n" * 1000), HEADERS),
    "trailers without an end": (
        lambda: itertools.chain(chunked([b"ok"]), [b"0\r\n"], forever(b"X: y\r\n" * 1000)), HEADERS),
    "no status": (lambda: [b"\x1b[2J\r\n\r\n"], ""),
    "a status of letters": (lambda: [b"HTTP/1.1 OK\r\n\r\n"], ""),
    "a huge status": (lambda: [b"HTTP/1.1 " + b"9" * 40 + b" OK\r\n\r\n"], ""),
    "a protocol of its own": (lambda: [b"HTTP/7.7 200 OK\r\n\r\n"], ""),
    "an old protocol": (lambda: [b"hello\n" * 1000], ""),
    "a length below zero": (lambda: [HEAD + b"Content-Length: -1\r\n\r\nx"], ""),
    "a chunk beyond all": (lambda: [HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\nx"], ""),
    "no gzip at all": (lambda: [packed(b"gzip", b"\x1b[2J" * 100)], ""),
    "an unknown encoding": (lambda: [packed(b"\x1b[2J", b"x")], ""),
    "encodings without an end": (lambda: [packed(b", ".join([b"gzip"] * 1000), b"x")], ""),
}  # fmt: skip

# What comes with a refusal, that must not make the next request go sooner.
HINTS = {
    **{f"Retry-After: {value[:20]}": ({"Retry-After": value}, b"") for value in (
        "0", "-1", "-" + "9" * 40, "Thu, 01 Jan 1970 00:00:00 GMT", "", "soon", "NaN", "1e-9", "0x0",
        "0, 0", "1" * 19 + " junk", "9" * 20, "Thu, 01 Jan 1970 00:00:00 +2359", "0000-01-01T00:00:00+23:59", "1 Jan 2999 00:00 CET")},
    "nothing is short": ({"X-RateLimit-Remaining": "9" * 30, "X-RateLimit-Reset": "0"}, b""),
    "a limit below zero": ({"X-RateLimit-Limit": "-5", "X-RateLimit-Remaining": "-5", "X-RateLimit-Reset": "-5"}, b""),
    "nested": ({"Content-Type": "application/json"}, NESTED),
    "a text below zero": ({}, b"Please try again in -5s. try again in 0ms"),
    "a delay that is no delay": (
        {"Content-Type": "application/json"},
        json.dumps({"error": {"details": [{"retryDelay": d} for d in ("-9s", {}, [], 1e308, "9" * 99)]}}).encode()),
}  # fmt: skip


# Waits that no server means.
BEYOND = {
    **{f"429, {field}: {value}": (429, {field: value}) for field, value in (
        ("Retry-After", "31622401"), ("Retry-After", "9" * 18), ("Retry-After", str(2**63 - 1)), ("Retry-After", "9" * 20),
        ("Retry-After", "99999999999.5"), ("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), ("Retry-After", "Fri, 31 Dec 9999 23:59:59 -2359"),
        ("Retry-After", "9999-12-31T23:59:59-23:59"), ("retry-after-ms", "9" * 15))},
    "200, RateLimit": (200, {"RateLimit": '"default";r=0;t=1000000000000000000'}),
    "200, X-RateLimit-Reset": (200, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 10}),
    "200, X-RateLimit-Reset-After": (200, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "9" * 10}),
}  # fmt: skip


class Ended(NamedTuple):
    code: int
    cpu: float  # seconds
    mib: float  # resident at most


def run(work, *options, seconds=20):
    peak, until = 0, time.monotonic() + seconds
    with work.start(*options) as process:
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            peak = max(peak, high_water_kib(process.pid))
            if time.monotonic() > until:
                process.kill()
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    return Ended(process.returncode, ended[2].ru_utime + ended[2].ru_stime, peak / 1024)


def on_a_terminal(text):
    """What a terminal would act on."""
    return [c for c in text if not c.isprintable() and c != "\n"]


class Hostile(unittest.TestCase):
    def test_each_request_ends_in_bounded_time_and_memory(self):
        worst = Ended(0, 0, 0)
        with servers.nginx() as good:
            for name, (answer, reason) in HOSTILE.items():
                with self.subTest(name), sockets.Server(lambda *_: iter(answer())) as bad:
                    with Work([f"{bad.url}/bad", f"{good.url}/good"]) as work:
                        options = "--cold", "--request-deadline", f"{DEADLINE}s", "--attempts-max", "2"
                        ended = run(work, *options)
                        self.assertEqual(ended.code, 1, work.stderr())
                        self.assertEqual(work.outcomes(), {"1": "failed", "2": "success"})
                        told = next(r["reason"] for r in work.results() if r["id"] == "1")
                        self.assertIn(reason, told)
                        self.assertEqual(on_a_terminal(work.stderr() + told), [])
                        self.assertLessEqual(len(bad.heard), 2)
                        self.assertLess(ended.cpu, 2)
                        self.assertLess(ended.mib, 220)
                        worst = Ended(0, max(worst.cpu, ended.cpu), max(worst.mib, ended.mib))
        measured(
            f"{len(HOSTILE)} hostile answers: at most {worst.cpu:.2f} s of CPU, {worst.mib:.0f} MiB"
        )

    def test_bodies_in_flight_share_a_bound(self):
        """24 answers that stop short of their end, together far beyond it; then they come whole."""
        bound, size = BODIES
        text = b'"%s"' % (b"x" * (size * MIB - 2))  # nothing is selected of it, so nothing is kept
        whole = {
            "as they are": (text, b""),
            "bombs": (gzip.compress(text), b"Content-Encoding: gzip\r\n"),
        }
        for name, (body, encoding) in whole.items():
            head = HEAD + encoding + b"Content-Length: %d\r\n\r\n" % len(body)
            heard = collections.Counter()

            def answer(request, before):
                heard[request.path] += 1
                if heard[request.path] > 1:
                    return iter([head + body])
                return stops(head, body[: -len(body) // 20])

            with self.subTest(name), sockets.Server(answer) as bad, servers.nginx() as good:
                lines = [json.dumps({"url": f"{bad.url}/{i}", "timeout": STOPPED}) for i in range(24)]
                with Work(lines + gets(good, 200)) as work:
                    options = ["--cold", "--law", "fixed", "--rate", "1000/s:24", "--bodies-max", f"{bound}MiB"]
                    options += ["--select", "/none", "--attempts-max", "100", "--retry-budget", "off"]
                    ended = run(work, *options, seconds=40 * STOPPED)
                    self.assertEqual(ended.code, 0, work.stderr())
                    self.assertEqual(work.outcomes(), succeeded(224))
                    measured(f"24 answers of {size} MiB, {name}, bound {bound} MiB: {ended.mib:.0f} MiB")
                    self.assertLess(ended.mib, bound + 2 * size + 50)

    def test_bodies_of_files_share_it(self):
        with sockets.Server(lambda *_: sockets.ok()) as server, Work() as work:
            (work.path / "body").write_bytes(bytes(8 * MIB))
            line = {"url": f"{server.url}/", "method": "PUT", "body_file": "body"}
            work.write([json.dumps(line)] * 30)
            options = "--cold", "--law", "fixed", "--rate", "1000/s:30", "--bodies-max", "64MiB"
            ended = run(work, *options)
            self.assertEqual(ended.code, 0, work.stderr())
            self.assertEqual([len(r.body) for r in server.heard], [8 * MIB] * 30)
            self.assertLess(ended.mib, 64 + 8 + 40)

    def test_no_hint_moves_a_request_forward(self):
        """Refused four times: as many attempts, no sooner, as after the same statuses without a hint."""
        with ThreadPoolExecutor(8) as pool:
            plain = [pool.submit(refused_four_times, {}, b"") for _ in range(16)]  # how busy the machine is tells, too
            soonest = [min(times) for times in zip(*(run.result() for run in plain))]
            runs = {name: pool.submit(refused_four_times, *hint) for name, hint in HINTS.items()}
        for name, run in runs.items():
            with self.subTest(name):
                for at, least in zip(run.result(), soonest):
                    self.assertGreaterEqual(at, 0.8 * least)
        measured(f"four refusals in a row, no hint: next after {soonest} s; {len(HINTS)} hints, none sooner")

    def test_a_server_that_refuses_all_is_not_hammered_by_a_law_without_a_pace(self):
        for hint in ({}, {"Retry-After": "0"}):
            with self.subTest(hint), sockets.Scripted(lambda *_: (429, hint, b"")) as server:
                with Work(gets(server, 20)) as work:
                    self.assertEqual(work.run("--cold", "--law", "fixed", "--time-max", "3s"), 75, work.stderr())
                self.assertLessEqual(len(server.log), 20 * 10)  # 50 ms, 100 ms, 200 ms …, each half as long at least
                self.assertGreater(len(server.log), 20)

    def test_what_waited_past_its_deadline_is_not_sent(self):
        """Refused, and its turn by --rate is later than that."""
        refuse = lambda n, _: (429, {}, b"")
        with sockets.Scripted(refuse) as server, Work(gets(server, 1)) as work:
            options = "--cold", "--law", "fixed", "--rate", "1/s", "--request-deadline", "500ms"
            self.assertEqual(run(work, *options).code, 1, work.stderr())
            (result,) = work.results()
            self.assertEqual(len(server.log), 1)
            self.assertEqual(
                result["reason"], "it still waited to be sent again (not sent); gave up after 0.5 s"
            )

    def test_a_pause_of_up_to_a_year_parks(self):
        for value in ("3600", "31622400"):
            refuse = lambda n, _: (429, {"Retry-After": value}, b"")
            with self.subTest(value), sockets.Scripted(refuse) as server:
                with Work(gets(server, 3)) as work:
                    ended = run(work, "--cold", "--concurrency", "1")
                    self.assertEqual(ended.code, 75, work.stderr())
                    self.assertEqual(len(server.log), 1)

    def test_a_pause_beyond_a_year_is_no_hint(self):
        """Before: exit 75 at the first of them, whatever was left to do."""
        for name, (status, headers) in BEYOND.items():
            says = lambda n, _: (status, headers, b"") if n == 1 else (200, {}, b"ok")
            with self.subTest(name), sockets.Scripted(says) as server:
                with Work(gets(server, 3)) as work:
                    ended = run(work, "--cold", "--concurrency", "1")
                    self.assertEqual(ended.code, 0, work.stderr())
                    self.assertIn("no sense", work.stderr())
                    self.assertEqual(len(server.log), 3 + (status == 429))

    def test_a_value_that_makes_no_sense_is_named(self):
        """The first one, escaped and without secrets. Before: only how many there were."""
        named = {
            "so\x1b[2Jon": "such as Retry-After: so\\x1b[2Jon",
            "s3cr3t-canary": "such as Retry-After: …",
            "Sun, 06 Nov 1994 08:49:37 GMT": "such as Retry-After: Sun, 06 Nov 1994 08:49:37 GMT (1 h 0 min before the answer's Date)",
        }
        for value, said in named.items():
            headers = {"Date": "Sun, 06 Nov 1994 09:49:37 GMT", "Retry-After": value}
            says = lambda n, _: (429, headers, b"") if n < 2 else (200, {}, b"ok")
            with self.subTest(value), sockets.Scripted(says) as server, Work(gets(server, 2)) as work:
                ended = run(work, "--cold", "--concurrency", "1", "--header", "X-Api-Key: s3cr3t-canary")
                self.assertEqual(ended.code, 0, work.stderr())
                self.assertIn(f"2 values in the servers' answers made no sense, and were ignored, {said}", work.stderr())
                self.assertEqual(on_a_terminal(work.stderr()), [])

    def test_a_date_of_another_zone_or_form_is_obeyed(self):
        """Before: no hint, and the request went again at once."""
        for pause in ("Sun, 6 Nov 1994 10:49:39 +0200", "Sun, 06 Nov 1994 03:49:39 EST", "1994-11-06T08:49:39Z"):
            headers = {"Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": pause}
            says = lambda n, _: (429, headers, b"") if n == 0 else (200, {}, b"ok")
            with self.subTest(pause), sockets.Scripted(says) as server, Work(gets(server, 1)) as work:
                self.assertEqual(run(work, "--cold").code, 0, work.stderr())
                (refused, *_), (again, *_) = server.log
                self.assertGreaterEqual(again - refused, 1.9)
                self.assertNotIn("no sense", work.stderr())


def refused_four_times(headers, body):
    """The times from the first answer of 429 to each request after it: a probe keeps to the end of a window, not to the one before."""
    script = lambda n, _: (429, headers, body) if 3 <= n < 7 else (200, {}, b"ok")
    with sockets.Scripted(script) as server, Work(gets(server, 6)) as work:
        ended = run(work, "--cold", "--concurrency", "1")
        assert ended.code == 0, work.stderr()
        assert len(server.log) == 10 and set(work.outcomes().values()) == {"success"}
        times = [at for at, _, _ in server.log]
        return [round(at - times[3], 3) for at in times[4:8]]


if __name__ == "__main__":
    unittest.main()
