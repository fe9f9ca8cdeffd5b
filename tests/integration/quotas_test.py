"""Several quotas at once, and no cost given: by the log of a server that counts as OpenAI does."""
import json
import random
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from mock import Mock
from work import Work, measured


def prompts(count, max_tokens=True):
    """Bodies with a spread of ten in size."""
    draw = random.Random(4)
    for _ in range(count):
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * draw.randrange(400, 4000)}]}
        if max_tokens:
            body["max_tokens"] = draw.randrange(50, 200)
        yield body


def batch(bodies):
    return [
        json.dumps({"custom_id": f"r{i}", "method": "POST", "url": "/v1/chat/completions", "body": body})
        for i, body in enumerate(bodies)
    ]


class Case(NamedTuple):
    limits: tuple  # of the mock
    lines: list
    path: str  # of a body that says no url
    units: object  # what an accepted attempt takes of the quota that binds
    burst: int
    per_second: int


LATENCY = ("--latency", "100ms..900ms")
CASES = {
    "tokens bind": Case(
        ("--requests", "6000/min", "--tokens", "240000/min,burst=60000", *LATENCY),
        batch(prompts(400)), None, lambda e: e[2], 60000, 4000,
    ),
    "charged more than told": Case(  # without max_tokens the answer says half of what was charged
        ("--requests", "6000/min", "--tokens", "600000/min,burst=60000", "--latency", "20ms"),
        batch(prompts(300, max_tokens=False)), None, lambda e: e[2], 60000, 10000,
    ),
    "requests bind": Case(
        ("--requests", "480/min,burst=60", "--tokens", "2000000/min", *LATENCY),
        [json.dumps(body) for body in prompts(400)], "/v1/chat/completions", lambda e: 1, 60, 8,
    ),
}


def run_case(case):
    """The mock's log, the outcomes, and what the run said."""
    with Mock(*case.limits) as mock, Work(case.lines) as work:
        where = ("--url", mock.url + case.path) if case.path else ("--base-url", mock.url)
        assert work.run(*where, "--cold") == 0, work.stderr()
        return mock.log(), work.outcomes(), work.stderr()


class Quotas(unittest.TestCase):
    """The cases run at once: they wait for most of their time."""

    @classmethod
    def setUpClass(cls):
        pool = ThreadPoolExecutor(len(CASES))
        cls.addClassCleanup(pool.shutdown)
        cls.runs = {name: pool.submit(run_case, case) for name, case in CASES.items()}

    def judge(self, name):
        """What the run said."""
        case, (log, outcomes, said) = CASES[name], self.runs[name].result()
        accepted = [entry for entry in log if entry[1] == 200]
        seconds = max(e[0] for e in accepted) - min(e[0] for e in log)
        used = sum(map(case.units, accepted)) / (case.burst + case.per_second * seconds)
        throttled = sum(e[1] == 429 for e in log) / len(log)
        measured(f"{name}: {100 * used:.1f} % used in {seconds:.1f} s, {100 * throttled:.2f} % throttled")
        self.assertEqual(len(accepted), len(case.lines))
        self.assertEqual(list(outcomes.values()), ["success"] * len(case.lines))
        self.assertGreaterEqual(used, 0.95)
        self.assertLessEqual(throttled, 0.01)
        return said

    def test_tokens_bind(self):
        self.assertIn("held back by: quota", self.judge("tokens bind"))

    def test_what_a_server_charges_beyond_what_it_says_is_learned(self):
        self.judge("charged more than told")

    def test_requests_bind(self):
        self.judge("requests bind")

    def test_a_quota_of_the_caller(self):
        """The server says nothing and refuses nothing; the caller knows what is allowed."""
        bodies = list(prompts(60))
        with Mock("--latency", "50ms") as mock, Work(batch(bodies)) as work:
            began = time.monotonic()
            self.assertEqual(work.run("--base-url", mock.url, "--cold", "--quota", "tokens=3k/s:3k"), 0, work.stderr())
            answers = [result["body"]["usage"]["total_tokens"] for result in work.results()]
            used = sum(answers) / (time.monotonic() - began)
            measured(f"--quota tokens=3k/s: {used:.0f}/s in {time.monotonic() - began:.1f} s")
            self.assertLessEqual(used, 3600)
            self.assertGreaterEqual(used, 2500)

    def test_what_never_fits_is_not_sent(self):
        lines = batch(prompts(3))
        big = {"url": "/big", "id": "big", "body": {"n": 1}, "cost": {"tokens": 5001}}
        with Mock("--tokens", "5000/min") as mock, Work([*lines, json.dumps(big)]) as work:
            self.assertEqual(work.run("--base-url", mock.url, "--cold"), 1, work.stderr())
            self.assertEqual(work.outcomes().pop("big"), "failed")
            self.assertIn("not sent: quota: it needs 5001 tokens, but the limit is 5000", work.stderr())
            self.assertEqual(len(mock.log()), 3)


if __name__ == "__main__":
    unittest.main()
