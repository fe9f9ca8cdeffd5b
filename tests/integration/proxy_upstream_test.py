"""The way to the server: its certificate, an HTTP proxy between, both families, names that change; and credentials that
a command prints.

HEADWAY_LONG=1 waits for what is asked for again by itself, without a signal.
"""
import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import servers
from certificates_test import Authority
from proxy import Proxy, refused
from sockets import Server, ok
from work import measured, wait_for

LONG = bool(os.environ.get("HEADWAY_LONG"))
COLD = ("--cold", "--alone", "--law=fixed")
IN_OUR_WORDS = {"no alternative certificate subject name matches": "hostname mismatch"}


def metric(proxy, name):
    """The sum of a metric whose labels match."""
    text = proxy.look("/metrics")[1].decode()
    return sum(float(value) for line, value in re.findall(r"^(headway.*) (\S+)$", text, re.M) if re.fullmatch(name, line))


class Certificates(unittest.TestCase):
    def test_only_the_good_ones_are_believed(self):
        """Planted: verify_none; then each bad one is red. Planted: a second attempt; then two are counted."""
        with tempfile.TemporaryDirectory() as folder, Tunnel() as tunnel:
            authority = Authority(folder)
            cases = list(authority.cases())
            for name, case in cases:
                with self.subTest(name):
                    self.try_one(authority, case, tunnel)
        measured(f"{sum(not c.reason for _, c in cases)} good chains believed, of {len(cases)}")

    def try_one(self, authority, case, tunnel):
        shown, trusted = authority.folder / "shown", authority.folder / "trusted"
        shown.write_text("".join(c.pem for c in case.chain) + case.chain[0].key)
        trusted.write_text(case.trusted.pem)
        modern = "TLSv1.2" in case.protocols
        environment = {} if modern else {"OPENSSL_CONF": str(authority.weak())}
        if case.host != "127.0.0.1":  # which names lead to this machine is the tunnel's affair
            environment["HTTPS_PROXY"] = tunnel.url
        with servers.nginx(http=f"ssl_protocols {case.protocols};", certificate=shown, openssl=authority.weak()) as server:
            url = server.url.replace("127.0.0.1", case.host)
            with Proxy(url, *COLD, f"--cacert={trusted}", **environment) as proxy:
                status, fields, said = proxy.ask("POST" if modern else "GET", "/", b"1")
                failed = metric(proxy, r'headway_proxy_attempts_total\{.*outcome="failure".*')
                counted = metric(proxy, r'headway_proxy_refused_total\{.*reason="broken".*')
            self.assertEqual(len(server.log()), 0 if case.reason else 1)
        if not case.reason:
            return self.assertEqual((status, said, failed, counted), (200, b"ok\n", 0, 0))
        self.assertEqual((status, fields["x-headway-reason"], counted), (502, "broken", 1))
        self.assertEqual(failed, 1 if modern else 2)  # a handshake that broke off may have been the network's fault
        message = json.loads(said)["error"]["message"]
        reason = IN_OUR_WORDS.get(case.reason, case.reason)
        if case.host == "127.0.0.1":
            reason = reason.replace("hostname mismatch", "IP address mismatch")
        self.assertIn(reason, message)
        self.assertIn("was not sent", message)
        if modern:
            self.assertIn("certificate is not trusted", message)


class Tunnel:
    """An HTTP proxy that connects whatever it is asked for to the same port of this machine."""

    def __init__(self, answer=b"HTTP/1.1 200 Connection established\r\n\r\n"):
        self.answer, self.asked = answer, []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listening.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            self.asked.append(head.decode())
            client.sendall(self.answer)
            if b" 200 " not in self.answer:
                return
            port = int(head.split()[1].rpartition(b":")[2])
            with socket.create_connection(("127.0.0.1", port)) as server:
                back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
                back.start()
                self.pump(client, server)
                back.join()

    @staticmethod
    def pump(source, to):
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                to.sendall(part)
            to.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def tls_server():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -addext subjectAltName=IP:127.0.0.1,DNS:api.invalid "
            "-days 2 -keyout key.pem -out certificate.pem && cat certificate.pem key.pem > both.pem",
            shell=True, cwd=folder, check=True, capture_output=True,
        )
        with servers.nginx(certificate=Path(folder, "both.pem")) as server:
            yield server, (*COLD, f"--cacert={folder}/certificate.pem")


