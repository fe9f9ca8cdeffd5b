"""A disk that is full, at any size: exit code 74, and with room again the run finishes.

On a tmpfs in a mount namespace of our own; skipped where that is not allowed.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

import servers
from work import Work, measured, post

JOBS = 300
SIZES_KIB = range(40, 690, 13)
MARK = "HEADWAY_DISK_FULL_TEST"  # set in the namespace


def jobs(server):
    """Every other one is a POST; a result has some 1.2 KB."""
    for i in range(JOBS):
        pad = {"pad": "." * 1000}
        if i % 2:
            yield post(server, f"post{i}", meta=pad)
        else:
            yield json.dumps({"id": f"get{i}", "url": f"{server.url}/get{i}", "meta": pad})


def mount(folder, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)


class DiskFull(unittest.TestCase):
    def setUp(self):
        if MARK not in os.environ:
            self.skipTest("no mount namespace")

    def test_every_size(self):
        codes = Counter()
        with servers.nginx(latency_ms=(0, 5)) as server:
            for size in SIZES_KIB:
                with self.subTest(size=size), tempfile.TemporaryDirectory() as folder:
                    mount(folder, "size=100m")
                    try:
                        codes[self.full_at(size, folder, server)] += 1
                    finally:
                        subprocess.run(["umount", folder], check=True)
        measured(f"disk full at {len(SIZES_KIB)} sizes, exit codes: {dict(codes)}")
        self.assertGreater(codes[74], 0.8 * len(SIZES_KIB))

    def test_a_runtime_folder_without_room(self):
        with servers.nginx() as server, Work([f"{server.url}/{i}" for i in range(10)]) as work:
            with tempfile.TemporaryDirectory() as folder:
                mount(folder, "size=16k,mode=0700")
                try:
                    self.assertEqual(work.run(XDG_RUNTIME_DIR=folder), 0, work.stderr())
                    self.assertEqual(os.listdir(folder + "/headway"), [])
                finally:
                    subprocess.run(["umount", folder], check=True)
            self.assertEqual(len(server.log().accepted()), 10)
            self.assertNotIn("alone", work.stderr())

    def full_at(self, size, folder, server):
        seen = len(server.log())
        with Work(jobs(server), within=folder) as work:
            for name in ("stdout", "stderr"):
                (work.path / name).symlink_to(server.folder / name)
            used = int(subprocess.check_output(["du", "-sk", folder]).split()[0])
            mount(folder, f"remount,size={used + size}k")
            code = work.run("--law", "reno", timeout=20)
            self.assertIn(code, (0, 74), work.stderr())
            if code == 74:
                self.assertRegex(work.stderr(), r"\Aheadway: cannot (write|open) [^\n]+\n\Z")
            mount(folder, "remount,size=100m")
            again = work.run("--law", "reno", timeout=20)
            outcomes = work.outcomes()
            self.assertIn(again, (0, 1), work.stderr())
        unknown = [id for id, outcome in outcomes.items() if outcome == "unknown"]
        self.assertEqual(len(outcomes), JOBS)
        self.assertEqual(set(outcomes.values()) - {"success", "unknown"}, set())
        self.assertEqual([id for id in unknown if not id.startswith("post")], [])
        self.assertEqual(again, 1 if unknown else 0)
        times = Counter(r.path[1:] for r in server.log()[seen:])
        self.assertEqual([id for id, n in times.items() if n > 1 and id.startswith("post")], [])
        self.assertEqual([id for id in outcomes if id not in unknown and not times[id]], [])
        return code


if __name__ == "__main__":
    namespace = ["unshare", "--map-root-user", "--mount"]
    if MARK not in os.environ and subprocess.run([*namespace, "true"]).returncode == 0:
        os.environ[MARK] = "1"
        os.execvp(namespace[0], [*namespace, sys.executable, "-B", *sys.argv])
    unittest.main()
