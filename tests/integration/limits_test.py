"""Close to an unknown limit, with few rejections: by the log of the server that has it.

HEADWAY_LONG=1 sends 5,000 requests where otherwise a minute is enough.
"""
import contextlib
import http.client
import os
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import servers
from work import Work, gets, measured, succeeded


def slots(count, latency_ms):
    return servers.nginx(
        f"limit_conn all {count};",
        "limit_conn_zone $binary_remote_addr zone=all:1m;",
        latency_ms=(latency_ms, latency_ms),
    )


@contextlib.contextmanager
def counts_rejects(limit, **how):
    with servers.nginx(latency_ms=(20, 80)) as behind, servers.haproxy(limit, behind, **how) as server:
        yield server


class Case(NamedTuple):
    server: object  # context manager
    jobs: int
    limit: float  # requests a second
    burst: int  # what the server lets through beyond that, once
    share_min: float
    throttled_max: float


LONG = 5000 if os.environ.get("HEADWAY_LONG") else 0
BURST = "burst=10 nodelay; limit_req_status 429"
SILENT = "burst=10 nodelay"  # 503, no hint
NO_BURST = "nodelay; limit_req_status 429"  # told the limit, 94 % of 37/s and 92 % of 180/s: nginx counts ms


def cases():
    """The servers are new at each call: what failed runs again."""
    all_of_them = {
        "nginx 7/s, 100 requests": Case(servers.limit_req(7, BURST), 100, 7, 10, 0.90, 0.125),  # 14 of 114: 1 of 101 simulated
        "nginx 7/s, 429": Case(servers.limit_req(7, BURST), 420, 7, 10, 0.95, 0.05),
        "nginx 7/s, 503": Case(servers.limit_req(7, SILENT), 420, 7, 10, 0.95, 0.05),
        "nginx 37/s, 429": Case(servers.limit_req(37, BURST), LONG or 1500, 37, 10, 0.95, 0.03),
        "nginx 37/s, 503": Case(servers.limit_req(37, SILENT), LONG or 1500, 37, 10, 0.95, 0.03),
        "nginx 37/s without burst": Case(servers.limit_req(37, NO_BURST), LONG or 1500, 37, 0, 0.65, 0.03),
        "nginx 180/s, 429": Case(servers.limit_req(180, BURST), 5000, 180, 10, 0.92, 0.011),
        "nginx 180/s, 503": Case(servers.limit_req(180, SILENT), 5000, 180, 10, 0.92, 0.011),
        "nginx 16 slots": Case(slots(16, 100), 4800, 160, 0, 0.85, 0.05),
        "HAProxy 50/s that counts rejects": Case(counts_rejects(50), LONG or 1500, 50, 0, 0.85, 0.03),
    }
    if LONG:
        # Two minutes; and a busy machine wakes us later than the other forgives.
        all_of_them["HAProxy 100 in 10 s that counts rejects"] = Case(counts_rejects(100, seconds=10), 1000, 10, 0, 0.85, 0.04)
        all_of_them["nginx 180/s without burst"] = Case(servers.limit_req(180, NO_BURST), LONG, 180, 0, 0.75, 0.02)
    return all_of_them


def send_all(name, server, jobs):
    """The server's log of a run that did all its jobs."""
    with Work(gets(server, jobs)) as work:
        assert work.run(timeout=300) == 0, work.stderr()
        log = server.log()
        assert work.outcomes() == succeeded(jobs), "not everything succeeded"
    assert not log.twice(), f"answered twice: {log.twice()}"
    assert {r.path for r in log.accepted()} == {
        f"/{i}" for i in range(1, jobs + 1)
    }, "not everything was answered"
    measured(
        f"{name}: {jobs} in {log.seconds():.1f} s, {100 * log.throttled_share():.2f} % of attempts "
        f"throttled, at most {log.peak_in_flight()} in flight, p95 {log.p95():.3f} s"
    )
    return log


def send_case(name, case):
    with case.server as server:
        log = send_all(name, server, case.jobs)
    measured(f"{name}: {100 * log.share(case.limit, case.burst):.1f} % of the limit")
    return log


def send_delayed():
    with servers.limit_req(50, "burst=200") as server:
        return send_all("nginx 50/s by delay", server, 1000)


def hammer(server, jobs, seconds):
    """Eight threads repeat at once what is refused; true if all `jobs` were done in time."""
    deadline = time.monotonic() + seconds
    paths = [f"/{i}" for i in range(jobs)]

    def repeat():
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
            while paths and time.monotonic() < deadline:
                path = paths.pop()
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    paths.append(path)
                    time.sleep(0.02)

    threads = [threading.Thread(target=repeat) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not paths


class Limits(unittest.TestCase):
    """All cases run at once: they wait for most of their time."""

    @classmethod
    def setUpClass(cls):
        cls.cases = cases()
        pool = ThreadPoolExecutor(len(cls.cases) + 1)
        cls.addClassCleanup(pool.shutdown)
        cls.logs = {name: pool.submit(send_case, name, case) for name, case in cls.cases.items()}
        cls.delayed = pool.submit(send_delayed)

    def test_close_to_the_limit_with_few_rejections(self):
        for name, case in self.cases.items():
            with self.subTest(name):
                log = self.logs[name].result()
                self.assertGreaterEqual(log.share(case.limit, case.burst), case.share_min)
                self.assertLessEqual(log.throttled_share(), case.throttled_max)

    def test_a_queue_at_the_server_stays_short(self):
        log = self.delayed.result()
        self.assertGreaterEqual(log.seconds(), 15)
        self.assertLessEqual(log.peak_in_flight(), 60)
        self.assertLessEqual(log.p95(), 0.8)

    def test_a_client_that_hammers_where_rejects_count_never_finishes(self):
        with counts_rejects(50) as server:
            self.assertFalse(hammer(server, 150, seconds=10))
            log = server.log()
        measured(
            f"HAProxy 50/s, hammered for 10 s: {len(log.accepted())} of 150 done, "
            f"{100 * log.throttled_share():.1f} % throttled"
        )


if __name__ == "__main__":
    unittest.main()
