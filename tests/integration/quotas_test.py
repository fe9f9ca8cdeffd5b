"""Several quotas at once, and no cost given: by the log of a server that counts as OpenAI does."""
import json
import random
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from work import BINARY, Work, measured


class Mock:
    """headway mock --style openai with these options, while the block lasts."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name, "log")
        self._process = subprocess.Popen(
            [BINARY, "mock", "--style", "openai", "--listen", "127.0.0.1:0", "--log", self._log, *self.options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = re.search(r"http://\S+", self._process.stdout.readline()).group()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.communicate()
        self._folder.cleanup()

    def log(self):
        """(arrival in seconds, status, tokens charged) of each attempt."""
        lines = (line.split() for line in self._log.read_text().splitlines())
        return [(float(f[0]), int(f[3]), int(f[6])) for f in lines]


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


class Quotas(unittest.TestCase):
    def judge(self, name, mock, work, count, units, burst, per_second, used_min=0.95):
        """units: what an accepted attempt takes of the quota that binds."""
        log = mock.log()
        accepted = [entry for entry in log if entry[1] == 200]
        seconds = max(e[0] for e in accepted) - min(e[0] for e in log)
        used = sum(units(e) for e in accepted) / (burst + per_second * seconds)
        throttled = sum(e[1] == 429 for e in log) / len(log)
        measured(f"{name}: {100 * used:.1f} % used in {seconds:.1f} s, {100 * throttled:.2f} % throttled")
        self.assertEqual(len(accepted), count)
        self.assertEqual(list(work.outcomes().values()), ["success"] * count)
        self.assertGreaterEqual(used, used_min)
        self.assertLessEqual(throttled, 0.01)

    def test_tokens_bind(self):
        limits = ("--requests", "6000/min", "--tokens", "240000/min,burst=60000", "--latency", "100ms..900ms")
        with Mock(*limits) as mock, Work(batch(prompts(400))) as work:
            self.assertEqual(work.run("--base-url", mock.url, "--cold"), 0, work.stderr())
            self.judge("tokens bind", mock, work, 400, lambda e: e[2], 60000, 4000)
            self.assertIn("held back by: quota", work.stderr())

    def test_what_a_server_charges_beyond_what_it_says_is_learned(self):
        """Without max_tokens the answer says half of what was charged."""
        limits = ("--requests", "6000/min", "--tokens", "600000/min,burst=60000", "--latency", "20ms")
        with Mock(*limits) as mock, Work(batch(prompts(300, max_tokens=False))) as work:
            self.assertEqual(work.run("--base-url", mock.url, "--cold"), 0, work.stderr())
            self.judge("charged more than told", mock, work, 300, lambda e: e[2], 60000, 10000)

    def test_requests_bind(self):
        limits = ("--requests", "480/min,burst=60", "--tokens", "2000000/min", "--latency", "100ms..900ms")
        with Mock(*limits) as mock, Work(map(json.dumps, prompts(400))) as work:
            self.assertEqual(work.run("--url", f"{mock.url}/v1/chat/completions", "--cold"), 0, work.stderr())
            self.judge("requests bind", mock, work, 400, lambda e: 1, 60, 8)

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
