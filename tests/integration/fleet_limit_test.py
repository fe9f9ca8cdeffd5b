"""One limit for the hosts of a fleet: real PostgreSQL keeps it, real nginx has it, and its log judges.

HEADWAY_LONG=1 takes as many members and faults as the goals name.
"""
import contextlib
import json
import os
import random
import signal
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import fleet
import postgres
from fleet import LONG, RATE, Steady, by_second, number_of, refused
from fleet_test import fleet as fleet_command
from work import measured

SEED = int(os.environ.get("HEADWAY_SEED", random.randrange(2**32)))


@contextlib.contextmanager
def together(server, many, jobs, *options):
    """nginx, a database, and as many members at work."""
    with server as nginx, postgres.postgres() as database, fleet.members(nginx, database.url, many, jobs, *options) as all:
        yield nginx, database, all


def pid_of(host):
    """Of a host's name in the database."""
    return int(host.rpartition(":")[2])


def combiner(database, all):
    """The member that combines; it alone may hold the lease."""
    name = database.psql("select h.name from headway1.scope s join headway1.host h on h.id = s.combiner")
    return next((m for m in all if name and m.process.pid == pid_of(name)), None)


def finished(server, many, jobs, limit, words, *options):
    """The log of as many members that do all of their work, and what it says of the time when all were there."""
    with together(server, many, jobs, *options) as (nginx, database, all):
        all.finish()
        log = nginx.log()
    assert len(log.accepted()) == many * jobs and not log.twice()
    steady = Steady(log, many)
    measured(f"{words}, {many} members: {steady}, {steady.rate / limit:.3f} of the limit, {100 * log.throttled_share():.2f} % refused")
    return log, steady


def with_faults():
    """The log of members at work, when each fault happened, and what it is."""
    chance = random.Random(SEED)
    faults = []
    many = 8 if LONG else 6
    rounds = 20 if LONG else 1
    with together(fleet.limit(), many, 100_000 if LONG else 3000) as (nginx, database, all):
        time.sleep(5 if LONG else 4)

        def strike(what, member=None):
            faults.append((time.time(), what))
            if what == "kill":
                member.kill()
            elif what == "stop":
                member.stop()

        def victim(combines):
            return combiner(database, all) if combines else chance.choice([m for m in all if m.process.poll() is None])

        for n in range(rounds):
            strike("kill", victim(n % 2 == 0))
            time.sleep(2 if LONG else 1.5)
            other = victim(n % 2 == 1)
            strike("stop", other)
            time.sleep(chance.uniform(1.5, 3) if LONG else 1.5)
            other.go_on()
            database.psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'headway'")
            faults.append((time.time(), "sessions ended"))
            time.sleep(2 if LONG else 1)
            if LONG:
                all.add()
                time.sleep(3)
        end = time.time()
        log = nginx.log()
        problems = [m.work.stderr() for m in all if m.process.poll() not in (None, -signal.SIGKILL)]
    assert not problems, problems
    return log, faults, end


def engine_away():
    """The log of members whose database crashed, lost the state, and came back; when."""
    away = 10 if LONG else 2.5
    with together(fleet.limit(), 8 if LONG else 4, 100_000 if LONG else 3000) as (nginx, database, all):
        time.sleep(12 if LONG else 4)
        gone = time.time()
        database.kill()
        time.sleep(away)
        back = time.time()
        database.start()
        time.sleep(12 if LONG else 4)
        end = time.time()
        return nginx.log(), gone, back, end


def held():
    """The log of members that are told when to come back."""
    what, many = (fleet.limit(retry_after=2), 16) if LONG else (fleet.limit(50, 5, retry_after=2), 4)
    with together(what, many, 5000) as (nginx, database, all):
        time.sleep(60 if LONG else 8)
        return nginx.log()


def engine_at_work():
    """A second: how often eight members ask the database, for how many requests, and its share of a core."""
    many = 8
    with together(fleet.limit(), many, 5000) as (nginx, database, all):
        time.sleep(4)
        calls = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
        look = lambda: (time.time(), int(database.psql(calls)), database.cpu_seconds())
        before = look()
        time.sleep(20 if LONG else 5)
        after = look()
        begin, end = before[0], after[0]
        asked, busy = ((b - a) / (end - begin) for a, b in zip(before[1:], after[1:]))
        return many, asked, sum(begin <= r.start < end for r in nginx.log()) / (end - begin), busy


def two_versions():
    """The log of members of which half are of another build; when all that combined by then were killed; what
    `fleet status` said of the state before and after."""
    readable = lambda: json.loads(fleet_command("status", "--json", "--fleet", database.url).stdout)["limits"][0]["readable"]
    with tempfile.TemporaryDirectory() as folder, together(fleet.limit(), 3, 3000) as (nginx, database, all):
        other = fleet.another_version(folder)
        time.sleep(3)
        ours = readable()
        for _ in range(3):
            all.add(binary=other)
        time.sleep(3)
        still_ours = readable()
        killed = time.time()
        for m in all[:3]:
            m.kill()
        time.sleep(5)
        end = time.time()
        said = fleet_command("status", "--fleet", database.url).stdout
        problems = [m.work.stderr() for m in all[3:] if m.process.poll() is not None]
        assert not problems, problems
        return nginx.log(), killed, end, (ours, still_ours, said)


