"""What a disk or a person does to a run's files: it is said, or it does no harm.

HEADWAY_DAMAGES=1000 damages the files of so many killed runs, two of each of 500 kills, instead of 40.
"""
import json
import os
import random
import shutil
import signal
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import servers
from work import Work, gets, measured, mixed, succeeded, wait_for, whole_lines

DAMAGES = int(os.environ.get("HEADWAY_DAMAGES", 40))
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)
KILLS_A_SERVER = 10
JOBS = 150
FILES = ("", "-wal", "-shm", "-mark")
RESULTS = "jobs.txt.headway.results.jsonl"


def remove(file, dice):
    file.unlink()


def empty(file, dice):
    os.truncate(file, 0)


def cut(file, dice):
    os.truncate(file, dice.randrange(file.stat().st_size))


def overwrite(file, dice):
    with open(file, "r+b") as f:
        f.seek(dice.randrange(file.stat().st_size))
        f.write(dice.randbytes(dice.randint(1, 64)))


def flip(file, dice):
    at = dice.randrange(file.stat().st_size)
    with open(file, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << dice.randrange(8)]))


def killed_run(server, work, dice, *options):
    """What it had acknowledged. Some runs before it ended well, so that the database has its share."""
    log = server.folder / "access.log"
    last = dice.choice((0, 0, 1, 2))
    for number in range(last + 1):
        process = work.start(*options)
        size = log.stat().st_size
        room = JOBS // (last + 1) * 60  # bytes of the log, roughly
        wait_for(lambda: log.stat().st_size > size + dice.random() * room or process.poll() is not None)
        process.send_signal(signal.SIGKILL if number == last else signal.SIGTERM)
        process.wait()
    return set(whole_lines(work.path / "stdout"))


def judge(server, work, before, shown, cut_back, *options):
    """The next run: whether it refused. With what was sent `before` it must not do harm."""
    results = (work.path / RESULTS).read_bytes()
    seen = len(server.log())
    code = work.run(*options)
    log = server.log()
    if code == 2:
        said = work.stderr()
        assert said.startswith("headway: ") and said.count("\n") == 1, said
        assert len(log) == seen, "refused, and sent"
        assert (work.path / RESULTS).read_bytes() == results, "refused, and changed the results"
        return True
    assert code in (0, 1), f"{code}: {work.stderr()}"
    final = whole_lines(work.path / "stdout")
    assert shown <= set(final), f"acknowledged, and lost: {shown - set(final)}"
    cut_back.append(len(set(results.splitlines()) - set(final)))
    ended = [json.loads(line) for line in final]
    outcomes = {r["id"]: r["outcome"] for r in ended}
    assert len(outcomes) == len(ended) == JOBS, f"{len(outcomes)} of {len(ended)} results"
    carried_out = Counter(r.path[1:] for r in before + log[seen:])
    again = [id for id, n in carried_out.items() if n > 1 and id.startswith("post")]
    assert not again, f"sent again: {again}"
    for id, outcome in outcomes.items():
        assert outcome == "success" or id.startswith("post") and outcome == "unknown", (id, outcome)
        assert outcome == "unknown" or carried_out[id], f"{id} was never sent"
    return False


def damage_some(number, kills):
    """Counts of (file, damage, refused) and what was wrong."""
    dice = random.Random(f"{SEED} {number}")
    counts, wrong, cut_back = Counter(), [], []
    with servers.nginx(latency_ms=(1, 12)) as server:
        for kill in range(kills):
            options = ["--out", "-", "--law", "fixed", "--durability", dice.choice(("power", "process"))]
            options += ["--concurrency", dice.choice(("4", "16"))]
            with Work(mixed(server, JOBS, f"{number}.{kill}.")) as killed:
                first = len(server.log())
                shown = killed_run(server, killed, dice, *options)
                time.sleep(0.05)  # what was in flight is in the log
                before = server.log()[first:]
                for _ in range(2):
                    how = dice.choice((remove, empty, cut, overwrite, overwrite, flip, flip))
                    suffix = dice.choice(FILES)
                    with Work() as work:
                        shutil.copytree(killed.path, work.path, dirs_exist_ok=True)
                        file = work.path / ("jobs.txt.headway" + suffix)
                        if not file.exists() or file.stat().st_size == 0:
                            continue  # killed before it was there, or after the end
                        how(file, dice)
                        try:
                            refused = judge(server, work, before, shown, cut_back, *options)
                            counts[suffix or "database", how.__name__, refused] += 1
                        except AssertionError as error:
                            wrong.append(f"{number}.{kill}: {how.__name__} {suffix}: {error}")
    return counts, wrong, cut_back


