"""Standard input as JOBS, standard output as results."""
import json
import unittest

import servers
from work import Work, gets


def ids(work):
    return sorted(
        int(json.loads(line)["id"]) for line in (work.path / "stdout").read_text().splitlines()
    )


class Streams(unittest.TestCase):
    def test_results_on_standard_output_are_said_again(self):
        with servers.nginx() as server, Work(gets(server, 30)) as work:
            for _ in range(2):
                self.assertEqual(work.run("--out", "-"), 0, work.stderr())
                self.assertEqual(ids(work), list(range(1, 31)))
            self.assertEqual(len(server.log()), 30)

    def test_jobs_from_standard_input(self):
        with servers.nginx() as server, Work(gets(server, 30)) as work:
            with open(work.path / "jobs.txt", "rb") as jobs:
                self.assertEqual(work.run(jobs="-", stdin=jobs), 0, work.stderr())
            self.assertEqual(ids(work), list(range(1, 31)))
            self.assertEqual(server.log().twice(), [])

    def test_an_error_in_standard_input_ends_what_flies_first(self):
        with servers.nginx(latency_ms=(100, 100)) as server, Work(
            gets(server, 3) + ["no url"]
        ) as work:
            with open(work.path / "jobs.txt", "rb") as jobs:
                self.assertEqual(work.run(jobs="-", stdin=jobs), 2)
            self.assertRegex(work.stderr(), r"headway: stdin:4: [^\n]+\n\Z")
            answered = sorted(int(r.path[1:]) for r in server.log())
            self.assertEqual(ids(work), answered, "what was in flight is lost")


if __name__ == "__main__":
    unittest.main()
