"""A private PostgreSQL server, in a folder and on a port of its own while the block lasts."""
import contextlib
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from work import BINARY, cpu_seconds

QUICK = {"fsync": "off", "max_wal_senders": "0", "wal_level": "minimal"}  # a kill of it loses nothing; power stays
SUPERUSER = "postgres"


@functools.cache
def binaries():
    """The folder of the newest server that is installed, as Debian has it; else that of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    there = found[-1] if found else shutil.which("postgres")
    assert there, "there is no PostgreSQL server (Debian: postgresql)"
    return Path(there).parent


@functools.cache
def other_user():
    """What a command runs under, for the server refuses root; its ids, or None."""
    if os.geteuid() != 0:
        return [], None
    other = pwd.getpwuid(65534)  # in Debian the user that owns nothing
    return ["setpriv", f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups"], (other.pw_uid, other.pw_gid)


@functools.cache
def template():
    """A cluster that all servers are copies of, kept beside the program: initdb takes seconds where others work, too."""
    version = subprocess.run([binaries() / "postgres", "--version"], check=True, text=True, capture_output=True).stdout
    kept = Path(BINARY).resolve().parent / f"postgres-template-{version.split()[2]}"
    if kept.exists():
        return kept
    under, ids = other_user()
    with tempfile.TemporaryDirectory(prefix="headway-template-") as folder:
        if ids:
            os.chown(folder, *ids)
        initdb = [binaries() / "initdb", "-D", f"{folder}/data", "-U", SUPERUSER, "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*under, *initdb, "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/")
        ours = tempfile.mkdtemp(prefix=f"{kept.name}-", dir=kept.parent)
        shutil.copytree(f"{folder}/data", ours, dirs_exist_ok=True)
    try:
        os.rename(ours, kept)
    except OSError:  # another test was first
        shutil.rmtree(ours)
    return kept


class Postgres:
    """A server: its url (a database and a role, `name`, that may create in it), and what may happen to it."""

    def __init__(self, folder, port, name, host="127.0.0.1"):
        self.folder = Path(folder)
        self.data = self.folder / "data"
        self.port = port
        self.name = name
        self.host = host
        self.url = self.url_of(name)
        self.process = None

    def url_of(self, role, database=None, host=None, **parameters):
        more = "&".join(f"{key}={value}" for key, value in parameters.items())
        return f"postgresql://{role}@{host or self.host}:{self.port}/{database or self.name}" + (more and f"?{more}")

    def start(self, wait=True):
        under, _ = other_user()
        with open(self.folder / "server.log", "ab") as log:
            # The last of its processes dies with the first, and that with the thread that started it.
            self.process = subprocess.Popen(
                [*under, "setpriv", "--pdeathsig", "KILL", binaries() / "postgres", "-D", self.data],
                cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # fmt: skip
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"PostgreSQL ended: {self.log()}")
            # pg_isready asks for no password
            ready = subprocess.run([binaries() / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)])
            if ready.returncode == 0:
                return
            time.sleep(0.02)
        raise AssertionError(f"PostgreSQL does not start: {self.log()}")

    def stop(self, how=signal.SIGINT):
        """SIGINT ends sessions at once (-m fast), SIGQUIT is a crash, SIGTERM waits for sessions."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(30)

    def kill(self):
        """All of its processes at once, as a machine that goes down; returns when they are gone."""
        self.process.send_signal(signal.SIGSTOP)  # it starts none meanwhile
        all_of_them = self.processes()
        for pid in all_of_them:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)
        while any(lives(pid) for pid in all_of_them[1:]):
            time.sleep(0.002)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self):
        """All of its processes stand still, until thaw()."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def processes(self):
        """The postmaster, then its children."""
        first = self.process.pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def cpu_seconds(self):
        """That its processes have used so far; one may just have ended."""
        seconds = 0.0
        for pid in self.processes():
            with contextlib.suppress(FileNotFoundError):
                seconds += cpu_seconds(pid)
        return seconds

    def set(self, **settings):
        """Settings that it reads without a restart; sessions that begin then have them."""
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.writelines(f"{key} = '{value}'\n" for key, value in settings.items())
        self.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)

    def psql(self, sql, database=None, role=SUPERUSER):
        """What a statement returns, as lines of values parted by |, over the server's socket."""
        command = [binaries() / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port)]
        done = subprocess.run([*command, "-U", role, "-d", database or self.name], input=sql, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def log(self):
        return (self.folder / "server.log").read_text()


@contextlib.contextmanager
def postgres(password=None, certificate=None, name="headway", within=None, **settings):
    """A server that trusts all of this machine, or wants `password` of `name` (scram-sha-256) over TCP; with
    `certificate` (servers.certificate) it has TLS; `settings` are those of postgresql.conf."""
    under, ids = other_user()
    with tempfile.TemporaryDirectory(prefix="headway-postgres-", dir=within) as folder:
        server = Postgres(folder, free_port(), name)
        shutil.copytree(template(), server.data)
        settings = QUICK | {"listen_addresses": "127.0.0.1", "port": server.port, "unix_socket_directories": folder} | settings
        if certificate:
            own = server.data / "server.pem"
            shutil.copy(certificate, own)
            own.chmod(0o600)
            settings |= {"ssl": "on", "ssl_cert_file": own, "ssl_key_file": own}
        with open(server.data / "postgresql.auto.conf", "w") as file:
            file.writelines(f"{key} = '{value}'\n" for key, value in settings.items())
        way = "scram-sha-256" if password else "trust"
        hosts = "0.0.0.0/0", "::/0"
        lines = ["local all all trust", *(f"host all all {host} {way}" for host in hosts)]
        (server.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")
        if ids:
            for path in (server.folder, *server.folder.rglob("*")):
                os.chown(path, *ids)
        try:
            server.start()
            quoted = f"password '{password}'" if password else ""
            server.psql(f"create role {name} login {quoted}; create database {name} owner {name}".replace(";", ";\n"), "postgres")
            yield server
        finally:
            if server.process and server.process.poll() is None:
                server.thaw()
                server.stop(signal.SIGQUIT)


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def free_port():
    """One that is free now: PostgreSQL does not share a port, so that servers.closed_port cannot hold it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def pgbouncer(server, mode="transaction"):
    """The URL of `server` by a pooler that shares its sessions."""
    under, ids = other_user()
    with tempfile.TemporaryDirectory(prefix="headway-pgbouncer-") as folder:
        port = free_port()
        Path(folder, "users").write_text(f'"{server.name}" ""\n')
        Path(folder, "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"auth_type = trust\nauth_file = {folder}/users\npool_mode = {mode}\nunix_socket_dir =\nlogfile = {folder}/log\n"
        )
        if ids:
            for path in (Path(folder), *Path(folder).iterdir()):
                os.chown(path, *ids)
        child = subprocess.Popen(
            [*under, "setpriv", "--pdeathsig", "KILL", "pgbouncer", "-q", f"{folder}/pgbouncer.ini"], cwd="/")
        try:
            wait_for_port(port)
            yield f"postgresql://{server.name}@127.0.0.1:{port}/{server.name}"
        finally:
            child.kill()
            child.wait()


def wait_for_port(port, seconds=10):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
