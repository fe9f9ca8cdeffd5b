"""headway run --fleet: one queue, several runs, a real PostgreSQL and nginx's log as the judge.

HEADWAY_LONG=1 is ten times as much.
"""
import json
import os
import random
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
        jobs, kills, stops, crashes = 1000 * TIMES, 10 * TIMES, TIMES, TIMES
        dice = random.Random(SEED)
        # The limit is kept elsewhere: what becomes of it without its database is limit_at_test's.
        with postgres() as database, postgres() as limit, servers.nginx(latency_ms=(5, 30)) as server:
            with Work(fifth_unsafe(server, jobs)) as work, Fleet(database, work, 4, "--limit-at", limit.url, "--rate", "200/s") as fleet:
                for host in fleet.hosts:
                    host.start()
                wait_for(lambda: len(server.log()) > 50, 30)
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
        self.assertGreaterEqual(hits["kill"], 7 * TIMES)
        self.assertGreater(queue["taken_over"], 0)
        self.assertEqual(set(codes), {1 if outcomes["unknown"] else 0}, fleet.said())


class Runs(unittest.TestCase):
    """One database for all; each test has a queue of its own name."""

    @classmethod
    def setUpClass(cls):
        cls.database = cls.enterClassContext(postgres())

    def queue(self, lines, suffix=".jsonl"):
        """A folder with JOBS, and the name of their queue."""
        work = self.enterContext(Work())
        name = self.id().rpartition(".")[2]
        (work.path / (name + suffix)).write_text("".join(f"{line}\n" for line in lines))
        return work, name

    def upload(self, work, name, *options, suffix=".jsonl", **how):
        return work.run("--fleet", self.database.url, *options, jobs=name + suffix, **how)

    def join(self, name, *options):
        """The exit code and what was said by a host that knows nothing but the name."""
        with Work() as host:
            code = host.wait(host.launch("run", "--join", name, "--fleet", self.database.url, *options))
            return code, host.stderr()

    def held(self, name):
        """Blocks that workers hold."""
        return int(self.database.psql(
            f"select count(*) from headway1.block b, headway1.run r where r.id = b.run and r.name = '{name}' "
            "and b.until is not null and not b.ended"))  # fmt: skip

    def certificate(self):
        """One that no client trusts, with its key."""
        file = self.enterContext(Work()).path / "server.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server", "-keyout", file, "-out", f"{file}.crt"],
            check=True, capture_output=True)  # fmt: skip
        file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
        return file

    def parked(self, name):
        return int(self.database.psql(f"select parked from headway1.queue_status('{name}')"))

    def results(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def test_a_csv_and_its_template_reach_hosts_without_the_file(self):
        with servers.nginx("if ($request_uri ~ 7$) { return 404; }") as server:
            rows = ["n,q"] + [f'{i},"two\nlines {i}"' for i in range(1, 201)]
            work, name = self.queue(rows, ".csv")
            options = ["--url", f"{server.url}/{{{{n}}}}", "--body", '{"q": {{q}}}', "--id", "{{n}}", "--select", "/x", "--only", "1"]
            self.assertEqual(self.upload(work, name, *options, suffix=".csv"), 2)
            self.assertIn("--only with --fleet: want a shorter JOBS", work.stderr())
            options = options[:-2] + ["--time-max", "1ms"]
            self.assertEqual(self.upload(work, name, *options, suffix=".csv"), 75)
            code, said = self.join(name)
            self.assertEqual(code, 1, said)
            self.assertIn(f"queue {name}: 200 of 200 requests ended, 180 succeeded, 20 failed, 0 unknown", said)
            options = options[:-2] + ["--out", "table.csv", "--failed", "again.csv"]
            self.assertEqual(self.upload(work, name, *options, suffix=".csv"), 1)
            table = (work.path / "table.csv").read_text()
            self.assertEqual(table.count("success"), 180)
            self.assertIn('"two\nlines 200"', table)
            self.assertEqual((work.path / "again.csv").read_text().count("two"), 20)
            self.assertTrue((work.path / "again.csv").read_text().startswith('n,q\n7,"two\nlines 7"\n'))
            results = self.results(work.path / f"{name}.results.jsonl")
            self.assertEqual([r["id"] for r in results], [str(i) for i in range(1, 201)])
            self.assertEqual(results[0]["line"], 2)
            # What failed goes again, and its results follow.
            server.folder.joinpath("access.log").write_text("")
            self.assertEqual(self.upload(work, name, *options, "--again", "failed", "--no-canary", suffix=".csv"), 1)
            self.assertEqual(sorted({r.path[-1] for r in server.log()}), ["7"])
            self.assertEqual(len(self.results(work.path / f"{name}.results.jsonl")), 220)

    def test_headers_go_only_where_their_host_was_named(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 20))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            secret = ["--header", "Authorization: Bearer canary-of-headers"]
            code, said = self.join(name, *secret)
            self.assertEqual(code, 2)
            self.assertIn("--join with headers needs --header-for HOST", said)
            code, said = self.join(name, *secret, "--header-for", "api.example")
            self.assertEqual(code, 2, said)
            self.assertIn("--header-for does not name", said)
            self.assertEqual(self.parked(name), 0)  # it is this host's own trouble
            self.assertNotIn("canary-of-headers", said + self.database.psql("select * from headway1.run, headway1.block"))
            self.assertEqual(server.log(), [])
            code, said = self.join(name, *secret, "--header-for", "127.0.0.1")
            self.assertEqual(code, 0, said)
            self.assertEqual({r.credential for r in server.log()}, {"Bearer canary-of-headers"})

    def test_a_host_that_cannot_be_reached_keeps_no_run_waiting(self):
        with servers.nginx() as server, servers.nginx(certificate=self.certificate()) as unverified:
            work, name = self.queue([*gets(server, 9), unverified.url])
            process = work.start("--fleet", self.database.url, "--out", "out.jsonl", jobs=f"{name}.jsonl")
            code, said = self.join(name)
            self.assertEqual(work.wait(process, 20), 75, work.stderr())
            self.assertIn(code, (75, 77), said)  # 77: it has tried nothing else
            self.assertIn("its lines are left for a later run", work.stderr() + said)
            self.assertEqual(self.held(name), 0)
            self.assertEqual(sorted(int(r.path[1:]) for r in server.log()), list(range(1, 10)))
            self.assertEqual(unverified.log(), [])

    def test_what_was_parked_is_collected_once_it_goes_on(self):
        with servers.nginx(latency_ms=(5, 10)) as server:
            work, name = self.queue(gets(server, 1600))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            block = f"first = 1001 and run = (select id from headway1.run where name = '{name}')"
            self.database.psql(f"update headway1.block set parked = 'by hand' where {block}")
            process = work.start("--fleet", self.database.url, "--out", "out.jsonl", "--rate", "800/s", jobs=f"{name}.jsonl")
            out = work.path / "out.jsonl"
            wait_for(lambda: out.exists() and out.read_bytes().count(b"\n") == 1000, 20)
            time.sleep(0.3)  # by now it has seen what is parked
            self.database.psql(f"select headway1.queue_stop('{name}', false)")
            self.assertEqual(work.wait(process, 30), 0, work.stderr())
            self.assertEqual([r["line"] for r in self.results(work.path / "out.jsonl")], list(range(1, 1601)))

    def test_a_disk_that_is_full_loses_no_answer(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 1200))
            self.assertEqual(self.upload(work, name, "--out", "out.jsonl", prlimit=["--fsize=60000"]), 74, work.stderr())
            self.assertEqual(self.held(name), 0)
            self.assertEqual(self.upload(work, name, "--out", "out.jsonl"), 0, work.stderr())
            self.assertEqual([r["line"] for r in self.results(work.path / "out.jsonl")], list(range(1, 1201)))
            self.assertEqual(server.log().twice(), [])

    def test_a_block_that_was_tampered_with_is_parked_whole(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 10))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            own = f"run = (select id from headway1.run where name = '{name}')"
            for line in ('{"url": "http://a/", "body_file": "/etc/hostname"}', "no request at all", "# none"):
                self.database.psql(f"update headway1.block set lines = convert_to('{line}' || chr(10), 'UTF8') where first = 1 and {own}")
                code, said = self.join(name)
                self.assertEqual(code, 75, said)
                self.assertIn("parked", said)
                self.assertIn(f"headway fleet resume {name}", said)
                self.database.psql(f"select headway1.queue_stop('{name}', false)")
            self.assertEqual(sorted(int(r.path[1:]) for r in server.log()), list(range(2, 11)))

    def test_what_does_not_go_with_a_fleet_is_named(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 1))
            for option in ("--journal=j", "--trace=t", "--alone", "--keep-order", "--raw", "--out-dir=d", "--spend-max=usd=1"):
                self.assertEqual(self.upload(work, name, option), 2)
                self.assertRegex(work.stderr(), f"^headway: {option.split('=')[0]} with --fleet: ")
            self.assertEqual(self.upload(work, name, "--law", "reno"), 2)
            self.assertIn("--law reno", work.stderr())
            code, said = self.join("a name")
            self.assertEqual(code, 2)
            self.assertIn('--join "a name": want the name of a queue', said)
            for option in ("--url=http://a/", "--select=/a", "--out=o", "--again=all", "--retry-unsafe"):
                code, said = self.join(name, option)
                self.assertEqual(code, 2)
                self.assertRegex(said, f"^headway: {option.split('=')[0]} with --join: ")
            self.assertEqual(self.upload(work, name, "--join", "other"), 2)
            self.assertIn("want no JOBS", work.stderr())
            code, said = self.join("absent", "--wait-max", "1s")
            self.assertEqual(code, 75)
            self.assertIn("there is no queue absent", said)
            for header in ("Authorization", "X-Goog-Api-Key"):
                work.write([json.dumps({"url": server.url, "headers": {header: "Bearer canary-of-lines"}})])
                self.assertEqual(work.run("--fleet", self.database.url), 2)
                self.assertIn("jobs.txt:1: a credential among its headers", work.stderr())
                self.assertNotIn("canary", work.stderr())
            self.assertEqual(server.log(), [])

    def test_a_run_that_is_stopped_gives_its_lines_back(self):
        with servers.nginx(latency_ms=(20, 40)) as server:
            work, name = self.queue(fifth_unsafe(server, 150))
            for end in ("SIGTERM", "stop"):
                seen = len(server.log())
                process = work.start("--fleet", self.database.url, "--out", "out.jsonl", "--concurrency", "4", jobs=f"{name}.jsonl")
                wait_for(lambda: len(server.log()) > seen + 10)
                self.assertGreater(self.held(name), 0)
                if end == "stop":
                    self.database.psql(f"select headway1.queue_stop('{name}', true)")
                else:
                    process.terminate()
                self.assertEqual(work.wait(process), 75 if end == "stop" else 143, work.stderr())
                self.assertEqual(self.held(name), 0)
            self.assertIn(f"stopped by headway fleet stop: `headway fleet resume {name}` lets it go on", work.stderr())
            self.database.psql(f"select headway1.queue_stop('{name}', false)")
            self.assertEqual(self.upload(work, name, "--out", "out.jsonl"), 0, work.stderr())
            results = self.results(work.path / "out.jsonl")
            self.assertEqual([r["line"] for r in results], list(range(1, 151)))
            self.assertEqual({r["outcome"] for r in results}, {"success"})
            self.assertEqual(server.log().twice(), [])  # what flew was finished

    def test_without_the_database_it_goes_on_as_far_as_that_is_safe(self):
        with postgres() as away, postgres() as limit, servers.nginx(latency_ms=(5, 10)) as server:
            work, name = self.queue(fifth_unsafe(server, 20_000))
            process = work.start(
                "--fleet", away.url, "--limit-at", limit.url, "--lease", "1s", "--rate", "60/s", "--out", "out.jsonl", jobs=f"{name}.jsonl")  # fmt: skip
            wait_for(lambda: len(server.log()) > 50)
            away.kill()
            gone = time.time()
            time.sleep(2)
            log = server.log()
            away.start()
            wait_for(lambda: len(server.log()) > len(log) + 20, 20)
            process.terminate()
            self.assertEqual(work.wait(process), 143, work.stderr())
            during = [r for r in log if r.start > gone + 0.2]
            measured(f"the database away for 2 s, a lease of 1 s: {len(during)} requests, the last after {max(r.start for r in during) - gone:.1f} s")
            self.assertGreater(len(during), 15)
            self.assertEqual([r.path for r in during if r.method == "POST"], [])
            self.assertEqual([r.path for r in during if r.start > gone + 1.5], [])
            self.assertRegex(work.stderr(), "the database is away: .* what may be repeated goes on for")
            self.assertIn("the database answers again", work.stderr())
            twice = [path for path in server.log().twice() if "post" in path]
            self.assertEqual(twice, [])


if __name__ == "__main__":
    unittest.main()
