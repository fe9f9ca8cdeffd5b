"""Tables in, tables out: records of several lines, and what is joined with what, by a server's log."""
import csv
import io
import json
import unittest
import urllib.parse

import sockets
from work import Work


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


if __name__ == "__main__":
    unittest.main()
