"""The limit of a real server, by its log, for clients in two languages that know nothing of it.

HEADWAY_LONG=1 sends 3,000 requests where otherwise 600 do, and shows what the same clients do alone.
"""
import json
import os
import subprocess
import unittest

import servers
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
    def judge(self, name, server, limit, burst, share_min, throttled_max):
        with server() as origin:
            with Proxy(origin.url, "--cold", "--alone") as proxy:
                got = clients(proxy.port, COUNT)
            log = origin.log()
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
        share, refused = (0.95, 0.01) if LONG else (0.30, 0.10)
        self.judge("limit_conn 16", slots, 160, 0, share, refused)


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
