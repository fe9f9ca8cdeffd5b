"""headway fleet: a private server from one command, the schema for a DBA, and what status says of hosts that live and die."""
import contextlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import unittest
from pathlib import Path

import beside
import postgres
import servers
from work import BINARY, Work, gets, measured, wait_for


def environment(**more):
    clean = {"HOME": "/nonexistent", "PGPASSFILE": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent"}
    return {"PATH": os.environ["PATH"], **clean, **more}


def fleet(*arguments, **more):
    return subprocess.run([BINARY, "fleet", *arguments], capture_output=True, text=True, timeout=60, env=environment(**more))


class Instance:
    """headway fleet up, under a user that it takes."""

    def __init__(self, folder, *options):
        under, _ = postgres.other_user()
        self.folder = Path(folder)
        self.said = self.folder.parent / "said"
        with open(self.said, "wb") as out:
            self.process = subprocess.Popen(
                [*under, "setpriv", "--pdeathsig", "KILL", BINARY, "fleet", "up", self.folder, *options],
                stdout=out, stderr=subprocess.STDOUT, env=environment(), cwd=self.folder.parent)  # fmt: skip

    def wait_until_ready(self):
        wait_for(lambda: b"--limit-at" in self.said.read_bytes() or self.process.poll() is not None, seconds=60)
        return re.search(r"--fleet '(.*)'", self.said.read_text())[1]

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)


def server_lives(folder):
    """Whether its PostgreSQL does, by the file that has its process."""
    file = Path(folder, "data/postmaster.pid")
    return file.exists() and Path("/proc", file.read_text().split()[0]).exists()


