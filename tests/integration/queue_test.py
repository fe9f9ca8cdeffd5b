"""The queue of a fleet before a real PostgreSQL: workers, collectors and the database are killed and stopped at any moment.

The judge is a log that only grows: a line for what would have been sent. HEADWAY_LONG=1 does twenty times as much.
"""
import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
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

from postgres import SUPERUSER, Postgres, binaries, free_port, other_user, pgbouncer, postgres
from work import BINARY, measured

CLIENT = os.environ["HEADWAY_QUEUE_CLIENT"]
TIMES = 20 if os.environ.get("HEADWAY_LONG") else 1
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)
LEASE_MS = 400


def line_of(number):
    """Every tenth is no request, every fifth must not be sent twice, some fail."""
    if number % 10 == 3:
        return "# comment"
    return f"http://a/{number}" + ' "once"' * (number % 5 == 0) + ' "fails"' * (number % 50 == 1)


class Fleet:
    """A database, a folder for JOBS, results and the log of what was sent, and processes that work there."""

    def __init__(self, server, database, folder, lines=0):
        self.server = server
        self.database = database
        self.url = server.url_of(server.name, database)
        self.folder = Path(folder)
        self.jobs, self.log, self.out = self.folder / "jobs.jsonl", self.folder / "sent", self.folder / "out.jsonl"
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

    def fleet(self, *args, code=0):
        """What `headway fleet` prints, and says."""
        done = subprocess.run(
            [BINARY, "fleet", *map(str, args), "--fleet", self.url], text=True, capture_output=True, timeout=60)
        assert done.returncode == code, f"{args}: exit {done.returncode}, not {code}: {done.stdout}{done.stderr}"
        return done.stdout, done.stderr

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

    def psql(self, sql, **how):
        return self.server.psql(sql, self.database, **how)

    def end(self):
        for child in self.alive:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGCONT)
            child.kill()
            child.wait()


def setUpModule():
    global server
    server = unittest.enterModuleContext(postgres(wal_level="replica", max_wal_senders=4))


@functools.cache
def with_schema():
    """A database that those with a queue are copies of."""
    server.psql(f"create database with_schema owner {server.name}", "postgres")
    Fleet(server, "with_schema", "/").do("status", "none")
    return "with_schema"


@contextlib.contextmanager
def fleet(lines=0, databases=itertools.count()):
    database = f"queue{next(databases)}"
    made = f"template {with_schema()}" if lines else ""
    server.psql(f"create database {database} owner {server.name} {made}", "postgres")
    with tempfile.TemporaryDirectory(prefix="headway-queue-") as folder:
        Path(folder, "sent").touch()
        made = Fleet(server, database, folder, lines)
        try:
            yield made
        finally:
            made.end()


def campaign(lines, kills, stops, outages, cuts):
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
                workers.append(f.start("work", "jobs", f.log, dice.choice((1, 10, 50)), 300))

        def over():
            return f.status()["ended"] == f.status()["blocks"]

        faults = ["kill"] * kills + ["stop"] * stops + ["outage"] * outages + ["cut"] * cuts
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
            elif fault == "cut":  # of all workers, whatever they wait for
                f.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headway'")
            else:
                server.kill()
                time.sleep(dice.uniform(0, 0.1))
                server.start()
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