class Tunnels(unittest.TestCase):
    def test_a_name_that_only_the_proxy_between_knows(self):
        """Planted: without its authorization; then there is no such line."""
        with tls_server() as (server, options), Tunnel() as tunnel:
            via = tunnel.url.replace("http://", "http://us%40er:canary%2Fpass@")
            with Proxy(server.url.replace("127.0.0.1", "api.invalid"), *options, HTTPS_PROXY=via) as proxy:
                for _ in range(3):
                    self.assertEqual(proxy.ask("GET", "/")[::2], (200, b"ok\n"))
                shown = proxy.look("/api/state")[1] + proxy.look("/metrics")[1] + proxy.stderr().encode() + proxy.said.encode()
            (asked,) = tunnel.asked  # one connection for three requests
        self.assertTrue(asked.startswith(f"CONNECT api.invalid:{server.port} HTTP/1.1\r\nHost: api.invalid:{server.port}\r\n"))
        credential = base64.b64encode(b"us@er:canary/pass").decode()
        self.assertIn(f"\r\nProxy-Authorization: Basic {credential}\r\n", asked)
        self.assertNotIn(b"canary", shown)
        self.assertNotIn(credential.encode(), shown)

    def test_what_no_proxy_lists_goes_directly(self):
        with tls_server() as (server, options), Tunnel() as tunnel:
            for no_proxy in ("127.0.0.1", "x, 127.0.0.1 ,y", "*"):
                with Proxy(server.url, *options, HTTPS_PROXY=tunnel.url, NO_PROXY=no_proxy) as proxy:
                    self.assertEqual(proxy.ask("GET", "/")[0], 200)
            self.assertEqual(tunnel.asked, [])
            with Proxy(server.url, *options, https_proxy=tunnel.url, NO_PROXY="0.0.1,127.0.0.10") as proxy:
                self.assertEqual(proxy.ask("GET", "/")[0], 200)
            self.assertEqual(len(tunnel.asked), 1)

    def test_one_that_refuses_is_named(self):
        for answer, wanted in (
            (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Authentication Required"),
            (b"HTTP/1.1 200" + b"y" * 20_000, "the HTTP proxy on the way"),  # a head without end
            (b"", "the HTTP proxy on the way"),
        ):
            with tls_server() as (server, options), Tunnel(answer) as tunnel:
                with Proxy(server.url, *options, HTTPS_PROXY=tunnel.url) as proxy:
                    status, _, said = proxy.ask("POST", "/", b"1")
            message = json.loads(said)["error"]["message"]
            self.assertEqual(status, 502)
            self.assertIn(wanted, message)
            self.assertIn("was not sent", message)

    def test_a_wrong_one_is_refused_at_the_start(self):
        for via, why in (
            ("https://127.0.0.1:1", "HTTPS_PROXY: want http://host:port"),
            ("http://user:canary@", "HTTPS_PROXY: want http://host:port"),
            ("http://no-such-host.invalid:1", "cannot resolve the HTTPS_PROXY no-such-host.invalid"),
        ):
            code, said, _ = refused("--upstream=https://127.0.0.1:1", HTTPS_PROXY=via)
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(why, said)
            self.assertNotIn("canary", said)


@contextlib.contextmanager
def hosts(*lines):
    """A file that stands for /etc/hosts, and a command that executes another with it."""
    command = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("no namespaces here")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "hosts")
        file.write_text("".join(f"{line}\n" for line in lines))
        yield file, [*command, "sh", "-c", f'mount --bind {file} /etc/hosts && exec "$@"', "sh"]


