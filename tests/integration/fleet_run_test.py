"""headway run --fleet: one queue, several runs, a real PostgreSQL and nginx's log as the judge.

HEADWAY_LONG=1: 100,000 jobs, 200 kills, 20 stops beyond the lease and 20 kills of the database, in some ten minutes.
"""
import contextlib
import json
import os
import random
import re
import shlex
import signal
import subprocess
import time
import unittest
from collections import Counter
from pathlib import Path

import servers
from money_test import COST, METERED
from postgres import postgres
from work import BINARY, Abreast, Work, gets, measured, post, wait_for

LONG = "HEADWAY_LONG" in os.environ
JOBS, KILLS, STOPS, CRASHES = (100_000, 200, 20, 20) if LONG else (1_000, 10, 1, 1)
RATE, PAUSE_MAX = (300, 2.0) if LONG else (200, 0.25)  # so that there is work until the last kill
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


def setUpModule():
    global shared
    shared = unittest.enterModuleContext(postgres())


class Kills(unittest.TestCase):
    def test_nothing_is_lost_and_nothing_unsafe_is_done_twice(self):
        dice = random.Random(SEED)
        # The limit is kept elsewhere: what becomes of it without its database is fleet_limit_test's.
        with postgres() as database, servers.nginx(latency_ms=(5, 30)) as server:
            with Work(fifth_unsafe(server, JOBS)) as work, Fleet(database, work, 4, "--limit-at", shared.url, "--rate", f"{RATE}/s") as fleet:
                for host in fleet.hosts:
                    host.start()
                wait_for(lambda: len(server.log()) > 50, 30)
                acts = ["kill"] * KILLS + ["stop"] * STOPS + ["crash"] * CRASHES
                dice.shuffle(acts)
                hits = Counter()
                for act in acts:
                    time.sleep(dice.uniform(0.05, PAUSE_MAX))
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
                codes = [host.wait(900 if LONG else 120) for host in fleet.hosts]
                self.judge(fleet, server, codes, status(database), hits)

    def judge(self, fleet, server, codes, queue, hits):
        results = fleet.results()
        carried_out = Counter(r.path[1:] for r in server.log() if r.status == 200)
        outcomes = Counter(r["outcome"] for r in results)
        fenced = fleet.said().count("another worker's by now")
        again = sum(count > 1 for count in carried_out.values())
        measured(
            f"a fleet of 4, seed {SEED}: {JOBS} jobs, {dict(hits)} hit a running process, {queue['taken_over']} blocks taken "
            f"over, {fenced} times fenced, {again} GETs sent again, {outcomes['unknown']} POSTs unknown"
        )
        self.assertEqual([r["line"] for r in results], list(range(1, JOBS + 1)))  # none lost, none twice, in order
        self.assertEqual([id for id, n in carried_out.items() if n > 1 and id.startswith("post")], [])
        success = [r["id"] for r in results if r["outcome"] == "success"]
        self.assertEqual([id for id in success if not carried_out[id]], [])
        self.assertEqual(set(outcomes) - {"success", "unknown"}, set())
        self.assertEqual([r["id"] for r in results if r["outcome"] == "unknown" and not r["id"].startswith("post")], [])
        self.assertLessEqual(outcomes["unknown"], JOBS / 20)
        self.assertEqual(queue["success"], outcomes["success"])
        self.assertEqual(queue["unknown"], outcomes["unknown"])
        self.assertGreaterEqual(hits["kill"], 0.7 * KILLS)
        self.assertGreater(queue["taken_over"], 0)
        self.assertEqual(set(codes), {1 if outcomes["unknown"] else 0}, fleet.said())


def load_tests(loader, _tests, _pattern):
    alone = [loader.loadTestsFromTestCase(of) for of in (Kills, Away)]
    return unittest.TestSuite([*alone, Abreast(loader.loadTestsFromTestCase(Runs))])


