"""Memory does not grow with the length of JOBS.

HEADWAY_LONG=1 goes on to a million lines.
"""
import os
import time
import unittest

import servers
from work import Work, gets, measured


def peak_kib(jobs):
    """Of the resident set of a run of so many jobs."""
    with servers.nginx() as server, Work(gets(server, jobs)) as work:
        peak = 0
        with work.start() as process:
            while process.poll() is None:
                peak = max(peak, high_water_kib(process.pid))
                time.sleep(0.02)
        assert process.returncode == 0, work.stderr()
        log = server.log()
        assert len(log.accepted()) == jobs and not log.twice()
        with open(work.path / "jobs.results.jsonl") as results:
            assert sum(1 for _ in results) == jobs
        measured(
            f"{jobs} jobs on a fast server: {peak / 1024:.1f} MiB, {jobs / log.seconds():.0f}/s"
        )
        return peak


def high_water_kib(pid):
    """0 while it is not yet headway, or no more."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
    except ProcessLookupError:
        return 0
    ours = fields["Name"].strip() == "headway" and "VmHWM" in fields
    return int(fields["VmHWM"].split()[0]) if ours else 0


class Memory(unittest.TestCase):
    def test_flat(self):
        few, many = map(peak_kib, (10**4, 10**6 if os.environ.get("HEADWAY_LONG") else 2 * 10**5))
        self.assertGreater(few, 0)
        self.assertLessEqual(many, 1.3 * few + 16 * 1024)


if __name__ == "__main__":
    unittest.main()