class Addresses(unittest.TestCase):
    def test_ipv6_on_both_sides(self):
        with Server(lambda *_: ok(b"six"), host="::1") as origin, Proxy(origin.url, *COLD) as proxy:
            self.assertEqual(proxy.ask("GET", "/")[2], b"six")
            self.assertEqual(origin.heard[0].headers["host"], origin.url[7:])

    def test_each_address_of_a_name_is_tried(self):
        with Server(lambda *_: ok(b"four")) as origin, hosts("::1 api.test", "127.0.0.1 api.test") as (_, before):
            with Proxy(origin.url.replace("127.0.0.1", "api.test"), *COLD, before=before) as proxy:
                self.assertEqual(proxy.ask("POST", "/", b"1")[2], b"four")

    def test_a_name_that_changes_leads_elsewhere(self):
        """Planted: kept connections stay; then the old server is asked."""
        with Server(lambda *_: ok(b"old")) as old, hosts("127.0.0.1 api.test") as (file, before):
            port = old.server_address[1]
            with Server(lambda *_: ok(b"new"), port, "127.0.0.2"):
                with Proxy(f"http://api.test:{port}", *COLD, before=before) as proxy, contextlib.closing(proxy.connect()) as client:

                    def ask():
                        client.request("GET", "/")
                        return client.getresponse().read()

                    self.assertEqual(ask(), b"old")
                    file.write_text("127.0.0.2 api.test\n")
                    began = time.monotonic()
                    if not LONG:
                        proxy.process.send_signal(signal.SIGHUP)
                    wait_for(lambda: ask() == b"new", 40)
                    measured(f"the old address was left after {time.monotonic() - began:.1f} s")
                    for _ in range(5):
                        self.assertEqual(ask(), b"new")
                    file.write_text("")  # a resolver that fails: what led there may still do
                    proxy.process.send_signal(signal.SIGHUP)
                    time.sleep(0.3)
                    self.assertEqual(ask(), b"new")

    def test_a_name_that_nothing_answers_for_holds_no_request_up(self):
        """Its /etc/hosts is a FIFO: a look-up lasts until that is opened. Before: it was made in the only thread; then one
        thread made all, and the look-up of an address waited for it."""
        with Server(lambda *_: ok()) as origin, Server(lambda *_: ok(b"other")) as other, hosts() as (file, before):
            Path(file.parent, "nsswitch").write_text("hosts: files\n")
            file.unlink()
            os.mkfifo(file)
            before = [*before[:-2], f"mount --bind {file.parent}/nsswitch /etc/nsswitch.conf && {before[-2]}", before[-1]]
            proxy = Proxy(None, *COLD, "--config=proxy.toml", before=before)
            config = Path(proxy.folder, "proxy.toml")
            one = f'[[upstream]]\nname = "a"\nurl = "{origin.url}"\nprefix = "/a"\n'
            config.write_text(one)
            with proxy:
                config.write_text(f'{one}[[upstream]]\nurl = "http://api.test"\nprefix = "/b"\n')
                proxy.process.send_signal(signal.SIGHUP)
                until = time.monotonic() + 0.5
                while time.monotonic() < until:
                    self.assertEqual(proxy.ask("GET", "/a/x", timeout=5)[0], 200)
                self.assertEqual(proxy.stderr(), "")
                config.write_text(one.replace(origin.url, other.url))
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: "was read again" in proxy.stderr())
                self.assertEqual(proxy.ask("GET", "/a/x")[2], b"other")
                config.write_text(f'{one}[[upstream]]\nurl = "http://api.test"\nprefix = "/b"\n')
                proxy.process.send_signal(signal.SIGHUP)

                def opened():
                    with contextlib.suppress(OSError):  # nothing reads it just now
                        os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
                    return "stays as it was: upstream api.test: cannot resolve api.test" in proxy.stderr()

                wait_for(opened)
                self.assertEqual([proxy.ask("GET", path)[0] for path in ("/a/x", "/b/x")], [200, 404])
                config.write_text(one + 'wait-max = "1min"\n')  # no name is new
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: proxy.stderr().count("was read again") == 2)


