"""Ceilings that are given, waits that the server asks for, and first steps."""
import json
import unittest
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import servers
from work import Work, gets, measured, succeeded


def send(server, jobs, *options):
    """The log of a run that did them all."""
    with server as nginx, Work(gets(nginx, jobs)) as work:
        assert work.run(*options) == 0, work.stderr()
        assert work.outcomes() == succeeded(jobs)
        assert nginx.log().twice() == []
        return nginx.log()


class Pace(unittest.TestCase):
    """Those that send little go beside the others: they wait for most of their time."""

    @classmethod
    def setUpClass(cls):
        pool = ThreadPoolExecutor()
        cls.addClassCleanup(pool.shutdown)
        cls.rate = pool.submit(send, servers.nginx(latency_ms=(20, 80)), 120, "--rate", "20/s")
        cls.burst = pool.submit(send, servers.nginx(latency_ms=(20, 80)), 40, "--rate", "300/min:5")
        cls.soon = pool.submit(send, servers.nginx(), 1000, "--rate", "200/s")
        cls.one = pool.submit(send, servers.nginx(latency_ms=(2, 2)), 1000, "--concurrency", "1")
        near = servers.limit_req(100, "burst=20 nodelay; limit_req_status 429")
        cls.near = pool.submit(send, near, 1000, "--rate", "120/s")
        slow_down = servers.limit_req(10, "burst=5 nodelay; limit_req_status 429", retry_after=2)
        cls.slow_down = pool.submit(send, slow_down, 60)
        always = "burst=10 nodelay; limit_req_status 429; add_header Retry-After 1 always"
        cls.always = pool.submit(send, servers.limit_req(20, always), 300)

    def test_rate(self):
        log = self.rate.result()
        measured(f"--rate 20/s: at most {log.busiest(1)} in a second, 120 in {log.seconds():.2f} s")
        self.assertLessEqual(log.busiest(1), 21)  # (1 s + 1 ms of tolerance) / 50 ms + 1
        self.assertLessEqual(log.seconds(), 1.1 * 120 / 20)

    def test_rate_of_answers_that_come_sooner_than_the_next_may_go(self):
        starts = self.soon.result().starts()
        share = 400 / (starts[-1] - starts[-401]) / 200
        measured(f"--rate 200/s, answers at once: {share:.2f} of it by the last 400 of 1,000")
        self.assertGreaterEqual(share, 0.75)  # .90 beside four busy loops; .22 while the ceiling was taken for the caller's wish

    def test_rate_a_little_above_the_limit(self):
        log = self.near.result()
        refused = len(log.throttled())
        measured(f"--rate 120/s before 100/s: {refused} of {len(log)} refused, {log.seconds():.1f} s")
        # Of 1,500 9 to 18 are refused; 64 to 69 while a row of tests that --rate spreads told of chance.
        self.assertLessEqual(refused, 25)
        self.assertLessEqual(log.seconds(), 1.1 * 1000 / 100)

    def test_lines_that_cost_more_than_the_burst_of_rate_are_paid_off_after_they_went(self):
        with servers.nginx() as nginx, Work(json.dumps({"url": url, "cost": 5}) for url in gets(nginx, 12)) as work:
            self.assertEqual(work.run("--rate", "50/s:2"), 0, work.stderr())
            log = nginx.log()
        self.assertEqual(len(log), 12)
        self.assertGreaterEqual(log.seconds(), 11 * 5 / 50 - 0.1)

    def test_one_at_a_time(self):
        log = sorted(self.one.result(), key=lambda r: r.start)[-400:]
        share = sum(r.end - r.start for r in log) / (log[-1].end - log[0].start)
        measured(f"--concurrency 1: {share:.2f} of the time in flight, in the last 400 of 1,000")
        self.assertGreaterEqual(share, 0.5)

    def test_rate_with_burst(self):
        log = self.burst.result()
        measured(f"--rate 300/min:5: at most {log.busiest(1)} in a second")
        self.assertLessEqual(log.busiest(1), 5 + 5)

    def test_rate_of_more_scopes_than_it_keeps(self):
        scopes, rate, apart = 1100, "20/min", 3
        lines = [
            {"url": f"/{scope}?{time}", "scope": f"s{scope}"}
            for time in range(2)
            for scope in range(scopes)
        ]
        with servers.nginx() as nginx, Work(map(json.dumps, lines)) as work:
            ended = work.run("--rate", rate, "--alone", "--base-url", nginx.url)
            self.assertEqual(ended, 0, work.stderr())
            log = nginx.log()
        self.assertEqual(len(log.accepted()), len(lines))
        starts = defaultdict(list)
        for request in log:
            starts[request.path.partition("?")[0]].append(request.start)
        least = min(abs(second - first) for first, second in starts.values())
        measured(f"--rate {rate}, {scopes} scopes: {least:.2f} s apart at least, {log.seconds():.1f} s")
        self.assertGreaterEqual(least, 0.8 * apart)  # some take longer to arrive

    def test_concurrency(self):
        log = send(servers.nginx(latency_ms=(20, 80)), 300, "--concurrency", "5")
        measured(f"--concurrency 5: at most {log.peak_in_flight()} in flight")
        self.assertEqual(log.peak_in_flight(), 5)

    def test_first_flies_alone_until_its_answer(self):
        log = send(servers.nginx(latency_ms=(150, 150)), 20)
        self.assertGreaterEqual(log.starts()[1], log[0].end)

    def test_first_flies_alone_for_a_quarter_of_a_second(self):
        log = send(servers.nginx(latency_ms=(900, 900)), 20)
        gap = log.starts()[1] - log.starts()[0]
        measured(f"first request on a slow server: alone for {gap:.3f} s")
        self.assertGreaterEqual(gap, 0.225)  # the first of them, too, may reach a busy server late
        self.assertLessEqual(gap, 0.5)

    def test_retry_after_holds_back_everything(self):
        log = self.slow_down.result()
        told = [r.end for r in log.throttled()]
        self.assertTrue(told, "never throttled")
        on_its_way = 0.1
        early = [r for r in log for t in told if t + on_its_way < r.start < t + 1.99]
        measured(f"Retry-After: 2: told {len(told)} times, {len(early)} sent before that was over")
        self.assertEqual(early, [])

    def test_retry_after_on_each_success_holds_nothing_back(self):
        log = self.always.result()
        share = 300 / log.seconds() / 20
        measured(f"Retry-After: 1 on each answer before 20/s: {share:.2f} of it, {len(log.throttled())} refused")
        self.assertGreaterEqual(share, 0.6)  # .13 while it held back


if __name__ == "__main__":
    unittest.main()
