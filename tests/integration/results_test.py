"""What becomes of the answers: what counts as a success, what is kept of them, what is done again."""
import unittest

import sockets
from work import Work, gets, succeeded


def answer(status, body=b"ok", kind="text/plain"):
    return sockets.ok(body, kind).replace(b"200 OK", f"{status} Some".encode(), 1)


def by_path(answers, otherwise=None):
    """Answers of a server, by the request's path without its slash."""
    return lambda request, before: answers.get(request.path[1:], otherwise or sockets.ok())


def paths(server):
    return sorted(request.path[1:] for request in server.heard)


class Results(unittest.TestCase):
    def test_ok_says_which_statuses_succeed(self):
        answers = by_path({"1": answer(404), "2": answer(410), "3": answer(200)})
        with sockets.Server(answers) as server, Work(gets(server, 3)) as work:
            self.assertEqual(work.run("--ok", "404"), 1, work.stderr())
            self.assertEqual(work.outcomes(), {"1": "success", "2": "failed", "3": "failed"})
            self.assertEqual(work.results()[0].get("reason"), None)
            self.assertEqual(work.run("--ok", "2xx"), 2)
            self.assertIn('--ok \'2xx\': "2xx" is neither a status from 200 to 599', work.stderr())

    def test_only_does_the_first_and_a_later_run_goes_on(self):
        with sockets.Server(by_path({"5": answer(404)})) as server:
            with Work(["# first", ""] + gets(server, 5)) as work:
                self.assertEqual(work.run("--only", "2"), 0, work.stderr())
                self.assertEqual(paths(server), ["1", "2"])
                self.assertEqual(work.run("--only", "2"), 0, work.stderr())
                self.assertIn("0 succeeded, 0 failed, 0 unknown, 2 were done before in", work.stderr())
                self.assertEqual(work.run(), 1, work.stderr())
                self.assertEqual(paths(server), ["1", "2", "3", "4", "5"])
                self.assertEqual(work.run("--only", "4"), 0, work.stderr())
                self.assertEqual(work.run("--only", "5"), 1, work.stderr())

    def test_only_reads_no_more_of_standard_input(self):
        with sockets.Server(by_path({})) as server, Work(gets(server, 5)) as work:
            with open(work.path / "jobs.txt") as jobs:
                self.assertEqual(work.run("--only", "2", jobs="-", stdin=jobs), 0, work.stderr())
            self.assertEqual(paths(server), ["1", "2"])


if __name__ == "__main__":
    unittest.main()
