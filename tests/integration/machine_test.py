"""One limit for all runs of a machine, by the log of nginx and HAProxy, which have it."""
import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import servers
from limits_test import counts_rejects
from log import Log
from work import BINARY, Work, gets, measured

RATE = 200
SLOTS = 20
PROCESSES = 16
JOBS = 240
WINDOW = 50  # a second


def goodput(log, begin, end):
    return sum(begin <= r.end < end for r in log.accepted()) / (end - begin)


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares))


def limit():
    return servers.limit_req(RATE, "burst=20 nodelay; limit_req_status 429")


def slots():
    """Of 100 ms: at best RATE a second."""
    return servers.nginx(
        f"limit_conn all {SLOTS}; limit_conn_status 429;",
        "limit_conn_zone $binary_remote_addr zone=all:1m;",
        latency_ms=(100, 100),
    )


def many(server, processes, jobs, *options, runtime=None):
    """As many runs, each with paths of its own."""
    stack = contextlib.ExitStack()
    runtime = runtime or stack.enter_context(tempfile.TemporaryDirectory())
    runs = []
    for i in range(processes):
        lines = [f"{server.url}/{i}/{n}" for n in range(jobs)]
        work = stack.enter_context(Work(lines))
        runs.append((work, work.start(*options, "--cold", XDG_RUNTIME_DIR=runtime)))
    stack.callback(lambda: [run.kill() or run.wait() for _, run in runs])
    return stack, runs


def finish(runs):
    for work, run in runs:
        assert run.wait(120) == 0, work.stderr()


def alone():
    """The goodput of one run that does what all of them do."""
    with limit() as nginx, Work(gets(nginx, PROCESSES * JOBS)) as work:
        assert work.run("--cold") == 0, work.stderr()
        log = nginx.log()
        return len(log.accepted()) / log.seconds()


def on_slots():
    """The log of four runs."""
    with slots() as nginx:
        stack, runs = many(nginx, 4, 1000)
        with stack:
            finish(runs)
        return nginx.log()


def on_a_window():
    """Of HAProxy, which counts what it refuses, too."""
    with counts_rejects(WINDOW) as haproxy:
        stack, runs = many(haproxy, 4, 80)
        with stack:
            finish(runs)
        return haproxy.log()


def one_stopped():
    """The log of four runs of which one is stopped for a while; since when, and until when."""
    with slots() as nginx:
        stack, runs = many(nginx, 4, 100 * JOBS)
        with stack:
            time.sleep(8)
            runs[0][1].send_signal(signal.SIGSTOP)
            stopped = time.time()
            time.sleep(8)
            runs[0][1].send_signal(signal.SIGCONT)
            back = time.time()
            time.sleep(5)
        return nginx.log(), stopped, back


def told_to_wait():
    """The log of four runs of one server that says Retry-After: 3."""
    with servers.limit_req(10, "burst=5 nodelay; limit_req_status 429", retry_after=3) as nginx:
        stack, runs = many(nginx, 4, 30)
        with stack:
            finish(runs)
        return nginx.log()


def told_to_wait_long():
    """The exit codes of four runs of one server that says Retry-After: 60, what one said, and the log."""
    with servers.limit_req(1, "nodelay; limit_req_status 429", retry_after=60) as nginx:
        stack, runs = many(nginx, 4, 30, "--wait-max", "5s")
        with stack:
            codes = [run.wait(30) for _, run in runs]
            return codes, runs[3][0].stderr(), nginx.log()


def beside(strange):
    """The seconds for which a run that goes at 200/s sends less than half of that, while `strange`
    (told the folder where they meet) happens, and after."""
    with limit() as nginx, tempfile.TemporaryDirectory() as runtime:
        stack, runs = many(nginx, 1, 40 * RATE, runtime=runtime)
        with stack:
            time.sleep(4)
            begin = time.time()
            strange(nginx, runtime)
            time.sleep(1)
            end = time.time()
            assert runs[0][1].poll() is None, runs[0][0].stderr()
        log = nginx.log()
    tenths = Counter(int((r.end - begin) * 10) for r in log.accepted() if r.path.startswith("/0/"))
    lost = sum(tenths[i] < RATE / 20 for i in range(int((end - begin) * 10))) / 10
    measured(f"{lost:.1f} of {end - begin:.1f} s lost")
    return lost


