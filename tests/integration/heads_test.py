"""Streams behind a rate: what their heads say is learned before they end. nginx's log is the judge."""
import unittest

import servers
from work import Work, gets, measured, succeeded

RATE, REQUESTS, SECONDS = 3, 30, 5
ZONE = f"limit_req_zone $binary_remote_addr zone=z:32k rate={RATE}r/s;"
STREAM = "limit_req zone=z burst=2 nodelay; limit_req_status 429; echo begins; echo_flush;"


class Heads(unittest.TestCase):
    def test_streams_go_as_fast_as_short_answers(self):
        with servers.nginx(
            location=STREAM, http=ZONE, latency_ms=(1000 * SECONDS, 1000 * SECONDS)
        ) as server, Work(gets(server, REQUESTS)) as work:
            self.assertEqual(work.run("--cold", "--trace", "trace"), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(REQUESTS))
            log = server.log()
            self.assertEqual(log.twice(), [])
            starts = [r.start for r in log.accepted()]
            took = max(starts) - min(starts)
            measured(f"{REQUESTS} streams begin in {took:.1f} s, {(REQUESTS - 3) / RATE:.0f} s is ideal; "
                     f"{len(log.throttled())} refused")
            calls = (work.path / "trace").read_text()
            heads, ends = calls.count('"call":"learn"'), calls.count('"call":"finish"')
            self.assertEqual(heads, REQUESTS)
            self.assertEqual(ends, len(log))
            # Taught at its end, the second refusal comes before the first success, and the law waits.
            self.assertLess(took, 1.5 * (REQUESTS - 3) / RATE)


if __name__ == "__main__":
    unittest.main()
