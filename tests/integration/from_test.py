"""A scenario made of a recorded run has that run's time and refusals, or says that it does not.

The judge of the refusals is the server's log.
"""
import json
import re
import subprocess
import unittest

import servers
from limits_test import BURST, counts_rejects, slots
from mock import Mock
from work import BINARY, Work, gets, measured


def made_of(work, file, *options):
    """(exit code, the scenario, what was said on stderr)."""
    done = subprocess.run(
        [BINARY, "simulate", "--from", file, "--save", "made.toml", "--law", "seek", "--seeds", "3", *options],
        cwd=work.path, capture_output=True, text=True, timeout=120,
    )
    made = work.path / "made.toml"
    return done.returncode, made.read_text() if made.exists() else "", done.stderr


def asks(server, count):
    for i in range(count):
        yield json.dumps({
            "url": f"{server.url}/v1/chat/completions", "id": str(i),
            "body": {"messages": [{"role": "user", "content": "x" * 200}], "max_tokens": 50},
        })


class From(unittest.TestCase):
    def check(self, name, server, lines, limit, of_results=None):
        with server as at, Work(lines(at)) as work:
            self.assertEqual(work.run("--cold", "--alone", "--trace", "run.trace"), 0, work.stderr())
            log = at.log()
            throttled = [r for r in log if (r.status if hasattr(r, "status") else r[1]) in (429, 503)]
            code, text, said = made_of(work, "run.trace")
            self.assertEqual(code, 0, said)
            check = re.search(r"# seek, as it ran, (.*): .*; ([\d.]+) % refused, recorded ([\d.]+) %", text)
            measured(f"{name}: {re.search('limit = .*', text).group()}: {check.group()}")
            self.assertAlmostEqual(float(check[3]), 100 * len(throttled) / len(log), delta=0.1)
            self.assertEqual(check[1], "reproduces the run", text)
            if "# limit: a guess" not in text:
                # Few refusals may fit two kinds alike: then it is "likely", and names both.
                self.assertRegex(text, f'limit = "{limit}|limit: (likely|a guess).*{limit}')
            # What was saved is a scenario like any other.
            again = subprocess.run([BINARY, "simulate", "made.toml", "--law", "seek,reno", "--seeds", "1"],
                                   cwd=work.path, capture_output=True, text=True, timeout=120)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.check_results(name, work, of_results or limit, throttled)

    def check_results(self, name, work, limit, throttled):
        """They tell less: the limit is what is near to the run, and what is as near is named."""
        code, text, said = made_of(work, "jobs.results.jsonl")
        if not throttled:  # a quota that the server told was kept; no result has it
            return self.assertRegex(said, "it met no limit, and a scenario needs one")
        self.assertEqual(code, 0, said)
        found = re.search("# limit: (likely|a guess): refusals have no times here.*", text).group()
        check = re.search("# seek, as it ran, (.*): .*", text)
        measured(f"{name}, results: {found}: {re.search('limit = .*', text).group()}: {check.group()}")
        if check[1] == "reproduces the run":
            self.assertRegex(text, limit)

    def test_nginx_by_rate(self):
        self.check("nginx 50/s", servers.limit_req(50, BURST), lambda s: gets(s, 500), "rate=")

    def test_nginx_by_slots(self):
        self.check("nginx 16 slots", slots(16, 50), lambda s: gets(s, 1500), "concurrent=")

    def test_haproxy(self):
        self.check("HAProxy 50/s", counts_rejects(50), lambda s: gets(s, 750), "counter=50/1s,counts-rejects",
                   of_results="(counter|sliding|rate|window)=")

    def test_openai(self):
        mock = Mock("--requests", "3000/min,burst=20", "--latency", "20ms..60ms")
        self.check("mock openai", mock, lambda s: asks(s, 400), "rate=")

    def test_results_say_less_and_what_they_do_not_know(self):
        with servers.limit_req(50, BURST) as at, Work(gets(at, 200)) as work:
            self.assertEqual(work.run("--cold", "--alone", "--trace", "run.trace"), 0, work.stderr())
            code, text, said = made_of(work, "jobs.results.jsonl")
            self.assertEqual(code, 0, said)
            self.assertRegex(text, "# limit: (likely|a guess): refusals have no times here")
            self.assertIn("# Not known: when refused attempts were sent", text)
            whole = (work.path / "run.trace").read_text()
            within_a_line = whole.rindex("\n", 0, len(whole) // 2) + 9
            (work.path / "cut.trace").write_text(whole[:within_a_line])
            code, _, said = made_of(work, "cut.trace")
            self.assertEqual(code, 2)
            self.assertRegex(said, r"^headway: cut\.trace:\d+: not a line of a trace, a JSON object\n$")

    def test_a_run_that_met_no_limit(self):
        with servers.nginx() as at, Work(gets(at, 40)) as work:
            self.assertEqual(work.run("--cold", "--alone", "--rate", "50/s", "--trace", "run.trace"), 0, work.stderr())
            code, _, said = made_of(work, "run.trace")
            self.assertEqual(code, 2)
            self.assertRegex(said, r"^headway: --from run\.trace: it met no limit, and a scenario needs one: .* accepted\n$")

    def test_nothing_takes_the_place_of_what_is_read(self):
        with Work(["x"]) as work:
            (work.path / "hard").hardlink_to(work.path / "jobs.txt")
            for arguments, said in {
                ("--from", "jobs.txt", "--save", "hard"): '--save "hard" would overwrite the file of --from',
                ("jobs.txt", "--report", "jobs.txt"): '--report "jobs.txt" would overwrite SCENARIO',
                ("jobs.txt", "--json", "a", "--csv", "a"): '--csv "a" would overwrite what --json writes',
            }.items():
                with self.subTest(arguments):
                    done = subprocess.run([BINARY, "simulate", *arguments], cwd=work.path, capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"headway: {said}\n"))
                    self.assertEqual((work.path / "jobs.txt").read_text(), "x\n")


if __name__ == "__main__":
    unittest.main()
