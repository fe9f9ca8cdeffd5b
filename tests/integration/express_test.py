"""express-rate-limit in each mode of its headers: obeyed, by the log of its application."""
import threading
import unittest

import npm
from work import Work, gets, measured, succeeded

LIMIT, WINDOW_MS = 20, 4000


class Express(unittest.TestCase):
    def test_every_mode_is_understood(self):
        with npm.express_rate_limit(LIMIT, WINDOW_MS) as servers:
            runs = {mode: Work(gets(server, 70)) for mode, server in servers.items()}
            codes = {}
            threads = [
                threading.Thread(target=lambda m=mode, w=work: codes.update({m: w.run("--cold")}))
                for mode, work in runs.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for mode, work in runs.items():
                with self.subTest(mode), work:
                    log = servers[mode].log()
                    measured(f"{mode}: 70 in {log.seconds():.1f} s, {len(log.throttled())} of {len(log)} refused")
                    self.assertEqual(codes[mode], 0, work.stderr())
                    self.assertEqual(work.outcomes(), succeeded(70))
                    self.assertEqual(len(log.accepted()), 70)
                    self.assertEqual(log.twice(), [])
                    self.assertLessEqual(log.throttled_share(), 0.01)
                    self.assertLessEqual(log.busiest(0.9 * WINDOW_MS / 1000), 2 * LIMIT)


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
