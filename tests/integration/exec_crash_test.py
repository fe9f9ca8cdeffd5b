"""headway exec, killed at any moment: no finished output is lost, and nothing unsafe runs twice.

The judges are files that the commands append to. HEADWAY_KILLS=500 kills so often in all.
"""
import os
import random
import shutil
import subprocess
import time
import unittest
from collections import Counter

from work import BINARY, Work, measured, wait_for

KILLS = int(os.environ.get("HEADWAY_KILLS", 40)) // 2  # of unsafe commands, and of safe ones
JOBS = 15 * KILLS
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)

PROGRAM = """#!/usr/bin/python3 -SE
import os, sys
fd = os.open("ran", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, (sys.argv[1] + "\\n").encode())
os.fsync(fd)
sys.stdout.write("".join(f"{sys.argv[1]} {i}\\n" for i in range(100)))
"""


class ExecCrash(unittest.TestCase):
    def killed(self, *options):
        """How often each job ran, its result, how many kills hit."""
        dice = random.Random(f"{SEED} {options}")
        work = Work(str(i) for i in range(JOBS))
        self.addCleanup(work.__exit__)
        program = work.path / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        arguments = ("exec", "jobs.txt", *options, "--rate", "150/s:20", "--cold", "--", "./program", "{}")
        ran, hits = work.path / "ran", 0
        for _ in range(KILLS):
            size = ran.stat().st_size if ran.exists() else 0
            process = work.launch(*arguments)
            if dice.random() < 0.8:
                wait_for(lambda: process.poll() is not None or (ran.exists() and ran.stat().st_size > size))
            time.sleep(dice.uniform(0, 0.15))
            hits += process.poll() is None
            process.kill()
            process.wait()
        work.wait(process := work.launch(*arguments), timeout=600)
        self.assertIn(process.returncode, (0, 1), work.stderr())
        return Counter(ran.read_text().split()), {r["line"] - 1: r for r in work.results()}, hits, work

    def judge(self, ran, results, hits, kind):
        twice = [job for job, times in ran.items() if times > 1]
        unknown = [job for job, r in results.items() if r["outcome"] == "unknown"]
        measured(f"kill -9, {kind}: seed {SEED}, {hits} of {KILLS} hit, {JOBS} jobs, {len(twice)} ran twice, {len(unknown)} unknown")
        self.assertGreater(hits, 0.5 * KILLS)
        self.assertEqual(sorted(results), list(range(JOBS)))
        for job, r in results.items():
            if r["outcome"] == "success":
                self.assertEqual(r["stdout"], "".join(f"{job} {i}\n" for i in range(100)))
                self.assertIn(str(job), ran)
        return twice, unknown

    def test_unsafe(self):
        ran, results, hits, work = self.killed()
        twice, unknown = self.judge(ran, results, hits, "unsafe")
        self.assertEqual(twice, [])
        self.assertEqual({r["outcome"] for r in results.values()} - {"success", "unknown"}, set())
        self.assertLess(len(unknown), JOBS / 2)

    @unittest.skipUnless(shutil.which("strace"), "there is no strace")
    def test_the_journal_knows_of_an_unsafe_command_before_it_starts(self):
        """Each write takes 50 ms, and the command kills headway at once: it does not run again."""
        work = Work("abc")
        self.addCleanup(work.__exit__)
        script = "echo $1 >> ran; [ ! -e deadly ] || { read -r _ _ _ headway _ < /proc/$PPID/stat; kill -9 $headway; sleep 9; }"
        arguments = ("exec", "jobs.txt", "--cold", "--alone", "-j1", "--", "sh", "-c", script, "sh", "{}")
        slow = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", "inject=pwrite64:delay_enter=50000"]
        deadly = work.path / "deadly"
        deadly.touch()
        subprocess.run([*slow, BINARY, *arguments], cwd=work.path, env=work.environment(), stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        deadly.unlink()
        self.assertEqual(work.wait(work.launch(*arguments)), 1, work.stderr())
        self.assertEqual(sorted((work.path / "ran").read_text().split()), ["a", "b", "c"])
        self.assertEqual([r["outcome"] for r in sorted(work.results(), key=lambda r: r["line"])], ["unknown", "success", "success"])

    def test_safe(self):
        ran, results, hits, work = self.killed("--safe")
        twice, unknown = self.judge(ran, results, hits, "safe")
        self.assertEqual({r["outcome"] for r in results.values()}, {"success"})
        self.assertEqual(len(ran), JOBS)


if __name__ == "__main__":
    unittest.main()
