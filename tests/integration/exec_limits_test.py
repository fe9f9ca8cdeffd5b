"""headway exec under real limits that it is not told, by the servers' logs, with GNU parallel beside it.

HEADWAY_LONG=1 takes 300 commands instead of 120.
"""
import os
import subprocess
import unittest

import servers
from work import Work, measured

LONG = bool(os.environ.get("HEADWAY_LONG"))
JOBS = 300 if LONG else 120


class ExecLimits(unittest.TestCase):
    def exec(self, url, *options, count=JOBS, code=0):
        with Work(str(i) for i in range(count)) as work:
            found = work.exec("jobs.txt", "--cold", "--alone", "--safe", *options, "--", "curl", "-fsS", url + "/{}", timeout=120)
            self.assertEqual(found, code, work.stderr())
            self.assertEqual(len(work.results()), count)

    def parallel(self, url, *options):
        values = "".join(f"{i}\n" for i in range(JOBS))
        with Work() as work:
            subprocess.run(
                ["parallel", "--will-cite", *options, "curl", "-fsS", url + "/{}"], input=values, text=True,
                capture_output=True, cwd=work.path, env={**os.environ, "HOME": str(work.path)},
            )

    def shown(self, name, log, ideal):
        seconds, refused = log.seconds(), len(log.throttled())
        measured(f"{name}: {len(log.accepted())} accepted in {seconds:.2f} s ({seconds / ideal:.2f} of ideal), {refused} refused")
        return seconds / ideal, refused / len(log)

    def test_a_rate(self):
        ideal = (JOBS - 11) / 50
        with servers.limit_req(50, "burst=10 nodelay", latency_ms=(5, 5)) as server:
            self.exec(server.url)
            log = server.log()
        slower, refused = self.shown("exec", log, ideal)
        if LONG:
            for options in (["-j16", "--retries", "50"], ["-j16", "--delay", "0.01auto", "--retries", "50"]):
                with servers.limit_req(50, "burst=10 nodelay", latency_ms=(5, 5)) as server:
                    self.parallel(server.url, *options)
                    self.shown(f"parallel {' '.join(options)}", server.log(), ideal)
        self.assertEqual(len(log.accepted()), JOBS)
        self.assertLessEqual(slower, 1.15 if LONG else 1.4)
        self.assertLessEqual(refused, 0.03 if LONG else 0.08)

    def test_counted_refusals(self):
        with servers.nginx(latency_ms=(5, 5)) as behind, servers.haproxy(40, behind) as server:
            self.exec(server.url)
            log = server.log()
        self.shown("exec at HAProxy, 40/s, refusals counted", log, JOBS / 40)
        self.assertEqual(len(log.accepted()), JOBS)
        self.assertLessEqual(log.throttled_share(), 0.25)

    def test_slots(self):
        def limited():
            return servers.nginx("limit_conn all 4;", "limit_conn_zone $binary_remote_addr zone=all:1m; limit_conn_status 429;",
                                 latency_ms=(80, 120))

        with limited() as server:
            self.exec(server.url)
            log = server.log()
        self.shown("exec at 4 slots", log, JOBS / 40)
        if LONG:  # beside what starting a command costs
            with limited() as server:
                self.exec(server.url, "--law=fixed", "--concurrency=4")
                told = server.log()
            self.shown("exec that is told of 4", told, JOBS / 40)
            self.assertLessEqual(log.seconds(), 1.15 * told.seconds())
        self.assertEqual(len(log.accepted()), JOBS)
        self.assertLessEqual(log.throttled_share(), 0.25)


if __name__ == "__main__":
    unittest.main()