class Damage(unittest.TestCase):
    def test_to_the_journal_of_a_killed_run(self):
        kills = [KILLS_A_SERVER] * (DAMAGES // 2 // KILLS_A_SERVER)
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(damage_some, range(len(kills)), kills))
        counts = sum((part[0] for part in parts), Counter())
        for file in ("database", *FILES[1:]):
            for how in (remove, empty, cut, overwrite, flip):
                refused, harmless = (counts[file, how.__name__, r] for r in (True, False))
                measured(f"{file} {how.__name__}: {refused} refused, {harmless} harmless")
        cut_back = [n for part in parts for n in part[2]]
        measured(
            f"seed {SEED}: {counts.total()} of {DAMAGES} damages hit; unacknowledged results that the next "
            f"run cut off: {sum(cut_back)}, in {sum(n > 0 for n in cut_back)} of them"
        )
        self.assertEqual([error for part in parts for error in part[1]], [])
        self.assertGreater(counts.total(), DAMAGES / 2)


class Results(unittest.TestCase):
    """While a run writes to them."""

    def touched(self, touch):
        """A run whose results are `touch`ed: its exit code and what it said."""
        server = self.enterContext(servers.nginx(latency_ms=(5, 5)))
        work = self.enterContext(Work(gets(server, 1000)))
        results = work.path / "jobs.results.jsonl"
        with work.start("--law", "fixed", "--concurrency", "4") as process:
            wait_for(lambda: results.exists() and results.stat().st_size > 20_000)  # several groups
            touch(results)
            code = process.wait(20)
        self.assertLess(len(server.log()), 1000)
        self.assertRegex(work.stderr(), r"\Aheadway: [^\n]*jobs\.results\.jsonl [^\n]+\n\Z")
        self.assertEqual(code, 74, work.stderr())
        return work

    def refused_afterwards(self, work):
        self.assertEqual(work.run(), 2, work.stderr())
        self.assertIn("on record", work.stderr())

    def test_that_are_removed(self):
        work = self.touched(lambda results: results.unlink())
        self.assertIn("was removed, renamed or replaced while this run wrote to it", work.stderr())
        self.refused_afterwards(work)

    def test_that_are_rotated_away(self):
        def rotate(results):
            results.rename(results.with_suffix(".1"))
            results.touch()

        work = self.touched(rotate)
        self.assertIn("was removed, renamed or replaced", work.stderr())
        self.refused_afterwards(work)
        results = work.path / "jobs.results.jsonl"
        results.with_suffix(".1").rename(results)  # as the sentence says
        self.assertEqual(work.run(), 0, work.stderr())
        self.assertEqual(work.outcomes(), succeeded(1000))

    def test_that_are_cut(self):
        work = self.touched(lambda results: os.truncate(results, 500))
        self.assertIn("was cut while", work.stderr())
        self.refused_afterwards(work)

    def test_that_another_process_writes_to(self):
        def append(results):
            with open(results, "a") as file:
                file.write("another's\n")

        work = self.touched(append)
        self.assertIn("was written to by another process", work.stderr())
        self.assertEqual(work.run(), 0, work.stderr())
        self.assertEqual(work.outcomes(), succeeded(1000))

    def test_that_are_written_to_between_runs(self):
        with servers.nginx() as server, Work(gets(server, 5)) as work:
            self.assertEqual(work.run(), 0, work.stderr())
            with open(work.path / "jobs.results.jsonl", "a") as file:
                file.write("another's\n")
            self.assertEqual(work.run(), 2)
            self.assertIn("something else wrote to it", work.stderr())


if __name__ == "__main__":
    unittest.main()