class Fleet(unittest.TestCase):
    @contextlib.contextmanager
    def folder(self):
        with Work() as work:
            _, ids = postgres.other_user()
            if ids:
                os.chown(work.path, *ids)
            yield work.path / "fleet"

    def test_up(self):
        with self.folder() as folder:
            began = time.monotonic()
            listen = ("--listen", f"127.0.0.1:{postgres.free_port()}")
            instance = Instance(folder, *listen)
            self.addCleanup(instance.end, signal.SIGKILL)
            url = instance.wait_until_ready()
            status = fleet("status", "--json", "--fleet", url)
            measured(f"from nothing to a database that answers in {time.monotonic() - began:.1f} s")
            self.assertEqual((status.returncode, status.stderr), (0, ""))
            self.assertEqual(json.loads(status.stdout)["limits"], [])
            verified = url + "&sslmode=verify-full"
            self.assertEqual(fleet("status", "--fleet", verified.replace("127.0.0.1", "localhost")).returncode, 0)
            nameless = fleet("status", "--fleet", re.sub(r"//headway@127.0.0.1", "//headway@127.0.0.2", verified))
            self.assertNotEqual(nameless.returncode, 0)

            with servers.limit_req(100, "burst=10 nodelay") as api, Work(gets(api, 40)) as a, Work(gets(api, 40)) as b:
                workers = [work.start("--limit-at", url, XDG_RUNTIME_DIR=str(work.path)) for work in (a, b)]
                self.assertEqual([a.wait(workers[0]), b.wait(workers[1])], [0, 0])
                measured(f"from nothing to two workers that have ended in {time.monotonic() - began:.1f} s")

            password = (folder / "join/pgpass").read_text().strip().rpartition(":")[2]
            self.assertRegex(password, r"^\w{32}$")
            for path in (folder / "join/pgpass", folder / "authority.key", folder / "data/server.key"):
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o177, 0, path)
            plain = fleet("status", "--fleet", url + "&sslmode=disable")
            self.assertEqual(plain.returncode, 2)
            guessed = fleet("status", "--fleet", re.sub(r"passfile=[^&]*&", "", url), PGPASSWORD="guessed")
            self.assertIn("refuses the password", guessed.stderr)
            for role in ("postgres", "headway_owner", "headway_worker"):
                other = fleet("status", "--fleet", re.sub(r"passfile=[^&]*&", "", url).replace("headway@", role + "@"), PGPASSWORD=password)
                self.assertEqual(other.returncode, 2, other.stderr)

            again = Instance(folder, *listen)
            self.assertEqual(again.end(0), 75)  # one of them at a time
            self.assertIn("holds", again.said.read_text())
            self.assertEqual(instance.end(), 0)
            self.assertFalse(server_lives(folder))

            instance = Instance(folder, *listen)  # with all that it had
            self.assertEqual(instance.wait_until_ready(), url)
            self.assertEqual((folder / "join/pgpass").read_text().strip().rpartition(":")[2], password)
            self.assertEqual(fleet("status", HEADWAY_FLEET=url).returncode, 0)
            instance.end(signal.SIGKILL)
            wait_for(lambda: not server_lives(folder), seconds=20)  # nothing is left behind
            for path in (instance.said, folder / "log"):
                self.assertNotIn(password, path.read_text())

    def test_up_refuses(self):
        with self.folder() as folder, servers.nginx() as taken:
            occupied = Instance(folder, "--listen", f"127.0.0.1:{taken.port}")
            self.assertEqual(occupied.end(0), 74)
            self.assertIn("in use", occupied.said.read_text())
            other = folder.parent / "other"
            other.mkdir()
            (other / "mine").write_text("x")
            if os.geteuid() == 0:
                os.chown(other, *postgres.other_user()[1])
                as_root = fleet("up", str(folder))
                self.assertEqual(as_root.returncode, 2)
                self.assertIn("root", as_root.stderr)
            foreign = Instance(other)
            self.assertEqual(foreign.end(0), 2)
            self.assertIn("files of others", foreign.said.read_text())
            self.assertEqual((other / "mine").read_text(), "x")
        for arguments in (("up",), ("up", "x", "--listen", "5433"), ("up", "x", "--json"), ("init", "x"), ("status", "x"),
                          ("status", "--sql"), ("dance",), ("status",), ("status", "--fleet", "jobs"),
                          ("status", "--fleet", "postgresql://h:canary-77@127.0.0.1/x")):  # fmt: skip
            with self.subTest(arguments):
                done = fleet(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertNotIn("canary-77", done.stderr)

    def test_init(self):
        with postgres.postgres() as server:
            done = fleet("init", "--sql")
            self.assertEqual(done.returncode, 0)
            for _ in range(2):  # a second time changes nothing
                server.psql(done.stdout)
            server.psql("create role worker login; grant headway_worker to worker; create role stranger login")
            self.assertEqual(fleet("status", "--fleet", server.url_of("worker")).returncode, 0)
            refused = fleet("status", "--fleet", server.url_of("stranger"))
            self.assertEqual(refused.returncode, 2)
            self.assertIn("grant headway_worker", refused.stderr)
            self.assertEqual(fleet("init", "--fleet", server.url_of("worker")).returncode, 0)
            # a worker may execute, and touch no table
            tables = server.psql("select oid::regclass from pg_class where relnamespace = 'headway1'::regnamespace and relkind = 'r'").split()
            self.assertGreater(len(tables), 1)
            for table in tables:
                for right in ("select", "insert", "update", "delete"):
                    self.assertEqual(server.psql(f"select has_table_privilege('worker', '{table}', '{right}')"), "f")
            loose = server.psql(
                "select proname from pg_proc where pronamespace = 'headway1'::regnamespace and prosecdef "
                "and not coalesce(proconfig::text ~ 'search_path', false)")
            self.assertEqual(loose, "")  # each that runs as its owner has a fixed search_path

    def test_rights_after_the_first_use(self):
        """An owner without CREATEROLE has made the schema; then another role is to work, in each way that is said."""
        statements = fleet("init", "--sql").stdout
        with postgres.postgres() as server, postgres.postgres() as other:
            for each in (server, other):
                each.psql("create role w login; create role norights login; create role also login; create database work owner w")
                self.assertEqual(fleet("status", "--fleet", each.url_of("w", "work")).returncode, 0)
                refused = fleet("status", "--fleet", each.url_of("norights", "work"))
                self.assertEqual(refused.returncode, 2)
                self.assertIn("a role that may make roles", refused.stderr)

            def psql(role, sql, on=server):
                return subprocess.run([postgres.binaries() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", on.url_of(role, "work")],
                                      input=sql, text=True, capture_output=True)  # fmt: skip

            # The owner: no role can be made, and what it may do instead is said, and does.
            done = psql("w", statements)
            self.assertEqual(done.returncode, 0, done.stderr)
            rights = re.search(r"grant usage on schema .*;", done.stderr)[0].replace("THE_ROLE", "norights")
            self.assertEqual(psql("w", rights).returncode, 0)
            self.assertEqual(fleet("status", "--fleet", server.url_of("norights", "work")).returncode, 0)
            for on in (server, other):
                if on is other:  # the roles are there by now, of another database
                    on.psql("create role headway_owner nologin; create role headway_worker nologin")
                    self.assertEqual(psql("w", statements, on).returncode, 0)
                for _ in range(2):
                    done = psql(postgres.SUPERUSER, statements + "grant headway_worker to also;", on)
                    self.assertEqual((done.returncode, "ERROR" in done.stderr), (0, False), done.stderr)
                for role in ("w", "also"):
                    self.assertEqual(fleet("status", "--fleet", on.url_of(role, "work")).returncode, 0, role)
                with servers.nginx() as api, Work(gets(api, 5)) as work:
                    self.assertEqual(work.run("--limit-at", on.url_of("w", "work")), 0, work.stderr())

    def test_faults_at_the_start(self):
        with servers.nginx() as api, Work(gets(api, 20)) as work:
            with postgres.postgres(max_connections="5", superuser_reserved_connections="1") as server:
                taken = [subprocess.Popen([postgres.binaries() / "psql", "-X", server.url.replace("headway@", "postgres@")],
                                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(4)]  # fmt: skip
                wait_for(lambda: server.psql("select count(*) from pg_stat_activity where backend_type = 'client backend'") == "5")
                self.assertEqual(work.run("--limit-at", server.url, "--wait-max", "1s"), 75)
                self.assertIn("max_connections", work.stderr())
                for psql in taken:
                    psql.communicate()
                self.assertEqual(work.run("--limit-at", server.url), 0)
                server.psql("alter role headway set default_transaction_read_only = on")
                self.assertEqual(work.run("--limit-at", server.url), 2)
                self.assertIn("read-only", work.stderr())
                server.psql("alter role headway reset default_transaction_read_only; update headway1.about set revision = 1000")
                self.assertEqual(work.run("--limit-at", server.url), 2)
                self.assertIn("the same headway on all hosts", work.stderr())
            self.assertEqual(work.run("--limit-at", server.url, "--wait-max", "1s"), 75)
            self.assertIn("is the server running", work.stderr())

    def test_poolers(self):
        """In transaction mode statements of many share a session; a role's own timeout is no other than theirs."""
        with postgres.postgres() as server, postgres.pgbouncer(server) as url, servers.limit_req(100, "burst=10 nodelay") as api:
            server.psql("alter role headway set statement_timeout = '1s'")
            with Work(gets(api, 150)) as a, Work(gets(api, 150)) as b:
                hosts = [work.start("--limit-at", url, XDG_RUNTIME_DIR=str(work.path)) for work in (a, b)]
                self.assertEqual([a.wait(hosts[0]), b.wait(hosts[1])], [0, 0])
                refused = api.log().throttled_share()
                measured(f"two hosts by pgbouncer in transaction mode: {100 * refused:.1f} % refused")
                self.assertLess(refused, 0.15)

    def test_status(self):
        """Two hosts, one of which is killed: it is unheard, and may exceed the limit by a half."""
        with postgres.postgres() as server, servers.limit_req(100, "burst=10 nodelay") as api, Work() as a, Work() as b:
            hosts = []
            for work in (a, b):
                work.write(gets(api, 4000))
                hosts.append(work.start("--limit-at", server.url, "--progress", "json", XDG_RUNTIME_DIR=str(work.path)))
                self.addCleanup(hosts[-1].wait)
                self.addCleanup(hosts[-1].kill)

            def seen():
                return json.loads(fleet("status", "--json", "--fleet", server.url).stdout)["limits"]

            wait_for(lambda: [len(limit["hosts"]) for limit in seen()] == [2], seconds=30)
            wait_for(lambda: seen()[0]["dealt_per_second"] > 0, seconds=30)
            (limit,) = seen()
            self.assertEqual((limit["unheard"], limit["excess"], limit["readable"]), (0, 0, True))
            self.assertIn(limit["combiner"], [host["id"] for host in limit["hosts"]])
            hosts[0].kill()
            wait_for(lambda: seen()[0]["unheard"] == 1, seconds=30)
            self.assertEqual(seen()[0]["excess"], 0.5)
            text = fleet("status", "--fleet", server.url).stdout
            self.assertRegex(text, r"hosts    1 \(.*\); 1 unheard for .*: at most 50 % more than learned")
            self.assertRegex(text, r"engine   answers in .* ms, .* calls/s")
            said = lambda: json.loads(b.stderr().splitlines()[-1]).get("fleet", "")
            wait_for(lambda: said().endswith("1 unheard: at most 50 % more"), seconds=10)
            server.psql("update headway1.member set seen = seen - 120000000 where seen < headway1.micros() - 3500000")
            wait_for(lambda: said().endswith("1 unheard: at most 12 % more"), seconds=10)  # halved twice
            self.assertEqual(seen()[0]["excess"], 0.125)
            self.assertIn("1 unheard for 2 min", fleet("status", "--fleet", server.url).stdout)

            watching = subprocess.Popen([BINARY, "fleet", "status", "--watch", "--json", "--fleet", server.url],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())  # fmt: skip
            self.assertIn("limits", json.loads(watching.stdout.readline()))
            server.stop()
            self.assertRegex(watching.stderr.readline(), "ended the connection|is the server running")
            server.start()
            self.assertIn("limits", json.loads(watching.stdout.readline()))  # of the time before, or after
            watching.kill()
            watching.communicate()


if __name__ == "__main__":
    beside.main()