def by_clock(*command, **environment):
    """What is lost beside a run with another clock."""
    def strange(nginx, runtime):
        with Work([f"{nginx.url}/strange/{i}" for i in range(20)]) as work:
            run = subprocess.Popen(
                [*command, BINARY, "run", "jobs.txt", "--cold"],
                cwd=work.path,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "XDG_RUNTIME_DIR": runtime, **environment},
            )
            try:
                time.sleep(2)
            finally:
                run.kill()
                run.wait()

    return beside(strange)


FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
NAMESPACE = ("unshare", "--time", "--monotonic", "90000")


def beside_other_clocks():
    """What is lost beside each, by name; None: it is not to be had here."""
    permitted = subprocess.run([*NAMESPACE, "true"], stderr=subprocess.DEVNULL).returncode == 0
    return {
        **{day: FAKETIME and by_clock(LD_PRELOAD=str(FAKETIME), FAKETIME=day) for day in ("+1d", "-1d")},
        "namespace": by_clock(*NAMESPACE) if permitted else None,
    }


WAITING = alone, on_slots, on_a_window, one_stopped, beside_other_clocks, told_to_wait, told_to_wait_long
RESULTS = {}


def setUpModule():
    """They go beside the others: they wait for most of their time."""
    pool = ThreadPoolExecutor(len(WAITING))
    unittest.addModuleCleanup(pool.shutdown)
    for work in WAITING:
        RESULTS[work] = pool.submit(work)


