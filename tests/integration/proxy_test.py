"""One request through the proxy, and what becomes of it; the origin is the judge."""
import contextlib
import gzip
import hashlib
import http.client
import json
import os
import select
import signal
import socket
import threading
import time
import unittest
from collections import Counter

from proxy import Proxy
from sockets import Scripted, Server, ok
from work import wait_for

COLD = ("--cold", "--alone", "--law=fixed")


def refusing(times, status=429, headers={"Retry-After": "1"}, body=b"{}"):
    """A script that refuses the first tries of each path."""
    tries = Counter()

    def script(_, request):
        tries[request.path] += 1
        if tries[request.path] <= times:
            return status, headers, body
        return 200, {}, hashlib.sha256(request.body).hexdigest().encode()

    return script


class Passing(unittest.TestCase):
    def test_a_message_goes_on_without_what_is_about_its_connection(self):
        def answer(request, _):
            return (
                b"HTTP/1.1 201 Made So\r\nContent-Length: 3\r\nX-Kept: a\r\nX-Kept: b\r\n"
                b"Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\r\nyes"
            )

        with Server(answer) as origin, Proxy(origin.url + "/base", *COLD) as proxy:
            said = proxy.raw(
                "POST /v1/x?q=%20 HTTP/1.1\r\nHost: me\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n"
                "Accept-Encoding: br, gzip\r\nX-Headway-Client: c\r\n"
                "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: t\r\n\r\n"
            )
            heard = origin.heard[0]
        head, _, body = said.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 201 Made So\r\n"), head)
        self.assertEqual(body, b"yes")
        for field in (b"X-Kept: a", b"X-Kept: b", b"X-Headway-Attempts: 1", b"X-Headway-Waited: 0."):
            self.assertIn(field, head)
        for field in (b"X-Hop", b"Keep-Alive"):
            self.assertNotIn(field, head)
        self.assertEqual((heard.method, heard.path, heard.body), ("POST", "/base/v1/x?q=%20", b"abcde"))
        self.assertEqual(heard.headers["host"], origin.url[7:])
        self.assertEqual(heard.headers["accept-encoding"], "gzip")
        for field in ("x-mine", "transfer-encoding", "x-headway-client", "t"):
            self.assertNotIn(field, heard.headers)

    def test_connections_are_kept_on_both_sides(self):
        before = []
        with Server(lambda _, n: before.append(n) or ok()) as origin:
            with Proxy(origin.url, *COLD) as proxy, contextlib.closing(proxy.connect()) as client:
                for _ in range(20):
                    client.request("GET", "/")
                    self.assertEqual(client.getresponse().read(), b"ok")
        self.assertEqual(before, list(range(20)))

    def test_pipelined_requests_are_answered_in_their_order(self):
        with Server(lambda r, _: ok(r.path.encode())) as origin, Proxy(origin.url, *COLD) as proxy:
            get = "GET /{} HTTP/1.1\r\nHost: a\r\n{}\r\n"
            said = proxy.raw("".join(get.format(i, "Connection: close\r\n" if i == 9 else "") for i in range(10)))
        self.assertEqual([part[:2] for part in said.split(b"\r\n\r\n")[1:]], [f"/{i}".encode() for i in range(10)])

    def test_a_head_alone(self):
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        with Server(lambda *_: answer) as origin, Proxy(origin.url, *COLD) as proxy:
            status, fields, body = proxy.ask("HEAD", "/")
        self.assertEqual((status, fields["content-length"], body), (200, "100", b""))

    def test_an_answer_without_a_body_has_none_and_the_next_is_its_own(self):
        """Before: a 204 was passed on with the length of a body, for which a client may wait.
        Planted: a connection on which more came is kept; then the next answer is another's."""
        more = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        answers = {
            ("GET", "/204"): (b"HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nevil", None),
            ("GET", "/204-and"): (b"HTTP/1.1 204 No\r\n\r\n" + more, None),
            ("GET", "/304"): (b"HTTP/1.1 304 Not\r\nContent-Length: 4\r\n\r\nevil", b"4"),
            ("HEAD", "/head"): (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"4"),
            ("HEAD", "/chunks"): (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
            ("GET", "/two"): (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + more, b"0"),
        }
        answer = lambda r, _: answers[r.method, r.path][0] if r.path != "/good" else ok(b"good")
        with Server(answer) as origin, Proxy(origin.url, *COLD) as proxy:
            for (method, path), (_, length) in answers.items():
                said = proxy.raw(f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\nGET /good HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                first, second, body = said.split(b"\r\n\r\n")
                lengths = [line[16:] for line in first.split(b"\r\n") if line.startswith(b"Content-Length")]
                self.assertEqual((lengths, body), ([length] if length else [], b"good"), path)
                self.assertTrue(second.startswith(b"HTTP/1.1 200"), second)

    def test_an_answer_that_comes_before_the_body_has_gone_is_passed_on(self):
        """Of one of 8 MiB; a refused one goes again, whole."""
        body, first = os.urandom(8 << 20), [b"HTTP/1.1 429 No\r\nContent-Length: 2\r\n\r\nno"]
        with socket.create_server(("127.0.0.1", 0)) as listening:
            heard = []

            def serve():
                for _ in range(2):
                    s, _ = listening.accept()
                    with s:
                        said = s.recv(4096)
                        if first:
                            s.sendall(first.pop())
                            s.shutdown(socket.SHUT_WR)
                            time.sleep(0.3)
                            continue
                        while len(said.partition(b"\r\n\r\n")[2]) < len(body):
                            said += s.recv(1 << 20)
                        heard.append(said.partition(b"\r\n\r\n")[2])
                        s.sendall(b"HTTP/1.1 413 Too\r\nContent-Length: 3\r\n\r\nbig")

            server = threading.Thread(target=serve)
            server.start()
            with Proxy(f"http://127.0.0.1:{listening.getsockname()[1]}", *COLD) as proxy:
                status, fields, said = proxy.ask("POST", "/", body)
                self.assertEqual((status, said, fields["x-headway-attempts"]), (413, b"big", "2"))
                wait_for(lambda: proxy.state()["held_bytes"] == 0)
            server.join()
        self.assertEqual(heard, [body])

    def test_an_answer_that_gives_no_reason(self):
        """Not even the space before it, as small servers do. Before: 502, malformed."""
        with Server(lambda *_: b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok") as origin, Proxy(origin.url, *COLD) as proxy:
            said = proxy.raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(said.startswith(b"HTTP/1.1 200 \r\n") and said.endswith(b"\r\n\r\nok"), said)

    def test_bodies_of_any_framing(self):
        text = os.urandom(300_000)
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (text[:7], text[7:200_001], text[200_001:]))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
        answers = {
            "/length": head + b"Content-Length: 300000\r\n\r\n" + text,
            "/chunks": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked + b"0\r\nX: y\r\n\r\n",
            "/end": iter([head + b"\r\n", text]),
        }
        with Server(lambda r, _: answers[r.path]) as origin, Proxy(origin.url, *COLD) as proxy:
            for path in answers:
                self.assertEqual(proxy.ask("GET", path)[2], text, path)
            old = proxy.raw("GET /chunks HTTP/1.0\r\n\r\n")
        self.assertEqual(old.partition(b"\r\n\r\n")[2], text)

    def test_a_head_as_long_as_may_be_is_passed_on(self):
        """Before: one of more than 32 KiB waited for ever, as nothing wrote it."""
        answer = lambda r, _: b"HTTP/1.1 200 OK\r\nX-A: %s\r\nContent-Length: 2\r\n\r\nok" % (b"a" * int(r.path[1:]))
        with Server(answer) as origin, Proxy(origin.url, *COLD) as proxy:
            for size in (30_000, 32_600, 33_000, 60_000):
                _, fields, body = proxy.ask("GET", f"/{size}")
                self.assertEqual((len(fields["x-a"]), body), (size, b"ok"))

    def test_a_status_that_only_its_server_knows_is_passed_on(self):
        with Server(lambda *_: b"HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno") as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertEqual(proxy.ask("GET", "/")[::2], (999, b"no"))

    def test_trailers_are_read_and_dropped_or_refused(self):
        """As they trickle in, too. Before: more than 4 KiB of them were malformed, and an answer was cut off."""
        lines = lambda size: b"".join(b"T%07d: %s\r\n" % (n, b"t" * 1000) for n in range(size >> 10))
        end = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n%s\r\n"
        answers = {f"/{kib}{body.decode()}": end % (body and b"3\r\n%s\r\n" % body, lines(kib << 10)) for kib in (3, 5, 60, 70) for body in (b"", b"yes")}
        answer = lambda r, _: answers.get(r.path) or ok(r.body)
        post = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
        with Server(answer) as origin, Proxy(origin.url, *COLD) as proxy:
            for kib, status in ((3, 200), (5, 200), (60, 200), (70, 431)):
                with contextlib.closing(proxy.send(post)) as s:
                    for line in lines(kib << 10).splitlines(keepends=True):
                        with contextlib.suppress(ConnectionError):
                            s.sendall(line)
                    with contextlib.suppress(ConnectionError):
                        s.sendall(b"\r\nGET /3yes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    with s.makefile("rb") as said:
                        text = said.read()
                self.assertEqual(int(text[9:12]), status, kib)
                self.assertTrue(text.endswith(b"yes\r\n0\r\n\r\n") if status == 200 else b"the trailers are longer than" in text, text)
            self.assertEqual([r.path for r in origin.heard], ["/", "/3yes"] * 3)  # the last one's second is not believed
            for path in answers:
                if not path.startswith("/70"):
                    self.assertEqual(proxy.ask("GET", path)[::2], (200, path.lstrip("/0123456789").encode()), path)
            self.assertEqual((proxy.ask("POST", "/70")[0], proxy.ask("POST", "/")[0]), (502, 200))
            with self.assertRaises(http.client.IncompleteRead) as half:
                proxy.ask("GET", "/70yes")
            self.assertEqual(half.exception.partial, b"yes")

    def test_clients_of_http_1_0_get_no_reason_to_wait(self):
        """Before: an own answer without a length that they trust, or a 100 that they do not know."""
        with Server(lambda r, _: ok(r.body)) as origin, Proxy(origin.url, *COLD) as proxy:
            for head in ("GET / HTTP/1.0\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Headway-Deadline: soon\r\n"):
                with contextlib.closing(proxy.send(head + "\r\n")) as s:
                    said = s.makefile("rb").read()  # to the end: it closes
                self.assertIn(b"Connection: close", said)
            said = proxy.raw("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
            self.assertTrue(said.startswith(b"HTTP/1.1 200") and said.endswith(b"hi"), said)

    def test_an_offer_of_h2c_is_passed_over(self):
        """As of java.net.http.HttpClient, with each first request. Before: 501."""
        offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
        with Server(lambda r, _: ok(r.body)) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(proxy.send(f"POST / HTTP/1.1\r\nHost: a\r\n{offer}Content-Length: 2\r\n\r\nhi")) as s:
                said = s.recv(4096)
        self.assertTrue(said.startswith(b"HTTP/1.1 200") and said.endswith(b"hi"), said)
        for field in ("upgrade", "http2-settings", "connection"):
            self.assertNotIn(field, origin.heard[0].headers)

    def test_interim_answers_are_not_passed_on(self):
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        with Server(lambda *_: interim * 2 + ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertTrue(
                proxy.raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
            )

    def test_a_name_is_shown_with_what_would_turn_it_round(self):
        """Before: gnp.exe was shown as exe.png."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            for name in ("\u202egnp.exe", "日本語"):
                proxy.ask("GET", "/", headers={"X-Headway-Client": name.encode().decode("latin-1")})
            names = {c["name"] for c in proxy.state()["upstreams"][0]["clients"]}
        self.assertEqual(names, {"\\xe2\\x80\\xaegnp.exe", "日本語"})

    def test_expectation_is_answered(self):
        with Server(lambda r, _: ok(r.body)) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(
                proxy.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            ) as s:
                self.assertEqual(s.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
                s.sendall(b"hi")
                self.assertTrue(s.recv(9000).startswith(b"HTTP/1.1 200"))


class Again(unittest.TestCase):
    def test_a_refused_request_is_sent_again_whole(self):
        body = os.urandom(300_000)
        with Scripted(refusing(2)) as origin, Proxy(origin.url, *COLD) as proxy:
            status, fields, said = proxy.ask("POST", "/x", body)
        self.assertEqual(status, 200)
        self.assertEqual(said.decode(), hashlib.sha256(body).hexdigest())
        self.assertEqual((fields["x-headway-attempts"], fields["x-headway-throttled"]), ("3", "2"))
        self.assertGreater(float(fields["x-headway-waited"]), 1.9)
        self.assertEqual([s for _, _, s in origin.log], [429, 429, 200])

    def test_a_compressed_refusal_is_read(self):
        def script(n, request):
            code = "insufficient_quota" if request.path == "/money" else "rate_limit_exceeded"
            if n == 0 or request.path == "/money":
                body = gzip.compress(json.dumps({"error": {"code": code}}).encode())
                return 429, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, body
            return 200, {}, b"{}"

        with Scripted(script) as origin, Proxy(origin.url, *COLD, "--profile=openai") as proxy:
            self.assertEqual(proxy.ask("POST", "/rate", b"{}")[0], 200)
            status, fields, body = proxy.ask("POST", "/money", b"{}")
        self.assertEqual((status, fields["content-encoding"]), (429, "gzip"))
        self.assertIn(b"insufficient_quota", gzip.decompress(body))
        self.assertEqual([p for _, p, _ in origin.log], ["/rate", "/rate", "/money"])

    def test_what_may_have_been_carried_out_is_not_sent_again(self):
        """Planted: may_repeat for all; then a POST comes twice."""
        with Server(lambda *_: None) as origin, Proxy(origin.url, *COLD) as proxy:
            for method, headers, tries in (
                ("POST", {}, 1),
                ("PATCH", {}, 1),
                ("GET", {}, 2),
                ("POST", {"Idempotency-Key": "k"}, 2),
                ("POST", {"X-Headway-Retry": "unsafe"}, 2),
                ("GET", {"X-Headway-Retry": "never"}, 1),
            ):
                del origin.heard[:]
                status, fields, said = proxy.ask(method, "/", b"1", headers)
                self.assertEqual((status, fields["x-headway-reason"]), (502, "broken"))
                self.assertIn("was sent, and may", json.loads(said)["error"]["message"])
                self.assertEqual(len(origin.heard), tries, (method, headers))

    def test_an_error_is_repeated_only_where_that_is_safe(self):
        with Scripted(refusing(1, 500, {})) as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertEqual(proxy.ask("POST", "/post", b"1")[0], 500)
            self.assertEqual(proxy.ask("GET", "/get")[0], 200)
        self.assertEqual([p for _, p, _ in origin.log], ["/post", "/get", "/get"])

    def test_a_kept_connection_that_died_costs_no_answer(self):
        """It closes after each answer, without saying so."""

        def answer(request, before):
            if request.path != "/die":
                return ok()
            return ok() if before == 0 else None

        with Server(answer) as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertEqual(proxy.ask("GET", "/")[0], 200)
            self.assertEqual(proxy.ask("GET", "/die")[0], 200)
            self.assertEqual(proxy.ask("POST", "/die", b"1")[0], 502)
            self.assertEqual(proxy.ask("POST", "/die", b"1")[0], 200)

    def test_a_kept_connection_that_ends_as_a_request_comes_is_not_used(self):
        """Before: 502, in 8 of 100 POSTs to nginx with a keepalive_timeout of 1 s."""
        for path in ("/get", "/post"):
            over = threading.Event()

            def answer(request, _):
                yield ok()
                if request.path == "/first":
                    over.wait(20)

            with Server(answer) as origin, Proxy(origin.url, *COLD) as proxy, contextlib.closing(proxy.connect()) as client:
                client.request("GET", "/first")
                self.assertEqual(client.getresponse().read(), b"ok")
                proxy.process.send_signal(signal.SIGSTOP)
                client.request(path[1:].upper(), path, b"1")
                time.sleep(0.1)
                over.set()
                time.sleep(0.1)
                proxy.process.send_signal(signal.SIGCONT)
                self.assertEqual(client.getresponse().status, 200)
                self.assertEqual([r.path for r in origin.heard], ["/first", path])

    def test_what_we_give_up_on_says_so_to_the_client(self):
        with Scripted(lambda *_: (429, {"Retry-After": "7200"}, b"no")) as origin:
            with Proxy(origin.url, *COLD) as proxy:
                status, fields, body = proxy.ask("GET", "/")
                self.assertEqual((status, body, fields["x-should-retry"]), (429, b"no", "false"))
                status, fields, _ = proxy.ask("GET", "/")
                self.assertEqual((status, fields["x-headway-reason"]), (503, "hold"))
                self.assertTrue(3000 < int(fields["retry-after"]) <= 3600, fields)
        self.assertEqual(len(origin.log), 1)

    def test_no_answer_shuts_the_proxy_for_months(self):
        """Before: until a restart; pacing's tests have what becomes of it after the hour."""
        months = (429, {"Retry-After": "9999999"}, b"no"), (200, {"RateLimit": '"d";r=0;t=9999999'}, b"the last")
        for first in months:
            with Scripted(lambda *_: first) as origin, Proxy(origin.url, *COLD) as proxy:
                self.assertEqual(proxy.ask("GET", "/")[::2], first[::2])
                status, fields, said = proxy.ask("GET", "/")
            self.assertEqual((status, fields["x-headway-reason"]), (503, "hold"))
            self.assertLessEqual(int(fields["retry-after"]), 3600)
            self.assertIn("it is asked again in", json.loads(said)["error"]["message"])
            self.assertEqual(len(origin.log), 1)

    def test_no_connection(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            with Proxy(f"http://127.0.0.1:{holder.getsockname()[1]}", *COLD) as proxy:
                status, _, said = proxy.ask("POST", "/", b"1", {"X-Headway-Deadline": "1"})
        self.assertEqual(status, 502)
        self.assertIn("was not sent", json.loads(said)["error"]["message"])


class Streams(unittest.TestCase):
    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    def test_events_are_passed_on_as_they_come(self):
        """The origin sends an event only when the client has the one before."""
        taken = threading.Semaphore(0)

        def parts():
            yield self.HEAD + b"data: 0\n\n"
            for i in range(1, 5):
                assert taken.acquire(timeout=20)
                yield f"data: {i}\n\n".encode()

        with Server(lambda *_: parts()) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(proxy.connect()) as client:
                client.request("GET", "/")
                answer = client.getresponse()
                for i in range(5):
                    self.assertEqual(answer.readline(), f"data: {i}\n".encode())
                    answer.readline()
                    taken.release()
                self.assertEqual(answer.read(), b"")

    def test_a_stream_whose_first_event_refuses_is_asked_for_again(self):
        refusal = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
        answers = [refusal, b"data: fine\n\n"]
        with Server(lambda *_: iter([self.HEAD, answers.pop(0)])) as origin:
            with Proxy(origin.url, *COLD, "--profile=anthropic") as proxy:
                self.assertEqual(proxy.ask("GET", "/")[2], b"data: fine\n\n")
        self.assertEqual(len(origin.heard), 2)

    def test_half_an_answer_is_not_whole(self):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        with Server(lambda *_: iter([head, b"5\r\nhello\r\n"])) as origin, Proxy(origin.url, *COLD) as proxy:
            with self.assertRaises(http.client.IncompleteRead):
                proxy.ask("GET", "/")

    def test_an_answer_that_breaks_before_a_byte_of_its_body_is_no_answer(self):
        """Planted: the head passed on at once; then the client gets nothing."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        with Server(lambda *_: iter([head])) as origin, Proxy(origin.url, *COLD) as proxy:
            for method, tries in (("POST", 1), ("GET", 2)):
                del origin.heard[:]
                status, fields, _ = proxy.ask(method, "/", b"1")
                self.assertEqual((status, fields["x-headway-reason"], len(origin.heard)), (502, "broken", tries), method)
        answers = [head, head + b"whole"]
        with Server(lambda *_: iter([answers.pop(0)])) as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertEqual(proxy.ask("PUT", "/", b"abc")[::2], (200, b"whole"))
        self.assertEqual([r.body for r in origin.heard], [b"abc"] * 2)

    def test_a_head_does_not_wait_for_its_body_for_long(self):
        """Before: until the first byte of the body, however late."""
        for kind in ("text/event-stream", "text/plain"):
            closed = threading.Event()
            parts = lambda: (f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() if n == 0 else closed.wait(30) and b"end"
                             for n in range(2))
            with Server(lambda *_: parts()) as origin, Proxy(origin.url, *COLD) as proxy:
                with contextlib.closing(proxy.connect()) as client:
                    client.request("GET", "/")
                    answer = client.getresponse()  # its head
                    self.assertEqual((answer.status, closed.is_set()), (200, False))
                    closed.set()
                    self.assertEqual(answer.read(), b"end")

    def test_an_error_that_trickles_is_judged_in_time(self):
        """Before: each byte gave it another 10 min."""
        written = []

        def parts():
            yield b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 60\r\n\r\n"
            for _ in range(60):
                written.append(1)
                yield b"x"
                time.sleep(0.5)

        with Server(lambda *_: parts()) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(proxy.connect()) as client:
                client.request("POST", "/", b"1")
                self.assertEqual(client.getresponse().status, 500)  # its head
            self.assertLess(len(written), 60)

    def test_a_client_that_does_not_read_stops_its_origin(self):
        written = [0]

        def parts():
            yield b"HTTP/1.1 200 OK\r\n\r\n"
            for _ in range(4096):
                yield bytes(65536)
                written[0] += 65536

        with Server(lambda *_: parts()) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(proxy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")):
                wait_for(lambda: written[0] > 0)
                before = -1
                while before < written[0]:
                    before = written[0]
                    time.sleep(0.5)
                self.assertLess(written[0], 32 << 20, "256 KiB here, and what the kernel takes")


class Leaving(unittest.TestCase):
    def test_a_client_that_leaves_is_not_sent_for(self):
        """One is in flight, and its stream is held; the others wait."""
        gone = threading.Event()

        def parts():
            yield Streams.HEAD + b"data: 0\n\n"
            while not gone.wait(0.01):
                yield b": ping\n\n"

        answer = lambda r, _: parts() if r.path == "/long" else ok()
        with Server(answer) as origin, Proxy(origin.url, *COLD, "--concurrency=1") as proxy:
            long = proxy.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertIn(b"200", long.recv(4096))
            get = "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"
            waiting = [proxy.send(get.format(i)) for i in range(200)]
            queued = lambda: sum(proxy.state()["upstreams"][0]["waiting"].values())
            wait_for(lambda: queued() == 200)
            for s in waiting[:199]:
                s.close()
            wait_for(lambda: queued() == 1)
            long.close()  # ends the stream at the origin: else the last would never be served
            self.assertIn(b"HTTP/1.1 200", waiting[199].recv(4096))
            waiting[199].close()
            gone.set()
            self.assertEqual([r.path for r in origin.heard], ["/long", "/199"])

    def test_one_that_closes_its_side_counts_as_gone_and_is_told(self):
        """Before: it was told nothing."""
        asked = threading.Event()
        with Server(lambda *_: asked.set() or iter(lambda: time.sleep(0.01) or b"", None)) as origin, Proxy(origin.url, *COLD) as proxy:
            with contextlib.closing(proxy.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1")) as client:
                self.assertTrue(asked.wait(10))
                client.shutdown(socket.SHUT_WR)
                said = b""
                while part := client.recv(4096):
                    said += part
            self.assertTrue(said.startswith(b"HTTP/1.1 400"), said)
            self.assertIn(b"X-Headway-Reason: half_closed", said)
            wait_for(lambda: b'headway_proxy_left_total{upstream="127.0.0.1",while="flying"} 1' in proxy.look("/metrics")[1])
            self.assertIn(b'outcome="unknown"} 1', proxy.look("/metrics")[1])

    def test_the_origin_sees_its_connection_close_in_time(self):
        """By the origin's clock, within 100 ms of the client's close; HEADWAY_LONG=1: of 1,000."""
        delays, count = [], 1000 if os.environ.get("HEADWAY_LONG") else 100
        with socket.create_server(("127.0.0.1", 0), backlog=200) as listening:
            with Proxy(f"http://127.0.0.1:{listening.getsockname()[1]}", *COLD) as proxy:
                for i in range(count):
                    client = proxy.send(f"GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n")
                    server, _ = listening.accept()
                    server.recv(4096)
                    if i % 2:
                        server.sendall(Streams.HEAD + b"data: 0\n\n")
                        client.recv(4096)
                    left = time.monotonic()
                    client.close()
                    select.select([server], [], [], 10)
                    self.assertEqual(server.recv(10), b"")
                    delays.append(time.monotonic() - left)
                    server.close()
        delays.sort()
        print(f"{count} left: upstream closed after {delays[count // 2] * 1e3:.1f} ms (median), {delays[-1] * 1e3:.1f} ms at most")
        self.assertLess(delays[count * 9 // 10], 5, "by seconds it would be a timeout's doing")


if __name__ == "__main__":
    unittest.main()
