"""Killed at any moment, time after time: nothing is lost, and nothing unsafe is done twice.

HEADWAY_KILLS=10000 kills so often in all, instead of 500 times.
"""
import os
import random
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import servers
from work import Work, measured, mixed, wait_for, whole_lines

KILLS = int(os.environ.get("HEADWAY_KILLS", 500)) // 2  # for each durability
JOBS = 60 * KILLS  # some are left at the last one
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)


def run_through_kills(durability, *options):
    """The kills that hit, the exit code in the end, the results and the server's log."""
    dice = random.Random(f"{SEED} {durability}")
    with servers.limit_req(600, "burst=20 nodelay", latency_ms=(5, 30)) as server:
        with Work(mixed(server, JOBS)) as work:
            log, hits, shown = server.folder / "access.log", 0, set()
            for _ in range(KILLS):
                size = log.stat().st_size
                law = dice.choice(("seek", "reno"))  # few in flight, and many from the start
                process = work.start("--durability", durability, "--law", law, *options)
                if dice.random() < 0.8:  # else before it does anything, perhaps
                    wait_for(lambda: log.stat().st_size > size or process.poll() is not None)
                time.sleep(dice.uniform(0, 0.15))
                hits += process.poll() is None
                process.kill()
                process.wait()
                shown.update(whole_lines(work.path / "stdout"))
            exit_code = work.run("--durability", durability, *options)
            assert exit_code in (0, 1), f"{exit_code}: {work.stderr()}"
            if "-" in options:  # what was printed is acknowledged: it has to be there for ever
                (work.path / "stdout").rename(work.path / "jobs.results.jsonl")
                lost = shown - set(whole_lines(work.path / "jobs.results.jsonl"))
                assert shown and not lost, f"printed, and lost: {lost}"
            return hits, exit_code, work.outcomes(), server.log()


class Crash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        measured(f"kill -9: seed {SEED}")
        pool = ThreadPoolExecutor(2)
        cls.addClassCleanup(pool.shutdown)
        cls.runs = {
            "process": pool.submit(run_through_kills, "process", "--out", "-"),
            "power": pool.submit(run_through_kills, "power"),
        }

    def test_process(self):
        self.judge("process")

    def test_power(self):
        self.judge("power")

    def judge(self, durability):
        hits, exit_code, outcomes, log = self.runs[durability].result()
        # What was not throttled may have been carried out, even if the answer was not read.
        carried_out = Counter(r.path[1:] for r in log if r.status not in (429, 503))
        unknown = [id for id, outcome in outcomes.items() if outcome == "unknown"]
        again = [id for id, count in carried_out.items() if count > 1]
        measured(
            f"kill -9, --durability {durability}: {hits} of {KILLS} hit a running process, {JOBS} jobs, "
            f"{len(again)} GETs sent again, {len(unknown)} POSTs unknown"
        )
        self.assertGreaterEqual(hits, 0.9 * KILLS)
        self.assertEqual(set(outcomes), {f"post{i}" if i % 2 else f"get{i}" for i in range(JOBS)})
        self.assertEqual([id for id in again if id.startswith("post")], [])
        self.assertEqual([id for id in unknown if not id.startswith("post")], [])
        self.assertLessEqual(len(unknown), JOBS / 4)  # in flight at a kill, not simply all
        self.assertEqual(set(outcomes.values()) - {"success", "unknown"}, set())
        self.assertEqual(
            [
                id
                for id, outcome in outcomes.items()
                if outcome == "success" and not carried_out[id]
            ],
            [],
        )
        self.assertEqual(exit_code, 1 if unknown else 0)


if __name__ == "__main__":
    unittest.main()
