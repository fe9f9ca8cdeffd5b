"""What four kinds of users came with, whole: a table of prompts, many hosts, a law to choose, a pipe.

The fifth, writes behind express, is in express_test.py.
"""
import csv
import json
import random
import re
import signal
import subprocess
import unittest
from collections import Counter

import servers
from mock import Mock
from vain_test import closed
from work import BINARY, Work, gets, measured, wait_for

BODY = '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":{{prompt}}}]}'


def prompts(count):
    """Texts of many lines, quotes and scripts; each body has a length of its own."""
    texts = [f'Say "{n}", {{{{n}}}};\r\n\n日本 ü {"x" * 4 * n}' for n in range(count)]
    random.Random(7).shuffle(texts)
    return texts


def tokens(text):
    """That the mock counts for it, which takes four bytes for one."""
    read = json.dumps(text.replace("\r\n", "\n"), ensure_ascii=False)  # as RFC 4180 is read here
    return len(BODY.replace("{{prompt}}", read).encode()) // 4


class TableOfPrompts(unittest.TestCase):
    """A data scientist's: a model's answers beside the prompts, for no more than a budget."""

    ROWS, CAP, IN_FLIGHT = 160, 9000, 2

    def test_costs_no_more_than_its_cap_and_joins(self):
        texts = prompts(self.ROWS)
        limits = "--tokens", "400000/min,burst=4000", "--latency", "20ms..60ms"
        with Mock(*limits) as mock, Work() as work:
            with open(work.path / "jobs.csv", "w", newline="", encoding="utf-8-sig") as file:
                csv.writer(file, delimiter=";").writerows([["key", "prompt"], *((f"k{n}", t) for n, t in enumerate(texts))])
            options = ["--url", mock.url + "/v1/chat/completions", "--body", BODY, "--id", "key", "--out", "answers.csv",
                       "--select", "answer=/choices/0/message/content", "--select", "prompt_tokens=/usage/prompt_tokens",
                       "--concurrency", str(self.IN_FLIGHT), "--cold"]  # fmt: skip
            cap = "--spend-max", f"tokens={self.CAP}"
            for how, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
                heard = len(mock.log())
                with work.start(*options, *cap, jobs="jobs.csv") as process:
                    wait_for(lambda: len(mock.log()) > heard + 15, 30)
                    process.send_signal(how)
                    self.assertEqual(process.wait(20), code, work.stderr())
            for _ in range(3):
                self.assertEqual(work.run(*options, *cap, jobs="jobs.csv"), 77, work.stderr())
            spent = sum(entry[2] for entry in mock.log())  # one more for each, of the answer
            measured(f"a cap of {self.CAP} tokens: {spent} charged by the server")
            most = max(map(tokens, texts)) + 1
            self.assertLessEqual(spent, self.CAP + most)
            self.assertGreater(spent, self.CAP - most * (1 + self.IN_FLIGHT))  # what a kill cut off counts as spent
            self.assertEqual(work.run(*options, "--dry-run", jobs="jobs.csv"), 0, work.stderr())
            self.assertRegex((work.path / "stdout").read_text(), r"\d+ left: about .* tokens, .* s")

            self.assertEqual(work.run(*options, jobs="jobs.csv"), 0, work.stderr())
            with open(work.path / "answers.csv", newline="", encoding="utf-8-sig") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([(r["key"], r["prompt"]) for r in rows],
                             [(f"k{n}", t.replace("\r\n", "\n")) for n, t in enumerate(texts)])
            self.assertEqual([int(r["prompt_tokens"]) for r in rows], [tokens(t) for t in texts])
            self.assertEqual({(r["answer"], r["outcome"]) for r in rows}, {("ok", "success")})


