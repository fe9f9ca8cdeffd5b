"""What a run says: on terminals of 80 and 50 columns, as JSON, and at its end; by servers that are dead, throttle or serve."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unittest
from collections import Counter

import sockets
from vain_test import closed
from work import BINARY, Work, gets, measured, post, wait_for


def frames(work, columns, *options, seconds):
    """The lines that a terminal of so many columns shows in turn, until the run has ended or so many seconds are over."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [BINARY, "run", "jobs.txt", "--cold", "--alone", *options]
    with subprocess.Popen(command, cwd=work.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                          env=work.environment()) as process:
        os.close(theirs)
        deadline, shown = time.monotonic() + seconds, b""
        with contextlib.suppress(OSError):  # the terminal is gone
            while (left := deadline - time.monotonic()) > 0:
                if select.select([ours], [], [], left)[0]:
                    shown += os.read(ours, 65536)
        process.kill()
    os.close(ours)
    return [frame.decode() for frame in re.findall(rb"\r\x1b\[K([^\r\n]+)", shown)]


def screen(work, *arguments, stdin=b""):
    """All that a terminal is sent that takes both standard output and standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen([BINARY, *arguments], cwd=work.path, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs,
                          env=work.environment()) as process:
        os.close(theirs)
        process.stdin.write(stdin)
        process.stdin.close()
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    return shown.decode()


def throttling(seconds):
    """Answers 429 to two of three."""
    return lambda n, _: (200, {}, b"") if n % 3 == 0 else (429, {"Retry-After": str(seconds)}, b"")


def window(count, seconds, tells=False):
    """A script that lets `count` requests pass in so many seconds from the first of them on, and tells, or not, when it opens."""
    opened, left = -seconds, 0

    def script(*_):
        nonlocal opened, left
        if (now := time.monotonic()) - opened >= seconds:
            opened, left = now, count
        left -= 1
        if left >= 0:
            return 200, {}, b""
        return 429, {"Retry-After": int(opened + seconds + 1 - now)} if tells else {}, b""

    return script


class Said(unittest.TestCase):
    def test_the_reason_is_on_the_screen_at_every_moment(self):
        holder, dead = closed()
        with holder, contextlib.ExitStack() as stack:
            throttled = stack.enter_context(sockets.Scripted(throttling(1)))
            healthy = stack.enter_context(sockets.Scripted(lambda n, _: (200, {}, b"")))
            lines = gets(healthy, 20) + gets(throttled, 20)
            for columns in (80, 50):
                with self.subTest(columns), Work([f"{dead}/{i}" for i in range(20)] + lines) as work:
                    shown = frames(work, columns, seconds=2.5)
                    self.assertGreater(len(shown), 12)
                    self.assertLess(max(map(len, shown)), columns)
                    first = next(i for i, frame in enumerate(shown) if "connection refused" in frame)
                    self.assertLess(first, 5, shown[:first])
                    for frame in shown[first:]:
                        self.assertIn("broken: connection refused", frame)
                        if columns == 80:
                            self.assertIn(dead[7:], frame)
                            self.assertRegex(frame, r"next try in|trying now")
                with self.subTest(columns), Work(lines) as work:
                    shown = [f for f in frames(work, columns, seconds=2) if "20 / 40" in f or "21 / 40" in f]
                    self.assertGreater(len(shown), 5)
                    for frame in shown:
                        self.assertRegex(frame, r"asks to wait|throttled|pace")
                    self.assertIn("asks to wait: status 429", "".join(shown))

    def test_what_is_printed_takes_the_place_of_the_live_line(self):
        """Before: `… 1 in flightout 1`."""
        with sockets.Scripted(lambda n, _: (200, {}, b"out")) as server, Work() as work:
            jobs = "".join(f"{server.url}/{n}\n" for n in range(8)).encode()
            limit = ("--cold", "--alone", "--rate", "5/s")
            for arguments, lines in (
                (("exec", *limit, "--", "sh", "-c", "echo out; echo out >&2"), 16),
                (("run", "-", "--raw", *limit), 8),
                (("run", "-", *limit), 8),
            ):
                with self.subTest(arguments):
                    shown = screen(work, *arguments, stdin=jobs)
                    self.assertIn(" in flight\r\x1b[K", shown)
                    left = [line.rpartition("\r\x1b[K")[2] for line in shown.split("\r\n")]
                    self.assertEqual(sum(line == "out" or line.startswith('{"id":') for line in left), lines, shown)
                    self.assertNotRegex(shown, r"in flight[^\r]")

    def test_the_live_line_does_not_erase_what_ends_without_a_line_feed(self):
        with Work() as work:
            shown = screen(work, "exec", "--cold", "--alone", "--rate", "5/s", "--", "printf", "out%s", ":::", *"abcdefgh")
            self.assertEqual(shown.count("out"), 8)
            self.assertIn("in flight", shown)
            self.assertNotRegex(shown, r"out\w\r\x1b\[K")
            self.assertIn("\n8 succeeded", shown)  # before: `outh8 succeeded`

    def test_what_ends_without_a_line_feed_is_ended_without_a_live_line_too(self):
        """Before: `out 81 succeeded`, and what comes after the program stood behind `out 8`."""
        with Work() as work:
            for options in ("-q",), ("--progress", "none"):
                shown = screen(work, "exec", *options, "--cold", "--alone", "--", "printf", "out %s", ":::", "8")
                self.assertRegex(shown, r"(\A|\n)out 8\r\n(1 succeeded|\Z)", options)

    def test_json_names_the_host_the_reason_and_the_last_error(self):
        holder, dead = closed()
        with holder, Work([f"{dead}/{i}" for i in range(20)]) as work:
            with work.start("--progress", "json") as process:
                wait_for(lambda: work.stderr().count("\n") > 1)
                process.kill()
            last = json.loads(work.stderr().splitlines()[-1])
            self.assertRegex(last["waiting_for"], r"^broken: connection refused \((\d+) of \1\)$")
            self.assertEqual(last["waiting_at"], dead[7:])
            self.assertEqual(last["last_error"], f"{dead[7:]}: connection refused")

    def test_a_host_that_dies_later_is_not_called_pace(self):
        with sockets.Server(lambda *_: sockets.ok() if len(server.heard) < 40 else None) as server:
            with Work(gets(server, 60)) as work:
                work.run("--time-max", "3s", "--progress", "json")
                last = json.loads([line for line in work.stderr().splitlines() if line.startswith("{")][-1])
                self.assertRegex(last["waiting_for"], r"^broken: ")
                self.assertRegex(work.stderr(), r"held back by: .*what went wrong")

    def test_the_summary_counts_what_failed_by_status_with_an_example(self):
        answers = {1: 400, 2: 400, 5: 404}
        script = lambda n, heard: (answers.get(int(heard.path[1:]), 200), {}, b'{"why": "price must be >= 0"}')
        with sockets.Scripted(script) as one, sockets.Scripted(script) as other:
            with Work(gets(one, 9)) as work:
                self.assertEqual(work.run(), 1)
                self.assertRegex(work.stderr(), r'(?m)^failed: 2 × status 400 \(line [12]: "\{"why": "price must be >= 0"\}"\), '
                                                r'1 × status 404 \(line 5: .*\)$')
                self.assertIn("next: the same command with --again failed sends again what failed\n", work.stderr())
                self.assertEqual(work.run(), 1)
                self.assertIn("0 failed, 0 unknown, 9 were done before (3 of them failed, 0 unknown)", work.stderr())
                self.assertIn("next: the same command with --again failed", work.stderr())
            with Work(gets(one, 9) + gets(other, 9)) as work:
                self.assertEqual(work.run("--quiet"), 1)
                for server in (one, other):
                    self.assertRegex(work.stderr(), rf"(?m)^failed at {server.url[7:]}: 2 × status 400 ")
                self.assertNotIn("/ 18", work.stderr(), "no progress")
                self.assertIn("12 succeeded, 6 failed", work.stderr())

    def test_what_broke_once_and_is_not_sent_again_is_said(self):
        with sockets.Scripted(lambda n, _: (500 if n % 5 == 0 else 200, {}, b"")) as server:
            with Work(post(server, str(i)) for i in range(20)) as work:
                self.assertEqual(work.run(), 1)
                self.assertRegex(work.stderr(), r"4 broke and were not sent again, .*--retry-unsafe")

    def test_speed_and_time_left_are_near_the_servers_log(self):
        with sockets.Scripted(lambda n, _: (200, {}, b"")) as server, Work(gets(server, 400)) as work:
            with work.start("--rate", "20/s", "--progress", "json") as process:
                wait_for(lambda: work.stderr().count("\n") >= 5)
                process.kill()
            fifth = json.loads(work.stderr().splitlines()[4])
            began = server.log[0][0]
            served = Counter(int(at - began) for at, *_ in server.log)
            truth = sum(served[second] for second in range(1, 4)) / 3
            measured(f"after 5 s: {fifth['per_second']:.1f}/s; by the server's log {truth:.1f}/s")
            self.assertAlmostEqual(fifth["per_second"], truth, delta=truth / 5)
            self.assertAlmostEqual(fifth["left_s"], (400 - fifth["done"]) / truth, delta=20 / 5 * (400 - fifth["done"]) / 100)

    def test_time_left_falls_while_a_server_lets_nothing_go(self):
        """30 in 12 s, and Retry-After. Before: the same number for the whole of each wait."""
        with sockets.Scripted(window(30, 12, tells=True)) as server, Work(gets(server, 90)) as work:
            self.assertEqual(work.run("--cold", "--progress", "json"), 0, work.stderr())
            told = [json.loads(line) for line in work.stderr().splitlines() if line.startswith("{")]
        held = [(a, b) for a, b in zip(told, told[1:]) if a["done"] == b["done"] and 1 < (b["waiting_s"] or 0) < (a["waiting_s"] or 0)]
        self.assertGreater(len(held), 8)
        for a, b in held:
            self.assertLess(b["left_s"], a["left_s"] - 0.5)
            self.assertGreaterEqual(b["left_s"], b["waiting_s"] - 0.1)

    def test_no_time_left_is_told_while_a_server_stands_without_a_word(self):
        """20 in 8 s. Before: 1 s left, of half a minute."""
        with sockets.Scripted(window(20, 8)) as server, Work(gets(server, 80)) as work:
            self.assertEqual(work.run("--cold", "--alone", "--progress", "json"), 0, work.stderr())
            told = [json.loads(line) for line in work.stderr().splitlines() if line.startswith("{")]
        began = next(line["elapsed_s"] for line in told if line["throttled"] > 0)
        first = [line["left_s"] for line in told if began + 1 < line["elapsed_s"] < 7.5]
        self.assertEqual(first, [None] * len(first))
        end = told[-1]["elapsed_s"]
        ratios = [line["left_s"] / (end - line["elapsed_s"]) for line in told if line["left_s"] and began < line["elapsed_s"] < end - 3]
        measured(f"silent for {len(first)} s; later {len(ratios)} forecasts are {min(ratios):.2f} to {max(ratios):.2f} of what it took")
        self.assertGreater(len(ratios), 5)
        self.assertTrue(all(0.4 < ratio < 2.5 for ratio in ratios), ratios)


if __name__ == "__main__":
    unittest.main()
