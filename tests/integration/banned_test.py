"""A 403 that begins right after 429s is a ban and passes: @fastify/rate-limit is the judge."""
import unittest

import npm
from work import Work, gets, measured, succeeded


class Banned(unittest.TestCase):
    def test_no_line_fails_by_a_ban(self):
        # A law that runs into it: the default one is refused too seldom to be banned each time.
        with npm.logging("ban", 30, 2000, 1) as server, Work(gets(server, 150)) as work:
            self.assertEqual(work.run("--cold", "--law", "exponential"), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(150))
            log = server.log()
            banned = sum(r.status == 403 for r in log)
            measured(f"150 in {log.seconds():.1f} s, {len(log.throttled())} refused, {banned} banned")
            self.assertGreater(banned, 0, "it was never banned, and nothing is tested")


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
