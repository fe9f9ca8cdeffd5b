"""headway exec on a disk that is full: exit 74, none killed, and with room again the run finishes.

On a tmpfs in a mount namespace of our own; skipped where that is not allowed.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from work import Work, measured

JOBS = 60
SIZES_KIB = range(60, 1500, 160)
MARK = "HEADWAY_DISK_FULL_TEST"  # set in the namespace


class ExecDiskFull(unittest.TestCase):
    def setUp(self):
        if MARK not in os.environ:
            self.skipTest("no mount namespace")

    def test_every_size(self):
        codes = Counter()
        for size in SIZES_KIB:
            with self.subTest(size=size), tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder], check=True)
                try:
                    codes[self.full_at(folder, other)] += 1
                finally:
                    subprocess.run(["umount", folder], check=True)
        measured(f"disk full under exec at {len(SIZES_KIB)} sizes, exit codes: {dict(codes)}")
        self.assertGreater(codes[74], 0.6 * len(SIZES_KIB))

    def test_a_job_log_without_room_loses_no_result(self):
        with tempfile.TemporaryDirectory() as full, Work(f"{i} {'x' * 1000}" for i in range(1, 41)) as work:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full], check=True)
            try:
                script = "sleep 0.5; echo $$ >> ended"
                code = work.exec("jobs.txt", "--cold", "--alone", "--joblog", f"{full}/log", "--", "sh", "-c", script, "sh")
            finally:
                subprocess.run(["umount", full], check=True)
            self.assertEqual(code, 74, work.stderr())
            self.assertIn(f"headway: cannot write {full}/log: No space left on device\n", work.stderr())
            self.assertEqual(len(work.outcomes()), len(Path(work.path, "ended").read_text().split()))

    def full_at(self, folder, other):
        """Each job prints 20 KB, every tenth more than stays in memory."""
        script = f'echo $1 >> {other}/ran; head -c $(( $1 % 10 ? 20000 : 400000 )) /dev/zero | tr "\\0" x; echo $1 >> {other}/ended'
        with Work((str(i) for i in range(JOBS)), within=folder) as work:
            for name in ("stdout", "stderr"):
                (work.path / name).symlink_to(f"{other}/{name}")
            arguments = ("jobs.txt", "--cold", "--alone", "--no-print", "--", "sh", "-c", script, "sh", "{}")
            code = work.exec(*arguments, timeout=60)
            self.assertIn(code, (0, 74), work.stderr())
            if code == 74:
                self.assertRegex(work.stderr(), r"\Aheadway: cannot [^\n]+\n\Z")
            subprocess.run(["mount", "-o", "remount,size=100m", folder], check=True)
            again = work.exec(*arguments, timeout=60)
            self.assertIn(again, (0, 1), work.stderr())
            results = {r["line"] - 1: r for r in work.results()}
            self.assertEqual(sorted(results), list(range(JOBS)))
            ran, ended = (Counter(Path(other, name).read_text().split()) for name in ("ran", "ended"))
            self.assertEqual(max(ran.values()), 1)
            self.assertEqual(ran, ended)  # none was killed
            for job, r in results.items():
                if r["outcome"] == "success":
                    text = r["stdout"] if "stdout" in r else (work.path / r["stdout_file"]).read_text()
                    self.assertEqual(len(text), 20000 if job % 10 else 400000)
                else:
                    self.assertEqual(r["outcome"], "unknown")
        return code


if __name__ == "__main__":
    namespace = ["unshare", "--map-root-user", "--mount"]
    if MARK not in os.environ and subprocess.run([*namespace, "true"]).returncode == 0:
        os.environ[MARK] = "1"
        os.execvp(namespace[0], [*namespace, sys.executable, "-B", *sys.argv])
    unittest.main()