class Fixture(unittest.TestCase):
    """One database for all; each test has a queue of its own name."""

    def queue(self, lines, suffix=".jsonl", name=None):
        """A folder with JOBS, and the name of their queue."""
        work = self.enterContext(Work())
        name = name or self.id().rpartition(".")[2]
        (work.path / (name + suffix)).write_text("".join(f"{line}\n" for line in lines))
        return work, name

    def upload(self, work, name, *options, suffix=".jsonl", database=None, **how):
        return work.run("--fleet", (database or shared).url, *options, jobs=name + suffix, **how)

    def join(self, name, *options):
        """The exit code and what was said by a host that knows nothing but the name."""
        with Work() as host:
            code = host.wait(host.launch("run", "--join", name, "--fleet", shared.url, *options))
            return code, host.stderr()

    def both(self, work, name, *options, suffix=".jsonl", joins=(), kill_when=None, meanwhile=None):
        """The exit codes of the run that uploads and of one that joins, at once; each has a credential of its own."""
        host = self.enterContext(Work())
        text = (work.path / (name + suffix)).read_text() + " ".join(map(str, options))
        there = [f"--header-for={at}" for at in sorted(set(re.findall(r"127\.0\.0\.1:\d+", text)))]
        first = work.start("--fleet", shared.url, "-H", "Authorization: one", *options, jobs=name + suffix)
        second = host.launch("run", "--join", name, "--fleet", shared.url, "-H", "Authorization: two", *there, *joins)
        if kill_when:
            wait_for(kill_when, 30)
            first.kill()
            second.kill()
        if meanwhile:
            meanwhile()
        codes = work.wait(first), host.wait(second)
        self.said = work.stderr() + host.stderr()
        return codes

    def hosts(self, server):
        return {r.credential for r in server.log()}

    def held(self, name):
        """Blocks that workers hold."""
        return int(shared.psql(
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
        return int(shared.psql(f"select parked from headway1.queue_status('{name}')"))

    def results(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]


class Runs(Fixture):
    def test_a_csv_and_its_template_reach_hosts_without_the_file(self):
        with servers.nginx("if ($request_uri ~ 7$) { return 404; }", latency_ms=(10, 20)) as server:
            rows = ["n,q"] + [f'{i},"two\nlines {i}"' for i in range(1, 201)]
            work, name = self.queue(rows, ".csv")
            options = ["--url", f"{server.url}/{{{{n}}}}", "--body", '{"q": {{q}}}', "--id", "{{n}}", "--select", "/x"]
            self.assertEqual(self.upload(work, name, *options, "--time-max", "1ms", suffix=".csv"), 75)
            options += ["--out", "table.csv", "--failed", "again.csv"]
            rates = "--rate", "150/s"
            self.assertEqual(self.both(work, name, *options, *rates, suffix=".csv", joins=rates), (1, 1), self.said)
            self.assertIn(f"queue {name}: 200 of 200 requests ended, 180 succeeded, 20 failed, 0 unknown", self.said)
            self.assertEqual(self.hosts(server), {"one", "two"})
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
            rates = "--rate", "15/s", "--no-canary"
            again = self.both(work, name, *options, "--again", "failed", *rates, suffix=".csv", joins=rates)
            self.assertEqual(again[0], 1, self.said)
            self.assertEqual(sorted({r.path[-1] for r in server.log()}), ["7"])
            self.assertEqual(len(self.results(work.path / f"{name}.results.jsonl")), 220)

    def test_the_canary_and_stop_if_of_the_run_that_uploads_stop_all_hosts(self):
        rates = "--rate", "40/s", "--lease", "1s"
        for name, wrong, stops, within in (("canary", "return 404;", [], 130),
                                           ("stop-if", "if ($request_uri ~ 7$) { return 404; }", ["--stop-if", "failed>5"], 300)):  # fmt: skip
            with self.subTest(name), servers.nginx(wrong) as server:
                work, _ = self.queue(gets(server, 600), name=name)
                self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
                codes = self.both(work, name, *rates, *stops, joins=rates)
                self.assertEqual(codes[0], 77, self.said)
                self.assertIn(codes[1], (75, 77), self.said)
                self.assertEqual(shared.psql(f"select stopped from headway1.run where name = '{name}'"), "t")
                self.assertEqual(self.held(name), 0)
                self.assertLess(len(server.log()), within)

    def test_all_hosts_together_spend_no_more_than_they_may(self):
        with servers.nginx(METERED) as server:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(400)])
            most = lambda answers: ("--spend-max", f"tokens={answers * COST + COST // 2}")
            both = lambda answers, *rate, **how: self.both(
                work, name, "--lease", "1s", *most(answers), *rate, joins=("--lease", "1s", *rate), **how)
            self.assertEqual(self.upload(work, name, *most(100), "--time-max", "1ms"), 75)
            both(100, "--rate", "30/s", kill_when=lambda: len(server.log()) > 40 and len(self.hosts(server)) > 1)
            self.assertEqual(both(100), (77, 77), self.said)
            sent = len(server.log())
            measured(f"a cap of 100 answers, two hosts, both killed once: {sent} attempts, {len([r for r in server.log() if r.status == 499])} cut off")
            self.assertLessEqual(sent, 100)
            self.assertGreater(sent, 60)
            self.assertRegex(self.said, r"--spend-max tokens=10050: \d+ spent in all runs")
            self.assertEqual(both(110), (77, 77), self.said)
            self.assertLessEqual(len(server.log()), 110)
            self.assertGreater(len(server.log()), sent)

    def test_a_first_cap_counts_what_flies_of_a_host_that_is_killed_then(self):
        slow = METERED.replace("echo_sleep 0.02", "echo_sleep 1.5")
        with servers.nginx(slow) as server, Work() as host:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(200)])
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            process = host.launch("run", "--join", name, "--fleet", shared.url, "--lease", "1s", "--rate", "10/s")
            wait_for(lambda: len(server.log()) > 0)
            cap = "--spend-max", f"tokens={60 * COST + COST // 2}"
            self.assertEqual(self.upload(work, name, *cap, "--time-max", "1ms"), 75)
            flying = lambda: int(shared.psql(f"select coalesce(sum(intended), 0) from headway1.block b, headway1.run r where r.id = b.run and r.name = '{name}'"))
            wait_for(lambda: flying() > 5, 10)
            process.kill()
            process.wait()
            self.assertEqual(self.upload(work, name, *cap, "--lease", "1s"), 77, work.stderr())
            log = server.log()
            cut_off = sum(r.status == 499 for r in log)
            measured(f"a first cap of 60 answers, the host at work is killed once it knows: {len(log)} attempts, {cut_off} cut off")
            self.assertGreater(len(log), 40)
            self.assertLessEqual(len(log), 60)

    def test_a_cap_is_known_before_a_host_begins(self):
        with servers.nginx(METERED) as server:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(400)])
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)  # the schema is there
            self.assertEqual(subprocess.run([BINARY, "fleet", "drop", name, "--fleet", shared.url]).returncode, 0)
            was = shared.psql("select pg_get_functiondef('headway1.queue_allow'::regproc)")
            slowly = f"perform pg_sleep(1.5) from run where id = _run and name = '{name}';\n  insert into"
            self.assertEqual(was.count("insert into"), 1)
            shared.psql(was.replace("insert into", slowly))
            try:
                codes = self.both(work, name, "--spend-max", f"tokens={10 * COST + COST // 2}")
            finally:
                shared.psql(was)
            self.assertEqual(codes, (77, 77), self.said)
            self.assertLessEqual(len(server.log()), 11)

    def test_a_host_at_work_hears_of_a_cap(self):
        with servers.nginx(METERED) as server:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(400)])
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            run = shared.psql(f"select id from headway1.run where name = '{name}'")

            def set_a_cap():
                wait_for(lambda: len(self.hosts(server)) == 2, 20)
                shared.psql(f"select headway1.queue_allow({run}, 'tokens', {200 * COST})")

            codes = self.both(work, name, "--rate", "20/s", joins=("--rate", "20/s"), meanwhile=set_a_cap)
            self.assertEqual(codes, (77, 77), self.said)
            measured(f"a cap of 200 answers, set while two hosts send: {len(server.log())} attempts")
            self.assertLessEqual(len(server.log()), 201)

    def test_of_two_that_announce_at_once_one_gives_way(self):
        always = "(select 1000 * count(*) from block b where b.run = _run and b.intended > 0),"
        with servers.nginx(METERED) as server:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(20)])
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            was = shared.psql("select pg_get_functiondef('headway1.queue_spent'::regproc)")
            self.assertEqual(was.count("k.flying,"), 1)
            shared.psql(was.replace("k.flying,", always))  # another is seen as soon as ours is announced
            try:
                process = work.start("--fleet", shared.url, "--spend-max", "tokens=1M", jobs=f"{name}.jsonl")
                wait_for(lambda: self.held(name), 20)
                time.sleep(1)
                self.assertEqual(server.log(), [])
            finally:
                shared.psql(was)
            self.assertEqual(work.wait(process), 0, work.stderr())
            self.assertEqual(server.log().twice(), [])

    def test_what_is_announced_and_not_out_keeps_no_room(self):
        broken = METERED + "return 500; } location /more {"
        of_two_hosts = "update headway1.block set state = '\\x04', intended = 1, fence = 1 where run = (select id from headway1.run where name = '{}')"
        for name, paths, most in (("lost", ["/v1"] * 40, 1000), ("broken", ["/v1", "/other"] * 20, 4)):
            with self.subTest(name), servers.nginx(broken) as server:
                work, _ = self.queue((f"{server.url}{path}/{i}" for i, path in enumerate(paths)), name=name)
                cap = "--spend-max", f"tokens={most * COST + COST // 2}"
                self.assertEqual(self.upload(work, name, *cap, "--time-max", "1ms"), 75)  # known to all before one sends
                if name == "lost":  # all were being sent by hosts that are gone
                    shared.psql(of_two_hosts.format(name))
                codes = self.both(work, name, *cap)
                self.assertEqual(codes, (0, 0) if name == "lost" else (77, 77), self.said)
                self.assertLessEqual(len(server.log().accepted()), most)

    def test_hosts_with_lines_to_repeat_do_not_wait_for_each_other(self):
        with servers.nginx(METERED + "return 500; } location /more {") as server:
            work, name = self.queue(f"{server.url}/other/{i}" for i in range(40))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            run = f"(select id from headway1.run where name = '{name}')"
            shared.psql(f"insert into headway1.worker(run, spent) values({run}, E'0\\n{80 * COST} 80 {COST} tokens')")

            def leave_room_for_one():
                wait_for(lambda: len(self.hosts(server)) == 2, 20)
                shared.psql(f"update headway1.spend_max set units = {81 * COST + COST // 2} where run = {run}")
                time.sleep(1)
                seen = len(server.log())
                wait_for(lambda: len(server.log()) > seen, 30)
                shared.psql(f"select headway1.queue_stop('{name}', true)")

            again = "--attempts-max", "1000"
            codes = self.both(work, name, "--spend-max", f"tokens={90 * COST}", *again, joins=again, meanwhile=leave_room_for_one)
            self.assertEqual(codes, (75, 75), self.said)

    def test_a_price_is_that_of_the_queue(self):
        with servers.nginx(METERED) as server:
            work, name = self.queue([f"{server.url}/v1/{i}" for i in range(60)])
            self.assertEqual(self.upload(work, name, "--price", "input=0.5/k,output=2/k", "--spend-max", "usd=1.15", "--time-max", "1ms"), 75)
            code, said = self.join(name)
            self.assertEqual(code, 77, said)
            self.assertIn("--spend-max usd=1.15: 1.1 spent in all runs", said)
            self.assertEqual(len(server.log()), 10)

    def test_hosts_share_a_quota(self):
        with servers.nginx() as server:
            work, name = self.queue(json.dumps({"url": f"{server.url}/{i}", "cost": {"tokens": 10}}) for i in range(150))
            quota = "--quota", "tokens=500/s:50"
            host = self.enterContext(Work())
            run = work.start("--fleet", shared.url, *quota, jobs=f"{name}.jsonl")
            other = host.launch("run", "--join", name, "--fleet", shared.url, *quota)
            self.assertEqual((work.wait(run), host.wait(other)), (0, 0), work.stderr() + host.stderr())
            self.assertLessEqual(server.log().busiest(1), 61)
            self.assertEqual(len(server.log()), 150)

    def test_the_first_requests_only_and_later_the_rest(self):
        with servers.nginx() as server:
            work, name = self.queue([line for url in gets(server, 200) for line in ("# next", url)])
            for only, sent in (["--only=50"], 50), (["--only=70"], 70), ([], 200):
                codes = self.both(work, name, "--out", "out.jsonl", *only)
                self.assertEqual(codes, (0, 0), self.said)
                self.assertEqual(sorted(int(r.path[1:]) for r in server.log()), list(range(1, sent + 1)))
                self.assertEqual([r["line"] for r in self.results(work.path / "out.jsonl")], list(range(2, 2 * sent + 1, 2)))
                code, said = self.join(name)
                part = f"; {2 * sent + 1} of 400 lines are uploaded: the run that uploads goes on without --only" if only else ""
                self.assertIn(f"{sent} of {sent} requests ended, {sent} succeeded, 0 failed, 0 unknown{part}\n", said)

    def test_headers_go_only_where_their_host_was_named(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 20))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            join = f"headway run --join {name}"
            self.assertIn(f"headway: on other hosts: {join} --fleet '{shared.url}'\n", work.stderr())
            url = shared.url.replace("@", ":canary-of-headers@")
            secret = ["--header", "Authorization: Bearer canary-of-headers"]
            self.assertEqual(work.run("--fleet", *secret, "--time-max", "1ms", jobs=f"{name}.jsonl", HEADWAY_FLEET=url), 75, work.stderr())
            self.assertIn(f"headway: on other hosts, with HEADWAY_FLEET: {join} --header-for HOST -H …\n", work.stderr())
            self.assertNotIn("canary", work.stderr())
            code, said = self.join(name, *secret)
            self.assertEqual(code, 2)
            self.assertIn("--join with headers needs --header-for HOST", said)
            for other in ("api.example", "127.0.0.1", f"127.0.0.1:{server.port + 1}"):
                code, said = self.join(name, *secret, "--header-for", other)
                self.assertEqual(code, 2, said)
                self.assertIn("--header-for does not name", said)
            self.assertEqual(self.parked(name), 0)  # it is this host's own trouble
            self.assertNotIn("canary-of-headers", said + shared.psql("select * from headway1.run, headway1.block"))
            self.assertEqual(server.log(), [])
            code, said = self.join(name, *secret, "--header-for", f"127.0.0.1:{server.port}")
            self.assertEqual(code, 0, said)
            self.assertEqual({r.credential for r in server.log()}, {"Bearer canary-of-headers"})

    def test_a_host_that_cannot_be_reached_keeps_no_run_waiting(self):
        with servers.nginx() as server, servers.nginx(certificate=self.certificate()) as unverified:
            work, name = self.queue([*gets(server, 9), unverified.url])
            process = work.start("--fleet", shared.url, "--out", "out.jsonl", jobs=f"{name}.jsonl")
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
            shared.psql(f"update headway1.block set parked = 'by hand' where {block}")
            process = work.start("--fleet", shared.url, "--out", "out.jsonl", "--rate", "800/s", jobs=f"{name}.jsonl")
            out = work.path / "out.jsonl"
            wait_for(lambda: out.exists() and out.read_bytes().count(b"\n") >= 900, 20)  # it has asked for more by now
            shared.psql(f"select headway1.queue_stop('{name}', false)")
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
                shared.psql(f"update headway1.block set lines = convert_to('{line}' || chr(10), 'UTF8') where first = 1 and {own}")
                code, said = self.join(name)
                self.assertEqual(code, 75, said)
                self.assertIn("parked", said)
                self.assertIn(f"headway fleet resume {name}", said)
                shared.psql(f"select headway1.queue_stop('{name}', false)")
            self.assertEqual(sorted(int(r.path[1:]) for r in server.log()), list(range(2, 11)))

    def test_what_does_not_go_with_a_fleet_is_named(self):
        with servers.nginx() as server:
            work, name = self.queue(gets(server, 1))
            for option in ("--journal=j", "--trace=t", "--alone", "--keep-order", "--raw", "--out-dir=d"):
                self.assertEqual(self.upload(work, name, option), 2)
                self.assertRegex(work.stderr(), f"^headway: {option.split('=')[0]} with --fleet: ")
            self.assertEqual(self.upload(work, name, "--law", "reno"), 2)
            self.assertIn("--law reno", work.stderr())
            code, said = self.join("a name")
            self.assertEqual(code, 2)
            self.assertIn('--join "a name": want the name of a queue', said)
            for option in ("--url=http://a/", "--select=/a", "--out=o", "--again=all", "--retry-unsafe", "--only=1", "--spend-max=usd=1", "--price=a=1"):
                code, said = self.join(name, option)
                self.assertEqual(code, 2)
                self.assertRegex(said, f"^headway: {option.split('=')[0]} with --join: ")
            self.assertEqual(self.upload(work, name, "--join", "other"), 2)
            self.assertIn("want no JOBS", work.stderr())
            code, said = self.join("absent", "--wait-max", "1s")
            self.assertEqual(code, 75)
            self.assertIn("headway: waits for 1.0 s at most (--wait-max): there is no queue absent", said)
            for header in ("Authorization", "X-Goog-Api-Key"):
                work.write([json.dumps({"url": server.url, "headers": {header: "Bearer canary-of-lines"}})])
                self.assertEqual(work.run("--fleet", shared.url), 2)
                self.assertIn("jobs.txt:1: a credential among its headers", work.stderr())
                self.assertNotIn("canary", work.stderr())
            self.assertEqual(server.log(), [])

    def test_a_run_that_is_stopped_gives_its_lines_back(self):
        with servers.nginx(latency_ms=(20, 40)) as server:
            work, name = self.queue(fifth_unsafe(server, 150))
            for end in ("SIGTERM", "stop"):
                seen = len(server.log())
                process = work.start("--fleet", shared.url, "--out", "out.jsonl", "--concurrency", "4", jobs=f"{name}.jsonl")
                wait_for(lambda: len(server.log()) > seen + 10)
                self.assertGreater(self.held(name), 0)
                if end == "stop":
                    shared.psql(f"select headway1.queue_stop('{name}', true)")
                else:
                    process.terminate()
                self.assertEqual(work.wait(process), 75 if end == "stop" else 143, work.stderr())
                self.assertEqual(self.held(name), 0)
            self.assertIn(f"stopped by headway fleet stop: `headway fleet resume {name}` lets it go on", work.stderr())
            shared.psql(f"select headway1.queue_stop('{name}', false)")
            self.assertEqual(self.upload(work, name, "--out", "out.jsonl"), 0, work.stderr())
            results = self.results(work.path / "out.jsonl")
            self.assertEqual([r["line"] for r in results], list(range(1, 151)))
            self.assertEqual({r["outcome"] for r in results}, {"success"})
            self.assertEqual(server.log().twice(), [])  # what flew was finished

    def test_the_summary_counts_what_this_run_has_ended(self):
        with servers.nginx(latency_ms=(5, 10)) as server:
            work, name = self.queue(gets(server, 400))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            self.assertEqual(self.upload(work, name, "--rate", "60/s", "--time-max", "1s"), 75, work.stderr())  # within a look at all
            ended = len(server.log())
            self.assertGreater(ended, 20)
            self.assertIn(f"queue {name}: {ended} of 400 requests ended, {ended} succeeded", work.stderr())
            self.assertEqual(self.upload(work, name), 0, work.stderr())
            (printed,) = [line.removeprefix("results: headway ") for line in work.stderr().splitlines() if line.startswith("results: ")]
            done = subprocess.run([BINARY, *shlex.split(printed)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 400), done.stderr)

    def test_what_the_database_refuses_is_counted_by_no_host(self):
        with servers.nginx(latency_ms=(20, 40)) as server:
            work, name = self.queue(fifth_unsafe(server, 600))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)

            def take_away():
                for seen in range(50, 550, 50):  # as where leases have run out
                    wait_for(lambda: len(server.log()) > seen, 30)
                    shared.psql(
                        "update headway1.block set fence = fence + 1, part = 0, owner = null, until = null where not ended and "
                        f"run = (select id from headway1.run where name = '{name}')")  # fmt: skip

            rates = "--rate", "100/s"
            codes = self.both(work, name, *rates, joins=rates, meanwhile=take_away)
            self.assertLessEqual(set(codes), {0, 1}, self.said)
            sums = re.findall(r"^(\d+) succeeded, (\d+) failed, (\d+) unknown", self.said, re.MULTILINE)
            counts = shared.psql(f"select success, failed, unknown from headway1.queue_status('{name}')")
            measured(f"{len(server.log()) - 600} requests more than lines; the hosts: {sums}; the queue: {counts}")
            self.assertGreater(len(server.log()), 600)  # what was refused was sent again
            self.assertEqual([sum(map(int, column)) for column in zip(*sums)], list(map(int, counts.split("|"))), self.said)
            self.assertEqual(sum(map(int, counts.split("|"))), 600)

    def test_what_ails_the_database_is_said_and_nothing_is_lost(self):
        with self.small_disk() as folder, contextlib.ExitStack() as stack:
            wal = {"min_wal_size": "32MB", "max_wal_size": "32MB", "shared_buffers": "1MB"} if folder else {}
            ill = stack.enter_context(postgres(within=folder, **wal))
            server = stack.enter_context(servers.nginx(latency_ms=(5, 10)))
            work, name = self.queue(fifth_unsafe(server, 5_000))
            process = work.start(
                "--fleet", ill.url, "--limit-at", shared.url, "--lease", "5s", "--rate", "200/s", jobs=f"{name}.jsonl")
            wait_for(lambda: len(server.log()) > 50, 30)
            begin_anew = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headway'"
            sql = lambda text: lambda: ill.psql(text)
            ails = [
                ("it has no connection left: raise max_connections", sql(f"alter role headway connection limit 0; {begin_anew}"),
                 sql("alter role headway connection limit -1")),
                ("it is read-only", sql(f"alter role headway set default_transaction_read_only = on; {begin_anew}"),
                 sql(f"alter role headway reset default_transaction_read_only; {begin_anew}")),
                ("it took too long and was cancelled",
                 sql("begin; lock table headway1.block in exclusive mode; select pg_sleep(0.5); select pg_cancel_backend(pid) "
                     "from pg_stat_activity where application_name = 'headway' and wait_event_type = 'Lock'; commit"), lambda: None),
            ]  # fmt: skip
            if folder:
                full = folder / "full"
                ails.append(("its disk is full: make room there", lambda: fill(full), full.unlink))
            for sentence, ail, heal in ails:
                with self.subTest(sentence):
                    seen = work.stderr().count("answers again")
                    ail()
                    wait_for(lambda: sentence in work.stderr(), 20)
                    heal()
                    wait_for(lambda: work.stderr().count("answers again") > seen, 20)
            process.terminate()
            self.assertEqual(work.wait(process), 143, work.stderr())
            self.assertEqual([path for path in server.log().twice() if "post" in path], [])
            self.assertEqual(self.upload(work, name, "--time-max", "1ms", database=ill), 75, work.stderr())
            done = Counter(r.path[1:] for r in server.log() if r.status == 200)
            counts = ill.psql(f"select success, unknown from headway1.queue_status('{name}')").split("|")
            self.assertEqual((int(counts[0]), counts[1]), (len(done), "0"))

    @contextlib.contextmanager
    def small_disk(self):
        """A folder on one of its own; None where that is not allowed."""
        with Work() as work:
            mount = ["mount", "-t", "tmpfs", "-o", "size=96m,mode=755", "none", work.path]
            if subprocess.run(mount, capture_output=True).returncode != 0:
                yield None
                return
            try:
                yield work.path
            finally:
                subprocess.run(["umount", "-l", work.path], check=True)


