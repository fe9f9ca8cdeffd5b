"""The limit of a real server, by its log, for clients in two languages that know nothing of it.

HEADWAY_LONG=1 sends 3,000 requests where otherwise 600 do, and shows what the same clients do alone.
"""
import http.client
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import servers
from log import Log
from proxy import Proxy
from work import measured

LONG = bool(os.environ.get("HEADWAY_LONG"))
COUNT = 3000 if LONG else 600

PYTHON = """
import http.client, json, sys, threading
port, count, width, name = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
left, lock, statuses = list(range(count)), threading.Lock(), {}
def work():
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    while True:
        with lock:
            if not left: return
            n = left.pop()
        client.request("GET", f"/{name}-{n}")
        answer = client.getresponse()
        answer.read()
        with lock: statuses[answer.status] = statuses.get(answer.status, 0) + 1
threads = [threading.Thread(target=work) for _ in range(width)]
[t.start() for t in threads]
[t.join() for t in threads]
print(json.dumps(statuses))
"""

NODE = """
const http = require('http');
const [port, count, width, name] = [+process.argv[1], +process.argv[2], +process.argv[3], process.argv[4]];
const agent = new http.Agent({keepAlive: true, maxSockets: width});
let next = 0; const statuses = {};
const one = () => new Promise((done, fail) =>
  http.get({host: '127.0.0.1', port, path: `/${name}-${next++}`, agent}, (r) => {
    r.resume(); r.on('end', () => { statuses[r.statusCode] = (statuses[r.statusCode] || 0) + 1; done(); });
  }).on('error', fail));
const work = async () => { while (next < count) await one(); };
Promise.all(Array.from({length: width}, work)).then(() => { agent.destroy(); console.log(JSON.stringify(statuses)); });
"""


