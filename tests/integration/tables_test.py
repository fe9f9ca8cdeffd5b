"""Tables in, tables out: records of several lines, and what is joined with what, by a server's log."""
import csv
import io
import json
import time
import unittest
import urllib.parse

import sockets
from work import Work, wait_for


def table(*rows):
    """A CSV as other programs write it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def asked(request):
    """What a request to /?q=… asks."""
    return urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)["q"][0]


def refusing(*questions):
    """A server's answers: 400 to these, else the question again."""

    def answer(request, before):
        if asked(request) in questions:
            return sockets.ok(b"no").replace(b"200 OK", b"400 No")
        return sockets.ok(json.dumps({"echo": asked(request), "n": len(asked(request))}).encode(), "application/json")

    return answer


# Every third one has line ends in it, and quotes.
QUESTIONS = [f'say "{i}",\nand\n\n{i}' if i % 3 == 0 else f"question {i}" for i in range(30)]


class Failed(unittest.TestCase):
    def test_of_a_csv_is_a_csv_that_runs(self):
        bad = QUESTIONS[0], QUESTIONS[1], QUESTIONS[9], QUESTIONS[29]
        text = "\ufeff" + table(["the\nkey", "question"], *enumerate(QUESTIONS))
        text = text.replace("\n9,", "\r\n9,").rstrip("\n")
        with sockets.Server(refusing(*bad)) as server, Work() as work:
            (work.path / "jobs.csv").write_bytes(text.encode())
            options = "--url", server.url + "/?q={{question}}", "--failed", "failed.csv"
            header = text.partition("0,")[0]
            self.assertEqual(work.run(*options, jobs="jobs.csv"), 1, work.stderr())
            failed = (work.path / "failed.csv").read_bytes().decode()
            self.assertTrue(failed.startswith(header), failed)
            rows = list(csv.reader(io.StringIO(failed.removeprefix("\ufeff"), newline="")))
            self.assertEqual([row[1] for row in rows], ["question", *bad])
            server.answer = refusing(bad[2])
            server.heard.clear()
            again = "--url", server.url + "/?q={{question}}", "--failed", "again.csv"
            self.assertEqual(work.run(*again, jobs="failed.csv"), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted(bad))
            rows = list(csv.reader(io.StringIO((work.path / "again.csv").read_text(encoding="utf-8-sig"))))
            self.assertEqual(rows, [["the\nkey", "question"], ["9", bad[2]]])


class Corrected(unittest.TestCase):
    """What failed may be put right in JOBS; what succeeded is never sent again, whatever happens to its line."""

    def test_lines_that_failed_are_done_as_they_are_now(self):
        bad = QUESTIONS[0], QUESTIONS[1], QUESTIONS[9]
        rows = list(enumerate(QUESTIONS))
        with sockets.Server(refusing(*bad)) as server, Work() as work:
            jobs = work.path / "jobs.csv"

            def run(*options, url="/?q={{question}}"):
                jobs.write_text(table(["key", "question"], *rows))
                return work.run("--url", server.url + url, *options, jobs="jobs.csv")

            self.assertEqual(run(), 1, work.stderr())
            server.heard.clear()
            rows[0] = (0, rows[0][1].replace("say", "tell"))  # of as many lines
            rows[9] = (9, rows[9][1].replace("and", "or"))
            self.assertEqual(run(), 2)
            self.assertIn("jobs.csv:2: this line was edited", work.stderr())
            self.assertIn("--again failed", work.stderr())
            self.assertEqual(run("--again", "failed", "--dry-run"), 0, work.stderr())
            self.assertEqual(run("--again", "failed"), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted([rows[0][1], bad[1], rows[9][1]]))
            server.heard.clear()
            self.assertEqual(run("--again", "failed", url="/other?q={{question}}"), 2)
            self.assertIn("--url, --body, --method or --format changed", work.stderr())
            kept = rows[9]
            for row in (kept, rows[2]):  # both have succeeded
                rows[row[0]] = (row[0], row[1] + "?")
                self.assertEqual(run("--again", "all"), 2)
                self.assertIn("this line was edited", work.stderr())
                rows[row[0]] = row
            self.assertEqual(server.heard, [])
            rows[1] = (1, "a better question")
            self.assertEqual(run("--again", "failed"), 0, work.stderr())
            self.assertEqual([asked(r) for r in server.heard], ["a better question"])
            self.assertEqual(run(), 0, work.stderr())

    def test_a_template_by_which_all_failed(self):
        """As the canary says."""
        with sockets.Server(lambda *_: sockets.ok().replace(b"200 OK", b"404 No")) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["question"], *([q] for q in QUESTIONS)))
            self.assertEqual(work.run("--url", server.url + "/?p={{question}}", jobs="jobs.csv"), 77, work.stderr())
            server.answer = refusing()
            server.heard.clear()
            right = "--url", server.url + "/?q={{question}}"
            self.assertEqual(work.run(*right, jobs="jobs.csv"), 2)
            self.assertEqual(work.run(*right, "--again", "failed", jobs="jobs.csv"), 0, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted(QUESTIONS))

    def test_a_run_that_is_killed_after_a_correction_knows_it(self):
        with sockets.Server(refusing("1", "2")) as server, Work() as work:
            lines = [f"{server.url}/?q={i}" for i in range(1, 6)]
            work.write(lines)
            self.assertEqual(work.run(), 1, work.stderr())
            work.write([lines[0], lines[1].replace("q=2", "q=two"), *lines[2:]])
            server.heard.clear()
            answer, server.answer = server.answer, lambda *_: time.sleep(5)
            with work.start("--again", "failed") as process:
                wait_for(lambda: server.heard)
                process.kill()
            server.answer = answer
            server.heard.clear()
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), ["1", "two"])
            last = {r["id"]: r["outcome"] for r in work.results()}
            self.assertEqual(last, {"1": "failed", **{str(i): "success" for i in range(2, 6)}})

    def test_standard_input_too(self):
        with sockets.Server(refusing("2")) as server, Work() as work:
            lines = [f"{server.url}/?q={i}\n" for i in range(1, 4)]

            def run(*options):
                (work.path / "in").write_text("".join(lines))
                with open(work.path / "in") as given:
                    return work.run("--journal", "journal", *options, jobs="-", stdin=given)

            self.assertEqual(run(), 1, work.stderr())
            lines[1] = f"{server.url}/?q=two\n"
            self.assertEqual(run("--again", "failed"), 0, work.stderr())
            self.assertEqual([asked(r) for r in server.heard][3:], ["two"])
            lines[1] = f"{server.url}/?q=three\n"
            self.assertEqual(run("--again", "failed"), 2)


if __name__ == "__main__":
    unittest.main()
