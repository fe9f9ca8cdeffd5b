"""What is not the client's doing, answers of seconds, and company: by nginx's log.

HEADWAY_LONG=1 lasts minutes, as the promises have it; otherwise nearly a minute.
"""
import contextlib
import json
import os
import time
import unittest

import servers
from limits_test import counts_rejects
from work import Abreast, Work, gets, measured, succeeded, wait_for

LONG = bool(os.environ.get("HEADWAY_LONG"))


def limited(rate, burst, latency_ms=(40, 120), share=0, status=0):
    """nginx that answers a share of what it accepts with another status."""
    limit = f"limit_req zone=all burst={burst} nodelay; limit_req_status 429;"
    # The chance is not to depend on the latency, which the template draws from $request_id.
    return servers.nginx(
        f"{limit} if (-f down) {{ return 444; }} if ($bad) {{ rewrite ^ /bad last; }}"
        f"location = /bad {{ {limit} echo_status {status or 500}; echo_sleep $latency; echo no; }}",
        f"limit_req_zone $binary_remote_addr zone=all:1m rate={rate};"
        f"split_clients $request_id$request_id $bad {{ {share or .01}% {'1' if share else chr(39) * 2}; * ''; }}",
        latency_ms=latency_ms,
    )


def span(log):
    return max(r.end for r in log) - min(r.start for r in log)


