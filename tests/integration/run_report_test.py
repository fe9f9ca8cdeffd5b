"""headway report: its figures are those of the server's log, and the limit is what the server was told."""
import json
import re
import subprocess
import unittest

import servers
from work import BINARY, Work, gets, measured

BUCKET = "burst=10 nodelay; limit_req_status 429"


def report(work, *arguments):
    """(exit code, standard output, standard error)."""
    done = subprocess.run([BINARY, "report", *arguments], cwd=work.path, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


class Report(unittest.TestCase):
    def agrees(self, work, log):
        code, said, error = report(work, "trace", "--results", "jobs.results.jsonl", "--html", "r.html", "--md", "-")
        self.assertEqual(code, 0, error)
        self.assertIn(f"{len(log)} attempts, {len(log.throttled())} throttled", said)
        self.assertRegex(said, rf"\| 127\.0\.0\.1:\d+ \| success \| 200 \| {len(log.accepted())} \|")
        page = (work.path / "r.html").read_text()
        self.assertNotRegex(page, r"<script|\bsrc=|href=|url\(|@import")
        self.assertEqual(page.count("<svg"), page.count("</svg>"))
        self.assertGreaterEqual(page.count("<svg"), 4)
        return said

    def test_a_rate(self):
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 500)) as work:
            self.assertEqual(work.run("--trace", "trace", "--cold"), 0, work.stderr())
            said = self.agrees(work, server.log())
            limit = float(re.search(r"The limit of \S+ was about ([0-9.]+)/s", said)[1])
            measured(f"the limit was {limit}/s of 50/s")
            self.assertAlmostEqual(limit, 50, delta=2.5)
            page = (work.path / "r.html").read_text()
            self.assertIn("Attempts and the believed limit", page)

    def test_slots(self):
        http = "limit_conn_zone $server_name zone=slots:1m;"
        with servers.nginx("limit_conn slots 20; limit_conn_status 429;", http, (100, 100)) as server, \
                Work(gets(server, 2500)) as work:
            self.assertEqual(work.run("--trace", "trace", "--cold"), 0, work.stderr())
            said = self.agrees(work, server.log())
            limit = re.search(r"The limit of \S+ was about (\S+) (at once)?", said)
            measured(f"the limit was {limit[1]} {limit[2] or ''} of 20 slots of 100 ms")
            self.assertAlmostEqual(float(limit[1].split("/")[0]), 20 if limit[2] else 200, delta=1 if limit[2] else 12)

    def test_results_alone_and_hostile_text(self):
        with Work() as work:
            hostile = '<script>alert(1)</script>|`'
            lines = [
                {"id": hostile, "line": 1, "url": "http://a.example/", "outcome": "failed", "status": 400,
                 "attempts": 1, "throttled": 0, "waited_ms": 1500, "latency_ms": 20, "reason": f"status 400: {hostile}"},
                {"id": "2", "line": 2, "url": "http://a.example/", "outcome": "success", "status": 200,
                 "attempts": 2, "throttled": 1, "waited_ms": 500, "latency_ms": 40},
            ]
            (work.path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            code, said, error = report(work, "--results", "r.jsonl", "--html", "r.html", "--md", "-")
            self.assertEqual(code, 0, error)
            self.assertIn("1 succeeded, 1 failed, 0 unknown, with 3 attempts, 1 of them throttled.", said)
            self.assertIn("Requests waited for 1.0 s on average.", said)
            self.assertNotIn("<script", said + (work.path / "r.html").read_text())

    def test_bad_input_is_one_line(self):
        with Work(["x"]) as work:
            (work.path / "half").write_text('{"headway_trace":2,')
            (work.path / "old").write_text('{"headway_trace":1}\n')
            for arguments, said in {
                ("none",): "cannot read none",
                ("half",): "half:1: not a line of a trace",
                ("old",): 'old:1: "headway_trace" is not a whole number from 2 to 2',
                ("jobs.txt",): "jobs.txt:1: not a line of a trace",
                ("--results", "jobs.txt"): "jobs.txt:1: not a result of headway run",
                (): "want the file of headway run --trace, or --results FILE",
            }.items():
                with self.subTest(arguments):
                    code, out, error = report(work, *arguments)
                    self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
                    self.assertIn(said, error)


if __name__ == "__main__":
    unittest.main()
