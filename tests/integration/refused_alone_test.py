"""One request that the server always refuses stops no other, by the server's log."""
import unittest

import servers
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


if __name__ == "__main__":
    unittest.main()
