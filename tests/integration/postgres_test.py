"""What headway::postgres makes of a real PostgreSQL: each failure is one sentence that says what to do, none has a password."""
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

import postgres
import servers
from secrets_test import forms
from work import Work, wait_for

CLIENT = os.environ.get(
    "HEADWAY_POSTGRES_CLIENT", Path(__file__).resolve().parents[2] / "build/tests/integration/postgres_client"
)
SECRET = 'canary-5e1f/"+=%'
QUOTED = "canary-5e1f%2F%22%2B%3D%25"


class Client:
    """A connection; `began` is what it said of it."""

    def __init__(self, url, origin="environment", statement_ms=10_000, **environment):
        # No file of a real user is read.
        clean = {"HOME": "/nonexistent", "PGPASSFILE": "/nonexistent", "PGSYSCONFDIR": "/nonexistent"}
        self.process = subprocess.Popen(
            [CLIENT, url, origin, str(statement_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={"PATH": os.environ["PATH"], **clean, **environment})  # fmt: skip
        self.name = self.process.stdout.readline().strip()
        self.began = self.process.stdout.readline().strip() or self.name
        self.said = [self.name, self.began]

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        self.said.append(self.process.stdout.readline().strip())
        return self.said[-1]

    def do(self, line):
        self.send(line)
        return self.hear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


@contextlib.contextmanager
def slow_link(server, bytes_a_second):
    """The URL of `server` by a link that takes so much of what is sent to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

        def forward(source, to, piece, pause):
            with contextlib.suppress(OSError):
                while data := source.recv(piece):
                    to.sendall(data)
                    time.sleep(pause)
            for end in source, to:
                end.close()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", server.port))
                    threading.Thread(target=forward, args=(near, far, 1 << 16, (1 << 16) / bytes_a_second), daemon=True).start()
                    threading.Thread(target=forward, args=(far, near, 1 << 16, 0), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"postgresql://{server.name}@127.0.0.1:{listener.getsockname()[1]}/{server.name}"


class Postgres(unittest.TestCase):
    def fails(self, what, url, kind, *parts, **how):
        """It cannot be connected to, and the sentence has these parts; no secret is in it."""
        with self.subTest(what), Client(url, **how) as client:
            self.is_said(client.began, kind, *parts)

    def is_said(self, said, kind, *parts):
        self.assertRegex(said, f"^{kind} ")
        for part in parts:
            self.assertIn(part, said)
        self.assertNotIn("\n", said)
        for form in forms(SECRET):
            self.assertNotIn(form.decode(), said)

    def test_urls(self):
        usage = "usage"
        for what, url, part in (
            ("none", "", "is empty"),
            ("of something else", "https://db.example/x", "want postgresql://"),
            ("no URL", "jobs", "want postgresql://"),
            ("an option that it does not have", f"postgresql://h:{QUOTED}@127.0.0.1/x?sslmod=1", "libpq does not know"),
            ("a value that it does not take", f"postgresql://h:{QUOTED}@127.0.0.1/x?sslmode=never", "sslmode"),
            ("a password that is not escaped", f"postgresql://h:{SECRET}@127.0.0.1/x", "want postgresql://"),
            ("a password with a slash", "postgresql://h:canary-5e1f/@127.0.0.1/x", "%2F"),
            ("a port that is none", f"postgresql://h:{QUOTED}@127.0.0.1:99999/x", "port"),
            ("a name that is none", f"postgresql://h:{QUOTED}@nowhere.invalid/x", "cannot be resolved"),
        ):
            self.fails(what, url, usage if part != "cannot be resolved" else "(usage|unavailable)", part)
        for url in (f"postgresql://h:{QUOTED}@127.0.0.1/x", f"postgresql://h@127.0.0.1/x?password={QUOTED}",
                    f"host=127.0.0.1 password='{SECRET}'"):  # fmt: skip
            self.fails("a password in argv", url, usage, "PGPASSWORD", origin="arguments")

    def test_admission(self):
        with postgres.postgres(password=SECRET) as server:
            url = server.url.replace("@", f":{QUOTED}@")
            with Client(url) as client:
                self.assertEqual(client.began, "connected")
                self.assertEqual(client.do("execute select 'x'"), "ok x")
                self.assertNotIn("canary", client.name)
                # Should the server repeat it, it is not shown.
                self.is_said(client.do(f"execute select quote_literal('{SECRET}')::int"), "refused 22P02", "***")
            with Client(server.url, PGPASSWORD=SECRET) as client:
                self.assertEqual(client.began, "connected")
            wrong = server.url.replace("@", f":{QUOTED}x@")
            self.fails("wrong password", wrong, "usage 28P01", "~/.pgpass", server.name)
            self.fails("none", server.url, "usage", "wants a password", "~/.pgpass")
            self.fails("its file is not here", server.url + "?passfile=/nonexistent/pgpass", "usage", "/nonexistent/pgpass", "folder join")
            self.fails("no such role", server.url_of("stranger"), "usage", PGPASSWORD=SECRET)
            self.fails("no such database", server.url_of(server.name, "nothere"), "usage 3D000", "create it", PGPASSWORD=SECRET)
            self.fails("no TLS there", url + "?sslmode=require", "usage", "sslmode=disable")
            self.fails("not on this machine", url.replace("127.0.0.1", "0.0.0.0"), "usage", "sslmode=disable")
            server.psql(f"revoke connect on database {server.name} from public; alter database {server.name} owner to postgres")
            self.fails("no right to connect", url, "usage 42501", "grant connect")
            (server.data / "pg_hba.conf").write_text("local all all trust\n")
            server.set()
            self.fails("no line in pg_hba.conf", url, "usage 28000", "pg_hba.conf")

    def test_tls(self):
        with Work() as own, Work() as other:
            right, wrong = servers.certificate(own.path), servers.certificate(other.path)
            with postgres.postgres(certificate=right, password=SECRET) as server:
                url = server.url.replace("@", f":{QUOTED}@")
                verified = url + "?sslmode=verify-full&sslrootcert="
                with Client(verified + str(right)) as client:
                    self.assertEqual(client.began, "connected")
                    self.assertNotIn("not verified", client.name)
                elsewhere = url.replace("127.0.0.1", "0.0.0.0")
                with Client(elsewhere + "?sslmode=require") as client:
                    self.assertEqual(client.began, "connected")
                    self.assertIn("not verified", client.name)
                self.fails("another authority", verified + str(wrong), "usage", "sslrootcert=FILE")
                self.fails("its certificate is not here", verified + "/nonexistent/root.crt", "usage", "/nonexistent/root.crt", "folder join")
                nothing = other.path / "nothing"
                nothing.write_text("nothing")
                self.fails("no certificate", verified + str(nothing), "usage", "is no certificate")
                # As an URL that says nothing of TLS
                self.fails("another name", elsewhere + f"?sslrootcert={right}", "usage", "another name")
                self.fails("no authority", elsewhere, "usage", "sslrootcert=FILE")
                with Work() as service:  # what a service file says counts as if the URL did
                    file = service.path / "services"
                    file.write_text(f"[fleet]\nhost=0.0.0.0\nport={server.port}\nuser=headway\ndbname=headway\n")
                    self.fails("service", "service=fleet", "usage", "sslrootcert=FILE", PGSERVICEFILE=str(file))
                    file.write_text(file.read_text() + f"sslmode=require\npassword={SECRET}\n")
                    with Client("service=fleet", "arguments", PGSERVICEFILE=str(file)) as client:
                        self.assertEqual(client.began, "connected")
                # libpq tries again without TLS, of which the server complains.
                (server.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all scram-sha-256\n")
                server.set()
                none = own.path / "none"
                none.write_text("no certificate")
                self.fails("no certificate of ours", f"{url}?sslcert={none}", "usage", "pg_hba.conf", "over TLS: could not read")

    def test_away(self):
        with servers.closed_port() as port:
            self.fails("nothing there", f"postgresql://h@127.0.0.1:{port}/x", "unavailable", "is the server running")
        self.fails("no socket", "postgresql:///x?host=/nonexistent", "unavailable", "is the server running")
        with servers.nginx() as server:
            self.fails("a web server", f"postgresql://h@127.0.0.1:{server.port}/x", "(usage|unavailable)")

    def test_statements(self):
        with postgres.postgres() as server:
            with Client(server.url, statement_ms=300) as client:
                self.is_said(client.do("execute select pg_sleep(60)"), "unavailable 57014", "statement_timeout")
                self.assertEqual(client.do("execute select 'x'"), "ok x")  # the connection goes on
                self.is_said(client.do("execute select 1/0"), "refused 22012", "division by zero")
                self.is_said(client.do("script create table t (i int); insert into t values (1/0)"), "refused 22012")
                self.assertEqual(client.do("execute select coalesce(to_regclass('t')::text, 'none')"), "ok none")
                self.is_said(client.do("execute copy pg_class to stdout"), "unknown_fate", "protocol")
                self.is_said(client.do("execute select 'x'"), "unavailable", "lost")
            with Client(server.url) as client, Client(server.url) as other:
                self.assertEqual(client.do("listen news"), "ok")
                client.send("wait 60000")
                other.do("execute select pg_notify('news', 'one')::text")
                self.assertEqual(client.hear(), "heard news=one")
                self.assertEqual(client.do("wait 1"), "heard")
                self.assertEqual(client.do("woken"), "ok")

    def test_unknown_fate(self):
        """A connection that is lost while a statement runs says nothing of its fate, whichever it was."""
        with postgres.postgres(wal_level="replica", max_wal_senders="1") as server:
            server.psql(f"create table t (i int); grant all on t to {server.name}")

            def ended(statement, wait_event):
                with Client(server.url) as client:
                    client.send(f"execute {statement}")
                    waiting = f"from pg_stat_activity where wait_event = '{wait_event}'"
                    wait_for(lambda: server.psql(f"select pid {waiting}"), seconds=10)
                    server.psql(f"select pg_terminate_backend(pid) {waiting}")
                    self.is_said(client.hear(), "unknown_fate", "lost while a statement ran")
                    self.assertEqual(client.do("lost"), "yes")
                return server.psql("select count(*) from t")

            self.assertEqual(ended("insert into t select 1 from pg_sleep(60)", "PgSleep"), "0")
            server.set(synchronous_standby_names="none_that_there_is")  # a commit waits for it, done but not confirmed
            self.assertEqual(ended("insert into t values (1)", "SyncRep"), "1")
            server.set(synchronous_standby_names="")
            with Client(server.url) as client:  # lost while nothing ran: what comes next was not sent
                server.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headway'")
                wait_for(lambda: server.psql("select count(*) from pg_stat_activity where application_name = 'headway'") == "0")
                self.is_said(client.do("execute insert into t values (2)"), "unavailable")
            with Client(server.url, statement_ms=100) as client:
                client.do("execute select 1")
                server.freeze()
                self.is_said(client.do("execute insert into t values (3)"), "unknown_fate", "does not answer")
                server.thaw()

    def test_what_is_large_may_take_longer(self):
        """A statement has its time once the server has all of it."""
        with postgres.postgres() as server, slow_link(server, 8 << 20) as url, Client(url, statement_ms=300) as client:
            self.assertEqual(client.do(f"send {16 << 20}"), f"ok {16 << 20}")

    def test_read_only(self):
        with postgres.postgres(wal_level="replica", max_wal_senders="1") as server:
            server.psql(f"alter role {server.name} set default_transaction_read_only = on")
            self.fails("by a setting", server.url, "usage 25006", "default_transaction_read_only")
            server.psql(f"alter role {server.name} reset default_transaction_read_only")
            server.stop()
            (server.data / "standby.signal").touch()
            server.start()
            self.fails("a standby", server.url, "usage 25006", "URL of the primary")
            dead = postgres.free_port()
            for attributes in ("", "?target_session_attrs=read-write"):  # it may be made the primary
                both = f"postgresql://{server.name}@127.0.0.1:{dead},127.0.0.1:{server.port}/{server.name}{attributes}"
                self.fails("a failover", both, "unavailable", "none of the hosts that are listed can be written to")
            with postgres.postgres() as primary:  # of several the one that can be written to
                both = f"postgresql://{server.name}@127.0.0.1:{server.port},127.0.0.1:{primary.port}/{server.name}"
                with Client(both) as client:
                    self.assertEqual(client.began, "connected")
                    self.assertEqual(client.do("execute select current_setting('port')"), f"ok {primary.port}")

    def test_connections(self):
        with postgres.postgres(max_connections="5", superuser_reserved_connections="1") as server:
            clients = [Client(server.url) for _ in range(5)]
            self.is_said(clients[4].began, "unavailable 53300", "max_connections")
            for client in clients:
                client.__exit__()

    def test_pooler(self):
        with postgres.postgres() as server, postgres.pgbouncer(server) as url:
            with Client(url) as client, Client(url) as other, Client(server.url) as direct:
                self.assertEqual([c.do("pooled") for c in (client, other, direct)], ["yes", "yes", "no"])
                self.assertEqual(client.do("schema"), "ok")
                for i in range(20):  # they change places behind it
                    self.assertEqual([c.do(f"execute select '{i}'") for c in (client, other)], [f"ok {i}"] * 2)
                self.assertEqual(server.psql("select count(*) from pg_prepared_statements"), "0")
                self.is_said(client.do("execute select 1/0"), "refused 22012")

    def test_schema(self):
        with postgres.postgres() as server:
            with Client(server.url) as client:
                self.assertEqual(client.do("schema"), "ok")
                self.assertEqual(client.do("schema"), "ok")
            server.psql(f"create role worker login; create role stranger login; grant headway_worker to worker") \
                if server.psql("select to_regrole('headway_worker')") else server.psql("create role stranger login")
            with Client(server.url_of("stranger")) as client:
                self.is_said(client.do("schema"), "usage 42501", "stranger", "grant headway_worker")
            server.psql("update headway1.about set revision = 1000")
            with Client(server.url) as client:
                self.is_said(client.do("schema"), "usage", "revision 1000", "the same headway on all hosts")
            server.psql("drop schema headway1 cascade; revoke all on schema public from public")
            with Client(server.url_of("stranger")) as client:
                self.is_said(client.do("schema"), "usage 42501", "headway fleet init --sql")
            server.psql("create schema headway1 create table about(of_a_stranger int)")
            for role in "stranger", postgres.SUPERUSER:
                with Client(server.url_of(role)) as client:
                    self.is_said(client.do("schema"), "usage", "a schema headway1 that is not of headway", "another database")
            server.psql("drop schema headway1 cascade; create schema headway1")
            with Client(server.url_of(postgres.SUPERUSER)) as client:
                self.assertEqual(client.do("schema"), "ok")
            server.psql("grant headway_worker to stranger")
            self.assertEqual(server.psql("select distinct relowner::regrole from pg_class where relnamespace = 'headway1'::regnamespace"), "headway_owner")
            with Client(server.url_of("stranger")) as client:
                self.assertEqual(client.do("schema"), "ok")
                self.is_said(client.do("execute select revision::text from headway1.about"), "usage 42501")

    def test_schema_race(self):
        """Sessions that find no schema make it once."""
        with postgres.postgres() as server:
            for _ in range(5):
                clients = [Client(server.url) for _ in range(8)]
                for client in clients:
                    client.send("schema")
                self.assertEqual([client.hear() for client in clients], ["ok"] * 8)
                for client in clients:
                    client.__exit__()
                self.assertEqual(server.psql("select count(*) from headway1.about"), "1")
                server.psql("drop schema headway1 cascade")

    def test_disk_full(self):
        if os.geteuid() != 0:
            self.skipTest("a small file system takes root")
        with Work() as work:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", work.path], capture_output=True)
            if mounted.returncode != 0:
                self.skipTest("no file system can be mounted here")
            try:
                settings = {"min_wal_size": "32MB", "max_wal_size": "32MB", "shared_buffers": "1MB"}
                with postgres.postgres(within=work.path, **settings) as server, Client(server.url) as client:
                    client.do("execute create unlogged table t (x text)")
                    filling = "execute insert into t select string_agg(md5(random()::text), '') from generate_series(1, 100000) group by random() < 0.5"
                    said = next(said for said in (client.do(filling) for _ in range(100)) if not said.startswith("ok"))
                    self.is_said(said, "unavailable 53100", "disk is full")
                    self.assertEqual(client.do("execute truncate t"), "ok")
                    self.assertEqual(client.do(filling), "ok")
            finally:
                subprocess.run(["umount", "-l", work.path], check=True)


if __name__ == "__main__":
    unittest.main()