class Trouble(unittest.TestCase):
    def send(self, name, server, count, *options, timeout=300):
        with Work(gets(server, count)) as work:
            code = work.run("--cold", "--alone", *options, timeout=timeout)
            log = server.log()
            self.assertEqual(code, 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(count))
        measured(f"{name}: {count} in {log.seconds():.1f} s, {len(log)} attempts, {len(log.throttled())} refused, "
                 f"{100 * log.throttled_share():.1f} %")
        return log

    def test_refusals_by_chance(self):
        count = 6000 if LONG else 2000
        with limited("200r/s", 20, share=3, status=429) as server:
            log = self.send("3 % by chance at 200/s", server, count)
        # Of 100 simulated short runs the median takes 1.5 and the 95th 3.1; without tests of chance the median takes 23.
        self.assertLessEqual(log.seconds(), (1.8 if LONG else 4) * count / 200)
        self.assertLessEqual(log.throttled_share(), 0.06)

    def test_failures_of_another_kind(self):
        count = 6000 if LONG else 1500
        with limited("100r/s", 20, share=15, status=500) as server:
            log = self.send("15 % fail at 100/s", server, count, "--attempts-max", "9")
        self.assertGreater(sum(r.status == 500 for r in log), 0.1 * count)
        self.assertLessEqual(log.seconds(), 1.15 * (len(log) - len(log.throttled())) / 100 + 2)
        self.assertLessEqual(log.throttled_share(), 0.02)

    def test_an_outage(self):
        lasts = 60 if LONG else 8
        rate = 50
        with limited(f"{rate}r/s", 10) as server, Work(gets(server, 5000)) as work:
            with work.start("--cold", "--alone", "--wait-max", "1h", "--progress", "none") as process:
                wait_for(lambda: len(server.log()) > 5 * rate, seconds=30)
                down = server.folder / "down"
                down.touch()
                began = time.time()
                time.sleep(lasts)
                down.unlink()
                back = time.time()
                time.sleep(12)
                process.terminate()
                self.assertEqual(process.wait(10), 143, work.stderr())
            accepted = sorted(r.end for r in server.log().accepted())
            failed = [i for i, outcome in work.outcomes().items() if outcome != "success"]
            probes = sum(began + 1 < r.start < back for r in server.log())
        after = [sum(back + s <= t < back + s + 1 for t in accepted) for s in range(12)]
        measured(f"away for {lasts} s: {probes} probes; accepted in each second after: {after}; failed: {failed}")
        self.assertEqual(failed, [])
        self.assertGreaterEqual(sum(after[5:11]), 0.9 * 6 * rate)
        self.assertLessEqual(probes, 10 + 2 * lasts)

    def test_answers_of_seconds(self):
        count = 3000 if LONG else 1000
        with limited("50r/s", 10, latency_ms=(4000, 8000)) as server:
            log = self.send("50/s, answers of 6 s", server, count)
        self.assertLessEqual(log.seconds(), 1.15 * count / 50 + 12)  # the first answer takes 4 to 8 s, and the last
        self.assertLessEqual(len(log.throttled()), max(15, 0.01 * len(log)))

    def test_a_limit_that_closes(self):
        zone = "limit_req_zone $binary_remote_addr zone=all:1m rate=30r/s;"
        with servers.nginx("limit_req zone=all burst=5 nodelay; limit_req_status 444;", zone, (20, 40)) as server:
            with Work(gets(server, 400)) as work:
                work.run("--cold", "--alone")
                log, lost = server.log(), sum(outcome != "success" for outcome in work.outcomes().values())
        closed = sum(r.status == 444 for r in log)
        measured(f"30/s, and what is above is closed: {log.seconds():.1f} s, {closed} closed, {lost} lines lost")
        # Of seven runs 66 to 68 are closed, and no line lost. While what breaks on a kept connection taught nothing, 126 to
        # 162 were closed; before a closed connection told of a limit, 289 and 294, and 20 and 16 lines lost.
        self.assertLessEqual(log.seconds(), 1.3 * 400 / 30)
        self.assertLessEqual(closed, 110)
        self.assertLessEqual(lost, 3)

    def test_a_window_that_counts_what_it_closes(self):
        with counts_rejects(20, refuse="reject") as server, Work(gets(server, 300)) as work:
            work.run("--cold", "--alone")
            log, lost = server.log(), sum(outcome != "success" for outcome in work.outcomes().values())
        closed = len(log) - len(log.accepted())
        measured(f"20 in 1 s, and what is above is closed and counts: {log.seconds():.1f} s, {closed} closed, {lost} lost")
        # Of five runs 77 to 80 are closed. While too much is sent all is: before a row of them shut the limit, 637 and 659,
        # and 144 and 150 lines were lost.
        self.assertLessEqual(log.seconds(), 2 * 300 / 20)
        self.assertLessEqual(closed, 150)
        self.assertLessEqual(lost, 6)

    def test_a_server_that_closes_each_kept_connection(self):
        def lines(url):
            for i in range(300):
                put, body = i % 2 == 0, "x" * (20 if i % 4 < 2 else 100_000)
                how = {"method": "PUT"} if put else {"method": "POST", "idempotency_key": f"k{i}"}
                yield json.dumps({"url": f"{url}/{i}", "body": body, **how})

        with servers.nginx("if ($connection_requests != 1) { return 444; }", latency_ms=(2, 10)) as server:
            with Work(lines(server.url)) as work:
                work.run("--cold", "--alone")
                log, outcomes = server.log(), work.outcomes()
        broken = len(log) - len(log.accepted())
        measured(f"bodies, and each kept connection closes: {broken} broken, 300 lines")
        self.assertEqual(outcomes, succeeded(300), "a line whose kept connection broke goes by a new one")
        self.assertEqual(log.twice(), [])

    def test_a_limit_that_closes_in_company(self):
        clients, lines = 5, 100
        zone = "limit_req_zone $binary_remote_addr zone=all:1m rate=20r/s;"
        with (
            servers.nginx("limit_req zone=all burst=5 nodelay; limit_req_status 444;", zone, (20, 40)) as server,
            contextlib.ExitStack() as stack,
        ):
            works = [stack.enter_context(Work(gets(server, lines))) for _ in range(clients)]
            running = [stack.enter_context(w.start("--cold", "--alone", "--progress", "none")) for w in works]
            for process in running:
                process.wait(300)
            log = server.log()
            lost = sum(outcome != "success" for work in works for outcome in work.outcomes().values())
        closed = sum(r.status == 444 for r in log)
        measured(f"5 clients on 20/s, and what is above is closed: {log.seconds():.1f} s, {closed} closed, {lost} lost")
        # Of twelve runs 6 to 71 lines are lost; before a row of tests told of a limit, 141 in each of two.
        self.assertLessEqual(lost, 100)

    def test_few_a_minute(self):
        with limited("40r/m", 10, latency_ms=(20, 80)) as server:
            log = self.send("40 a minute", server, 40)
        # Of 301 simulated runs the median refuses 13, and two more than 16.
        self.assertLessEqual(len(log.throttled()), 16)

    def test_company(self):
        lasts, clients, rate = (300 if LONG else 50), 5, 20
        with limited(f"{rate}r/s", 20, latency_ms=(20, 80)) as server, contextlib.ExitStack() as stack:
            works = [stack.enter_context(Work(f"{server.url}/{client}/{i}" for i in range(rate * lasts)))
                     for client in range(clients)]
            running = [stack.enter_context(work.start("--cold", "--alone", "--progress", "none")) for work in works]
            time.sleep(lasts)
            for process in running:
                process.terminate()
            self.assertEqual([process.wait(10) for process in running], [143] * clients)
            log = server.log()
        begins = min(r.start for r in log)
        third = [r for r in log.accepted() if begins + lasts * 2 / 3 <= r.end < begins + lasts]
        shares = [sum(r.path.startswith(f"/{client}/") for r in third) for client in range(clients)]
        jain = sum(shares) ** 2 / (clients * sum(s * s for s in shares))
        used = len(third) / (rate * lasts / 3)
        measured(f"5 clients on 20/s, {lasts} s: Jain of the last third {jain:.3f} {shares}, {100 * used:.1f} % used, "
                 f"{100 * log.throttled_share():.1f} % refused")
        self.assertGreaterEqual(jain, 0.65 if LONG else 0.3)  # of 31 simulated 5 min .69 to .99, the median .91
        self.assertGreaterEqual(used, 0.97 if LONG else 0.9)
        self.assertLessEqual(log.throttled_share(), 0.05 if LONG else 0.15)


def load_tests(loader, _tests, _pattern):
    return Abreast(loader.loadTestsFromTestCase(Trouble))


if __name__ == "__main__":
    unittest.main()
