"""headway report: its figures are those of the server's log, and the limit is what the server was told."""
import json
import os
import re
import subprocess
import sys
import unittest

import servers
from limits_test import counts_rejects
from mock import Mock
from replay_test import replay
from work import BINARY, Work, gets, measured

BUCKET = "burst=10 nodelay; limit_req_status 429"


def seconds(words):
    """Of a time in words: "1 min 2 s"."""
    units = {"min": 60, "s": 1, "ms": 1e-3}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([0-9.]+) (min|ms|s)", words))


def report(work, *arguments):
    """(exit code, standard output, standard error)."""
    done = subprocess.run([BINARY, "report", *arguments], cwd=work.path, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def peak_kib(work, *arguments):
    """Of its resident set. A small process starts it, since what starts a program counts as its first."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); " \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [sys.executable, "-c", script, BINARY, "report", *arguments]
    return int(subprocess.run(command, cwd=work.path, check=True, capture_output=True, text=True, timeout=60).stdout)


def rows(said, title):
    """The rows of a table, without its head."""
    table = re.search(rf"\*\*{re.escape(title)}\*\*\n\n((?:\|.*\n)*)", said)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[1].splitlines()[2:]] if table else []


def repeated(text, times):
    """A trace of as many runs as one, one after the other."""
    head, scope, *calls = text.splitlines()
    calls = [call for call in calls if '"call":"end"' not in call]
    span = int(re.match(r'{"t":(\d+)', calls[-1])[1])
    yield from (head, scope)
    for k in range(times):
        for call in calls:
            call = re.sub(r'^{"t":(\d+)', lambda m: f'{{"t":{int(m[1]) + k * span}', call)
            yield re.sub(r'"ticket":(\d+)', lambda m: f'"ticket":{int(m[1]) + (k << 48)}', call)


def asks(server, count):
    for i in range(count):
        yield json.dumps({"url": f"{server.url}/v1/chat/completions", "id": str(i),
                          "body": {"messages": [{"role": "user", "content": "x" * 200}], "max_tokens": 50}})


class Report(unittest.TestCase):
    def agrees(self, work, statuses, limit, unit="/s", law="seek"):
        """Its figures are those of the log, whose statuses these are; the limit is what was configured."""
        self.assertEqual(work.run("--trace", "trace", "--cold", "--alone", "--law", law), 0, work.stderr())
        statuses = statuses()
        accepted, throttled = statuses.count(200), sum(s in (429, 503) for s in statuses)
        code, said, error = report(work, "trace", "--results", "jobs.results.jsonl", "--html", "r.html", "--md", "-")
        self.assertEqual(code, 0, error)
        self.assertIn(f"{len(statuses)} attempts, {throttled} throttled", said)
        self.assertRegex(said, rf"\| 127\.0\.0\.1:\d+ \| success \| 200 \| {accepted} \|")
        page = (work.path / "r.html").read_text()
        self.assertNotRegex(page, r"<script|\bsrc=|href=|url\(|@import")
        self.assertEqual((page.count("<svg"), page.count("</svg>")), (4, 4))
        numbers = [[int(n) for n in row] for row in re.findall(r"<td>[0-9.]+ s</td><td>(\d+)</td><td>(\d+)</td><td>(\d+)", page)]
        self.assertEqual([sum(column) for column in zip(*numbers)], [accepted, throttled, 0])
        about = r"The limit of \S+ was about ([0-9.]+)(/s| at once)"
        self.assertRegex(said, about)
        found, its_unit = re.search(about, said).groups()
        measured(f"the limit was {found}{its_unit} of {limit}{unit}; what another law would have done: "
                 f"{[r[:2] for r in rows(said, 'What another law would have done')] or said[said.index('Not told'):].splitlines()[0]}")
        self.assertEqual(its_unit, unit)
        self.assertAlmostEqual(float(found), limit, delta=limit / 20)
        return said

    def of_log(self, server):
        return lambda: [r.status for r in server.log()]

    def of_mock(self, server):
        return lambda: [status for _, status, _ in server.log()]

    def test_a_rate(self):
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 500)) as work:
            said = self.agrees(work, self.of_log(server), 50)
            laws = {row[0]: row[1:] for row in rows(said, "What another law would have done")}
            log = server.log()
            recorded = laws["as recorded"]
            self.assertEqual(recorded[1], str(len(log)))
            self.assertAlmostEqual(seconds(recorded[0]), log.seconds(), delta=0.3 + 0.5)  # from 10 s on, whole seconds are said
            self.assertAlmostEqual(seconds(laws["knows the limit"][0]), (500 - 10) / 50, delta=0.5)
            self.assertGreater(float(laws["exponential-full"][2].split()[0]), 20)  # of its attempts are refused
            # Its size does not grow with the run.
            (work.path / "long").write_text("".join(line + "\n" for line in repeated((work.path / "trace").read_text(), 60)))
            code, said, error = report(work, "long", "--html", "long.html", "--md", "-")
            self.assertEqual(code, 0, error)
            self.assertIn(f"{60 * 500} requests ended in", said)
            self.assertIn(f"{60 * len(log)} attempts, {60 * len(log.throttled())} throttled", said)
            size = (work.path / "long.html").stat().st_size
            measured(f"the page has {size} bytes, of {60 * 500} requests")
            self.assertLess(size, 200_000)

    # How often the default law is refused is up to it and the machine, and few refusals tell no limit: with it figures_test has these
    # two in simulated time. One that sends more than the limit is refused throughout, however late the machine is.

    def test_slots(self):
        http = "limit_conn_zone $binary_remote_addr zone=slots:1m;"
        with servers.nginx("limit_conn slots 20; limit_conn_status 429;", http, (100, 100)) as server, \
                Work(gets(server, 500)) as work:
            self.agrees(work, self.of_log(server), 20, " at once", law="fixed(concurrency=25)")

    def test_windows(self):
        with counts_rejects(50) as server, Work(gets(server, 750)) as work:
            self.agrees(work, self.of_log(server), 50)

    def test_a_quota_that_the_server_tells(self):
        with Mock("--requests", "3000/min,burst=20", "--latency", "20ms..60ms") as server, Work(asks(server, 200)) as work:
            said = self.agrees(work, self.of_mock(server), 50)
            used = sum(r["body"]["usage"]["total_tokens"] for r in work.results())
            self.assertEqual([row[1:3] for row in rows(said, "What it cost") if row[0] == "tokens"],
                             [["200", str(used)]])
            self.assertEqual(replay(work)[0], 0)

    def test_a_limit_that_moves(self):
        with Mock("--schedule", "0s:rate=100/s,burst=10; 3s:rate=50/s,burst=10", "--latency",
                  "5ms..10ms", style="plain") as server, Work(gets(server, 750)) as work:
            self.agrees(work, self.of_mock(server), 50, law="fixed(rate=70/s)")

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

    def test_of_several_results_of_an_id_the_last_one_counts(self):
        """Before: 3 succeeded, 1 failed."""
        with Work() as work:
            result = {"url": "http://a.example/", "outcome": "success", "status": 200, "attempts": 1, "throttled": 0, "latency_ms": 9}
            lines = [{"id": str(n), "line": n, **result} for n in (1, 3, 2)]
            lines.insert(1, {**lines[2], "outcome": "failed", "status": 404, "attempts": 9, "latency_ms": 999, "reason": "status 404"})
            (work.path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            code, said, error = report(work, "--results", "r.jsonl", "--md", "-")
            self.assertEqual(code, 0, error)
            self.assertIn("3 succeeded, 0 failed, 0 unknown, with 3 attempts", said)
            self.assertIn("9 ms at most", said)
            self.assertEqual([row[1:4] for row in rows(said, "How requests ended")], [["success", "200", "3"]])

    def test_results_of_a_pipe_may_be_repeated_and_the_first_line_is_the_example(self):
        with Work() as work:
            result = {"url": "http://a.example/", "outcome": "failed", "status": 404, "attempts": 1}
            lines = [{"id": f"i{n}", "line": n, "reason": f"r{k}", **result} for k, n in enumerate((3, 1, 4, 1, 2))]
            lines[1]["status"] = 500
            text = "".join(json.dumps(line) + "\n" for line in lines)
            done = subprocess.run([BINARY, "report", "--results", "/dev/stdin", "--md", "-"], input=text, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("0 succeeded, 4 failed, 0 unknown, with 4 attempts", done.stdout)
            (row,) = rows(done.stdout, "How requests ended")
            self.assertEqual(row[1:4], ["failed", "404", "4"])
            self.assertIn("i1", row[4])
            self.assertIn("r3", row[5])

    def test_a_copy_of_a_pipe_that_does_not_fit_is_an_error(self):
        """Before: what did fit was reported, and the exit code was 0. Without SIGXFSZ, as where a disk is full."""
        line = json.dumps({"id": "1", "line": 1, "url": "http://a.example/", "outcome": "success", "status": 200, "attempts": 1, "x": "." * 1000}) + "\n"
        with Work() as work:
            command = ["prlimit", f"--fsize={2 * len(line)}", BINARY, "report", "--results", "/dev/stdin"]
            why = "headway: cannot keep a copy of /dev/stdin\n"
            for lines, code, said in ((2, 0, ""), (3, 74, why), (300, 74, why)):
                done = subprocess.run(command, cwd=work.path, input=line * lines, capture_output=True, text=True, timeout=60,
                                      restore_signals=False)
                self.assertEqual((done.returncode, done.stderr), (code, said))

    def counted(self, *results):
        """The summary of results: (outcome, what else is there)."""
        usual = {"url": "http://a.example/", "line": 1, "attempts": 1}
        with Work() as work:
            (work.path / "r.jsonl").write_text("".join(json.dumps({**usual, "outcome": how, **more}) + "\n" for how, more in results))
            code, said, error = report(work, "--results", "r.jsonl", "--md", "-")
        self.assertEqual(code, 0, error)
        return said

    def test_an_id_names_a_result_whatever_its_line(self):
        """Before: a line of one input took the place of the same line of another."""
        for first, second in (("a1", "b1"), ("7", "8"), ("7", "07"), ("0", "00"), (str(1 << 40), str(1 << 41))):
            with self.subTest(first=first):
                said = self.counted(("failed", {"id": first}), ("success", {"id": second}))
                self.assertIn("1 succeeded, 1 failed, 0 unknown", said)
        for same in ("a1", "0", "7", str((1 << 26) - 1), str(1 << 26), str(1 << 40)):  # a run of --failed has lines of its own
            with self.subTest(same=same):
                said = self.counted(("failed", {"id": same, "line": 7}), ("success", {"id": "x"}), ("success", {"id": same, "line": 1}))
                self.assertIn("2 succeeded, 0 failed, 0 unknown", said)
                self.assertNotIn("another", said)

    def test_what_follows_a_success_of_its_id_is_of_another_run_and_counts(self):
        said = self.counted(*((how, {"id": str(n), "line": n, "latency_ms": run})
                              for run in (1, 2) for n, how in ((1, "success"), (2, "failed"), (3, "success"), (4, "failed"))))
        self.assertIn("4 succeeded, 2 failed, 0 unknown, with 6 attempts", said)  # that 2 and 4 failed twice it cannot know
        self.assertIn("Results after a success of the same id: 2. They are of another run, and count", said)
        self.assertNotIn("another URL", said)

    def test_a_failure_whose_id_has_a_result_with_another_url_is_told(self):
        said = self.counted(("failed", {"id": "1"}), ("success", {"id": "1", "url": "http://b.example/"}), ("success", {"id": "2"}))
        self.assertIn("2 succeeded, 0 failed, 0 unknown", said)
        self.assertIn("Results in the place of a failure of the same id with another URL: 1.", said)

    def test_results_that_were_printed_again_count_once(self):
        """As by two runs of `headway run --out - >> r.jsonl`."""
        again = [("failed", {"id": "1"}), ("success", {"id": "1"}), ("success", {"id": "2"})]
        said = self.counted(*again, *again)
        self.assertIn("2 succeeded, 0 failed, 0 unknown", said)
        self.assertIn("Results that are copies of others, to the byte: 3.", said)
        self.assertNotIn("another", said)

    def test_memory_hardly_grows_with_results(self):
        """Before: 174 bytes a line."""
        peaks = []
        with Work() as work:
            for many in (1_000, 300_000):
                with open(work.path / "r.jsonl", "w") as file:
                    for n in range(1, many + 1):
                        file.write('{"id":"%d","line":%d,"url":"http://a.example/","outcome":"success","status":200,"attempts":1}\n' % (n, n))
                peaks.append(peak_kib(work, "--results", "r.jsonl", "--md", "r.md"))
        measured(f"1,000 and 300,000 results: {[peak >> 10 for peak in peaks]} MiB")
        self.assertLess(peaks[1] - peaks[0], 6 * 1024)

    def test_what_is_no_file_is_written_to_and_stays(self):
        """Before: /dev/null was replaced by a file."""
        with Work(["x"]) as work:
            pipe = work.path / "pipe"
            os.mkfifo(pipe)
            (work.path / "r.jsonl").write_text(
                '{"id":"1","line":1,"url":"http://a.example/","outcome":"success","status":200,"attempts":1,"throttled":0}\n')
            self.assertEqual(report(work, "--results", "r.jsonl", "--md", "pipe")[0], 74)  # nothing reads it
            with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
                self.assertEqual(report(work, "--results", "r.jsonl", "--md", "pipe")[0], 0)
                self.assertIn("1 succeeded", reader.read())
            self.assertTrue(pipe.is_fifo())

    def test_bad_input_is_one_line(self):
        with Work(["x"]) as work:
            (work.path / "half").write_text('{"headway_trace":2,')
            (work.path / "folder").mkdir()
            (work.path / "old").write_text('{"headway_trace":9}\n')
            for arguments, said in {
                ("none",): "cannot read none",
                ("half",): "half:1: not a line of a trace",
                ("old",): 'old:1: "headway_trace" is not a whole number from 1 to 2',
                ("jobs.txt",): "jobs.txt:1: not a line of a trace",
                ("--results", "jobs.txt"): "jobs.txt:1: not a result of headway run",
                ("--results", "folder"): "cannot read folder",
                ("folder",): "cannot read folder",
                (): "want the file of headway run --trace, or --results FILE",
            }.items():
                with self.subTest(arguments):
                    code, out, error = report(work, *arguments)
                    self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
                    self.assertIn(said, error)

    def test_no_page_takes_the_place_of_what_it_is_made_of(self):
        with Work(["x"]) as work:
            (work.path / "link").symlink_to("jobs.txt")
            for arguments, said in {
                ("jobs.txt", "--html", "link"): '--html "link" would overwrite TRACE',
                ("--results", "jobs.txt", "--md", "./jobs.txt"): '--md "./jobs.txt" would overwrite the file of --results',
                ("jobs.txt", "--html", "page", "--md", "page"): '--md "page" would overwrite what --html writes',
            }.items():
                with self.subTest(arguments):
                    self.assertEqual(report(work, *arguments), (2, "", f"headway: {said}\n"))
                    self.assertEqual((work.path / "jobs.txt").read_text(), "x\n")


if __name__ == "__main__":
    unittest.main()
