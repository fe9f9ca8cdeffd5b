"""One limit for all runs of a machine: headway run --together, by nginx's log."""
import contextlib
import random
import tempfile
import unittest

import servers
from work import Work, gets, measured

RATE = 200
PROCESSES = 16
JOBS = 240


def goodput(log, begin, end):
    return sum(begin <= r.end < end for r in log.accepted()) / (end - begin)


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares))


class Machine(unittest.TestCase):
    def limit(self):
        return servers.limit_req(RATE, "burst=20 nodelay; limit_req_status 429")

    def many(self, server, processes, jobs, *options):
        """As many runs, each with paths of its own."""
        stack = contextlib.ExitStack()
        runtime = stack.enter_context(tempfile.TemporaryDirectory())
        runs = []
        for i in range(processes):
            lines = [f"{server.url}/{i}/{n}" for n in range(jobs)]
            work = stack.enter_context(Work(lines))
            runs.append((work, work.start(*options, "--cold", XDG_RUNTIME_DIR=runtime)))
        stack.callback(lambda: [run.kill() or run.wait() for _, run in runs])
        return stack, runs

    def alone(self):
        """The goodput of one run that does what all of them do."""
        with self.limit() as nginx, Work(gets(nginx, PROCESSES * JOBS)) as work:
            self.assertEqual(work.run("--cold"), 0, work.stderr())
            log = nginx.log()
            return len(log.accepted()) / log.seconds()

    def test_sixteen_together_are_as_one(self):
        one = self.alone()
        with self.limit() as nginx:
            stack, runs = self.many(nginx, PROCESSES, JOBS, "--together")
            with stack:
                for work, run in runs:
                    self.assertEqual(run.wait(120), 0, work.stderr())
            log = nginx.log()
        self.assertEqual(len(log.accepted()), PROCESSES * JOBS)
        self.assertEqual(log.twice(), [])
        all_of = [[r for r in log.accepted() if r.path.split("/")[1] == str(i)] for i in range(PROCESSES)]
        begin, end = max(rs[0].end for rs in all_of), min(rs[-1].end for rs in all_of)
        shares = [sum(begin <= r.end < end for r in rs) for rs in all_of]
        together = len(log.accepted()) / log.seconds()
        measured(
            f"one: {one:.1f}/s; {PROCESSES} together: {together:.1f}/s, Jain {jain(shares):.3f} over "
            f"{end - begin:.1f} s, {100 * log.throttled_share():.2f} % throttled"
        )
        self.assertGreaterEqual(together, 0.97 * one)
        self.assertGreaterEqual(jain(shares), 0.95)
        self.assertLessEqual(log.throttled_share(), 0.01)

    def test_kills_cost_the_others_nothing(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        with self.limit() as nginx:
            stack, runs = self.many(nginx, PROCESSES, 10 * JOBS, "--together")
            with stack:
                servers.time.sleep(5)
                begin = servers.time.time()
                for i in chance.sample(range(PROCESSES), PROCESSES - 4):
                    servers.time.sleep(chance.uniform(0, 1))
                    runs[i][1].kill()
                servers.time.sleep(2)
                end = servers.time.time()
                self.assertEqual(sum(run.poll() is None for _, run in runs), 4)
            log = nginx.log()
        rate = goodput(log, begin, end)
        spans = [goodput(log, begin + i, begin + i + 1) for i in range(int(end - begin))]
        late = [r for r in log if begin <= r.end < end]
        refused = sum(r.status == 429 for r in late) / len(late)
        measured(
            f"seed {seed}: {PROCESSES - 4} of {PROCESSES} killed in {end - begin:.1f} s: {rate:.1f}/s, "
            f"at least {min(spans):.0f} in a second, {100 * refused:.2f} % throttled"
        )
        self.assertGreaterEqual(rate, 0.95 * RATE)
        self.assertGreaterEqual(min(spans), 0.85 * RATE)
        self.assertLessEqual(refused, 0.01)


if __name__ == "__main__":
    unittest.main()
