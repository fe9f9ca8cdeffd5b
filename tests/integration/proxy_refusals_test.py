"""What the proxy answers by itself: malformed and hostile requests, hints, other sites, slow clients."""
import contextlib
import json
import socket
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proxy import Proxy
from sockets import Server, ok
from work import wait_for

COLD = ("--cold", "--alone", "--law=fixed")
HEAD = "Host: a\r\n"

# What must be refused, and how. The published corpora of request smuggling were read for it: PortSwigger's
# http-request-smuggler, narfindustries/http-garden and llhttp's cases; these are written anew.
MALFORMED = [
    # framing that two servers could read in two ways
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naX0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\nZ: 1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n", 400),
    # lines and names
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\x00: y\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: y\x00z\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    # start lines and hosts
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    ("GET /\r\nHost: a\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Authorization\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close, content-length\r\n\r\n", 400),
    # what is not served
    ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 501),  # before: a server that allows it showed what the proxy adds
    ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: 200-ok\r\n\r\n", 417),
    ("GET / HTTP/1.1\r\nHost: a\r\n" + "X: y\r\n" * 101 + "\r\n", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: " + "y" * 70_000 + "\r\n\r\n", 431),
    ("GET http://other/ HTTP/1.1\r\nHost: other\r\n\r\n", 404),
    ("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    # hints
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Priority: urgent\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Deadline: soon\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Deadline: nan\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Cost: 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Retry: yes\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Scope: \r\n\r\n", 400),
]


class Malformed(unittest.TestCase):
    def test_each_is_refused_and_no_byte_reaches_the_origin(self):
        """Planted: no objection_to(); then a repeated Content-Length passes."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            for text, status in MALFORMED:
                said = proxy.raw(text + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", timeout=0.5)
                got = int(said[9:12] or 0)
                self.assertEqual(got, status, (text[:120], said[:200]))
                if "X-Headway" not in text and status != 404:  # there the next request is another one
                    self.assertEqual(origin.heard, [], text[:120])
                del origin.heard[:]
            self.assertEqual(proxy.ask("GET", "/")[0], 200)

    def test_one_empty_line_before_a_request_is_passed_over(self):
        """RFC 9112 §2.2: old clients send one after a body."""
        get = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            said = proxy.raw(get + "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx" + get, timeout=1)
            self.assertEqual(said.count(b"HTTP/1.1 200 "), 3, said)
            with contextlib.closing(proxy.send("\r")) as s:
                time.sleep(0.1)
                s.sendall(get[1:].encode())
                self.assertRegex(s.recv(4096), b"^HTTP/1.1 200 ")

    def test_what_is_no_http_is_told_at_once(self):
        """Before: a greeting of TLS without the byte of a line's end had to wait for 10 s."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            for greeting, reason in ((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"tls"), (b"\x05\x01\x00", b"malformed")):
                with contextlib.closing(proxy.send(greeting)) as s:
                    said = s.recv(4096)
                self.assertRegex(said, b"^HTTP/1.1 400 (?s:.*)X-Headway-Reason: %s\r\n" % reason)
            for line in ("GET /", "GET / HTTP/0.9", "\x05\x01"):
                self.assertIn(b"want a request of HTTP/1.1 or HTTP/1.0", proxy.raw(f"{line}\r\nHost: a\r\n\r\n", timeout=1))

    def test_a_hint_that_is_wrong_is_named(self):
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            _, _, said = proxy.ask("GET", "/", headers={"X-Headway-Deadline": "soon"})
        self.assertIn("X-Headway-Deadline", json.loads(said)["error"]["message"])

    def test_an_answer_that_is_malformed_is_no_answer(self):
        for head in (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
            "HTTP/1.1 103 Hints\r\n\r\n" * 11,
            "HTTP/1.1 200 OK\r\nX: " + "y" * 300_000 + "\r\n\r\n",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        ):
            with Server(lambda *_, head=head: iter([head.encode()])) as origin, Proxy(origin.url, *COLD) as proxy:
                status, fields, _ = proxy.ask("POST", "/", b"1")
                self.assertEqual((status, fields["x-headway-reason"]), (502, "broken"), head[:60])
                self.assertEqual(len(origin.heard), 1)

    def test_bodies_have_a_bound(self):
        with Server(lambda r, _: ok(b"%d" % len(r.body))) as origin:
            with Proxy(origin.url, *COLD, "--body-max=16MiB", "--hold-max=16MiB") as proxy:
                said = proxy.raw(f"POST / HTTP/1.1\r\n{HEAD}Content-Length: {17 << 20}\r\n\r\n")
                self.assertTrue(said.startswith(b"HTTP/1.1 413"), said[:99])
                self.assertEqual(proxy.ask("POST", "/", bytes(16 << 20))[2], b"%d" % (16 << 20))
                self.assertEqual(proxy.ask("POST", "/", bytes(16 << 20))[2], b"%d" % (16 << 20), "given back")


    def test_a_wait_for_room_has_a_deadline(self):
        """Without one it was answered when the others had left."""
        with Server(lambda *_: ok()) as origin:
            with Proxy(origin.url, *COLD, "--body-max=16MiB", "--hold-max=16MiB") as proxy:
                idle = proxy.send(f"POST / HTTP/1.1\r\n{HEAD}Content-Length: {16 << 20}\r\n\r\n")
                wait_for(lambda: proxy.state()["held_bytes"] > 0)
                status, fields, _ = proxy.ask("POST", "/", b"1", {"X-Headway-Deadline": "1"})
                self.assertEqual((status, fields["x-headway-reason"]), (503, "memory"))
                idle.close()
                self.assertEqual(proxy.ask("POST", "/", b"1")[0], 200)


class Slow(unittest.TestCase):
    def test_slow_clients_are_told_and_closed_and_take_no_turn(self):
        """One in `tight` sends 16 KiB/s, which will do until another waits for the room that it holds."""
        narrow = "--body-max=16MiB", "--hold-max=16MiB"
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy, \
                Proxy(origin.url, *COLD, *narrow) as tight, ThreadPoolExecutor(2) as beside:
            begun = time.monotonic()
            said = beside.submit(self.drip, tight, 1 << 24, 1 << 14)
            wait_for(lambda: tight.state()["held_bytes"] > 0)
            other = beside.submit(tight.ask, "POST", "/", b"1")
            slow = [proxy.send("G") for _ in range(500)]
            slow += [proxy.send(f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 9\r\n\r\n1") for _ in range(20)]
            for _ in range(20):
                self.assertEqual(proxy.ask("GET", "/")[0], 200)
            for s in slow:
                s.settimeout(30)
                with s, s.makefile("rb") as answer:
                    self.assertRegex(answer.read(), rb"(?s)^HTTP/1.1 408 .*X-Headway-Reason: slow\r\n")
            self.assertEqual(other.result(30)[0], 200)
            self.assertRegex(said.result(30), b"^HTTP/1.1 408 ")
            self.assertGreater(time.monotonic() - begun, 8)
            self.assertEqual(len(origin.heard), 21)
            self.assertEqual(proxy.state()["held_bytes"] + tight.state()["held_bytes"], 0)

    def test_silent_connections_give_way_where_all_places_are_taken(self):
        """Before: another waited for a minute."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD, "--connections=50") as proxy, contextlib.ExitStack() as open:
            for _ in range(50):
                open.enter_context(socket.create_connection(("127.0.0.1", proxy.port), 10))
            wait_for(lambda: proxy.state()["connections"]["clients"] == 50)
            self.assertEqual(proxy.ask("GET", "/", timeout=30)[0], 200)

    def test_clients_leave_descriptors_for_what_they_ask(self):
        """Before: some were answered 502, too many open files."""
        few, statuses = ("prlimit", "--nofile=48:48"), []
        with Server(lambda *_: time.sleep(0.05) or ok()) as origin, Proxy(origin.url, *COLD, before=few) as proxy:
            for client in [proxy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") for _ in range(200)]:
                with client:
                    statuses.append(client.recv(4096)[9:12])
            self.assertEqual(set(statuses), {b"200"})
            self.assertIn("room for 8 clients", proxy.stderr())

    @staticmethod
    def drip(proxy, length, a_second):
        """What comes back for a body that comes so slowly."""
        with proxy.send(f"POST / HTTP/1.1\r\n{HEAD}Content-Length: {length}\r\n\r\n") as s:
            s.settimeout(1)
            for _ in range(30):
                s.sendall(bytes(a_second))
                with contextlib.suppress(TimeoutError):
                    return s.recv(4096)


    def test_nothing_keeps_the_admin_address_busy(self):
        """Before: with 64 that said nothing, or did not read, it hung up on all others."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            for text in (b"", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                deaf = [socket.create_connection(("127.0.0.1", proxy.admin), 10) for _ in range(200)]
                for s in deaf:
                    with contextlib.suppress(ConnectionError):
                        s.sendall(text)
                self.assertEqual(proxy.look("/healthz"), (200, b"ok\n"))
                self.assertEqual(proxy.ask("GET", "/")[0], 200)
                for s in deaf:
                    s.close()


class Guard(unittest.TestCase):
    GOOD, REBOUND, FOREIGN = 200, 421, 403

    def rows(self, port):
        ours = (f"127.0.0.1:{port}", "localhost:9", "[::1]:1", "127.9.9.9")
        for host in ours:
            for origin in (None, f"http://{host}", f"https://{host}"):
                for site in (None, "none", "same-origin"):
                    yield host, origin, site, self.GOOD
            yield host, "http://localhost:1", None, self.FOREIGN  # any program may listen there
            yield host, "http://127.0.0.1", None, self.FOREIGN
            yield host, f"http://{host}@evil.example", None, self.FOREIGN
            yield host, f"http://evil.example#{host}", None, self.FOREIGN
            yield host, f"http://{host}\r\nOrigin: https://evil.example", None, self.FOREIGN
            yield host, None, "same-origin\r\nSec-Fetch-Site: cross-site", self.FOREIGN
            yield host, " ", None, self.FOREIGN
            yield host, None, "cross-site", self.FOREIGN
            yield host, None, "same-site", self.FOREIGN
            yield host, "https://evil.example", None, self.FOREIGN
            yield host, "null", None, self.FOREIGN
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"):
            yield host, None, None, self.REBOUND
            yield host, f"http://{host}", "same-origin", self.REBOUND

    def check(self, ask, port):
        count = 0
        for host, origin, site, wanted in self.rows(port):
            fields = {"Host": host, "Origin": origin, "Sec-Fetch-Site": site}
            text = "".join(f"{k}: {v}\r\n" for k, v in fields.items() if v)
            self.assertEqual(ask(f"{text}Connection: close\r\n\r\n"), wanted, fields)
            count += 1
        self.assertGreaterEqual(count, 40)

    @staticmethod
    def status(port, path, fields):
        with socket.create_connection(("127.0.0.1", port), 10) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\n{fields}".encode())
            said = b""
            while part := s.recv(65536):
                said += part
            return int(said[9:12])

    def test_no_page_of_another_site_reaches_the_admin_address(self):
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            self.check(lambda fields: self.status(proxy.admin, "/healthz", fields), proxy.admin)

    def test_nor_a_proxy_that_adds_credentials(self):
        with Server(lambda *_: ok()) as origin:
            with Proxy(origin.url, *COLD, "--header=Authorization: Bearer sesame-1234567890") as proxy:
                self.check(lambda fields: self.status(proxy.port, "/", fields), proxy.port)
            self.assertTrue(all(r.headers["authorization"] == "Bearer sesame-1234567890" for r in origin.heard))
            with Proxy(origin.url, *COLD) as open_to_all:
                self.assertEqual(self.status(open_to_all.port, "/", "Host: x.example\r\nConnection: close\r\n\r\n"), 200)

    def test_a_token_is_asked_for_and_never_passed_on(self):
        with Server(lambda *_: ok()) as origin:
            token = Path(self.enterContext(tempfile.TemporaryDirectory()), "token")
            token.write_text("open-sesame-0123456789\n")
            token.chmod(0o600)
            with Proxy(origin.url, *COLD, f"--client-token-file={token}", f"--admin-token-file={token}") as proxy:
                self.assertEqual(proxy.ask("GET", "/")[0], 401)
                self.assertEqual(proxy.ask("GET", "/", headers={"Authorization": "Bearer open-sesame"})[0], 401)
                for fields in (
                    {"Authorization": "Bearer open-sesame-0123456789"},
                    {"X-Api-Key": "open-sesame-0123456789"},
                    {"X-Headway-Token": "open-sesame-0123456789"},
                ):
                    self.assertEqual(proxy.ask("GET", "/", headers=fields)[0], 200)
                self.assertEqual(proxy.look("/healthz")[0], 401)
            for request in origin.heard:
                self.assertNotIn("sesame", str(request))


if __name__ == "__main__":
    unittest.main()
