"""headway proxy, started as users start it, and clients that speak to it byte by byte."""
import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from work import BINARY, RUNTIME


class Proxy:
    """A proxy before `upstream` (a URL, or None where `options` say), gone when the block ends."""

    def __init__(self, upstream, *options, before=(), **environment):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.options = [f"--upstream={upstream}"] if upstream else []
        self.options += ["--listen=127.0.0.1:0", "--admin=127.0.0.1:0", *options]
        self.environment, self.before = environment, before  # a command that executes ours

    def __enter__(self):
        self.process = start(self.folder, self.options, self.environment, self.before)
        self.said = self.process.stdout.readline().decode()
        ports = re.findall(r"http://127\.0\.0\.1:(\d+)", self.said)
        assert self.said.startswith("http://127"), self.said + self.stderr()
        self.port = int(ports[0])
        self.admin = int(ports[-1]) if "dashboard" in self.said else None
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *error):
        if any(error):
            print(f"the proxy of this failure: exit code {self.process.poll()}, said:\n{self.stderr()}", file=sys.stderr)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._folder.cleanup()

    def stderr(self):
        return Path(self.folder, "stderr").read_text()

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers={}, timeout=30):
        """(status, fields in lower case, body)."""
        with contextlib.closing(self.connect(timeout)) as client:
            client.request(method, path, body, headers)
            answer = client.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()

    def look(self, path):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.admin)) as client:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read()

    def state(self):
        return json.loads(self.look("/api/state")[1])

    def raw(self, text, timeout=10):
        """What comes back for these bytes until the proxy closes, or falls silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
            said = b""
            with contextlib.suppress(TimeoutError, ConnectionError):
                while part := s.recv(65536):
                    said += part
            return said

    def send(self, text):
        """A connection on which these bytes have been sent."""
        s = socket.create_connection(("127.0.0.1", self.port), 30)
        s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
        return s


def start(folder, options, environment={}, before=()):
    with open(folder / "stderr", "wb") as err:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *before, BINARY, "proxy", *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            env={
                "PATH": "/usr/bin:/bin",
                "XDG_STATE_HOME": str(folder / "state"),
                "XDG_RUNTIME_DIR": RUNTIME.name,
                **environment,
            },
        )


def refused(*options, files={}, **environment):
    """(exit code, standard error) of a proxy that does not start."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
            Path(folder, name).chmod(0o600)
        process = start(Path(folder), options, environment)
        out, _ = process.communicate(timeout=20)
        return process.returncode, Path(folder, "stderr").read_text(), out.decode()