@contextlib.contextmanager
def standby_of(server):
    """One that has what the first has acknowledged."""
    under, ids = other_user()
    with tempfile.TemporaryDirectory(prefix="headway-standby-") as folder:
        other = Postgres(folder, free_port(), server.name)
        if ids:
            os.chown(folder, *ids)
        with open(server.data / "pg_hba.conf", "a") as file:
            file.write("local replication all trust\n")
        server.set()
        source = f"host={server.folder} port={server.port} user={SUPERUSER}"
        copy = [binaries() / "pg_basebackup", "-D", other.data, "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        subprocess.run([*under, *copy], check=True, cwd="/")
        with open(other.data / "postgresql.auto.conf", "a") as file:
            file.write(f"port = {other.port}\nunix_socket_directories = '{folder}'\nsynchronous_standby_names = ''\n")
        try:
            other.start()
            server.set(synchronous_standby_names="*")
            yield other
        finally:
            other.stop(signal.SIGQUIT)
            server.set(synchronous_standby_names="")


def mutate(f, name, what, by):
    """Puts `by` in the place of `what` in a function of queue.sql."""
    text = f.psql(f"select pg_get_functiondef('headway1.{name}'::regproc)")
    assert text.count(what) == 1, (what, text)
    f.psql(text.replace(what, by))


def leased(f, lease_ms=30_000, worker=1, held="{}"):
    """What a lease returned: what, first, n, fence."""
    return f.psql(f"select what, first, n, fence from headway1.queue_lease(1, {worker}, '{held}', {lease_ms})")


def committed(f, first, fence, part, changes, result):
    return f.psql(
        f"select verdict from headway1.queue_commit(1, array[{first}::bigint], array[{fence}::bigint], array[{part}::bigint], "
        f"array['\\x{changes}'::bytea], array['{result}'::bytea], 30000, 1, 0, null)")


def stale_commit(f):
    """What a worker is told whose block another has: both have committed as often."""
    leased(f, lease_ms=1)
    time.sleep(0.01)
    leased(f, worker=2)
    return committed(f, 1, 1, 1, "000001", "stale")


def commit_again(f):
    """What becomes of a commit whose answer was lost, and of its results."""
    leased(f)
    told = committed(f, 1, 1, 1, "000001", "once"), committed(f, 1, 1, 1, "000001", "once")
    return told, f.psql("select count(*) from headway1.result")


class Queue(unittest.TestCase):
    def clean(self, faults):
        self.assertEqual({}, {name: count for name, count in faults.items() if count})

    def test_workers_and_the_database_are_killed(self):
        faults, hits = campaign(5_000 * TIMES, 10 * TIMES, TIMES, TIMES, 4 * TIMES)
        measured(f"queue: seed {SEED}: {hits}")
        self.clean(faults)

    def killed_while_it_sends(self, **client):
        with fleet(640) as f:  # blocks of 10
            worker = f.start("work", "jobs", f.log, 50, 5_000, **client)
            f.wait_until(lambda: "5" in f.log.read_text().split())
            worker.kill()
            worker.wait()
            f.do("work", "jobs", f.log, 50)
            f.do("collect", "jobs", f.out)
            return f.judge()

    def test_an_intent_comes_before_its_request(self):
        faults, unknown = self.killed_while_it_sends()
        self.clean(faults)
        self.assertEqual(2, unknown)
        faults, _ = self.killed_while_it_sends(SENDS_FIRST="1")
        self.assertGreater(faults["sent twice"], 0)

    def test_the_collector_is_killed(self):
        dice = random.Random(SEED)
        with fleet(2_000 * TIMES) as f:
            workers = [f.start("work", "jobs", f.log, 20, 150) for _ in range(2)]
            hits, kills = 0, 10 * TIMES
            for _ in range(kills):
                child = f.start("collect", "jobs", f.out)
                time.sleep(dice.uniform(0.005, 0.06))
                hits += child.poll() is None
                child.kill()
                child.wait()
            f.do("collect", "jobs", f.out)
            self.assertEqual([0, 0], [child.wait() for child in workers])
            measured(f"queue: collector killed {hits} of {kills} times")
            self.clean(f.judge()[0])
            self.assertEqual("0", f.psql("select count(*) from headway1.result"))
            f.do("collect", "jobs", f.out)
            self.clean(f.judge()[0])

    def test_a_standby_takes_over(self):
        with fleet(3_000) as f, standby_of(server) as other:
            f.url = f"postgresql://{server.name}@127.0.0.1:{server.port},127.0.0.1:{other.port}/{f.database}"
            workers = [f.start("work", "jobs", f.log, 20, 300) for _ in range(3)]
            f.wait_until(lambda: f.log.stat().st_size > 3_000)
            server.kill()
            other.psql("select pg_promote()", "postgres")
            self.assertEqual([0, 0, 0], [child.wait(60) for child in workers], f.said.read_text())
            f.do("collect", "jobs", f.out)
            self.assertNotIn("forgotten", f.said.read_text())
            self.clean(f.judge()[0])
        server.start()  # for others

    def test_a_standby_that_knows_less_is_found_out(self):
        with fleet(1_000) as f:
            leased(f)
            committed(f, 1, 1, 1, "000004", "")
            before = f.psql("select state, part, left_open from headway1.block where first = 1")
            state, part, left = before.split("|")
            committed(f, 1, 1, 2, "000001", "r")
            f.psql(f"update headway1.block set state = '{state}', part = {int(part) - 1}, left_open = {left} where first = 1")
            self.assertEqual("lost", committed(f, 1, 1, 3, "000101", "r"))

    def test_an_upload_is_killed_and_goes_on(self):
        dice = random.Random(SEED)
        with fleet() as f:
            text = "".join(f"{line_of(number)}\n" for number in range(1, 40_001))
            f.jobs.write_text(text)
            for _ in range(8):
                two = [f.start("upload", f.jobs, "jobs") for _ in range(2)]
                time.sleep(dice.uniform(0.02, 0.1))
                two[0].kill()
                f.wait_until(lambda: f.psql("select to_regclass('headway1.run')") and f.status() or True)
                if dice.random() < 0.5:
                    two[1].kill()
                for child in two:
                    child.wait()
            f.do("upload", f.jobs, "jobs")
            there = f.psql("select encode(sha256(string_agg(lines, '' order by first)), 'hex') from headway1.block")
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), there)

    def test_an_unfinished_upload_is_not_worked_on(self):
        with fleet(100) as f:
            f.psql("update headway1.run set sealed = null")
            self.assertEqual("unsealed|||", leased(f))
            f.do("upload", f.jobs, "jobs")
            self.assertEqual("block|1|1|1", leased(f))

    def test_another_file_under_the_name_is_refused(self):
        with fleet(100) as f:
            other = f.folder / "other.jsonl"
            for lines, said in (
                (lambda all: all[:41] + ["http://a/x"] + all[42:], f"{other}:42: this is not the line of queue jobs"),
                (lambda all: all[:-1], f"{other} has 99 lines, queue jobs has 100"),
                (lambda all: [*all, "http://a/101"], f"{other} has 101 lines, queue jobs has 100"),
            ):
                other.write_text("\n".join(lines(f.jobs.read_text().splitlines())))
                self.assertIn(said, f.do("upload", other, "jobs", code=2))
            other.write_text("http://a/" + "x" * (1 << 20))
            self.assertIn(f"{other}:1: the line has 1048585 bytes; a queue takes up to 1048576", f.do("upload", other, "big", code=2))
            self.assertEqual(f"{f.requests} requests", f.do("upload", f.jobs, "jobs"))

    def test_a_damaged_block_is_parked_with_a_sentence(self):
        zero = "decode('00', 'hex')"
        for damage, said in [
            ("state = decode('07', 'hex') || substr(state, 2)", "line 1 has the state 7"),
            (f"state = state || {zero}", "it has 4 lines and 5 states"),
            ("lines = substr(lines, 5, 20)", "it has the text of"),
            ("n = 1001", "it has 1001 lines from 1 on"),
        ][: 2 * TIMES]:
            with self.subTest(damage), fleet(256) as f:
                f.psql("alter table headway1.block drop constraint block_check, drop constraint block_check1, drop constraint block_n_check;"
                              "create table kept as select * from headway1.block where first = 1;"
                              f"update headway1.block set {damage} where first = 1")
                told = f.do("work", "jobs", f.log, 50, code=75)
                self.assertIn(f"queue jobs: the block of line 1 is parked: {said}", told)
                self.assertIn("the block of line 1 is parked", f.do("collect", "jobs", f.out, code=75))
                self.assertEqual((1, 63), (f.status()["parked"], f.status()["ended"]))
                f.psql("update headway1.block b set state = k.state, lines = k.lines, n = k.n from kept k where b.first = 1")
                f.do("resume", "jobs")
                f.do("work", "jobs", f.log, 50)
                f.do("collect", "jobs", f.out)
                self.clean(f.judge()[0])

    def test_stopped_resumed_opened_again_and_dropped(self):
        with fleet(2_000) as f:
            f.do("stop", "jobs")
            f.do("work", "jobs", f.log, 50, code=75)
            self.assertEqual(0, f.status()["success"])
            f.do("resume", "jobs")
            f.do("work", "jobs", f.log, 50)
            printed = f.do("print", "jobs").splitlines()
            f.do("collect", "jobs", f.out)
            self.assertEqual(printed, f.out.read_text().splitlines())
            self.assertIn("its results are collected into", f.do("collect", "jobs", f.folder / "second", code=2))
            failed = [number for number in range(1, 2_001) if number % 50 == 1]
            self.assertEqual(len(failed), f.status()["failed"])

            self.assertEqual(str(len(failed)), f.do("again", "jobs"))
            worker = f.start("work", "jobs", f.log, 1, 100_000, AGAIN="1", LEASE_MS="60000")
            f.wait_until(lambda: f.status()["in_hand"] > 0)
            worker.send_signal(signal.SIGSTOP)  # else, on a busy machine, it may end first
            self.assertEqual("held", f.do("again", "jobs"))
            worker.send_signal(signal.SIGCONT)
            worker.wait()
            f.do("collect", "jobs", f.out)
            again = f.out.read_text().splitlines()[f.requests:]
            self.assertEqual([f'"line":{number},' for number in failed],
                             [f'"line":{text.split(chr(34) + "line" + chr(34) + ":")[1].split(",")[0]},' for text in again])
            self.assertTrue(all("success" in text for text in again))
            self.assertEqual((f.requests, 0), (f.status()["success"], f.status()["failed"]))

            f.do("drop", "jobs")
            self.assertEqual("0", self.rows(f))
            f.do("upload", f.jobs, "jobs")
            self.assertIn("is not the one whose results are in", f.do("collect", "jobs", f.out, code=2))

    def rows(self, f):
        tables = " + ".join(f"(select count(*) from headway1.{table})" for table in ("block", "result", "worker"))
        return f.psql(f"select {tables}")

    def test_a_block_is_taken_from_no_worker_that_has_it(self):
        with fleet(1) as f:
            self.assertEqual("block|1|1|1", leased(f, lease_ms=300_000))
            self.assertEqual("wait|||", leased(f, lease_ms=1_000, worker=2))  # whose leases are shorter
            for until in "- interval '1 min'", "+ interval '1 h'":  # after an outage; the clock was set back
                f.psql(f"update headway1.block set until = clock_timestamp() {until}")
                self.assertEqual("wait|||", leased(f, held="{1}"))
            self.assertEqual("block|1|1|2", leased(f, worker=2))
            f.psql("update headway1.block set until = clock_timestamp() - interval '1 min'")
            self.assertEqual("block|1|1|3", leased(f))

    def test_lines_are_opened_again_while_they_are_collected(self):
        for ends_before in True, False:
            with self.subTest(ends_before=ends_before), fleet(640) as f:
                f.do("work", "jobs", f.log, 50)
                f.psql("alter function headway1.queue_collected rename to kept")
                self.assertIn("queue_collected", f.do("collect", "jobs", f.out, code=74))  # killed: the file has the block
                self.assertEqual("13", f.do("again", "jobs"))
                f.psql("alter function headway1.kept rename to queue_collected")
                if ends_before:
                    f.do("work", "jobs", f.log, 50, AGAIN="1")
                    f.do("collect", "jobs", f.out)
                else:
                    collector = f.start("collect", "jobs", f.out)
                    f.wait_until(lambda: f.psql("select round from headway1.block where first = 1") == "2")
                    f.do("work", "jobs", f.log, 50, AGAIN="1")
                    self.assertEqual(0, collector.wait(30))
                results = [json.loads(line) for line in f.out.read_text().splitlines()]
                self.assertEqual(f.requests + 13, len(results))
                self.assertEqual([(1, "failed"), (1, "success")], [(r["line"], r["outcome"]) for r in (results[0], results[-1])])
                self.assertEqual({"success"}, set({r["line"]: r["outcome"] for r in results}.values()))
                self.assertEqual((0, 0, 64), tuple(f.status()[key] for key in ("waiting", "waiting_bytes", "ended")))
                self.assertEqual("0", f.psql("select count(*) from headway1.result"))

    def test_answers_that_no_queue_gives(self):
        with fleet(1) as f:
            right = f.psql("select pg_get_functiondef('headway1.queue_commit'::regproc)")
            for what, by, said in (("verdict := 'committed'", "verdict := 'perhaps'", "perhaps"),
                                   ("return next;", "null;", "of 1 blocks it has 0 verdicts"),
                                   ("return next;", "first := 2; return next;", "a verdict on the block of line 2, not 1")):  # fmt: skip
                with self.subTest(by):
                    mutate(f, "queue_commit", what, by)
                    self.assertIn(f"answers what no queue does: {said}", f.do("work", "jobs", f.log, 50, code=74))
                    f.psql(right + "; update headway1.block set ended = false, state = '\\x00', left_open = 1, until = null;"
                           "update headway1.run set ended = 0; delete from headway1.result")
            f.do("work", "jobs", f.log, 50)
            f.psql("create table kept as select * from headway1.result; update headway1.result set bytes = 'nonsense'")
            self.assertIn("queue jobs: what the database has for results of the block of line 1 is not from headway",
                          f.do("collect", "jobs", f.out, code=2))
            f.psql("update headway1.result r set bytes = k.bytes from kept k")
            mutate(f, "queue_collected", "collector = _collector", "false")
            self.assertIn("does not know any longer", f.do("collect", "jobs", f.out, code=74))

    def test_large_results_go_some_at_a_time(self):
        with fleet(640) as f:
            f.psql("update headway1.block set parked = 'another time' where first > 1")
            f.do("work", "jobs", f.log, 50, code=75, BODY_BYTES=str(1 << 20))
            self.assertEqual("3|f", f.psql("select count(*), max(octet_length(bytes)) > 6 << 20 from headway1.result"))
            self.assertIn("5 steps", f.do("collect", "jobs", f.out, code=75))
            self.assertEqual([1, 2, 4, 5, 6, 7, 8, 9, 10], [json.loads(line)["line"] for line in f.out.read_text().splitlines()])

    def test_what_concerns_all_blocks_takes_some_at_a_time(self):
        with fleet(500) as f:
            blocks = f.status()["blocks"]
            parked = "select count(parked) from headway1.block where not ended"
            mutate(f, "queue_unpark", ":= 1000", ":= 20")
            f.psql("update headway1.block set parked = 'mended by now'")
            waiting = int(f.psql(parked))
            self.assertEqual("t", f.psql("select headway1.queue_unpark('jobs')"))
            self.assertEqual(str(waiting - 20), f.psql(parked))
            f.do("resume", "jobs")
            self.assertEqual("0", f.psql(parked))
            f.do("work", "jobs", f.log, 1_000)
            mutate(f, "queue_reopen", "limit 100", "limit 20")
            self.assertEqual("20", f.psql("select count(*) from headway1.block where first <= "
                                          "(select last from headway1.queue_reopen(1, '{1}', 2, 0))"))
            self.assertEqual("10", f.do("again", "jobs"))  # in all of them
            f.psql("select headway1.queue_drop('jobs')")  # and killed there
            self.assertEqual("t", f.psql("select headway1.queue_sweep()"))
            self.assertEqual(str(blocks - 50), f.psql("select count(*) from headway1.block"))
            f.do("upload", f.jobs, "jobs")
            f.do("drop", "jobs")
            self.assertEqual("0", self.rows(f))

    def test_none_waits_in_a_circle(self):
        with fleet(1) as f:
            f.do("work", "jobs", f.log, 50)
            for sql in ("select headway1.queue_stop('jobs', false)", "select * from headway1.queue_reopen(1, '{2}', 2, 0)",
                        "select headway1.queue_drop('jobs')"):
                with self.subTest(sql), concurrent.futures.ThreadPoolExecutor() as pool:
                    f.psql("update headway1.block set ended = false, parked = 'mended'" if "stop" in sql else "select 1")
                    commit = pool.submit(f.psql, "begin; select from headway1.block for no key update; select pg_sleep(0.3);"
                                         "update headway1.run set ended = ended; commit")  # as commits do
                    time.sleep(0.1)
                    f.psql(sql)
                    commit.result()

    def test_a_worker_has_the_functions_and_nothing_else(self):
        with fleet() as f:
            f.psql("create role headway_owner; create role headway_worker; grant headway_owner to headway;"
                   "create role one login in role headway_worker")
            f.lines = 500
            f.jobs.write_text("".join(f"{line_of(number)}\n" for number in range(1, 501)))
            f.do("upload", f.jobs, "jobs")
            f.url = server.url_of("one", f.database)
            f.do("work", "jobs", f.log, 50)
            for table in ("run", "block", "result", "worker"):
                with self.assertRaisesRegex(AssertionError, "permission denied"):
                    f.psql(f"select * from headway1.{table}", role="one")

    def test_by_a_pooler_that_shares_sessions(self):
        with fleet(2_000) as f, pgbouncer(server) as url:
            f.url = f"{url.rsplit('/', 1)[0]}/{f.database}"
            self.assertEqual([0] * 3, [child.wait() for child in [f.start("work", "jobs", f.log, 20) for _ in range(3)]])
            f.do("collect", "jobs", f.out)
            self.clean(f.judge()[0])

    def test_what_people_do(self):
        with fleet(500) as f:
            self.assertIn('there is no queue "job"; there are: jobs', f.fleet("stop", "job", code=2)[1])
            self.assertIn("stop NAME: 1 to 64 of", f.fleet("stop", "a b", code=2)[1])
            self.assertIn("want headway fleet results NAME", f.fleet("stop", "jobs", "--follow", code=2)[1])
            self.assertIn("queue jobs is stopped", f.fleet("stop", "jobs")[1])
            f.do("work", "jobs", f.log, 50, code=75)
            open_, again = "queue jobs: 450 of 450 requests are open, in 72 of 72 blocks; ", "; the same again later, or --follow, has the rest"
            stopped = "it is stopped: `headway fleet resume jobs` lets it go on"
            self.assertEqual(("", f"headway: {open_}{stopped}{again}\n"), f.fleet("results", "jobs", code=75))
            self.assertIn("queue jobs goes on", f.fleet("resume", "jobs")[1])
            for change, why in (
                ("select 1", "no host works on it: `headway run --join jobs` does"),
                ("update headway1.block set owner = 1, fence = 1, until = now() + interval '1h' where first = 1", "hosts have 6 in hand"),
                ("update headway1.block set owner = null, fence = 0, until = null where first = 1", "no host works on it: `headway run --join jobs` does"),
                ("update headway1.run set sealed = null, uploaded = 400", "400 of 500 lines are uploaded"),
                ("update headway1.run set sealed = now(), uploaded = 500", "no host works on it: `headway run --join jobs` does"),
            ):
                f.psql(change)
                self.assertEqual(("", f"headway: {open_}{why}{again}\n"), f.fleet("results", "jobs", code=75))
            f.do("work", "jobs", f.log, 50)
            status, _ = f.fleet("status")
            self.assertIn("queue    jobs: 450 of 450 done, 10 failed, 0 unknown, 0 in hand\nresults  72 of 72 blocks ended, 0 taken over, 72 wait", status)
            queue, = json.loads(f.fleet("status", "--json")[0])["queues"]
            self.assertEqual(("jobs", 440, 10, 72), tuple(queue[key] for key in ("name", "success", "failed", "waiting")))
            printed, _ = f.fleet("results", "jobs")
            self.assertIn("results that are not collected", f.fleet("drop", "jobs", code=2)[1])
            f.fleet("results", "jobs", "--out", f.out, "--follow")
            self.assertEqual(printed, f.out.read_text())
            self.clean(f.judge()[0])
            self.assertIn("queue jobs is dropped", f.fleet("drop", "jobs")[1])

    def test_what_keeps_it_away_is_said(self):
        with fleet(100) as f:
            for sql, undo, code, said in (
                ("alter role headway connection limit 0", "alter role headway connection limit -1", 75, "too many connections"),
                (f"alter database {f.database} set default_transaction_read_only = on",
                 f"alter database {f.database} reset default_transaction_read_only", 2, "it is read-only"),
                ("update headway1.about set revision = revision + 1", "update headway1.about set revision = revision - 1", 2,
                 "use the same headway on all hosts"),
            ):  # fmt: skip
                with self.subTest(sql):
                    f.psql(sql)
                    self.assertIn(said, f.do("status", "jobs", code=code, GIVES_UP="1"))
                    f.psql(f"set default_transaction_read_only = off; {undo}")
            self.assertEqual(90, f.status()["requests"])

    def test_mutations_are_found_out(self):
        with fleet(1_000) as f:
            self.assertEqual("fenced", stale_commit(f))
        with fleet(1_000) as f:
            mutate(f, "queue_commit", "and k.fence = _fences[i] for no", "for no")
            self.assertEqual("committed", stale_commit(f))
        with fleet(1_000) as f:
            self.assertEqual((("committed", "known"), "1"), commit_again(f))
        with fleet(1_000) as f:
            mutate(f, "queue_commit", "b.part = _parts[i]", "false")
            mutate(f, "queue_commit", "b.part <> _parts[i] - 1", "false")
            with self.assertRaisesRegex(AssertionError, "line 1 has ended already"):
                commit_again(f)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