class ManyHosts(unittest.TestCase):
    """An operator's: hosts with limits of their own, one of them dead, and what failed at which."""

    def test_each_has_its_limit_and_its_line_in_the_summary(self):
        def missing(rate):
            return servers.nginx("if ($uri ~ gone) { return 404; } limit_req zone=all burst=10 nodelay; limit_req_status 429;",
                                 f"limit_req_zone $binary_remote_addr zone=all:1m rate={rate}r/s;", latency_ms=(5, 20))  # fmt: skip

        holder, dead = closed()
        with holder, missing(10) as slow, missing(40) as fast, servers.nginx() as free, Work() as work:
            lines = [f"{dead}/{n}" for n in range(5)] + gets(slow, 120) + gets(fast, 400) + gets(free, 400)
            lines += [f"{slow.url}/gone/1", *(f"{fast.url}/gone/{n}" for n in range(3))]
            random.Random(3).shuffle(lines)
            work.write(lines)
            self.assertEqual(work.run("--cold"), 75, work.stderr())
            # The worst of 600 simulated seeds, and a little; at 10/s 55 of them are above .11.
            for server, rate, count, refused_max in ((slow, 10, 120, 0.145), (fast, 40, 400, 0.055)):
                log = server.log()
                measured(f"{rate}/s: {log.share(rate, 10):.2f} of the limit, {100 * log.throttled_share():.1f} % refused")
                self.assertEqual(len(log.accepted()), count)
                self.assertEqual(log.twice(), [])
                self.assertLessEqual(log.throttled_share(), refused_max)
            self.assertLess(free.log().seconds(), 0.5 * slow.log().seconds(), "no host waits for another's limit")
            said = work.stderr()
            self.assertIn("920 succeeded, 4 failed, 0 unknown, 5 left", said)
            self.assertRegex(said, rf"(?m)^failed at {slow.url[7:]}: 1 × status 404 \(line \d+")
            self.assertRegex(said, rf"(?m)^failed at {fast.url[7:]}: 3 × status 404 \(line \d+")
            self.assertRegex(said, rf"(?m)^headway: {dead[7:]}: connection refused, .*; its lines are left for a later run$")


class AChoiceOfLaw(unittest.TestCase):
    """An architect's: the server in some words, the laws on it, and the same before nginx."""

    SERVER = '''
limit = "rate=40/s,burst=20"
latency = "20ms..40ms"
clients = { requests = 400 }
lasts = "2min"
'''

    def said_by(self, work, *command):
        done = subprocess.run([BINARY, *command], cwd=work.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_holds_before_a_real_server(self):
        with Work() as work:
            (work.path / "mine.toml").write_text(self.SERVER)
            laws = (f"--law={law}" for law in ("seek", "reno", "aws-adaptive"))
            said = self.said_by(work, "simulate", "mine.toml", "--report", "page.html", *laws)
            times = {law: float(s) for law, s in re.findall(r"(?m)^(\S+) +([\d.]+) s ", said)}
            self.assertEqual(next(iter(times)), "seek", said)
            self.assertIn("<html", (work.path / "page.html").read_text())
            with servers.limit_req(40, "burst=20 nodelay; limit_req_status 429", (20, 40)) as server:
                work.write(gets(server, 400))
                self.assertEqual(work.run("--cold", "--trace", "trace"), 0, work.stderr())
                log = server.log()
            measured(f"simulated: {times['seek']} s; nginx: {log.seconds():.1f} s")
            self.assertLess(log.seconds(), 1.25 * times["seek"])
            said = self.said_by(work, "replay", "trace", "--law", "aws-adaptive")
            self.assertRegex(said, rf"(?m)^attempts +{len(log)} ")


class APipe(unittest.TestCase):
    """A shell user's: numbers in, one line of JSON out for each, and no number twice."""

    def test_goes_on_after_a_kill(self):
        with servers.limit_req(100, "burst=20 nodelay; limit_req_status 429") as server, Work() as work:
            line = f"seq 300 | {BINARY} run - --url '{server.url}/{{{{line}}}}' --journal j --cold --progress none"
            run = lambda command: subprocess.run(["bash", "-c", command], cwd=work.path, capture_output=True, text=True,
                                                 env=work.environment(), timeout=60)  # fmt: skip
            shell = subprocess.Popen(["bash", "-c", f"{line} > first & echo $! > pid; wait"], cwd=work.path,
                                     env=work.environment(), stderr=subprocess.DEVNULL)
            wait_for(lambda: server.log().accepted()[100:])
            run("kill -9 $(cat pid)")
            shell.wait()
            done = run(f"{line} > second")
            self.assertEqual(done.returncode, 0, done.stderr)
            heard = Counter(r.path for r in server.log().accepted())
            results = [json.loads(line) for line in (work.path / "j.results.jsonl").read_text().splitlines()]
            self.assertEqual({r["url"]: r["outcome"] for r in results},
                             {f"{server.url}/{n}": "success" for n in range(1, 301)})
            self.assertEqual(len(results), 300)
            first, second = ((work.path / name).read_text().count("\n") for name in ("first", "second"))
            measured(f"killed after {first} results; the server accepted {sum(heard.values())}")
            self.assertGreater(first, 50)
            self.assertEqual(second, 300, "what reads it has all, after whatever")
            self.assertEqual(set(heard), {f"/{n}" for n in range(1, 301)})
            self.assertLessEqual(sum(heard.values()), 300 + 20, "but for what was in flight")


if __name__ == "__main__":
    unittest.main()