class Away(Fixture):
    def test_what_must_not_be_repeated_waits_until_it_is_announced(self):
        with servers.nginx() as server:
            work, name = self.queue(post(server, f"post{i}") for i in range(20_000))  # a block has some hundreds
            process = work.start("--fleet", shared.url, "--rate", "60/s", jobs=f"{name}.jsonl")
            wait_for(lambda: len(server.log()) > 20, 20)
            begin = time.time() + 0.2
            shared.psql("begin; lock table headway1.block in exclusive mode; select pg_sleep(1); commit")
            end = time.time()
            wait_for(lambda: server.log()[-1].start > end, 20)
            process.terminate()
            self.assertEqual(work.wait(process), 143, work.stderr())
            self.assertEqual([r.path for r in server.log() if begin < r.start < end - 0.05], [])

    def test_heirs_of_what_was_being_sent_do_not_wait_for_each_other(self):
        with servers.nginx(METERED) as server:
            work, name = self.queue(f"{server.url}/v1/{i}" for i in range(20))
            self.assertEqual(self.upload(work, name, "--time-max", "1ms"), 75)
            lost = shared.psql(
                f"insert into headway1.worker(run, spent) select id, E'0\\n{80 * COST} 80 {COST} tokens' "
                f"from headway1.run where name = '{name}' returning id")  # fmt: skip
            shared.psql(
                f"update headway1.block set state = '\\x04', intended = 1, fence = 1, owner = {lost}, lease = '1h', "
                f"until = now() + interval '1h' where run = (select run from headway1.worker where id = {lost})")  # fmt: skip
            asking = "select count(*) from pg_locks where relation = 'headway1.block'::regclass and not granted"
            at_once = f"""do $$ begin
              lock table headway1.block in exclusive mode;
              for i in 1..1000 loop exit when ({asking}) = 2; perform pg_sleep(0.01); end loop;
              update headway1.block set until = '2000-01-01' where owner = {lost};
            end $$"""

            most = "--spend-max", f"tokens={100 * COST + COST // 2}"
            self.assertEqual(self.both(work, name, *most, meanwhile=lambda: shared.psql(at_once)), (77, 77), self.said)
            self.assertRegex(self.said, r"--spend-max tokens=10050: 10000 spent in all runs")
            self.assertEqual(server.log(), [])

    def test_without_the_database_it_goes_on_as_far_as_that_is_safe(self):
        with postgres() as away, servers.nginx(latency_ms=(5, 10)) as server:
            work, name = self.queue(fifth_unsafe(server, 20_000))
            process = work.start(
                "--fleet", away.url, "--limit-at", shared.url, "--lease", "1s", "--rate", "60/s", "--out", "out.jsonl", jobs=f"{name}.jsonl")  # fmt: skip
            wait_for(lambda: len(server.log()) > 50)
            away.kill()
            gone = time.time()
            time.sleep(2)
            log = server.log()
            away.start()
            wait_for(lambda: len(server.log()) > len(log) + 20, 20)
            away.freeze()
            time.sleep(0.3)
            for _ in range(2):
                process.terminate()
                time.sleep(0.3)
            self.assertIn(work.wait(process, 6), (75, 143), work.stderr())  # a statement may take 10 s, and a connection 5
            away.thaw()
            during = [r for r in log if r.start > gone + 0.2]
            measured(f"the database away for 2 s, a lease of 1 s: {len(during)} requests, the last after {max(r.start for r in during) - gone:.1f} s")
            self.assertGreater(len(during), 15)
            self.assertEqual([r.path for r in during if r.method == "POST"], [])
            self.assertEqual([r.path for r in during if r.start > gone + 1.5], [])
            self.assertRegex(work.stderr(), "the database is away: .* what may be repeated goes on for")
            self.assertIn("the database answers again", work.stderr())
            twice = [path for path in server.log().twice() if "post" in path]
            self.assertEqual(twice, [])


def fill(path):
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


if __name__ == "__main__":
    unittest.main()
