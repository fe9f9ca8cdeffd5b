"""--limit-at of run, exec and proxy: what it shares, what it refuses, and that nothing changes without it."""
import contextlib
import json
import re
import time
import unittest
import urllib.request

import beside
import fleet
import postgres
import servers

from work import Work, gets, measured, wait_for


def libpq_calls(work, *options):
    """The functions of libpq that the program calls: the loader binds each at its first call."""
    prefix = work.path / "bindings"
    code = work.run(*options, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(prefix))
    pattern = re.compile(r"binding file \S*headway \[0\] to \S*libpq\S* \[0\]: normal symbol `(\w+)'")
    return code, {m for file in work.path.glob("bindings.*") for m in pattern.findall(file.read_text())}


class LimitAt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = cls.enterClassContext(postgres.postgres())

    def test_without_it_not_one_call_of_libpq(self):
        with servers.nginx() as nginx, Work(gets(nginx, 3)) as work:
            code, calls = libpq_calls(work, "--quiet", "--cold")
            self.assertEqual((code, calls), (0, set()))
        with servers.nginx() as nginx, Work(gets(nginx, 3)) as work:
            code, calls = libpq_calls(work, "--quiet", "--cold", "--limit-at", self.database.url)
            self.assertEqual(code, 0, work.stderr())
            self.assertIn("PQconnectStartParams", calls)  # or the test proves nothing

    def test_what_it_refuses(self):
        url = self.database.url
        secret = url.replace("headway@", "headway:hush@")
        cases = (
            (["--limit-at", url, "--alone"], 2, "--alone shares no pace"),
            (["--limit-at", url, "--trace", "t"], 2, "--trace"),
            (["--limit-at", url, "--law", "reno"], 2, "--law reno"),
            (["--limit-at", "redis://x"], 2, "URL of a database"),
            (["--limit-at", secret], 2, "a password in an argument"),
            (["--limit-at", self.database.url_of("stranger")], 2, "stranger"),
            (["--limit-at", "postgresql://headway@127.0.0.1:1/x", "--wait-max", "1s"], 75, "run the same command again"),
        )
        for options, code, words in cases:
            with self.subTest(options), Work(["http://127.0.0.1:1/"]) as work:
                self.assertEqual(work.run(*options, "--cold"), code, work.stderr())
                self.assertIn(words, work.stderr())
                self.assertNotIn("hush", work.stderr())
        with Work(["a"]) as work:
            self.assertEqual(work.exec("jobs.txt", "--limit-at", url, "--", "gzip", "{}"), 2)
            self.assertIn("asks no server", work.stderr())

    def test_what_one_member_allows_all_keep(self):
        """--rate and --concurrency are the fleet's: the smallest that a member brings."""
        with servers.nginx(latency_ms=(50, 50)) as nginx, fleet.members(nginx, self.database.url, 3, 3000) as all:
            time.sleep(1)
            all.options = ("--rate", "40/s", "--concurrency", "6")
            all.add()
            begin = time.time() + 1
            time.sleep(3.5)
            log = nginx.log()
        late = [r for r in log if r.start >= begin]
        busiest = type(log)(late).busiest(1)
        measured(f"four members, one with --rate 40/s: at most {busiest} in a second, {type(log)(late).peak_in_flight()} at once")
        self.assertLessEqual(busiest, 42)
        self.assertGreaterEqual(len(late), 50)
        self.assertLessEqual(type(log)(late).peak_in_flight(), 6)

    def test_quotas_are_parted(self):
        with servers.nginx() as nginx:
            lines = [json.dumps({"url": f"{nginx.url}/{i}", "cost": {"tokens": 10}}) for i in range(1000)]
            with contextlib.ExitStack() as stack:
                options = ("--limit-at", self.database.url, "--quota", "tokens=200/s:20", "--quiet", "--cold")
                for _ in range(4):
                    work = stack.enter_context(Work(lines))
                    run = work.start(*options)
                    stack.callback(lambda p=run: (p.kill(), p.wait()))
                time.sleep(4)
                log = nginx.log()
        end = max(r.end for r in log)
        rate = sum(r.start >= end - 2 for r in log) / 2
        measured(f"four members with --quota tokens=200/s, 10 a request: {rate:.1f}/s")
        self.assertLessEqual(rate, 22)
        self.assertGreaterEqual(rate, 14)

    def test_exec_and_proxy_are_members_too(self):
        with fleet.limit(100, 10) as nginx, contextlib.ExitStack() as stack:
            jobs = [str(i) for i in range(3000)]
            work = stack.enter_context(Work(jobs))
            script = work.path / "call"
            script.write_text(f"#!/bin/sh\nexec curl -sf -o /dev/null {nginx.url}/exec/$1\n")
            script.chmod(0o755)
            execs = work.launch("exec", "jobs.txt", "--limit-at", self.database.url, "--cold", "--quiet", "--", script, "{}")
            stack.callback(lambda: (execs.kill(), execs.wait()))
            other = stack.enter_context(Work())
            proxy = other.launch("proxy", "--upstream", nginx.url, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--cold", HEADWAY_FLEET=self.database.url)
            stack.callback(lambda: (proxy.kill(), proxy.wait()))
            wait_for(lambda: b"dashboard" in other.stdout() or proxy.poll() is not None)
            self.assertIsNone(proxy.poll(), other.stderr())
            listen, admin = re.findall(r"http://(127\.0\.0\.1:\d+)", other.stdout().decode())[0::2][:2]
            self.assertIn(f"; limit shared at {self.database.url}; dashboard", other.stdout().decode())
            for i in range(10):
                urllib.request.urlopen(f"http://{listen}/proxy/{i}", timeout=20).read()
            state = json.load(urllib.request.urlopen(f"http://{admin}/api/state"))
            metrics = urllib.request.urlopen(f"http://{admin}/metrics").read().decode()
            hosts = int(self.database.psql("select count(*) from headway1.host"))
        told = state["upstreams"][0]["scopes"][0]["fleet"]
        self.assertGreaterEqual(told["hosts"], 1)
        self.assertIn("headway_fleet_hosts", metrics)
        self.assertGreaterEqual(hosts, 2)


if __name__ == "__main__":
    beside.main()
