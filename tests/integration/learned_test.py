"""What a run learned of a limit, kept for the next; and a share of it left to others."""
import json
import unittest
from concurrent.futures import ThreadPoolExecutor

import servers
from mock import Mock
from work import Work, gets, measured, succeeded

BUCKET = "burst=10 nodelay; limit_req_status 429"


def run_twice(*options):
    """The logs of two runs against one server, the second for other jobs; what it said; what is kept."""
    with servers.limit_req(50, BUCKET) as server, Work(gets(server, 300)) as work:
        logs = []
        for turn in range(2):
            if turn:
                work.write(gets(server, 300))
            before = len(server.log())
            journal = f"{turn}.headway"
            assert work.run("--journal", journal, "--out", f"{turn}.jsonl", *options) == 0, work.stderr()
            logs.append(server.log()[before:])
        said = work.stderr()
        kept = work.path / "state" / "headway" / "limits.json"
        return logs, said, json.loads(kept.read_text()) if kept.exists() else None


def run_leaving():
    with servers.limit_req(50, BUCKET) as server, Work(gets(server, 900)) as work:
        assert work.run("--leave", "30%") == 0, work.stderr()
        return server.log()


class Learned(unittest.TestCase):
    """The long runs go at once: they wait for most of their time."""

    @classmethod
    def setUpClass(cls):
        pool = ThreadPoolExecutor(3)
        cls.addClassCleanup(pool.shutdown)
        cls.warm = pool.submit(run_twice)
        cls.cold = pool.submit(run_twice, "--cold")
        cls.leaving = pool.submit(run_leaving)

    @staticmethod
    def refused(log):
        return sum(r.status == 429 for r in log)

    def test_the_second_run_knows_the_limit(self):
        (first, second), said, kept = self.warm.result()
        measured(f"refused of 300: {self.refused(first)} cold, {self.refused(second)} warm")
        self.assertGreaterEqual(self.refused(first), 3)
        self.assertLessEqual(self.refused(second), 2)
        (limit,) = kept["scopes"].values()
        self.assertAlmostEqual(limit["rate"], 50, delta=2.5)
        self.assertIn("a limit of about", said)

    def test_costs_and_quotas_are_known_to_the_second_run(self):
        """What can never fit is not even sent, though no server has told this run."""
        bodies = [json.dumps({"model": "m", "messages": [{"content": "x" * (400 + 40 * i)}]}) for i in range(40)]
        limits = "--requests", "6000/min", "--tokens", "240000/min,burst=20000", "--latency", "20ms"
        with Mock(*limits) as mock, Work(bodies) as work:
            url = f"{mock.url}/v1/chat/completions"
            self.assertEqual(work.run("--url", url, "--state", "limits.json"), 0, work.stderr())
            (scope,) = json.loads((work.path / "limits.json").read_text())["scopes"].values()
            limit, per_second, per_byte, constant, *_ = scope["quotas"]["tokens"]
            measured(f"kept of tokens: {limit:.0f}, {per_second:.0f}/s, {per_byte} a byte and {constant}")
            self.assertEqual(limit, 20000)
            self.assertAlmostEqual(per_second, 4000, delta=200)
            self.assertGreater(per_byte + constant, 0)

            work.write([json.dumps({"url": url, "body": {}, "cost": {"tokens": 20001}})])
            before = len(mock.log())
            second = "--journal", "2.headway", "--out", "2.jsonl", "--state", "limits.json"
            self.assertEqual(work.run(*second), 1, work.stderr())
            self.assertIn("it needs 20001 tokens, but the limit is 20000", work.stderr())
            self.assertEqual(len(mock.log()), before)

    def test_cold_neither_uses_nor_keeps_it(self):
        (first, second), _, kept = self.cold.result()
        self.assertGreaterEqual(self.refused(second), 3)
        self.assertIsNone(kept)

    def test_a_file_that_is_something_else_is_left_alone(self):
        with servers.nginx() as server, Work(gets(server, 3)) as work:
            diary = work.path / "diary"
            diary.write_text("dear diary")
            self.assertEqual(work.run("--state", "diary"), 2)
            self.assertIn("is not a file of learned limits", work.stderr())
            self.assertEqual(diary.read_text(), "dear diary")
            default = work.path / "state" / "headway"
            default.mkdir(parents=True)
            (default / "limits.json").write_text("dear diary")
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertIn("nothing is remembered", work.stderr())
            self.assertEqual((default / "limits.json").read_text(), "dear diary")
            self.assertEqual(work.outcomes(), succeeded(3))

    def test_leaves_a_share_to_others(self):
        log = self.leaving.result()
        late = [r for r in log if r.start > log.starts()[0] + 10]
        rate = len(late) / (max(r.end for r in late) - min(r.start for r in late))
        measured(f"--leave 30% of 50/s: {rate:.1f}/s after 10 s, {self.refused(late)} refused")
        self.assertLessEqual(rate, 0.8 * 50)
        self.assertGreaterEqual(rate, 0.5 * 50)
        self.assertLessEqual(self.refused(late), 3)


if __name__ == "__main__":
    unittest.main()
