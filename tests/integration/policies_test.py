"""A server that says its policy in the first answer is not searched for it: by the servers' logs.

The length is HEADWAY_POLICY_REQUESTS (150), a multiple of the 50 of a window.
"""
import os
import unittest

import npm
from work import Work, gets, measured, succeeded

REQUESTS = int(os.environ.get("HEADWAY_POLICY_REQUESTS", "150"))
WINDOW = 10 if REQUESTS > 1000 else 2
LIMIT = 50 * WINDOW


class Policies(unittest.TestCase):
    def judge(self, server):
        with Work(gets(server, REQUESTS)) as work:
            self.assertEqual(work.run("--cold"), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(REQUESTS))
        log = server.log()
        share = REQUESTS / (LIMIT / WINDOW * log.seconds())
        measured(f"{server.mode}: {REQUESTS} in {log.seconds():.1f} s, {100 * share:.0f} % of the limit, "
                 f"{len(log.throttled())} refused")
        self.assertEqual(len(log.throttled()), 0)
        return log

    def test_draft_8_of_express_rate_limit(self):
        with npm.express_rate_limit(LIMIT, 1000 * WINDOW) as servers:
            self.judge(servers["draft-8"])

    def test_draft_11(self):
        with npm.logging("policy", LIMIT, WINDOW) as server:
            log = self.judge(server)
            windows = -(-REQUESTS // LIMIT)
            self.assertLess(log.seconds(), windows * WINDOW / 0.95)


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
