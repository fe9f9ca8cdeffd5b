"""Mutated requests: what the proxy takes for one request is one request to every origin.

HEADWAY_MUTATIONS=50000 is the long form; the seed is printed, and HEADWAY_SEED repeats it.
"""
import contextlib
import http.client
import json
import os
import random
import select
import socket
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import servers
from proxy import Proxy
from proxy_refusals_test import MALFORMED
from work import measured, wait_for

MUTATIONS = int(os.environ.get("HEADWAY_MUTATIONS", 400))
SEED = int(os.environ.get("HEADWAY_SEED") or random.randrange(10**6))

GOOD = [
    "GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /{n} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "PUT /{n} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n",
    "HEAD /{n} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
]
PIECES = [
    "\r\n", "\n", "\r", " ", "\t", "\0", "\x0b", ":", ",", ";", "0", "00", "+", "-", "0x", "é", "\x85", "\xa0", "chunked",
    "Transfer-Encoding: chunked\r\n", "Transfer-Encoding:\tchunked\r\n", "Transfer-Encoding: identity\r\n",
    "transfer-encoding: Chunked\r\n", "Content-Length: 0\r\n", "Content-Length: 5\r\n", "Content-Length: 99\r\n",
    "Content-Length : 5\r\n", "Host: b\r\n", "Connection: close\r\n", "Connection: Content-Length\r\n", "\r\n\r\n",
    "0\r\n\r\n", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "Expect: 100-continue\r\n", "X: y\r\n z\r\n", "HTTP/1.0", "/../",
]

NODE = """
const http = require('http');
let count = 0;
const server = http.createServer((q, r) => {
  if (q.url === '/count') return r.end(String(count));
  count++; q.resume(); q.on('end', () => r.end('ok'));
});
server.on('clientError', (e, s) => { if (e.code !== 'ECONNRESET') count++; s.destroy(); });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""
PYTHON = """
import http.server, sys
count = 0
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def go(self):
        global count
        if self.path == "/count": body = str(count).encode()
        else:
            count += 1
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b"ok"
        self.send_response(200); self.send_header("Content-Length", len(body)); self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_HEAD = go
    def log_message(self, *_): pass
    def send_error(self, *a, **k):
        global count
        count += 1
        self.close_connection = True
        super().send_error(*a, **k)
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_address[1], flush=True)
s.serve_forever()
"""


def mutated(chance, n):
    """One or more messages, changed in one to four places."""
    text = "".join(chance.choice(GOOD).format(n=n) for _ in range(chance.choice((1, 1, 2, 3))))
    if chance.random() < 0.1:
        text = chance.choice(MALFORMED)[0][:4000]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        if chance.random() < 0.5:  # where lines begin is where it hurts
            starts = [i + 2 for i in range(len(text)) if text.startswith("\r\n", i)] or [0]
            at = chance.choice(starts)
        what = chance.random()
        if what < 0.6:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif what < 0.8:
            text = text[:at] + text[at + chance.randint(1, 3) :]
        else:
            other = chance.choice(GOOD).format(n=n)
            text = text[:at] + other[chance.randrange(len(other)) :]
    return text.encode("latin-1", "replace")


@contextlib.contextmanager
def program(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        port = int(process.stdout.readline())

        def count():
            client = http.client.HTTPConnection("127.0.0.1", port)
            client.request("GET", "/count")
            n = int(client.getresponse().read())
            client.close()
            return n

        yield f"http://127.0.0.1:{port}", count
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def nginx():
    with servers.nginx("client_max_body_size 1m;") as origin:
        yield origin.url, lambda: len((origin.folder / "access.log").read_text().splitlines())


HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option dontlognull
  option http-buffer-request
  log stdout format raw local0
frontend all
  bind 127.0.0.1:{port}
  log-format "%ST %HM %HP"
  http-request return status 200 content-type text/plain string ok
"""
APACHE = """
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
ServerName a
ServerRoot {folder}
DocumentRoot {folder}
PidFile {folder}/pid
User www-data
Group www-data
Listen 127.0.0.1:{port}
MaxKeepAliveRequests 0
ErrorLog error.log
CustomLog access.log "%>s %r"
"""
MODULES = Path("/usr/lib/apache2/modules")


@contextlib.contextmanager
def haproxy():
    with tempfile.TemporaryDirectory() as folder, servers.closed_port() as port:
        Path(folder, "haproxy.cfg").write_text(HAPROXY.format(port=port))
        with servers.running(["haproxy", "-db", "-f", "haproxy.cfg"], folder, port):
            yield f"http://127.0.0.1:{port}", lambda: len(Path(folder, "access.log").read_text().splitlines())


@contextlib.contextmanager
def apache():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # its workers are www-data
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        Path(folder, "apache.conf").write_text(APACHE.format(modules=MODULES, folder=folder, port=port))

        def count():
            """But for connections on which no request came in time."""
            return sum(not line.startswith("408 -") for line in Path(folder, "access.log").read_text().splitlines())

        with servers.running(["apache2", "-DFOREGROUND", "-f", f"{folder}/apache.conf"], folder, port):
            yield f"http://127.0.0.1:{port}", count


class Smuggling(unittest.TestCase):
    def judge(self, name, origin, mutations):
        with origin as (url, count), Proxy(url, "--cold", "--alone", "--law=fixed", "--access-log=log") as proxy:
            with ThreadPoolExecutor(32 if mutations > 1000 else 8) as pool:
                texts = (mutated(random.Random(f"{SEED} {name} {n}"), n) for n in range(mutations))
                list(pool.map(lambda text: self.send(proxy.port, text), texts))

            def ours():
                """Requests sent: for sure, and with those whose client did not wait for an answer."""
                whole = Path(proxy.folder, "log").read_text().split("\n")[:-1]  # a path may have other ends of lines
                lines = [json.loads(line) for line in whole]
                sure = sum(line["attempts"] for line in lines if line["ended"] != "left")
                return sure, sum(line["attempts"] for line in lines)

            agreed = lambda: proxy.state()["upstreams"][0]["in_flight"] == 0 and ours()[0] <= count() <= ours()[1]
            wait_for(agreed, 10 + mutations / 100)
            sure, all = ours()
            measured(f"{name}, seed {SEED}: {mutations} mutations, {sure} to {all} requests sent, {count()} counted there")
            self.assertGreater(sure, mutations // 10)

    @staticmethod
    def send(port, text):
        """Sends it, and reads until the proxy closes or has nothing more to say."""
        with socket.create_connection(("127.0.0.1", port), 10) as s, contextlib.suppress(OSError):
            s.sendall(text)
            while select.select([s], [], [], 0.15)[0] and s.recv(65536):
                pass

    def test_nginx(self):
        self.judge("nginx", nginx(), MUTATIONS // 5)

    def test_node(self):
        self.judge("node", program("node", "-e", NODE), MUTATIONS // 5)

    def test_python(self):
        self.judge("Python", program("/usr/bin/python3", "-c", PYTHON), MUTATIONS // 5)

    def test_haproxy(self):
        self.judge("HAProxy", haproxy(), MUTATIONS // 5)

    @unittest.skipUnless(MODULES.exists(), "Debian: apache2-bin")
    def test_apache(self):
        self.judge("Apache", apache(), MUTATIONS // 5)


if __name__ == "__main__":
    unittest.main()