def clients(port, count, width=8):
    """Statuses that two processes of Python and two of node got."""
    commands = [["/usr/bin/python3", "-c", PYTHON], ["node", "-e", NODE]] * 2
    started = [
        subprocess.Popen([*c, str(port), str(count // 4), str(width), f"c{i}"], stdout=subprocess.PIPE)
        for i, c in enumerate(commands)
    ]
    all = {}
    for process in started:
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        for status, n in json.loads(out).items():
            all[status] = all.get(status, 0) + n
    return all


class Pace(unittest.TestCase):
    def judge(self, name, server, limit, burst, share_min, throttled_max, known=0, told=()):
        """`known`: as many requests let it learn the limit in an earlier life. `told`: by these options."""
        with server() as origin, tempfile.TemporaryDirectory() as folder:
            keeps = (f"--state={folder}/limits.json", "--alone") if known else ("--cold", "--alone", *told)
            if known:
                with Proxy(origin.url, *keeps) as proxy:
                    self.assertEqual(clients(proxy.port, known), {"200": known})
                    proxy.process.send_signal(signal.SIGTERM)
                    self.assertEqual(proxy.process.wait(20), 0)
            before = len(origin.log())
            with Proxy(origin.url, *keeps) as proxy:
                got = clients(proxy.port, COUNT)
            log = Log(origin.log()[before:])
        share, refused = log.share(limit, burst), log.throttled_share()
        measured(f"{name}: {COUNT} requests, {share:.1%} of the limit, {refused:.1%} refused, clients got {got}")
        if LONG:
            with server() as alone:
                alone_got = clients(alone.port, COUNT)
                measured(f"{name}, the same clients without the proxy: {alone_got}")
        self.assertEqual(got, {"200": COUNT})
        self.assertEqual(log.twice(), [])
        self.assertGreaterEqual(share, share_min)
        self.assertLessEqual(refused, throttled_max)

    def test_a_rate(self):
        # A short run is mostly the search for the limit, and the start of the clients.
        share, refused = (0.97, 0.01) if LONG else (0.85, 0.06)
        self.judge("limit_req 50/s", rate, 50, 10, share, refused)

    def test_slots(self):
        share, refused = (0.90, 0.01) if LONG else (0.30, 0.10)  # the search takes what is 1.3 s of 160/s
        self.judge("limit_conn 16", slots, 160, 0, share, refused)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1")
    def test_slots_from_a_faster_start(self):
        """What the search costs that begins at 20/s: 1.9 s until the slots are named, of 20."""
        self.judge("limit_conn 16, from 40/s", slots, 160, 0, 0.95, 0.01, told=("--law=seek(start=40/s)",))

    def test_slots_that_are_told(self):
        """What the proxy itself costs: no law searches."""
        self.judge("limit_conn 16, told", slots, 160, 0, 0.97 if LONG else 0.5, 0, told=("--law=fixed", "--concurrency=16"))

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1")
    def test_slots_that_an_earlier_life_has_found(self):
        self.judge("limit_conn 16, known", slots, 160, 0, 0.95, 0.01, known=1000)


class Sidecar(unittest.TestCase):
    """Few requests of ours, beside others that take most of the limit and do not pace themselves."""

    LIMIT, OURS, OTHERS = 50, 5, 40

    def took(self, law, seconds):
        """Seconds from a request's arrival to its answer, without waiting for each other; attempts a request."""
        with servers.limit_req(self.LIMIT, "burst=5 nodelay; limit_req_status 429", (50, 50), retry_after=1) as origin:
            with Proxy(origin.url, "--cold", "--alone", f"--law={law}") as proxy, ThreadPoolExecutor(200) as pool:
                def ask(port, path):
                    began = time.monotonic()
                    client = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
                    client.request("GET", path)
                    status = client.getresponse().status
                    client.close()
                    return status, time.monotonic() - began

                def arrive(rate, port, name, chance):
                    asked, due = [], time.monotonic()
                    for n in range(int(rate * seconds)):
                        due += chance.expovariate(rate)
                        time.sleep(max(0, due - time.monotonic()))
                        asked.append(pool.submit(ask, port, f"/{name}{n}"))
                    return asked

                others = pool.submit(arrive, self.OTHERS, origin.port, "others", random.Random(1))
                ours = [one.result() for one in arrive(self.OURS, proxy.port, "ours", random.Random(2))]
                others.result()
            attempts = sum(r.path.startswith("/ours") for r in origin.log())
        self.assertEqual({status for status, _ in ours}, {200})
        return sorted(t for _, t in ours), attempts / len(ours)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1; scenarios/sparse-1.toml holds the law to the same")
    def test_few_requests_beside_others_wait_as_without_a_law(self):
        laws = ("seek", "fixed", "exponential")
        with ThreadPoolExecutor(len(laws)) as pool:
            by = dict(zip(laws, pool.map(lambda law: self.took(law, 80), laws)))
        at = lambda law, q: by[law][0][int(q * (len(by[law][0]) - 1))]
        for law in laws:
            measured(f"{self.OURS}/s beside {self.OTHERS}/s of others, limit {self.LIMIT}/s, {law}: p50 {at(law, .5) * 1e3:.0f} ms, "
                     f"p99 {at(law, .99):.2f} s, {by[law][1]:.2f} attempts a request")
        self.assertLessEqual(at("seek", 0.5), 1.1 * at("fixed", 0.5))
        self.assertLessEqual(at("seek", 0.99), 2 * at("exponential", 0.99))
        self.assertLessEqual(by["seek"][1], 1.3)


class Loop(unittest.TestCase):
    """A script that works for a while between two calls: it hardly waits, and wants more than its limit."""

    def test_it_finds_the_limit(self):
        # It was refused 60 to 79 %: a caller that seems to want little cuts nothing.
        with servers.limit_req(20, "burst=4 nodelay; limit_req_status 429", (1, 3)) as origin:
            with Proxy(origin.url, "--cold", "--alone") as proxy:
                client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
                for n in range(250):
                    client.request("GET", f"/{n}")
                    answer = client.getresponse()
                    answer.read()
                    self.assertEqual(answer.status, 200)
                    time.sleep(0.02)
                client.close()
            log = Log(origin.log())
        measured(f"a loop on 20/s: {log.share(20, 4):.1%} of the limit, {log.throttled_share():.1%} refused")
        self.assertGreaterEqual(log.share(20, 4), 0.8)
        self.assertLessEqual(log.throttled_share(), 0.35)


def rate():
    return servers.limit_req(50, "burst=10 nodelay; limit_req_status 429")


def slots():
    return servers.nginx(
        "limit_conn all 16; limit_conn_status 429;",
        "limit_conn_zone $binary_remote_addr zone=all:1m;",
        latency_ms=(100, 100),
    )


if __name__ == "__main__":
    unittest.main()
