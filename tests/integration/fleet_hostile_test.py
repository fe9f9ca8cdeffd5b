"""Databases that lie: no host ends, hangs, spins or grows by what one sends, whether it is one or not."""
import contextlib
import os
import resource
import socket
import struct
import subprocess
import threading
import time
import unittest
from pathlib import Path

import fleet
import postgres

from work import BINARY, Work, cpu_seconds, measured

MEMORY_MAX_KB = 250_000
CLIENT = os.environ.get("HEADWAY_BOARD_CLIENT", Path(__file__).resolve().parents[2] / "build/tests/integration/board_client")
# A combiner that never comes back: all coast.
TAKEN = "update headway1.scope set v = 9223372036854775807, lease = 9223372036854775807, combiner = -1"
TAKEN_FOR_A_WHILE = "update headway1.scope set lease = headway1.micros() + 9000000, combiner = -1"
ENDLESS = "it sends more than"

MORE_ROWS_THAN_ASKED_FOR = """
alter function headway1.exchange rename to exchange_;
create function headway1.exchange(
  int, bytea[], bigint[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[])
  returns table (now bigint, told bigint, v bigint, common bytea, own bytea, absent int, combine boolean, made_of bigint,
    state bytea, unheard bytea, rate float8, slots float8, latency float8, learned_at bigint, excess float8)
  language sql volatile security definer as
  'select e.* from headway1.exchange_($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) e, generate_series(1, 100000)';
select pg_terminate_backend(pid) from pg_stat_activity where usename = 'headway';
"""


def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


STARTED = message(b"R", struct.pack(">I", 0)) + message(b"S", b"server_version\x0015.0\0")
READY = message(b"K", struct.pack(">II", 1, 1)) + message(b"Z", b"I")
COLUMN = message(b"1", b"") + message(b"2", b"") + message(b"T", struct.pack(">H", 1) + b"a\0" + struct.pack(">IHIhih", 0, 0, 25, -1, -1, 1))


def endless(begin, then, asked=False):
    def serve(client):
        length = struct.unpack(">I", client.recv(4))[0]
        client.recv(length - 4)
        client.sendall(begin)
        if asked:
            client.recv(1 << 16)
            client.sendall(COLUMN)
        while True:
            client.sendall(then)

    return serve


LIARS = {
    "parameters": endless(STARTED, message(b"S", b"name\0" + b"x" * 8000 + b"\0")),
    "rows": endless(STARTED + READY, message(b"D", struct.pack(">HI", 1, 60_000) + b"x" * 60_000), asked=True),
    "notifications": endless(STARTED + READY, message(b"A", struct.pack(">I", 1) + b"c\0" + b"x" * 7000 + b"\0"), asked=True),
}


@contextlib.contextmanager
def liar(serve):
    """The URL of a server that begins as PostgreSQL does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def each(client):
            with client, contextlib.suppress(OSError, struct.error):
                serve(client)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=each, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"postgresql://headway@127.0.0.1:{listener.getsockname()[1]}/headway?sslmode=disable"


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = cls.enterClassContext(postgres.postgres())

    def setUp(self):
        self.database.psql("drop schema if exists headway1 cascade")

    def test_a_server_that_never_ends_its_answer(self):
        """libpq keeps all that comes, and looks at no time while there is more."""
        for what, serve in LIARS.items():
            with self.subTest(what), liar(serve) as url:
                done = subprocess.run([BINARY, "fleet", "status", "--fleet", url], text=True, capture_output=True, timeout=30)
                self.assertIn(done.returncode, (74, 75), done.stderr)
                self.assertIn(ENDLESS, done.stderr)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        measured(f"at most {most >> 10} MiB")
        self.assertLess(most, MEMORY_MAX_KB)

    def test_rows_that_are_no_state(self):
        """The members coast, by what they knew; none ends."""
        garbage = (
            r"update headway1.scope set state = '\xdeadbeef', common = '\xdeadbeef'; update headway1.granted set own = '\xdeadbeef'",
            TAKEN,
            "update headway1.member set told = 9223372036854775807, numbers = '{9223372036854775807}', "
            "reports = array[repeat('x', 3000000)::bytea]",
            "select pg_notify(headway1.channel(key), 'cut 99 -1 99999999999999999999 ' || repeat('9', 5000)) from headway1.scope",
            "select pg_notify(headway1.channel(key), 'turns x') from headway1.scope",
            "update headway1.scope set lease = 0",
            MORE_ROWS_THAN_ASKED_FOR,
            "create or replace function headway1.micros() returns bigint language sql as 'select 9223372036854775000'",
        )
        with fleet.limit() as nginx, fleet.members(nginx, self.database.url, 2, 20_000) as all:
            time.sleep(1.5)
            for sql in garbage:
                self.database.psql(sql)
                time.sleep(0.7)
            begin, before = time.time() - 1, sum(cpu_seconds(m.process.pid) for m in all)
            time.sleep(1)
            busy = sum(cpu_seconds(m.process.pid) for m in all) - before
            for m in all:
                self.assertIsNone(m.process.poll(), m.work.stderr())
            log = nginx.log()
        served = sum(r.end >= begin for r in log)
        measured(f"{len(log)} requests, {served} in the last 2 s, {busy:.2f} s of CPU in the last one")
        self.assertGreater(served, 20)
        self.assertLess(max(fleet.by_second(log, begin - 7, begin + 2)), 1.3 * fleet.RATE)
        self.assertLess(busy, 1)

    def test_a_turn_that_is_claimed_is_promised_until_it_is_taken(self):
        """However the board's thread reports meanwhile; a governor ends the process where it is not."""
        with subprocess.Popen([CLIENT, self.database.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            time.sleep(1.5)
            self.database.psql(TAKEN_FOR_A_WHILE)
            said, _ = client.communicate("\n", timeout=60)
        self.assertEqual(said, "promised\n")


if __name__ == "__main__":
    unittest.main()
