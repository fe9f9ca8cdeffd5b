"""One request that the server always refuses stops no other, by the server's log."""
import contextlib
import random
import re
import subprocess
import time
import unittest

import servers
import sockets
from work import Work, gets, measured

BAD = 150
COUNT = 300


def refuses_one(rate, burst):
    return servers.nginx(
        f"limit_req zone=all burst={burst} nodelay; limit_req_status 429; location = /{BAD} {{ return 429; }}",
        f"limit_req_zone $binary_remote_addr zone=all:1m rate={rate}r/s;",
        latency_ms=(20, 80),
    )


class RefusedAlone(unittest.TestCase):
    def test_the_others_are_done_and_it_is_left_open_and_named(self):
        for law in ("seek", "reno-0.9"):
            with self.subTest(law), refuses_one(50, 10) as server:
                with Work(gets(server, COUNT)) as work:
                    options = ("--law", law, "--cold", "--alone", "--wait-max", "2s")
                    self.assertEqual(work.run(*options, timeout=60), 75, work.stderr())
                    log, said, outcomes = server.log(), work.stderr(), work.outcomes()
                self.assertEqual(set(outcomes.values()), {"success"})
                self.assertEqual(set(map(int, outcomes)), {*range(1, COUNT + 1)} - {BAD})
                self.assertIn(f"line {BAD};", said)
                self.assertIn("this request refused alone", said)
                attempts = sum(r.path == f"/{BAD}" for r in log)
                measured(f"{law}: {attempts} attempts, {log.share(50, 10):.2f} of the limit")
                self.assertGreaterEqual(attempts, 3)
                self.assertLessEqual(attempts, 20)
                self.assertGreater(log.share(50, 10), 0.75)

    def test_one_that_is_answered_by_its_own_words_is_taken_for_no_limit(self):
        """A 400 that echoes "rate limit" is no throttle. Planted: it is one; then it is asked for 15 min."""
        echoes = f"location = /{BAD} {{ return 400 'no such field: rate limit'; }}"
        with servers.nginx(echoes, latency_ms=(20, 80)) as server, Work(gets(server, COUNT)) as work:
            self.assertEqual(work.run("--cold", "--alone"), 1, work.stderr())
            log, outcomes = server.log(), work.outcomes()
        self.assertEqual(outcomes, {str(n): "failed" if n == BAD else "success" for n in range(1, COUNT + 1)})
        self.assertEqual(len(log), COUNT)

    def test_lines_that_are_left_and_always_refused_are_named_and_left_open(self):
        """They stand last: nothing is accepted between their attempts."""
        good = [*range(1, 41)]
        laws = "seek", "reno", "reno-0.9", "tahoe", "adaptive-rate", "auto-sleeper", "exponential", "fixed"
        with contextlib.ExitStack() as stack:
            cases = []
            for law in laws:
                for bad in ([41], [41, 42, 43]):
                    paths = {f"/{line}" for line in bad}
                    script = lambda _, r, paths=paths: (429 if r.path in paths else 200, {}, b"")
                    server = stack.enter_context(sockets.Scripted(script))
                    work = stack.enter_context(Work(gets(server, len(good + bad))))
                    options = "--law", law, "--cold", "--alone", "--wait-max", "4s"
                    cases.append((law, bad, server, work, stack.enter_context(work.start(*options))))
            ends = time.monotonic() + 60
            for law, bad, server, work, process in cases:
                with self.subTest(law=law, bad=len(bad)):
                    try:
                        self.assertEqual(process.wait(max(ends - time.monotonic(), 1)), 75, work.stderr())
                    finally:
                        process.kill()
                    self.assertEqual(work.outcomes(), {str(line): "success" for line in good})
                    said = re.search("refused for longer than --wait-max 4.0 s: lines? ([^;]*);", work.stderr())
                    self.assertIsNotNone(said, work.stderr())
                    self.assertEqual(sorted(map(int, said[1].split(", "))), bad)
                    attempts = [sum(path == f"/{line}" for _, path, _ in server.log) for line in bad]
                    measured(f"{law}: {attempts} attempts")
                    self.assertGreaterEqual(min(attempts), 2)
                    self.assertLessEqual(max(attempts), 20)

    def test_many_of_a_short_file_do_not_stop_it(self):
        """Three in ten: most of its first refusals are theirs, and a slower pace cures none."""
        good = 140
        with contextlib.ExitStack() as stack:
            cases = []
            for seed in range(5):
                bad = random.Random(seed).sample(range(1, 201), 200 - good)
                blocked = f"location ~ ^/({'|'.join(map(str, bad))})$ {{ return 429; }}"
                server = stack.enter_context(servers.nginx(
                    f"limit_req zone=all burst=10 nodelay; limit_req_status 429; {blocked}",
                    "limit_req_zone $binary_remote_addr zone=all:1m rate=50r/s;", latency_ms=(20, 80)))
                work = stack.enter_context(Work(gets(server, 200)))
                cases.append((server, stack.enter_context(work.start("--cold", "--alone"))))
            begun, ends = time.monotonic(), time.monotonic() + 60
            took = {}
            while time.monotonic() < ends and len(took) < 3:
                time.sleep(0.5)
                for i, (server, _) in enumerate(cases):
                    if i not in took and len(server.log().accepted()) >= good:
                        took[i] = time.monotonic() - begun
            for _, process in cases:
                process.kill()
        measured("the good lines took " + ", ".join(f"{t:.0f} s" for t in took.values()) + ", 3 s by the limit")
        self.assertGreaterEqual(len(took), 3, "of five files in a minute")

    def test_what_it_is_told_holds_no_other(self):
        """Lines that come as time goes: none of them is before the refused one in the queue."""
        told = f"location = /{BAD} {{ add_header Retry-After 1 always; echo_status 429; echo no; }}"
        with servers.nginx(told) as server, Work() as work:
            options = "--cold", "--alone", "--wait-max", "4s", "--out", "out", "--journal", "j"
            with work.start(*options, jobs="-", stdin=subprocess.PIPE) as process:
                for line in gets(server, 2 * BAD):
                    process.stdin.write(f"{line}\n".encode())
                    process.stdin.flush()
                    time.sleep(0.03)
                process.stdin.close()
                self.assertEqual(process.wait(60), 75, work.stderr())
            log = server.log()
        self.assertEqual(len(log.accepted()), 2 * BAD - 1)
        others = sorted(r.start for r in log if r.path != f"/{BAD}")
        refused = sum(r.path == f"/{BAD}" for r in log)
        held = sum(after - before > 0.9 for before, after in zip(others, others[1:]))
        measured(f"refused {refused} times; the others were held {held} times")
        self.assertGreater(refused, 3)
        self.assertLessEqual(held, 2, "until it is known that it is refused alone")


if __name__ == "__main__":
    unittest.main()