class Restarts(unittest.TestCase):
    """Of nginx, by its log. Before: a request that came while it was down was answered 502 at once."""

    def setUp(self):
        self.folder = Path(self.enter(tempfile.TemporaryDirectory()))
        self.port = self.enter(servers.closed_port())
        config = servers.NGINX.format(
            host="127.0.0.1", port=self.port, http="", location="", tls="", retry_after="", latencies="", last="0")
        (self.folder / "nginx.conf").write_text(config)
        self.proxy = self.enter(Proxy(f"http://127.0.0.1:{self.port}", "--cold", "--alone"))

    def enter(self, context):
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def nginx(self):
        """While the block lasts."""
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        return servers.running(["nginx", "-p", self.folder, "-e", "error.log", "-c", "nginx.conf", *user], self.folder, self.port)

    def logged(self, *paths):
        """nginx has seen these, each once, and no other."""
        servers.Server(self.port, self.folder).settle()
        self.assertEqual(sorted(r.path for r in servers.log.read(self.folder / "access.log", 1)), sorted(paths))

    def test_what_comes_meanwhile_waits_and_goes_once(self):
        with self.nginx():
            self.assertEqual(self.proxy.ask("POST", "/first", b"1")[0], 200)
            self.logged("/first")
        answers = {}

        def ask(n):
            answers[n] = self.proxy.ask("POST", f"/{n}", b"1")

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
        for t in threads:
            t.start()
        wait_for(lambda: self.proxy.state()["upstreams"][0]["waiting"]["normal"] >= 19)
        time.sleep(1.5)
        self.assertEqual(self.proxy.state()["upstreams"][0]["scopes"][0]["held"]["why"], "no connection")
        self.assertEqual(answers, {})
        with self.nginx():
            for t in threads:
                t.join(30)
            self.assertEqual({status for status, _, _ in answers.values()}, {200})
            self.assertEqual({fields["x-headway-attempts"] for _, fields, _ in answers.values()}, {"1"})
            self.logged("/first", *(f"/{n}" for n in range(20)))
        first, second = self.proxy.stderr().splitlines()
        self.assertEqual(first, "headway: upstream 127.0.0.1: cannot connect: Connection refused; requests wait until it is back, "
                                "for 1 min 0 s at most")
        self.assertRegex(second, r"^headway: upstream 127\.0\.0\.1 is back after [\d.]+ s$")

    def test_none_waits_beyond_its_deadline_nor_where_it_is_not_to_be_repeated(self):
        for field, least, most in ({"X-Headway-Deadline": "1"}, 0.95, 5), ({"X-Headway-Retry": "never"}, 0, 0.9):
            began = time.monotonic()
            status, fields, said = self.proxy.ask("POST", "/", b"1", field)
            self.assertEqual((status, fields["x-headway-reason"]), (502, "broken"))
            self.assertIn("cannot connect: Connection refused; the request was not sent", json.loads(said)["error"]["message"])
            self.assertTrue(least <= time.monotonic() - began <= most, (field, time.monotonic() - began))

    def test_a_client_that_leaves_meanwhile_holds_no_other_up(self):
        for _ in range(3):
            with contextlib.suppress(TimeoutError):
                self.proxy.ask("GET", "/gone", timeout=0.3)
        with self.nginx():
            self.assertEqual(self.proxy.ask("GET", "/here", timeout=5)[0], 200)
            self.logged("/here")

    def test_it_sleeps_while_none_waits(self):
        """Before: from the first time to ask on, which had passed, it looked for a request that could, without a pause."""

        def spent():
            fields = Path(f"/proc/{self.proxy.process.pid}/stat").read_text().rpartition(") ")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        self.assertEqual(self.proxy.ask("POST", "/", b"1", {"X-Headway-Deadline": "1"})[0], 502)
        before = spent()
        time.sleep(1.5)
        self.assertLess(spent() - before, 0.3)

    def test_one_that_is_not_to_be_repeated_does_not_end_it(self):
        """Before: each such that asked ended it in silence, and the next one said that it begins."""
        threads = [threading.Thread(target=self.proxy.ask, args=("POST", "/", b"1", {"X-Headway-Deadline": "2.5"}))]
        threads[0].start()
        wait_for(lambda: self.proxy.state()["upstreams"][0]["waiting"]["normal"] == 1)
        for _ in range(12):
            field = {"X-Headway-Retry": "never", "X-Headway-Priority": "interactive", "X-Headway-Deadline": "1"}
            threads.append(threading.Thread(target=self.proxy.ask, args=("POST", "/", b"1", field)))
            threads[-1].start()
            time.sleep(0.2)
        for t in threads:
            t.join(30)
        self.assertEqual(self.proxy.stderr().count("requests wait until it is back"), 1, self.proxy.stderr())

    def listening(self):
        listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        listener.settimeout(10)
        return listener

    def test_what_fails_otherwise_ends_it_and_that_is_said(self):
        secure = self.enter(Proxy(f"https://127.0.0.1:{self.port}", "--cold", "--alone"))
        asks = threading.Thread(target=secure.ask, args=("POST", "/", b"1", {"X-Headway-Deadline": "2"}))
        asks.start()
        wait_for(lambda: "until it is back" in secure.stderr())
        with self.listening() as listener:
            listener.accept()[0].close()
            wait_for(lambda: secure.stderr().count("\n") > 1)
        asks.join(30)
        self.assertRegex(secure.stderr().splitlines()[1],
                         r"^headway: upstream 127\.0\.0\.1 refuses connections no longer, but fails: TLS: ")

    def test_it_is_asked_on_a_new_connection(self):
        """Before: on one that was kept, which proves nothing, and held all others up until its answer had ended."""
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        with self.listening() as listener:
            first = threading.Thread(target=self.proxy.ask, args=("GET", "/first"))
            first.start()
            kept = listener.accept()[0]
        with kept:
            self.assertIn(b"/first", kept.recv(4096))
            second = threading.Thread(target=self.proxy.ask, args=("GET", "/second"))
            second.start()
            wait_for(lambda: "until it is back" in self.proxy.stderr())
            kept.sendall(answer)
            first.join(30)
            kept.settimeout(1.5)
            self.assertRaises(TimeoutError, kept.recv, 4096)
            with self.listening() as listener, listener.accept()[0] as fresh:
                self.assertIn(b"/second", fresh.recv(4096))
                fresh.sendall(answer)
                second.join(30)

    def test_what_was_sent_before_may_have_been_carried_out(self):
        """Before: of the last attempt, which was refused: it was not sent."""
        with self.listening() as listener:
            answers = []
            field = {"Idempotency-Key": "1", "X-Headway-Deadline": "2"}
            asks = threading.Thread(target=lambda: answers.append(self.proxy.ask("POST", "/", b"1", field)))
            asks.start()
            taken = listener.accept()[0]
        with taken:
            self.assertIn(b"POST", taken.recv(4096))
        asks.join(30)
        ((status, _, said),) = answers
        self.assertEqual(status, 502)
        self.assertIn("Connection refused; the request was sent, and may have been carried out", json.loads(said)["error"]["message"])
        self.assertEqual(metric(self.proxy, r'headway_requests_total\{.*outcome="unknown".*'), 1)

    @unittest.skipUnless(LONG, "a minute")
    def test_after_a_minute_it_is_down(self):
        waited = []
        for _ in range(2):
            began = time.monotonic()
            self.assertEqual(self.proxy.ask("POST", "/", b"1", timeout=90)[0], 502)
            waited.append(time.monotonic() - began)
        self.assertTrue(58 < waited[0] < 70 and waited[1] < 3, waited)
        with self.nginx():
            self.assertEqual(self.proxy.ask("POST", "/", b"1", timeout=5)[0], 200)


