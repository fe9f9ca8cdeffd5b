"""Stopped in any way and started again: everything is done once in the end."""
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

import servers
from sockets import Scripted, Server, ok
from work import BINARY, Work, gets, measured, post, succeeded, wait_for

JOBS = 150
ALL = succeeded(JOBS)


class Stop(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGHUP, signal.SIGQUIT):  # as a terminal's child has them
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_DFL))

    def stopped_by(self, number, exit_code):
        with servers.nginx(latency_ms=(300, 300)) as server, Work(gets(server, JOBS)) as work:
            with work.start() as process:
                wait_for(lambda: len(server.log()) >= 20)
                told = time.time()
                process.send_signal(number)
                self.assertEqual(process.wait(10), exit_code)
            answered = {r.path[1:] for r in server.log()}
            late = [r for r in server.log() if r.start > told + 0.2]
            flying = [r for r in server.log() if r.end > told]
            self.assertEqual(late, [], "sent although told to stop")
            self.assertTrue(flying, "nothing was in flight")
            self.assertEqual(
                work.outcomes(), dict.fromkeys(answered, "success"), "what was in flight is lost"
            )
            self.assertLess(len(answered), JOBS)
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertEqual(work.outcomes(), ALL)
            self.assertEqual(server.log().twice(), [])
        measured(
            f"signal {number}: {len(flying)} in flight were finished, {JOBS - len(answered)} left"
        )

    def test_interrupt(self):
        self.stopped_by(signal.SIGINT, 130)

    def test_terminate(self):
        self.stopped_by(signal.SIGTERM, 143)

    def test_hangup(self):
        self.stopped_by(signal.SIGHUP, 129)

    def test_quit(self):
        self.stopped_by(signal.SIGQUIT, 131)

    def test_a_hangup_leaves_no_post_unknown(self):
        with servers.nginx(latency_ms=(300, 300)) as server:
            with Work(post(server, str(i)) for i in range(1, 31)) as work:
                with work.start("--concurrency", "10") as process:
                    wait_for(lambda: server.log())
                    process.send_signal(signal.SIGHUP)
                    self.assertEqual(process.wait(10), 129, work.stderr())
                self.assertEqual(work.run(), 0, work.stderr())
                self.assertEqual(work.outcomes(), succeeded(30))
            self.assertEqual(server.log().twice(), [])

    def test_what_nohup_ignores_is_ignored(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
        with servers.nginx(latency_ms=(100, 100)) as server, Work(gets(server, 10)) as work:
            with work.start("--concurrency", "2") as process:
                wait_for(lambda: server.log())
                process.send_signal(signal.SIGHUP)
                process.send_signal(signal.SIGQUIT)
                self.assertEqual(process.wait(10), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(10))

    def test_second_interrupt(self):
        with servers.nginx(latency_ms=(3000, 3000)) as server, Work(gets(server, 20)) as work:
            with work.start() as process:
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(1), 130)
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertEqual(len(work.outcomes()), 20)

    def silent(self, jobs, *options, after=3, **how):
        """A run before a server that never answers, told to stop once it has heard so many."""
        over = threading.Event()
        self.addCleanup(over.set)
        server = self.enterContext(Server(lambda *_: over.wait() and None))
        work = self.enterContext(Work(gets(server, jobs)))
        process = self.enterContext(work.start("--cold", *options, **how))
        wait_for(lambda: len(server.heard) >= after)
        process.send_signal(signal.SIGTERM)
        return work, process

    def test_what_is_still_out_is_said_and_until_when(self):
        work, process = self.silent(3, "--timeout", "6s", "--progress", "json")
        self.assertEqual(process.wait(10), 143, work.stderr())
        said = r"3 still out, [0-6]\.\d s at most; a second signal stops at once"
        self.assertEqual(len(re.findall(rf"(?m)^headway: stopping: {said}$", work.stderr())), 1, work.stderr())
        self.assertRegex(work.stderr(), rf'"waiting_for":"{said}"')
        self.assertIn("0 succeeded, 0 failed, 0 unknown, 3 left", work.stderr())

    def test_without_a_timeout_what_is_still_out_may_go_on_while_bytes_come(self):
        work, process = self.silent(3)
        said = r"(?m)^headway: stopping: 3 still out, (1 min 0|\d\d) s at most if silent; a second signal stops at once$"
        wait_for(lambda: re.search(said, work.stderr()))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(1), 143)

    def test_out_of_time_it_is_shown_what_is_still_out(self):
        with Server(lambda *_: time.sleep(8)) as server, Work(gets(server, 1)) as work:
            options = "--cold", "--timeout", "5s", "--time-max", "1s", "--progress", "json"
            self.assertEqual(work.run(*options), 75, work.stderr())
            self.assertRegex(work.stderr(), r'"waiting_for":"1 still out, [0-3]\.\d s at most",')
            self.assertNotIn("stopping", work.stderr())

    def test_on_a_terminal_the_live_line_says_what_is_still_out(self):
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        work, process = self.silent(3, "--timeout", "4s", stderr=its)
        os.close(its)
        seen = b""
        with contextlib.suppress(OSError):  # closed at the other end
            while block := os.read(ours, 65536):
                seen += block
        self.assertEqual(process.wait(10), 143)
        line = re.compile(r"\r\x1b\[K0 / 3 · waiting: 3 still out, ([0-3]\.\d) s at most; a second signal stops at once(?=\r)")
        self.assertGreater(len(set(line.findall(seen.decode()))), 5, seen.decode())

    def test_parked(self):
        """The server asks for an hour: the run ends at once, and goes on when told again."""
        with servers.nginx("if (-f closed) { return 429; }", retry_after=3600) as server, Work(
            gets(server, JOBS)
        ) as work:
            closed = server.folder / "closed"
            closed.touch()
            began = time.monotonic()
            self.assertEqual(work.run("--wait-max", "60s", timeout=20), 75, work.stderr())
            self.assertLess(time.monotonic() - began, 5)
            self.assertEqual(work.outcomes(), {})
            self.assertLessEqual(len(server.log()), 1)
            closed.unlink()
            self.assertEqual(work.run("--wait-max", "60s"), 0, work.stderr())
            self.assertEqual(work.outcomes(), ALL)
            self.assertEqual(server.log().twice(), [])

    def test_parked_by_a_success(self):
        """Nothing is left for longer than --wait-max, by fields of three kinds; within it is waited."""
        kinds = (
            lambda t: {"X-RateLimit-Limit": 100, "X-RateLimit-Remaining": 0, "X-RateLimit-Reset": t},
            lambda t: {"RateLimit": f'"default";r=0;t={t}'},
            lambda t: {"RateLimit-Limit": 100, "RateLimit-Remaining": 0, "RateLimit-Reset": t},
        )
        cases = [(kind, seconds) for kind in kinds for seconds in (3000, 9999999)]
        for kind, seconds in cases:
            with self.subTest(kind(seconds)), Scripted(
                lambda n, _: (200, kind(seconds), b"")
            ) as server, Work(gets(server, 5)) as work:
                self.assertEqual(work.run("--wait-max", "5s", timeout=10), 75, work.stderr())
                self.assertEqual(len(server.log), 1)
                self.assertEqual(work.outcomes(), {"1": "success"})
        for kind in kinds:
            with self.subTest(kind(1)), Scripted(
                lambda n, _: (200, kind(1) if n == 0 else {}, b"")
            ) as server, Work(gets(server, 5)) as work:
                self.assertEqual(work.run("--wait-max", "5s", timeout=10), 0, work.stderr())
                self.assertGreater(server.log[1][0] - server.log[0][0], 0.9)
                self.assertEqual(work.outcomes(), succeeded(5))

    def test_full_disk(self):
        """No file can grow beyond 64 KiB; with more room the rest is done."""
        with servers.nginx(latency_ms=(5, 5)) as server, Work(
            post(server, str(i), meta={"pad": "." * 1000}) for i in range(1, JOBS + 1)
        ) as work:
            self.assertEqual(work.run(prlimit=["--fsize=65536"]), 74, work.stderr())
            self.assertRegex(work.stderr(), r"headway: cannot write [^\n]+\n\Z")
            exit_code = work.run()
            outcomes = work.outcomes()
            self.assertEqual(server.log().twice(), [], "a POST was sent twice")
        unknown = [id for id, outcome in outcomes.items() if outcome == "unknown"]
        self.assertEqual(set(outcomes), set(ALL))
        self.assertLess(len(unknown), 50)
        self.assertEqual(exit_code, 1 if unknown else 0)


    def test_full_disk_and_no_reader(self):
        """The exit code is the first of both. Before: 74. The second answer, which does not fit, ends once nothing reads."""
        asked, gone = {"/2": threading.Event(), "/3": threading.Event()}, threading.Event()

        def answer(request, _):
            if request.path in asked:
                asked[request.path].set()
                gone.wait(30)
            if request.path != "/3":
                return ok()
            wait_for(lambda: results.read_text().count("\n") == 2)  # the next is written after the second was to be printed
            return ok(b"." * 100_000)

        with Server(answer) as server, Work(gets(server, 3)) as work:
            results = work.path / "journal.results.jsonl"
            command = ["prlimit", "--fsize=65536", BINARY, "run", "jobs.txt", "--journal", "journal", "--out", "-", "--cold", "--alone"]
            with subprocess.Popen(command, cwd=work.path, env=work.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                self.assertTrue(all(event.wait(30) for event in asked.values()))
                process.stdout.close()
                gone.set()
                self.assertEqual((process.wait(30), process.stderr.read()), (141, b""))


if __name__ == "__main__":
    unittest.main()