class Machine(unittest.TestCase):
    def test_sixteen_together_are_as_one(self):
        with limit() as nginx:
            stack, runs = many(nginx, PROCESSES, JOBS)
            with stack:
                for work, run in runs:
                    self.assertEqual(run.wait(120), 0, work.stderr())
                    self.assertRegex(work.stderr(), "one pace with [0-9]+ other runs here")
            log = nginx.log()
        self.assertEqual(len(log.accepted()), PROCESSES * JOBS)
        self.assertEqual(log.twice(), [])
        all_of = [[r for r in log.accepted() if r.path.split("/")[1] == str(i)] for i in range(PROCESSES)]
        begin, end = max(rs[0].end for rs in all_of), min(rs[-1].end for rs in all_of)
        shares = [sum(begin <= r.end < end for r in rs) for rs in all_of]
        one, together = RESULTS[alone].result(), len(log.accepted()) / log.seconds()
        measured(
            f"one: {one:.1f}/s; {PROCESSES} together: {together:.1f}/s, Jain {jain(shares):.3f} over "
            f"{end - begin:.1f} s, {100 * log.throttled_share():.2f} % throttled"
        )
        self.assertGreaterEqual(together, 0.97 * one)
        self.assertGreaterEqual(jain(shares), 0.95)
        self.assertLessEqual(log.throttled_share(), 0.01)

    def test_four_share_a_window(self):
        log = RESULTS[on_a_window].result()
        self.assertEqual((len(log.accepted()), log.twice()), (320, []))
        all_of = [[r for r in log.accepted() if r.path.split("/")[1] == str(i)] for i in range(4)]
        begin, end = max(rs[0].end for rs in all_of), min(rs[-1].end for rs in all_of)
        shares = [sum(begin <= r.end < end for r in rs) for rs in all_of]
        rate = len(log.accepted()) / log.seconds()
        measured(f"4 on a window of {WINDOW}/s: {rate:.1f}/s, Jain {jain(shares):.3f} over {end - begin:.1f} s, "
                 f"{100 * log.throttled_share():.2f} % throttled")
        self.assertGreaterEqual(rate, 0.8 * WINDOW)
        self.assertGreaterEqual(jain(shares), 0.95)
        self.assertLessEqual(log.throttled_share(), 0.1)

    def test_kills_cost_the_others_nothing(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        with limit() as nginx:
            stack, runs = many(nginx, PROCESSES, 10 * JOBS)
            with stack:
                time.sleep(5)
                begin = time.time()
                for i in chance.sample(range(PROCESSES), PROCESSES - 4):
                    time.sleep(chance.uniform(0, 1))
                    runs[i][1].kill()
                time.sleep(8)  # one touch of the limit costs ten refusals: there may be two
                end = time.time()
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

    def test_a_run_that_its_own_rate_holds_back_costs_the_others_nothing(self):
        with limit() as nginx, tempfile.TemporaryDirectory() as runtime:
            slow, _ = many(nginx, 6, JOBS, "--rate", "1/s", runtime=runtime)
            fast, runs = many(nginx, 2, 5 * JOBS, runtime=runtime)
            with slow, fast:
                finish(runs)
            log = nginx.log()
        rate = len(log.accepted()) / log.seconds()
        measured(f"6 held to 1/s each beside 2 that are not: {rate:.1f}/s")
        self.assertGreaterEqual(rate, 0.8 * RATE)

    def test_a_page_of_garbage(self):
        def strange(_, runtime):
            pages = [page for page in Path(runtime, "headway").iterdir() if page.is_file()]
            for page in pages:
                with open(page, "r+b", buffering=0) as file:
                    file.write(os.urandom(page.stat().st_size))
            time.sleep(1)

        self.assertLessEqual(beside(strange), 1)

    def test_alone_is_alone(self):
        made = {"--alone": ["headway"], "--law=reno": ["headway"], "--cold": ["headway"]}  # for headway ctl
        with servers.nginx() as nginx:
            for option, expected in made.items():
                with self.subTest(option=option), tempfile.TemporaryDirectory() as runtime:
                    with Work(gets(nginx, 50)) as work:
                        self.assertEqual(work.run(option, XDG_RUNTIME_DIR=runtime), 0, work.stderr())
                    self.assertEqual(os.listdir(runtime), expected)
                    self.assertEqual([*Path(runtime).glob("headway/*")], [])

    def test_where_it_cannot_be_shared_it_goes_on_alone(self):
        with servers.nginx() as nginx, tempfile.TemporaryDirectory() as folder:
            here = Path(folder)

            def said(name, **environment):
                """Of its pace, in how many lines; every run does its work."""
                with Work(gets(nginx, 20)) as work:
                    self.assertEqual(work.run("--progress", "none", **environment), 0, work.stderr())
                    return work.stderr().splitlines()

            nowhere = {"XDG_RUNTIME_DIR": str(here / "none"), "TMPDIR": str(here / "none")}
            if not Path(f"/run/user/{os.geteuid()}").exists():
                self.assertEqual(said("no folder", **nowhere), [])
            self.assertEqual(said("no files", **{**nowhere, "TMPDIR": "/proc"}), [])
            (here / "headway").write_text("a file")
            (line,) = said("a file in its place", XDG_RUNTIME_DIR=folder)
            self.assertIn("it paces alone (--alone): ", line)
            (here / "headway").unlink()
            (here / "headway").mkdir(mode=0o777)
            (here / "headway").chmod(0o777)
            (line,) = said("open to all", XDG_RUNTIME_DIR=folder)
            self.assertIn("is not this user's own folder of mode 0700", line)


class Waiting(unittest.TestCase):
    """What went on beside Machine, which comes before."""

    def test_slots_are_shared(self):
        log = RESULTS[on_slots].result()
        rate = len(log.accepted()) / log.seconds()
        measured(f"4 on {SLOTS} slots: {rate:.1f}/s, {100 * log.throttled_share():.2f} % throttled")
        self.assertGreaterEqual(rate, 0.88 * RATE)
        self.assertLessEqual(log.throttled_share(), 0.004)

    def test_one_that_is_stopped_costs_the_others_nothing(self):
        log, stopped, back = RESULTS[one_stopped].result()
        without = goodput(log, stopped + 2, back)
        after = goodput(log, back + 0.2, back + 5)
        measured(f"one of 4 stopped for 8 s: {without:.1f}/s without it, {after:.1f}/s once it is back")
        self.assertGreaterEqual(without, 0.88 * RATE)
        self.assertGreaterEqual(after, 0.88 * RATE)

    def test_what_a_server_tells_one_holds_all(self):
        log = RESULTS[told_to_wait].result()
        told = [r.end for r in log.throttled()]
        early = [r for r in log for t in told if t + 0.1 < r.start < t + 2.99]
        measured(f"4 of one limit, Retry-After: 3: told {len(told)} times, {len(early)} sent before")
        self.assertTrue(told)
        self.assertEqual(early, [])

    def test_longer_than_wait_max_all_are_parked(self):
        codes, said, log = RESULTS[told_to_wait_long].result()
        self.assertEqual(codes, [75] * 4)
        self.assertIn("parked: the server asks to wait", said)
        measured(f"4 of one limit, Retry-After: 60: told {len(log.throttled())} times")

    def test_a_clock_of_another_day(self):
        for day in ("+1d", "-1d"):
            with self.subTest(day):
                self.loses_nothing(day, "no faketime")

    def test_another_time_namespace(self):
        self.loses_nothing("namespace", "no time namespace is permitted")

    def loses_nothing(self, clock, otherwise):
        lost = RESULTS[beside_other_clocks].result()[clock]
        if lost is None:
            self.skipTest(otherwise)
        self.assertLessEqual(lost, 1)


class Workers(unittest.TestCase):
    """Of a program that forks, by the library."""

    @contextlib.contextmanager
    def workers(self, server, workers, threads, requests, *scopes):
        """Their process ids by number, and how to await the end of the first one."""
        client = [os.environ["HEADWAY_WORKERS_CLIENT"], server.url, str(workers), str(threads)]
        with tempfile.TemporaryDirectory() as runtime:
            first = subprocess.Popen(
                [*client, str(requests), *scopes],
                env={"XDG_RUNTIME_DIR": runtime},
                stdout=subprocess.PIPE,
                text=True,
            )
            pids = dict(map(int, first.stdout.readline().split()) for _ in range(workers))
            try:
                yield pids, lambda: first.wait(120)
            finally:
                for pid in pids.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                first.stdout.close()
                first.wait()

    def test_each_scope_is_one_limit_of_all_workers(self):
        workers, requests, rate, scopes = 4, 500, 100, ("red", "blue")
        with servers.nginx(
            "limit_req zone=all burst=20 nodelay; limit_req_status 429;",
            'map $uri $scope { "~^/(?<first>[^/]+)" $first; } '
            f"limit_req_zone $scope zone=all:1m rate={rate}r/s;",
            latency_ms=(20, 80),
        ) as nginx:
            with self.workers(nginx, workers, 16, requests, *scopes) as (_, end):
                self.assertEqual(end(), 0)
            log = nginx.log()
        self.assertEqual(len(log.accepted()), workers * requests)
        self.assertEqual(log.twice(), [])
        by = [[r for r in log if r.path.split("/")[2] == str(i)] for i in range(workers)]
        end = min(rs[-1].end for rs in by)
        for scope in scopes:
            of_it = Log(r for r in log if r.path.startswith(f"/{scope}/"))
            shares = [sum(r.end < end for r in rs if r in of_it) for rs in by]
            measured(
                f"{workers} workers, scope {scope}: {of_it.share(rate, 20):.0%} of the limit used, "
                f"{100 * of_it.throttled_share():.2f} % throttled, Jain {jain(shares):.3f}"
            )
            self.assertGreaterEqual(of_it.share(rate, 20), 0.85)
            self.assertLessEqual(of_it.throttled_share(), 0.02)
            self.assertGreaterEqual(jain(shares), 0.95)

    def test_a_worker_or_the_one_that_forked_it_is_killed(self):
        with slots() as nginx:
            with self.workers(nginx, 4, SLOTS, 100 * JOBS, "scope") as (pids, _):
                time.sleep(6)
                for i in (0, 2):
                    os.kill(pids[i], signal.SIGKILL)
                    time.sleep(1)
                begin = time.time()
                time.sleep(6)
                end = time.time()
            log = nginx.log()
        rate = goodput(log, begin, end)
        late = [r for r in log if begin <= r.end < end]
        refused = sum(r.status == 429 for r in late) / len(late)
        by = Counter(r.path.split("/")[2] for r in late)
        measured(
            f"two of 4 workers killed, the first one too: {rate:.1f}/s, {100 * refused:.2f} % throttled, "
            f"Jain {jain(by.values()):.3f}"
        )
        self.assertEqual(set(by), {"1", "3"})
        self.assertGreaterEqual(rate, 0.88 * RATE)
        self.assertLessEqual(refused, 0.02)
        self.assertGreaterEqual(jain(by.values()), 0.95)


if __name__ == "__main__":
    unittest.main()
