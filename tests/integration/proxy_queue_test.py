"""Requests that wait: which goes first, which is refused, and what becomes of them when the proxy stops."""
import contextlib
import json
import os
import re
import signal
import socket
import threading
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import servers
from proxy import Proxy
from sockets import Scripted, Server, ok
from work import measured, wait_for

COLD = ("--cold", "--alone", "--law=fixed")
ONE = (*COLD, "--concurrency=1")


class Gate(Server):
    """Answers one request each time it is opened; counts them in their order."""

    def __init__(self):
        super().__init__(self.answered)
        self.open = threading.Semaphore(0)

    def answered(self, request, _):
        self.open.acquire(timeout=60)
        return ok(request.path.encode())


class Crowd:
    """Clients that each ask for one path and wait."""

    def __init__(self, proxy):
        self.proxy, self.threads, self.answers = proxy, [], {}

    def ask(self, path, **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}

        def go():
            self.answers[path] = self.proxy.ask("GET", path, headers=headers, timeout=120)

        before = waiting(self.proxy)
        self.threads.append(threading.Thread(target=go))
        self.threads[-1].start()
        return before

    def join(self):
        for thread in self.threads:
            thread.join(60)


def waiting(proxy):
    u = proxy.state()["upstreams"][0]
    return sum(u["waiting"].values()) + u["in_flight"]