class Relay(Tunnel):
    """Passes each connection on to a port that is told later."""

    def pass_on(self, client):
        self.asked.append(self.port)
        with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as server:
            back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
            back.start()
            self.pump(client, server)
            back.join()


class Loops(unittest.TestCase):
    def test_a_request_that_comes_back_is_refused(self):
        """Through what is no address of ours; through a second headway, too. Planted: no CDN-Loop; then it goes round until
        nothing more can be opened."""
        with Relay() as to_first, Relay() as to_second, Proxy(to_first.url, *COLD, "--connections=100") as second:
            to_second.port = second.port
            for upstream in to_first, to_second:
                with Proxy(upstream.url, *COLD, "--connections=100") as first, self.subTest(second=upstream is to_second):
                    to_first.port = first.port
                    for method, tries in (("POST", 1), ("GET", 4)):
                        del to_first.asked[:]
                        status, _, said = first.ask(method, "/", headers={"CDN-Loop": "other; x=1", "Connection": "CDN-Loop"})
                        self.assertEqual((status, json.loads(said)["reason"]), (508, "loop"))
                        self.assertIn(f"{upstream.url} leads back to this proxy; want the API", json.loads(said)["error"]["message"])
                        self.assertLessEqual(len(to_first.asked), tries)
                    self.assertEqual(first.state()["upstreams"][0]["in_flight"], 0)

    def test_another_proxy_is_no_loop(self):
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as far, Proxy(far.url, *COLD) as near:
            self.assertEqual(near.ask("GET", "/", headers={"CDN-Loop": "headway-0000000000000000"})[0], 200)
            self.assertRegex(origin.heard[0].headers["cdn-loop"], "^headway-[0-9a-f]{16}$")