class Fleet(unittest.TestCase):
    """They run beside each other: they wait for most of their time."""

    @classmethod
    def setUpClass(cls):
        postgres.template()  # not by several threads at once
        pool = ThreadPoolExecutor(1 if LONG else 4)
        cls.addClassCleanup(pool.shutdown)
        cls.one_limit = pool.submit(finished, fleet.limit(), 8, 500 if LONG else 150, RATE, "200/s")
        cls.with_faults, cls.away, cls.held, cls.versions, cls.engine = (
            pool.submit(f) for f in (with_faults, engine_away, held, two_versions, engine_at_work))  # fmt: skip

    def test_eight_are_as_one(self):
        log, steady = self.one_limit.result()
        self.assertGreaterEqual(steady.rate, (0.96 if LONG else 0.85) * RATE)
        self.assertGreaterEqual(steady.jain, 0.995 if LONG else 0.98)
        self.assertLessEqual(log.throttled_share(), 0.006 if LONG else 0.03)

    def test_the_living_use_what_the_dead_and_the_stopped_had(self):
        log, faults, end = self.with_faults.result()
        begin = faults[0][0] - 1
        seconds = by_second(log, begin, end)
        pairs = [(a + b) / 2 for a, b in zip(seconds, seconds[1:])]
        measured(f"seed {SEED}: {len(faults)} faults: {seconds} a second, {refused(log, begin)} refused")
        self.assertEqual(log.twice(), [])
        self.assertGreaterEqual(min(pairs), (0.8 if LONG else 0.55) * RATE)

    def test_an_engine_that_is_away_and_forgets_costs_little(self):
        log, gone, back, end = self.away.result()
        ok = lambda a, b: sum(a <= r.end < b for r in log.accepted()) / (b - a)
        later = back + (5 if LONG else 3)
        measured(
            f"away {back - gone:.1f} s: {ok(gone, back):.1f}/s, {refused(log, gone + 0.2, back)} refused; back: "
            f"{refused(log, back, later)} refused, then {ok(later, end):.1f}/s; {by_second(log, gone - 2, end)}"
        )
        self.assertGreaterEqual(ok(gone, back), (0.88 if LONG else 0.7) * RATE)
        self.assertLessEqual(refused(log, gone + 0.2, back), 0 if LONG else 3)
        self.assertLessEqual(refused(log, back, later), 25)
        self.assertGreaterEqual(ok(later, end), (0.95 if LONG else 0.7) * RATE)

    def test_nothing_goes_while_a_server_asks_all_to_wait(self):
        log = self.held.result()
        ends = sorted({r.end for r in log.throttled()})
        self.assertTrue(ends, "no refusal: the test proves nothing")
        episodes = [t for i, t in enumerate(ends) if i == 0 or t > ends[i - 1] + 2]
        starts = log.starts()
        soon = 0.02 if LONG else 0.1  # a busy machine wakes a member 30 ms late
        at_once = sum(any(0.003 < s - t <= soon for s in starts) for t in episodes)
        while_held = [(t, s - t) for t in episodes for s in starts if soon < s - t < 1.95]
        known = sorted(max((s - t for s in starts if 0 < s - t < 1.95), default=0) for t in episodes)
        measured(f"{len(episodes)} episodes of Retry-After: {at_once} with a request within {1000 * soon:.0f} ms, {len(while_held)} later; "
                 f"all know of it after {[round(1000 * k, 1) for k in known]} ms")  # fmt: skip
        self.assertEqual(while_held, [])
        if LONG:
            self.assertLessEqual(at_once, len(episodes))
            self.assertLessEqual(known[int(0.99 * (len(known) - 1))], 0.007)  # 5 ms, and a round trip
        self.assertGreaterEqual(len(log.accepted()), 20)

    def test_the_engine_has_little_to_do(self):
        many, calls, requests, busy = self.engine.result()
        measured(f"{many} members at {requests:.0f}/s: {calls:.1f} calls a second, {100 * busy / many:.2f} % of a core each")
        self.assertLessEqual(calls, max(0.7 * requests, 12 * many))
        if LONG:
            self.assertLessEqual(busy, 0.006 * many)

    def test_two_versions_share_a_limit(self):
        log, killed, end, (ours, still_ours, said) = self.versions.result()
        seconds = by_second(log, killed - 3, end)
        measured(f"three of another version come, and the others go after three seconds: {seconds} a second, {refused(log, killed - 3)} refused")
        self.assertTrue(ours and still_ours)  # one does not combine beside another that does
        self.assertIn("is kept by another version of headway", said)
        self.assertGreaterEqual(sum(number_of(r) >= 3 and r.end < killed for r in log.accepted()), 100)  # they had turns
        pairs = [(a + b) / 2 for a, b in zip(seconds, seconds[1:])]
        self.assertGreaterEqual(min(pairs), 0.55 * RATE)  # those that are left know what was learned
        self.assertLessEqual(refused(log, killed - 3), 60)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1 measures it")
    def test_thirty_two(self):
        log, steady = finished(fleet.limit(), 32, 125, RATE, "200/s")
        self.assertGreaterEqual(steady.rate, 0.96 * RATE)
        self.assertGreaterEqual(steady.jain, 0.995)
        self.assertLessEqual(log.throttled_share(), 0.006)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1 measures it")
    def test_fewer_turns_than_members(self):
        log, steady = finished(fleet.limit(20, 5), 32, 25, 20, "20/s")
        self.assertGreaterEqual(steady.rate, 0.95 * 20)
        self.assertLessEqual(log.throttled_share(), 0.03)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1 measures it")
    def test_slots(self):
        for many in (8, 32):
            log, steady = finished(fleet.slots(), many, 4000 // many, RATE, "20 slots")
            self.assertGreaterEqual(steady.rate, 0.92 * RATE)
            self.assertLessEqual(log.throttled_share(), 0.004)


if __name__ == "__main__":
    unittest.main()
