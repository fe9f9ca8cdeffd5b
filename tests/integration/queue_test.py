"""The queue of a fleet before a real PostgreSQL: workers, collectors and the database are killed and stopped at any moment.

The judge is a log that only grows: a line for what would have been sent. HEADWAY_LONG=1 does ten times as much.
"""
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

from postgres import postgres
from work import measured

CLIENT = os.environ["HEADWAY_QUEUE_CLIENT"]
TIMES = 10 if os.environ.get("HEADWAY_LONG") else 1
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)
LEASE_MS = 400
DAMAGED = "update headway1.block set state = decode('07', 'hex') || substr(state, 2) where first = 1"


def line_of(number):
    """Every tenth is no request, every fifth must not be sent twice, some fail."""
    if number % 10 == 3:
        return "# comment"
    return f"http://a/{number}" + ' "once"' * (number % 5 == 0) + ' "fails"' * (number % 50 == 1)


class Fleet:
    """A server, a folder for JOBS, results and the log of what was sent, and processes that work there."""

    def __init__(self, server, folder, lines=0):
        self.server = server
        self.url = server.url
        self.folder = Path(folder)
        self.jobs, self.log, self.out = self.folder / "jobs.jsonl", self.folder / "sent", self.folder / "out.jsonl"
        self.log.touch()
        self.alive = []
        self.said = self.folder / "said"
        self.lines = lines
        if lines:
            self.jobs.write_text("".join(f"{line_of(number)}\n" for number in range(1, lines + 1)))
            assert self.do("upload", self.jobs, "jobs") == f"{self.requests} requests", self.said.read_text()

    @property
    def requests(self):
        return sum(not line_of(number).startswith("#") for number in range(1, self.lines + 1))

    def start(self, *args, **more):
        with open(self.said, "ab") as said:
            child = subprocess.Popen(
                [CLIENT, self.url, *map(str, args)], stdout=said, stderr=said, env=os.environ | {"LEASE_MS": str(LEASE_MS)} | more)
        self.alive.append(child)
        return child

    def do(self, *args, code=0, **more):
        done = subprocess.run(
            [CLIENT, self.url, *map(str, args)], env=os.environ | {"LEASE_MS": str(LEASE_MS)} | more, text=True,
            capture_output=True, timeout=120)  # fmt: skip
        assert done.returncode == code, f"{args}: exit {done.returncode}, not {code}: {done.stdout}{done.stderr}"
        return done.stdout.rstrip("\n")

    def status(self, name="jobs"):
        return {key: int(value) for key, value in (
            pair.split("=") for pair in self.do("status", name).split()[1:] if not pair.startswith("sealed"))}

    def wait_until(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.said.read_text()[-2000:]
            time.sleep(0.005)

    def fenced(self):
        return self.said.read_text().count("fenced")

    def judge(self):
        """What must be nothing, by name; how many ended unknown."""
        sent = Counter(int(number) for number in self.log.read_text().split())
        results = [(int(text.split('"line":')[1].split(",")[0]), text.split('"outcome":"')[1].split('"')[0])
                   for text in self.out.read_text().splitlines()]  # fmt: skip
        of = Counter(number for number, _ in results)
        wanted = {number for number in range(1, self.lines + 1) if not line_of(number).startswith("#")}
        once = {number for number in wanted if number % 5 == 0}
        faults = {
            "lost": len(wanted - set(of)),
            "no request": len(set(of) - wanted),
            "twice": sum(count > 1 for count in of.values()),
            "sent twice": sum(sent[number] > 1 for number in once),
            "never sent": sum(how != "unknown" and not sent[number] for number, how in results),
            "unknown": sum(how == "unknown" and number not in once for number, how in results),
            "out of order": int(results != sorted(results)),
        }
        return faults, sum(how == "unknown" for _, how in results)

    def end(self):
        for child in self.alive:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGCONT)
            child.kill()
            child.wait()


@contextlib.contextmanager
def fleet(lines=0, **settings):
    with tempfile.TemporaryDirectory(prefix="headway-queue-") as folder, postgres(**settings) as server:
        made = Fleet(server, folder, lines)
        try:
            yield made
        finally:
            made.end()


def campaign(lines, kills, stops, outages, **client):
    """Four workers through all of it, then a collector: the fleet's faults, and what hit."""
    dice = random.Random(f"{SEED} {lines} {kills}")
    with fleet(lines) as f:
        workers, stopped, hits = [], [], Counter()

        def tend():
            for child, at in list(stopped):
                if time.monotonic() > at:
                    child.send_signal(signal.SIGCONT)
                    stopped.remove((child, at))
            for child in list(workers):
                if child.poll() is not None:
                    assert child.returncode in (0, -signal.SIGKILL), f.said.read_text()[-2000:]
                    workers.remove(child)
            while len(workers) < 4 and not over():
                workers.append(f.start("work", "jobs", f.log, dice.choice((1, 10, 50)), 300, **client))

        def over():
            return f.status()["ended"] == f.status()["blocks"]

        faults = ["kill"] * kills + ["stop"] * stops + ["outage"] * outages
        dice.shuffle(faults)
        for fault in faults:
            tend()
            time.sleep(dice.uniform(0, 0.12))
            running = [child for child in workers if child.poll() is None and child not in dict(stopped)]
            if not running:
                continue
            hits[fault] += 1
            if fault == "kill":
                dice.choice(running).kill()
            elif fault == "stop":
                child = dice.choice(running)
                child.send_signal(signal.SIGSTOP)
                stopped.append((child, time.monotonic() + 3 * LEASE_MS / 1000))
            else:
                f.server.kill()
                time.sleep(dice.uniform(0, 0.1))
                f.server.start()
        end = time.monotonic() + 120
        while not over() or stopped:
            assert time.monotonic() < end, f.status()
            tend()
            time.sleep(0.02)
        for child in workers:
            child.wait()
        assert "forgotten" not in f.said.read_text(), f.said.read_text()[-2000:]
        status = f.status()
        f.do("collect", "jobs", f.out)
        found, unknown = f.judge()
        assert status["success"] + status["failed"] + status["unknown"] == f.requests and status["unknown"] == unknown, status
        return found, f"{dict(hits)}, {f.fenced()} fenced, {status['taken_over']} taken over, {unknown} unknown"


class Queue(unittest.TestCase):
    def clean(self, faults):
        self.assertEqual({}, {name: count for name, count in faults.items() if count})

    def test_workers_and_the_database_are_killed(self):
        faults, hits = campaign(10_000 * TIMES, 20 * TIMES, 2 * TIMES, 2 * TIMES)
        measured(f"queue: seed {SEED}: {hits}")
        self.clean(faults)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
