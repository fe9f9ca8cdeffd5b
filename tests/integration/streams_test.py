"""Standard input as JOBS, standard output as results."""
import json
import os
import signal
import subprocess
import time
import unittest

import servers
from work import Work, gets, wait_for


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
            wait_for(server.log)  # nginx writes it after the answer
            self.assertRegex(work.stderr(), r"headway: stdin:4: [^\n]+\n\Z")
            answered = sorted(int(r.path[1:]) for r in server.log())
            self.assertEqual(ids(work), answered, "what was in flight is lost")

    def test_a_signal_ends_the_wait_for_input(self):
        with Work([]) as work, work.start(jobs="-", stdin=subprocess.PIPE) as process:
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(5), 130, work.stderr())

    def test_input_that_is_no_longer_wanted_is_not_looked_at(self):
        with servers.nginx(latency_ms=(3000, 3000)) as server, Work(gets(server, 3)) as work:
            jobs = (work.path / "jobs.txt").read_bytes()
            with work.start(jobs="-", stdin=subprocess.PIPE) as process:
                process.stdin.write(jobs)
                process.stdin.flush()
                time.sleep(1)  # the first one flies
                process.send_signal(signal.SIGINT)
                time.sleep(0.2)
                process.stdin.write(jobs)
                process.stdin.flush()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 130, work.stderr())
            self.assertLess(used.ru_utime + used.ru_stime, 0.2, "it spins while it waits")

    def test_an_empty_input(self):
        with Work([]) as work:
            self.assertEqual(work.run(jobs="-"), 0, work.stderr())  # /dev/null cannot be polled


if __name__ == "__main__":
    unittest.main()