class Pipelined(unittest.TestCase):
    COUNT = 5_000  # more than is read ahead

    def test_all_are_answered(self):
        """Before: nothing kept a session that read no further, and its exchange was used after its end."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD) as proxy:
            said = proxy.raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n" * self.COUNT, timeout=3)
        self.assertEqual(said.count(b"HTTP/1.1 200"), self.COUNT)

    def test_their_client_leaves(self):
        with Gate() as origin, Proxy(origin.url, *COLD) as proxy:
            for _ in range(5):
                proxy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n" * self.COUNT).close()
            origin.open.release(10)  # an answer that is not taken shows it
            wait_for(lambda: waiting(proxy) == 0)
            origin.open.release()
            self.assertEqual(proxy.ask("GET", "/")[0], 200)


class OnePace(unittest.TestCase):
    def test_no_client_multiplies_a_rate(self):
        """Before: a scope or another key for each request opened a limit of its own, 2,000/s in all."""
        with Server(lambda *_: ok()) as origin:
            with Proxy(origin.url, "--cold", "--alone", "--rate=5/s", "--header=Authorization: Bearer x") as proxy:
                begun = time.monotonic()
                for i in range(10):
                    proxy.ask("GET", "/", headers={"X-Headway-Scope": f"s{i}", "X-Api-Key": f"k{i}"})
        self.assertGreaterEqual(time.monotonic() - begun, 1.6)


    def test_a_reload_makes_no_second_pace(self):
        """Before: each one that changed a setting went on beside the one before it, 13 in one second of 2."""
        at = []
        with Server(lambda *_: at.append(time.monotonic()) or ok()) as origin:
            proxy = Proxy(None, "--cold", "--alone", "--config=proxy.toml")
            file = Path(proxy.folder, "proxy.toml")

            def write(patience):
                file.write_text(f'[[upstream]]\nname = "x"\nurl = "{origin.url}"\nrate = "4/s"\nwait-max = "{patience}s"\n')

            write(60)
            with proxy:
                crowd = Crowd(proxy)
                for n in range(1, 4):
                    for i in range(4):
                        crowd.ask(f"/{n}{i}")
                    wait_for(lambda: proxy.state()["upstreams"][0]["waiting"]["normal"] > 0)
                    write(60 + n)
                    proxy.process.send_signal(signal.SIGHUP)
                    wait_for(lambda: proxy.stderr().count("read again") == n)
                crowd.join()
            self.assertEqual([a[0] for a in crowd.answers.values()], [200] * 12)
        worst = max(sum(begin <= t < begin + 1 for t in at) for begin in at)
        self.assertLessEqual(worst, 5, at)


class Turns(unittest.TestCase):
    def order(self, *asked):
        """In which order the origin hears what is asked for while the first is answered."""
        with Gate() as origin, Proxy(origin.url, *ONE) as proxy:
            crowd = Crowd(proxy)
            for n, (path, headers) in enumerate(asked):
                crowd.ask(path, **headers)
                wait_for(lambda: waiting(proxy) == n + 1)
            for _ in asked:
                origin.open.release()
            crowd.join()
            return [r.path for r in origin.heard]

    def test_a_person_waits_two_turns_at_most_behind_a_script(self):
        """Planted: a queue without clients; then the person is last."""
        with Gate() as origin, Proxy(origin.url, *ONE) as proxy:
            script = [
                proxy.send(f"GET /{i} HTTP/1.1\r\nHost: a\r\nX-Headway-Client: script\r\n\r\n") for i in range(500)
            ]
            wait_for(lambda: waiting(proxy) == 500)
            person = proxy.send("GET /person HTTP/1.1\r\nHost: a\r\nX-Headway-Client: person\r\n\r\n")
            wait_for(lambda: waiting(proxy) == 501)
            before = len(origin.heard)
            for _ in range(4):
                origin.open.release()
            self.assertIn(b"200 OK", person.recv(4096))
            turns = [r.path for r in origin.heard[before:]].index("/person")
            self.assertLessEqual(turns, 2)
            for s in (person, *script):
                s.close()
            for _ in range(4):
                origin.open.release()

    def test_classes_go_before_each_other_and_clients_in_turn(self):
        order = self.order(
            ("/first", {}),
            ("/batch", {"X_Headway_Priority": "batch"}),
            ("/a1", {"X_Headway_Client": "a"}),
            ("/a2", {"X_Headway_Client": "a"}),
            ("/b1", {"X_Headway_Client": "b"}),
            ("/now", {"X_Headway_Priority": "interactive"}),
        )
        self.assertEqual(order, ["/first", "/now", "/a1", "/b1", "/a2", "/batch"])

    def test_the_lowest_class_has_one_turn_of_ten(self):
        order = self.order(
            ("/batch", {"X_Headway_Priority": "batch"}),
            ("/b2", {"X_Headway_Priority": "batch"}),
            *((f"/{i}", {"X_Headway_Priority": "interactive"}) for i in range(12)),
        )
        self.assertIn("/b2", order[2:12])

    def test_scopes_do_not_wait_for_each_other(self):
        with Gate() as origin, Proxy(origin.url, *ONE) as proxy:
            crowd = Crowd(proxy)
            crowd.ask("/held", X_Headway_Scope="one")
            wait_for(lambda: len(origin.heard) == 1)
            crowd.ask("/other", Authorization="Bearer another-key-1234")
            wait_for(lambda: len(origin.heard) == 2)
            shown = json.dumps(proxy.state())
            self.assertNotIn("another-key", shown)
            origin.open.release(2)
            crowd.join()


class Scopes(unittest.TestCase):
    def test_one_whose_answer_is_still_passed_on_stays(self):
        """More limits than are kept come and go meanwhile. Before: it gave way, and its name was read after its end."""
        rest = threading.Event()

        def refusal():
            yield b"HTTP/1.1 429 No\r\nRetry-After: 7200\r\nContent-Length: 70001\r\n\r\n" + bytes(70_000)
            rest.wait(60)
            yield b"."

        with Server(lambda r, _: refusal() if r.path == "/long" else ok()) as origin:
            with Proxy(origin.url, *COLD, "--access-log=log") as proxy, contextlib.closing(proxy.connect()) as client:
                long = proxy.send("GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Headway-Scope: a-scope-of-some-length\r\n\r\n")
                self.assertIn(b"429", long.recv(4096))
                for n in range(1100):
                    client.request("GET", "/", headers={"X-Headway-Scope": f"s{n}"})
                    self.assertEqual(client.getresponse().read(), b"ok")
                rest.set()
                while long.recv(65536):
                    pass
                long.close()
                proxy.process.send_signal(signal.SIGTERM)
                self.assertEqual(proxy.process.wait(20), 0)
                last = json.loads(Path(proxy.folder, "log").read_text().splitlines()[-1])
        self.assertEqual((last["path"], last["scope"].split()[1]), ("/long", "a-scope-of-some-length"))


class Bounds(unittest.TestCase):
    def test_a_full_queue_says_when_to_come_back(self):
        with Gate() as origin, Proxy(origin.url, *ONE, "--queue=5") as proxy:
            crowd = Crowd(proxy)
            for i in range(6):
                crowd.ask(f"/{i}")
                wait_for(lambda: waiting(proxy) == i + 1)
            status, fields, said = proxy.ask("GET", "/late")
            self.assertEqual((status, fields["x-headway-reason"]), (503, "queue_full"))
            self.assertGreaterEqual(int(fields["retry-after"]), 1)
            self.assertIn("5 requests wait for 127.0.0.1", json.loads(said)["error"]["message"])
            origin.open.release(6)
            crowd.join()
            self.assertEqual(sorted(a[0] for a in crowd.answers.values()), [200] * 6)
            self.assertNotIn("/late", [r.path for r in origin.heard])

    def test_patience_that_is_told_is_kept_to(self):
        told = (
            {"X-Headway-Deadline": "0.3"}, {"grpc-timeout": "300m"}, {"x-envoy-expected-rq-timeout-ms": "300"},
            {"connect-timeout-ms": "300"}, {"X-Server-Timeout": "0.3"},
            {"x-stainless-timeout": "NOT_GIVEN", "x-stainless-read-timeout": "0.3"},  # as of anthropic 0.9 for Python
        )
        with Gate() as origin, Proxy(origin.url, *ONE) as proxy:
            crowd = Crowd(proxy)
            crowd.ask("/held")
            wait_for(lambda: len(origin.heard) == 1)
            for headers in told:
                status, fields, _ = proxy.ask("GET", "/late", headers=headers)
                self.assertEqual((status, fields["x-headway-reason"]), (503, "deadline"), headers)
            origin.open.release()
            crowd.join()
            self.assertEqual([r.path for r in origin.heard], ["/held"])
            counted = re.findall(rb'headway_requests_total\{.*outcome="(\w+)"\} (\d+)', proxy.look("/metrics")[1])
            self.assertEqual(dict(counted), {b"success": b"1", b"failed": b"%d" % len(told), b"unknown": b"0"})

    def test_what_cannot_be_in_time_is_refused_before_it_waits(self):
        """Planted: join() does not ask; then the reason is that it has waited."""
        with Server(lambda *_: ok()) as origin, Proxy(origin.url, *COLD, "--rate=20/s") as proxy:
            crowd = Crowd(proxy)
            for i in range(50):
                crowd.ask(f"/{i}")
            wait_for(lambda: len(origin.heard) >= 10)
            status, fields, said = proxy.ask("GET", "/late", headers={"X-Headway-Deadline": "0.3"})
            self.assertEqual((status, fields["x-headway-reason"]), (503, "deadline"))
            self.assertIn("its turn would come in about", json.loads(said)["error"]["message"])
            crowd.join()
            self.assertEqual(len(origin.heard), 50)

    def test_a_refusal_beyond_the_patience_is_passed_on(self):
        with Scripted(lambda *_: (429, {"Retry-After": "30"}, b"no")) as origin, Proxy(origin.url, *COLD) as proxy:
            status, fields, body = proxy.ask("GET", "/", headers={"X-Stainless-Timeout": "10"})
        self.assertEqual((status, body, fields["x-should-retry"]), (429, b"no", "false"))

    def test_what_is_left_and_always_refused_is_answered_in_time(self):
        """Planted: patience without a bound; then none of them is."""
        script = lambda n, r: (429, {}, b"no") if r.path.startswith("/bad") else (200, {}, b"ok")
        with Scripted(script) as origin, Proxy(origin.url, "--cold", "--alone", "--wait-max=3s") as proxy:
            crowd = Crowd(proxy)
            paths = [f"/{i}" for i in range(20)] + [f"/bad{i}" for i in range(3)]
            begun = time.monotonic()
            for path in paths:
                crowd.ask(path)
            crowd.join()
            took = time.monotonic() - begun
        tries = Counter(path for _, path, _ in origin.log)
        measured(f"always refused: answered after {took:.1f} s, {[tries[p] for p in paths[20:]]} attempts")
        for path in paths:
            status, fields, _ = crowd.answers[path]
            if path.startswith("/bad"):
                self.assertIn((status, fields.get("x-headway-reason")), ((429, None), (503, "deadline")))
                self.assertLess(tries[path], 30)
            else:
                self.assertEqual((status, tries[path]), (200, 1))
        self.assertLess(took, 15)

    def test_what_gave_up_leaves_no_more_than_the_law_knows(self):
        """Three that are always refused, until their deadline. Planted: leave() without cancel(); then they have turns."""
        script = lambda n, r: (429, {}, b"no") if r.path.startswith("/bad") else (200, {}, b"ok")
        with Scripted(script) as origin, Proxy(origin.url, "--cold", "--alone") as proxy:
            crowd = Crowd(proxy)
            for i in range(3):
                crowd.ask(f"/bad{i}", X_Headway_Deadline="2")
            crowd.join()
            answers = {(status, fields.get("x-headway-reason")) for status, fields, _ in crowd.answers.values()}
            self.assertLessEqual(answers, {(503, "deadline"), (429, None)})
            state, tries = proxy.state(), len(origin.log)
            self.assertEqual((waiting(proxy), state["held_bytes"]), (0, 0))
            status, fields, _ = proxy.ask("GET", "/good")
            self.assertEqual((status, fields["x-headway-attempts"]), (200, "1"))
            until = time.monotonic() + 2.5  # a turn of theirs would come
            while time.monotonic() < until:
                self.assertEqual(proxy.ask("GET", "/good")[0], 200)
                time.sleep(0.1)
            self.assertEqual({path for _, path, _ in origin.log[tries:]}, {"/good"})
            measured(f"after {tries} refusals in 2 s the next request waits {fields['x-headway-waited']} s")
            self.assertLess(float(fields["x-headway-waited"]), 2)  # what was refused for so long is asked for as late again

    def test_bodies_that_wait_have_a_bound_and_each_gets_its_turn(self):
        """Eight of 12 MiB, where 32 MiB may be held: those beyond are read later."""
        with Gate() as origin, Proxy(origin.url, *ONE, "--body-max=16MiB", "--hold-max=32MiB") as proxy:
            done = []

            def post():
                done.append(proxy.ask("POST", "/", bytes(12 << 20), timeout=120)[0])

            threads = [threading.Thread(target=post) for _ in range(8)]
            for t in threads:
                t.start()
            wait_for(lambda: waiting(proxy) == 2)
            time.sleep(0.5)
            self.assertLessEqual(proxy.state()["held_bytes"], 32 << 20)
            self.assertEqual(waiting(proxy), 2)
            origin.open.release(8)
            for t in threads:
                t.join(60)
            self.assertEqual(done, [200] * 8)
            wait_for(lambda: proxy.state()["held_bytes"] == 0)


class Life(unittest.TestCase):
    def test_a_proxy_that_stops_answers_what_it_has(self):
        with Gate() as origin, Proxy(origin.url, *ONE, "--drain=60s") as proxy:
            crowd = Crowd(proxy)
            for i in range(3):
                crowd.ask(f"/{i}")
                wait_for(lambda: waiting(proxy) == i + 1)
            proxy.process.send_signal(signal.SIGTERM)
            wait_for(lambda: proxy.look("/healthz") == (503, b"draining\n"))
            with self.assertRaises(ConnectionError):
                proxy.ask("GET", "/")
            origin.open.release(3)
            crowd.join()
            self.assertEqual([a[0] for a in crowd.answers.values()], [200] * 3)
            self.assertEqual(proxy.process.wait(20), 0)

    def test_a_deadline_ends_what_flies(self):
        """Before: only a second signal did."""
        with Gate() as origin, Proxy(origin.url, *ONE, "--drain=60s", "--hard-stop-after=500ms") as proxy:
            clients = []
            for i in range(2):
                clients.append(proxy.send(f"GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n"))
                wait_for(lambda: waiting(proxy) == i + 1)
            proxy.process.send_signal(signal.SIGTERM)
            self.assertEqual(proxy.process.wait(20), 143)
            for client in clients:
                client.close()
            origin.open.release()

    def test_what_would_wait_too_long_is_refused(self):
        with Gate() as origin, Proxy(origin.url, *ONE, "--drain=200ms") as proxy:
            crowd = Crowd(proxy)
            for i in range(3):
                crowd.ask(f"/{i}")
                wait_for(lambda: waiting(proxy) == i + 1)
            proxy.process.send_signal(signal.SIGQUIT)
            wait_for(lambda: len(crowd.answers) == 2)
            self.assertEqual({a[1]["x-headway-reason"] for a in crowd.answers.values()}, {"draining"})
            origin.open.release()
            crowd.join()
            self.assertEqual(crowd.answers["/0"][0], 200)
            self.assertEqual(proxy.process.wait(20), 131)
            self.assertEqual(len(origin.heard), 1)

    def test_what_is_still_being_sent_is_answered_first(self):
        """Before: exit 0, and their connections were reset."""
        parts = {
            "/head": ("GET /head HTTP/1.1\r\nHo", "st: a\r\n\r\n"),
            "/body": ("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1", "2"),
            "/room": (f"POST /room HTTP/1.1\r\nHost: a\r\nContent-Length: {16 << 20}\r\n\r\n", bytes(16 << 20)),
        }
        for drain, status, code, count in (("60s", 200, 0, 3), ("200ms", 503, 143, 0)):
            with Server(lambda r, _: ok(b"%d" % len(r.body))) as origin, contextlib.ExitStack() as open, \
                    Proxy(origin.url, *COLD, f"--drain={drain}", "--body-max=16MiB", "--hold-max=16MiB") as proxy:
                clients = [open.enter_context(proxy.send(first)) for first, _ in parts.values()]
                idle = open.enter_context(proxy.send(""))
                wait_for(lambda: proxy.state()["connections"]["active"] == 3 and proxy.state()["connections"]["clients"] == 4)
                proxy.process.send_signal(signal.SIGTERM)
                self.assertEqual(idle.recv(9), b"")
                if status == 200:
                    for client, (_, rest) in zip(clients, parts.values()):
                        client.sendall(rest if isinstance(rest, bytes) else rest.encode())
                for client in clients:
                    with client.makefile("rb") as said:
                        self.assertRegex(said.read(), rb"(?s)^HTTP/1.1 %d .*Connection: close" % status)
                self.assertEqual(proxy.process.wait(20), code)
                self.assertEqual(len(origin.heard), count)

    def test_what_is_refused_once_it_is_too_late_waits_no_more(self):
        """Before: it waited for its Retry-After, and longer, and the proxy with it."""
        asked = threading.Event()
        with Scripted(lambda *_: asked.wait(10) and (429, {"Retry-After": "60"}, b"no")) as origin:
            with Proxy(origin.url, *COLD, "--drain=200ms") as proxy, ThreadPoolExecutor(1) as beside:
                answer = beside.submit(proxy.ask, "GET", "/")
                wait_for(lambda: proxy.state()["upstreams"][0]["in_flight"] == 1)
                proxy.process.send_signal(signal.SIGTERM)
                time.sleep(1)
                asked.set()
                status, fields, _ = answer.result(20)
                self.assertEqual((status, fields["x-headway-reason"]), (503, "draining"))
                self.assertEqual(proxy.process.wait(20), 143)

    def test_a_second_signal_stops_at_once(self):
        with Gate() as origin, Proxy(origin.url, *ONE) as proxy:
            client = proxy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_for(lambda: len(origin.heard) == 1)
            proxy.process.send_signal(signal.SIGINT)
            wait_for(lambda: "once more stops at once" in proxy.stderr())
            proxy.process.send_signal(signal.SIGINT)
            self.assertEqual(proxy.process.wait(10), 130)
            client.close()
            origin.open.release()

    def test_a_configuration_that_is_no_file_changes_nothing(self):
        """Before: a folder ended the proxy, a FIFO held it up, /dev/zero filled the memory."""
        with Server(lambda *_: ok()) as origin:
            proxy = Proxy(None, *COLD, "--config=proxy.toml")
            file = Path(proxy.folder, "proxy.toml")
            file.write_text(f'[[upstream]]\nname = "x"\nurl = "{origin.url}"\n')
            with proxy:
                file.unlink()
                for n, put in enumerate((file.mkdir, lambda: os.mkfifo(file), lambda: file.symlink_to("/dev/zero"),
                                         lambda: file.write_bytes(b"#" * (2 << 20))), 1):
                    put()
                    proxy.process.send_signal(signal.SIGHUP)
                    wait_for(lambda: proxy.stderr().count("stays as it was") == n)
                    self.assertEqual(proxy.ask("GET", "/")[0], 200)
                    file.rmdir() if file.is_dir() else file.unlink()

    def test_all_of_a_configuration_is_read_again(self):
        """Before: queue, access-log, admin-hosts and admin-token-file were taken at the start only."""
        with Gate() as origin:
            proxy = Proxy(None, *ONE, "--config=proxy.toml")
            file, token, log = (Path(proxy.folder, name) for name in ("proxy.toml", "token", "log"))

            def write(text, secret):
                token.write_text(f"{secret}-{secret}-1234\n")
                token.chmod(0o600)
                file.write_text(f'admin-token-file = "token"\naccess-log = "log"\n{text}\n[[upstream]]\nurl = "{origin.url}"\n')

            def again(count):
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: proxy.stderr().count("was read again") == count)

            def said(secret, host="127.0.0.1", path="/healthz"):
                with socket.create_connection(("127.0.0.1", proxy.admin), 10) as s:
                    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Headway-Token: {secret}-{secret}-1234\r\n\r\n".encode())
                    return s.makefile("rb").read()

            def look(*asked):
                return int(said(*asked)[9:12])

            write("queue = 1", "before")
            with proxy:
                got = []
                ask = lambda path: threading.Thread(target=lambda: got.append(proxy.ask("GET", path)[0]))
                crowd = [ask(f"/{n}") for n in range(4)]
                crowd[0].start()
                wait_for(lambda: origin.heard)
                self.assertEqual((look("before"), look("after"), look("before", "name.example")), (200, 401, 421))
                write('queue = 3\nadmin-hosts = ["name.example"]', "after")
                log.rename(log.with_name("log.1"))  # as logrotate does
                again(1)
                self.assertEqual((look("before"), look("after"), look("after", "name.example")), (401, 200, 200))
                for t in crowd[1:]:
                    t.start()
                wait_for(lambda: b'"normal":3' in said("after", "127.0.0.1", "/api/state"))
                self.assertEqual(proxy.ask("GET", "/late")[1]["x-headway-reason"], "queue_full")
                origin.open.release(4)
                for t in crowd:
                    t.join(20)
                self.assertEqual(got, [200] * 4)
                wait_for(lambda: log.exists() and log.read_text().count('"done"') == 4)
                self.assertNotIn('"done"', log.with_name("log.1").read_text())
                log.unlink()
                log.mkdir()
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: "stays as it was" in proxy.stderr())
                self.assertEqual((look("after"), proxy.stderr().splitlines()[-1].count("log")), (200, 1))

    def test_more_connections_are_taken_once_the_configuration_says_so(self):
        """Those before it wait for their answers: idle ones would give way."""
        opened = threading.Event()
        with Server(lambda r, _: r.path == "/" and ok() or opened.wait(30) and ok()) as origin:
            proxy = Proxy(None, *COLD, "--config=proxy.toml")
            write = lambda n: Path(proxy.folder, "proxy.toml").write_text(f'connections = {n}\n[[upstream]]\nurl = "{origin.url}"\n')
            write(2)
            with proxy, contextlib.ExitStack() as open:
                get = "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"
                first, second, third = (open.enter_context(contextlib.closing(proxy.send(get.format(p)))) for p in ("held", "held", ""))
                third.settimeout(0.3)
                with self.assertRaises(TimeoutError):
                    third.recv(4096)
                write(3)
                proxy.process.send_signal(signal.SIGHUP)
                third.settimeout(10)
                self.assertIn(b"200 OK", third.recv(4096))
                self.assertEqual(proxy.state()["connections"]["max"], 3)
                opened.set()
                for s in (first, second):
                    self.assertIn(b"200 OK", s.recv(4096))

    def test_a_configuration_is_read_again_whole_or_not_at_all(self):
        with Server(lambda *_: ok(b"one")) as one, Server(lambda *_: ok(b"two")) as two:
            with contextlib.ExitStack() as stack:
                proxy = Proxy(None, *COLD, "--config=proxy.toml")
                file = Path(proxy.folder, "proxy.toml")
                file.write_text(f'[[upstream]]\nname = "x"\nurl = "{one.url}"\n')
                stack.enter_context(proxy)
                answers, stop = [], threading.Event()

                def ask():
                    with contextlib.closing(proxy.connect()) as client:
                        while not stop.is_set():
                            client.request("GET", "/")
                            answers.append(client.getresponse().read())

                thread = threading.Thread(target=ask)
                thread.start()
                for n in range(20):
                    file.write_text(f'[[upstream]]\nname = "x"\nurl = "{(two if n % 2 == 0 else one).url}"\n')
                    proxy.process.send_signal(signal.SIGHUP)
                    wait_for(lambda: proxy.stderr().count("was read again") == n + 1)
                seen = len(answers)
                wait_for(lambda: len(answers) > seen + 5)
                file.write_text("[[upstream]]\nurl = true\n")
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: "stays as it was: proxy.toml:2" in proxy.stderr())
                stop.set()
                thread.join(20)
                self.assertEqual(set(answers), {b"one", b"two"})
                self.assertEqual(proxy.ask("GET", "/")[2], b"one")


class Kept(unittest.TestCase):
    def test_what_a_cold_proxy_has_found_outlives_a_changed_setting(self):
        """Before: it began anew."""
        with servers.limit_req(50, "burst=10 nodelay; limit_req_status 429") as server, ThreadPoolExecutor(32) as crowd:
            proxy = Proxy(None, "--cold", "--alone", "--config=proxy.toml")
            config = Path(proxy.folder, "proxy.toml")
            text = f'[[upstream]]\nurl = "{server.url}"\n'
            config.write_text(text)
            with proxy:
                self.assertEqual(set(crowd.map(lambda i: proxy.ask("GET", f"/{i}")[0], range(200))), {200})
                config.write_text(text + 'wait-max = "59s"\n')
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: "was read again" in proxy.stderr())
                self.assertEqual(proxy.ask("GET", "/")[0], 200)
                found = proxy.state()["upstreams"][0]["scopes"][0]["found"]
            measured(f"after a reload, of 50/s: {found}")
            self.assertRegex(found, "^a limit of (about|at least) [4-6]|^[0-9]+ refused")

    def test_the_log_has_a_line_for_each_and_no_secret_is_kept(self):
        """Canaries in headers, query and body; none in log, state, page, standard error or files."""
        with Server(lambda *_: ok()) as origin:
            with Proxy(origin.url, "--alone", "--access-log=log", "--header=X-Key: canary-header-ours") as proxy:
                for i in range(20):
                    proxy.ask(
                        "POST",
                        f"/p{i}?key=canary-query",
                        b"canary-body",
                        {"Authorization": "Bearer canary-bearer", "Cookie": "canary-cookie", "traceparent": "00-abc"},
                    )
                shown = [proxy.look(path)[1].decode() for path in ("/api/state", "/", "/healthz")]
                proxy.process.send_signal(signal.SIGTERM)
                self.assertEqual(proxy.process.wait(20), 0)
                lines = [json.loads(line) for line in Path(proxy.folder, "log").read_text().splitlines()]
                shown += [f.read_text() for f in proxy.folder.rglob("*") if f.is_file()]
        for text in shown:
            self.assertNotIn("canary", text)
        self.assertEqual(len(lines), 20)
        self.assertEqual([line["path"] for line in lines], [f"/p{i}" for i in range(20)])
        self.assertEqual(lines[0]["trace"], "00-abc")
        self.assertTrue(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lines[0]["at"]))
        self.assertEqual({line["ended"] for line in lines}, {"done"})


if __name__ == "__main__":
    unittest.main()
