"""headway run --fleet: one queue, several runs, a real PostgreSQL and nginx's log as the judge.

HEADWAY_LONG=1 is ten times as much.
"""
import json
import os
import random
import re
import signal
import subprocess
import time
import unittest
from collections import Counter
from pathlib import Path

import servers
from postgres import postgres
from work import Work, gets, measured, post, wait_for

TIMES = 10 if os.environ.get("HEADWAY_LONG") else 1
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)
LEASE = 1.0  # seconds


def fifth_unsafe(server, count):
    """Every fifth is a POST: not to be sent again once it may have been carried out."""
    for i in range(count):
        if i % 5:
            yield json.dumps({"id": f"get{i}", "url": f"{server.url}/get{i}"})
        else:
            yield post(server, f"post{i}")


class Host:
    """A run on a machine of its own, as far as files go; its first one has JOBS and collects."""

    def __init__(self, fleet, first):
        self.fleet = fleet
        self.work = fleet.work if first else Work()
        self.first = first
        self.said = []
        self.process = None

    def start(self, *options):
        options = ["--fleet", self.fleet.url, "--lease", f"{LEASE}s", *self.fleet.options, *options]
        if self.first:
            options = ["jobs.txt", "--out", "out.jsonl", *options]
        else:
            options = ["--join", "jobs", *options]
        self.process = self.work.launch("run", *options)

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()
        self.said.append(self.work.stderr())

    def wait(self, seconds=60):
        code = self.work.wait(self.process, seconds)
        self.said.append(self.work.stderr())
        return code


class Fleet:
    def __init__(self, database, work, hosts, *options):
        self.url = database.url
        self.work = work
        self.options = options
        self.hosts = [Host(self, not i) for i in range(hosts)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            if host.process and host.process.poll() is None:
                host.process.kill()
                host.process.wait()
            if not host.first:
                host.work.__exit__()

    def said(self):
        return "\n".join(text for host in self.hosts for text in host.said)

    def results(self):
        return [json.loads(line) for line in (self.work.path / "out.jsonl").read_text().splitlines()]


def status(database):
    names = "requests success failed unknown blocks ended taken_over parked".split()
    row = database.psql(f"select {','.join(names)} from headway1.queue_status('jobs')")
    return dict(zip(names, map(int, row.split("|"))))


class Kills(unittest.TestCase):
    def test_nothing_is_lost_and_nothing_unsafe_is_done_twice(self):
        jobs, kills, stops, crashes = 4000 * TIMES, 20 * TIMES, 2 * TIMES, 2 * TIMES
        dice = random.Random(SEED)
        # The limit is kept elsewhere: what becomes of it without its database is limit_at_test's.
        with postgres() as database, postgres() as limit, servers.nginx(latency_ms=(5, 30)) as server:
            with Work(fifth_unsafe(server, jobs)) as work, Fleet(database, work, 4, "--limit-at", limit.url) as fleet:
                for host in fleet.hosts:
                    host.start()
                wait_for(lambda: len(server.log()) > 100, 30)
                acts = ["kill"] * kills + ["stop"] * stops + ["crash"] * crashes
                dice.shuffle(acts)
                hits = Counter()
                for act in acts:
                    time.sleep(dice.uniform(0.05, 0.25))
                    host = dice.choice(fleet.hosts)
                    running = host.process.poll() is None
                    hits[act] += running
                    if act == "crash":
                        database.kill()
                        time.sleep(dice.uniform(0, 0.3))
                        database.start()
                    elif act == "stop" and running:
                        host.process.send_signal(signal.SIGSTOP)
                        time.sleep(1.5 * LEASE)
                        host.process.send_signal(signal.SIGCONT)
                    else:
                        host.end()
                        host.start()
                codes = [host.wait(120) for host in fleet.hosts]
                self.judge(fleet, server, jobs, codes, status(database), hits)

    def judge(self, fleet, server, jobs, codes, queue, hits):
        results = fleet.results()
        carried_out = Counter(r.path[1:] for r in server.log() if r.status == 200)
        outcomes = Counter(r["outcome"] for r in results)
        fenced = fleet.said().count("another worker's by now")
        again = sum(count > 1 for count in carried_out.values())
        measured(
            f"a fleet of 4, seed {SEED}: {jobs} jobs, {dict(hits)} hit a running process, {queue['taken_over']} blocks taken "
            f"over, {fenced} times fenced, {again} GETs sent again, {outcomes['unknown']} POSTs unknown"
        )
        self.assertEqual([r["line"] for r in results], list(range(1, jobs + 1)))  # none lost, none twice, in order
        self.assertEqual([id for id, n in carried_out.items() if n > 1 and id.startswith("post")], [])
        success = [r["id"] for r in results if r["outcome"] == "success"]
        self.assertEqual([id for id in success if not carried_out[id]], [])
        self.assertEqual(set(outcomes) - {"success", "unknown"}, set())
        self.assertEqual([r["id"] for r in results if r["outcome"] == "unknown" and not r["id"].startswith("post")], [])
        self.assertLessEqual(outcomes["unknown"], jobs / 20)
        self.assertEqual(queue["success"], outcomes["success"])
        self.assertEqual(queue["unknown"], outcomes["unknown"])
        self.assertGreaterEqual(hits["kill"], 15 * TIMES)
        self.assertGreater(queue["taken_over"], 0)
        self.assertEqual(set(codes), {1 if outcomes["unknown"] else 0}, fleet.said())


if __name__ == "__main__":
    unittest.main()
