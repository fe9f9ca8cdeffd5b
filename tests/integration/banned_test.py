"""Servers that a refusal shuts for a while, by their logs.

HEADWAY_LONG=1: with the spans that people set.
"""
import os
import unittest

import npm
from work import Work, gets, measured, succeeded

LONG = bool(os.environ.get("HEADWAY_LONG"))


class Banned(unittest.TestCase):
    def test_no_line_fails_by_a_ban(self):
        """@fastify/rate-limit: a 403 that begins right after 429s is a ban, and passes."""
        # A law that runs into it: the default one is refused too seldom to be banned each time.
        with npm.logging("ban", 30, 2000, 1) as server, Work(gets(server, 150)) as work:
            self.assertEqual(work.run("--cold", "--law", "exponential"), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(150))
            log = server.log()
            banned = sum(r.status == 403 for r in log)
            measured(f"150 in {log.seconds():.1f} s, {len(log.throttled())} refused, {banned} banned")
            self.assertGreater(banned, 0, "it was never banned, and nothing is tested")

    def test_a_block_costs_time_and_is_rarely_met(self):
        flexible = ("flexible", 50, 5, 30, 600) if LONG else ("flexible", 20, 1, 3, 160)
        bottleneck = ("bottleneck", 25, 1, 3, 1200 if LONG else 160)
        for kind, limit, seconds, blocked, count in (flexible, bottleneck):
            with self.subTest(kind), npm.logging("block", kind, limit, seconds, blocked) as server:
                with Work(gets(server, count)) as work:
                    self.assertEqual(work.run("--cold", "--alone", timeout=400), 0, work.stderr())
                    self.assertEqual(work.outcomes(), succeeded(count))
                log = server.log()
                share = count / (limit / seconds * log.seconds())
                measured(f"{kind}, {limit} in {seconds} s, blocked for {blocked} s: {count} in {log.seconds():.1f} s, "
                         f"{100 * share:.0f} % of the limit, {len(log.throttled())} refused")
                self.assertLess(len(log.throttled()), 0.12 * len(log))


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