class Bank:
    """A server that takes the tokens in `good`, and a command that prints them, one after the other."""

    def __init__(self):
        self.good, self.lock = set(), threading.Lock()
        self.server = Server(self.answered)
        self.statuses = []

    def answered(self, request, _):
        good = request.headers.get("authorization", "").removeprefix("Bearer ") in self.good
        with self.lock:
            self.statuses.append(200 if good else 401)
        return ok() if good else b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"

    def script(self, text='echo "secret-$n"'):
        return f'#!/bin/sh\necho >> asked\nn=$(wc -l < asked)\n{text}\n'

    @contextlib.contextmanager
    def proxied(self, *options, script=None, config=None):
        command = () if config else ("--header-cmd=Authorization: Bearer $(./token)",)
        with self.server as origin:
            proxy = Proxy(None if config else origin.url, "--alone", "--law=fixed", "--access-log=log", *command, *options)
            token = Path(proxy.folder, "token")
            token.write_text(script or self.script())
            token.chmod(0o755)
            if config:
                Path(proxy.folder, "proxy.toml").write_text(config.format(url=origin.url))
            with proxy:
                yield proxy

    @staticmethod
    def asked(proxy):
        return len(Path(proxy.folder, "asked").read_text().splitlines())


class Commands(unittest.TestCase):
    def setUp(self):
        self.bank = Bank()
        self.addCleanup(self.bank.server.server_close)

    def test_what_it_prints_is_sent_and_shown_nowhere(self):
        self.bank.good = {"secret-1"}
        with self.bank.proxied() as proxy:
            for _ in range(10):
                self.assertEqual(proxy.ask("POST", "/", b"1", {"Authorization": "Bearer theirs"})[0], 200)
            shown = [proxy.look(path)[1].decode() for path in ("/api/state", "/metrics", "/")]
            proxy.process.send_signal(signal.SIGTERM)
            self.assertEqual(proxy.process.wait(20), 0)
            shown += [f.read_text() for f in proxy.folder.rglob("*") if f.is_file() and f.name != "token"]
            self.assertEqual(self.bank.asked(proxy), 1)
        for text in shown:
            self.assertNotIn("secret-", text)

    def test_a_refused_one_is_asked_for_again_and_the_request_is_sent_again(self):
        """Planted: without renew(); then the client gets the 401."""
        self.bank.good = {"secret-1", "secret-2"}
        config = '[[upstream]]\nurl = "{url}"\nheader-cmd = ["Authorization: Bearer $(./token)"]\nconcurrency = 4\n'
        with self.bank.proxied("--config=proxy.toml", config=config) as proxy:
            statuses = []

            def ask():
                for _ in range(20):
                    statuses.append(proxy.ask("POST", "/", b"1")[0])

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for t in threads:
                t.start()
            wait_for(lambda: len(statuses) > 20)
            self.bank.good.discard("secret-1")
            for t in threads:
                t.join(60)
            self.assertEqual(statuses, [200] * 160)
            self.assertEqual(self.bank.asked(proxy), 2)
            self.assertEqual(metric(proxy, r'headway_requests_total\{.*outcome="success".*'), 160)
            self.assertEqual(metric(proxy, r"headway_requests_total\{.*"), 160)  # the refused ones are not over
        self.assertIn(self.bank.statuses.count(401), range(1, 5))  # what was in flight, and nothing since

    def test_a_request_that_is_refused_twice_has_failed(self):
        with self.bank.proxied() as proxy:
            self.assertEqual(proxy.ask("GET", "/")[::2], (401, b"no"))
        self.assertEqual(self.bank.statuses, [401, 401])

    def test_an_old_one_is_asked_for_again_before_it_is_refused(self):
        self.bank.good = {f"secret-{i}" for i in range(1, 9)}
        with self.bank.proxied("--header-ttl=1s") as proxy:
            wait_for(lambda: proxy.ask("GET", "/")[0] == 200 and self.bank.asked(proxy) >= 3)
        self.assertEqual(set(self.bank.statuses), {200})

    def test_one_that_fails_is_tried_again_and_after_five_times_clients_are_told(self):
        self.bank.good = {"secret-1", "secret-3"}
        fails = LONG and '[ $n = 1 ] || exit 3; echo "secret-$n"' or '[ $n != 2 ] || exit 3; echo "secret-$n"'
        with self.bank.proxied(script=self.bank.script(fails)) as proxy:
            self.assertEqual(proxy.ask("GET", "/")[0], 200)
            self.bank.good.discard("secret-1")
            status, fields, said = proxy.ask("GET", "/", timeout=60)
            self.assertIn("Authorization failed with exit code 3; it is tried again", proxy.stderr())
            if not LONG:
                return self.assertEqual((status, self.bank.asked(proxy)), (200, 3))
            self.assertEqual((status, fields["x-headway-reason"]), (503, "credential"))
            self.assertIn("exit code 3", json.loads(said)["error"]["message"])
            self.assertEqual(proxy.ask("GET", "/")[1]["x-headway-reason"], "credential")
            self.assertEqual(self.bank.statuses, [200, 401])

    def test_a_command_that_fails_at_the_start_stops(self):
        url = "--upstream=http://127.0.0.1:1"
        for options, why in (
            ((url, "--header-cmd=A: $(exit 3)"), "--header-cmd: the command for A failed with exit code 3"),
            ((url, "--header-cmd=A: b"), "--header-cmd: want 'Name: $(COMMAND)'"),
            ((url, "--header-cmd=A: $(x)", "--header-ttl=1ms"), "--header-ttl '1ms': want at least 1s"),
            ((url, "--header-ttl=1h"), "header-ttl is for header-cmd"),
            ((f"{url}1", f"{url}2", "--header-cmd=A: $(x)"), "two upstreams"),
            ((url, "--upstream=b=http://127.0.0.1:2", "--header-cmd=A: $(x)"), "--header-cmd is for one upstream"),
            ((url, "--listen=0.0.0.0:0", "--header-cmd=A: $(echo x)"), "others could spend the credentials"),
        ):
            code, said, out = refused(*options)
            self.assertEqual((code, out, said.count("\n")), (2, "", 1), said)
            self.assertIn(why, said)


if __name__ == "__main__":
    unittest.main()
