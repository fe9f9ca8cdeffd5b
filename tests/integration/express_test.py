"""express-rate-limit in each mode of its headers: obeyed, by the log of its application."""
import json
import os
import signal
import threading
import time
import unittest
from collections import Counter

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


class TwoClients(unittest.TestCase):
    """Two clients of one window that a policy tells: each leaves a part of it to the other, and says so."""

    SECONDS = 80 if os.environ.get("HEADWAY_LONG") else 12

    def test_share_it(self):
        with npm.express_rate_limit(50, 2000) as servers, Work() as first, Work() as second:
            server = servers["draft-8"]
            runs = []
            for name, work in (("first", first), ("second", second)):
                work.write(f"{server.url}/{name}/{i}" for i in range(50 * self.SECONDS))
                runs.append(work.start("--cold", "--alone"))
                time.sleep(2.5)  # the first has a window for itself
            time.sleep(self.SECONDS - 2.5)
            for run, work in zip(runs, (first, second)):
                run.send_signal(signal.SIGINT)
                work.wait(run)
            accepted = server.log().accepted()
            late = [r for r in accepted if r.start > accepted[-1].end - self.SECONDS / 2]
            shares = Counter(r.path.split("/")[1] for r in late)
            measured(f"two clients, the last {len(late)} of {len(accepted)}: {dict(shares)}")
            for work in (first, second):
                self.assertRegex(work.stderr(), r"held back by: .*\bothers \d+ %")
            if self.SECONDS > 60:  # parts become equal in some ten windows
                self.assertGreater(min(shares.values()), len(late) / 4)


ITEMS = 500
WRONG = {400: range(20, 500, 40), 409: range(25, 500, 100), 500: (90, 290)}  # what is answered, to which


class BackFill(unittest.TestCase):
    """Writes behind draft-8 limits, of which some are refused for what they say."""

    def item(self, n):
        item = {"name": f"item {n}", "price": n}
        if n in WRONG[400]:
            item["price"] = -n
        if n in WRONG[409]:
            item["name"] = "taken"
        if n in WRONG[500]:
            item["name"] = "cursed"
        return item

    def write(self, work, server, item):
        work.write(
            json.dumps({"url": f"{server.url}/items/{n}", "id": str(n), "idempotency_key": f"k{n}", "body": item(n)})
            for n in range(ITEMS)
        )

    def test_of_items(self):
        failed = sorted(n for numbers in WRONG.values() for n in numbers)
        with npm.express_rate_limit(150, 2000) as servers, Work() as work:
            server = servers["draft-8"]
            self.write(work, server, self.item)
            self.assertEqual(work.run("--cold", "--failed", "failed.jsonl"), 1, work.stderr())
            log = server.log()
            tries = Counter(r.status for r in log if r.status != 200)
            measured(f"{ITEMS} writes in {log.seconds():.1f} s; refused: {dict(tries)}")
            self.assertLessEqual(log.throttled_share(), 0.02)
            self.assertEqual(len(log.accepted()), ITEMS - len(failed))
            self.assertEqual(log.twice(), [])
            once = {status: len(numbers) for status, numbers in WRONG.items()}
            self.assertEqual({s: tries[s] for s in WRONG}, {**once, 500: 4 * once[500]}, "--attempts-max 4")
            self.assertRegex(work.stderr(), r'(?m)^failed: 12 × status 400 \(line \d+: "price must be >= 0"\), '
                                            r'5 × status 409 \(line \d+: "there is a taken"\), 2 × status 500 \(')
            lines = (work.path / "failed.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["id"] for line in lines], [str(n) for n in failed])

            # Put right in JOBS, these alone go again.
            self.write(work, server, lambda n: {"name": f"item {n}", "price": n})
            self.assertEqual(work.run("--cold", "--again", "failed"), 0, work.stderr())
            again = server.log()[len(log):]
            self.assertEqual(sorted(int(r.path.rpartition("/")[2]) for r in again if r.status != 429), failed)
            self.assertEqual({r["id"]: r["outcome"] for r in work.results()}, {str(n): "success" for n in range(ITEMS)})


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
