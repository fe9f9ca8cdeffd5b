"""The library's drivers before nginx, whose log is the judge."""
import contextlib
import os
import subprocess
import unittest

import servers
from work import measured, wait_for


def lines(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200)
    return done.stdout.splitlines()


class Blocking(unittest.TestCase):
    def fetch(self, server, threads, requests):
        """nginx's log, which agrees with what the client counted."""
        with server as nginx:
            (said,) = lines(os.environ["HEADWAY_BLOCKING_CLIENT"], nginx.url, str(threads), str(requests))
            sent = int(said.split()[2])
            with contextlib.suppress(AssertionError):
                wait_for(lambda: len(nginx.log()) >= sent, 1)  # it answers first, and writes its log after that
            log = nginx.log()
        self.assertEqual(
            said, f"{requests} served, {len(log)} sent, {len(log.throttled())} throttled"
        )
        self.assertEqual(log.twice(), [])
        self.assertEqual(len(log.accepted()), requests)
        return log

    def test_a_rate(self):
        log = self.fetch(
            servers.limit_req(100, "burst=10 nodelay; limit_req_status 429"), 32, 1000
        )
        measured(
            f"32 threads, 100/s: {log.share(100, 10):.0%} of the limit used, "
            f"{log.throttled_share():.1%} throttled"
        )
        self.assertGreaterEqual(log.share(100, 10), 0.8)
        self.assertLessEqual(log.throttled_share(), 0.1)

    def test_one_thread_s_retry_after_holds_back_all(self):
        log = self.fetch(
            servers.limit_req(10, "burst=5 nodelay; limit_req_status 429", retry_after=2), 16, 60
        )
        told = [r.end for r in log.throttled()]
        self.assertTrue(told, "never throttled")
        early = [r for r in log for t in told if t + 0.1 < r.start < t + 1.99]
        measured(f"16 threads, Retry-After: 2: told {len(told)} times, {len(early)} sent before")
        self.assertEqual(early, [])


class Loops(unittest.TestCase):
    def run_example(self, name, argument):
        with servers.limit_req(100, "burst=5 nodelay; limit_req_status 429") as nginx:
            example = os.path.join(os.environ["HEADWAY_EXAMPLES"], f"example_{name}")
            self.assertEqual(lines(example, argument(nginx)), ["100 of 100"])
            log = nginx.log()
        measured(f"{name}: {len(log)} sent, {len(log.throttled())} of them throttled")
        self.assertEqual(len(log.accepted()), 100)
        self.assertLessEqual(log.throttled_share(), 0.3)

    def test_curl_multi(self):
        self.run_example("curl_multi", lambda nginx: nginx.url)

    def test_asio(self):
        self.run_example("asio_coroutines", lambda nginx: str(nginx.port))

    def test_epoll(self):
        self.run_example("epoll", lambda nginx: str(nginx.port))


if __name__ == "__main__":
    unittest.main()
