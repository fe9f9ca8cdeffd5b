"""A fleet that has been at work for long is as big as before: the tables, and the memory and descriptors of its members.

HEADWAY_LONG=1 takes half an hour, or HEADWAY_SECONDS.
"""
import os
import time
import unittest
from pathlib import Path

import fleet
import postgres
from fleet import LONG
from work import measured

SECONDS = int(os.environ.get("HEADWAY_SECONDS", 1800 if LONG else 45))
MEMBERS = 8 if LONG else 4


def sizes(database, all):
    """Of the tables, and of the largest member: bytes, resident kB, descriptors."""
    tables = int(database.psql("select sum(pg_total_relation_size(c.oid)) from pg_class c where relnamespace = 'headway1'::regnamespace and relkind = 'r'"))
    alive = [m.process.pid for m in all if m.process.poll() is None]
    resident = max(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4 for pid in alive)
    return tables, resident, max(len(os.listdir(f"/proc/{pid}/fd")) for pid in alive)


class Soak(unittest.TestCase):
    def test_it_stays_as_big_as_it_was(self):
        with fleet.limit() as nginx, postgres.postgres() as database:
            with fleet.members(nginx, database.url, MEMBERS, SECONDS * 3 * fleet.RATE // MEMBERS) as all:
                time.sleep(SECONDS / 3)
                before = sizes(database, all)
                time.sleep(SECONDS * 2 / 3)
                after = sizes(database, all)
                self.assertEqual([m.work.stderr() for m in all if m.process.poll() is not None], [])
                served = len(nginx.log().accepted())
        measured(f"{SECONDS} s, {MEMBERS} members, {served} requests: tables (bytes), resident kB, descriptors: {before}, then {after}")
        self.assertGreater(served, SECONDS * fleet.RATE / 2)
        self.assertLessEqual(after[0], 10_000_000 if LONG else before[0] + 1_000_000)
        self.assertLessEqual(after[1], before[1] + (6000 if LONG else 1000))
        self.assertLessEqual(after[2], before[2] + 2)


if __name__ == "__main__":
    unittest.main()
