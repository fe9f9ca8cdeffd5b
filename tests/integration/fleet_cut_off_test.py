"""Four of eight hosts lose the database, but not the server: together they exceed the limit by no more than status says."""
import contextlib
import json
import os
import subprocess
import time
import unittest

import postgres
import servers
from fleet_test import fleet
from work import Work, gets, measured, wait_for

RATE = 200
SECONDS = float(os.environ.get("HEADWAY_CUT_OFF_SECONDS", 6))
NAME = f"headway-{os.getpid()}"
API, DATABASE, THERE = "198.18.77.1", "198.18.77.2", "198.18.77.9"  # of the network for tests of devices


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True)


@contextlib.contextmanager
def another_network():
    """A network namespace with a cable to ours; this end has the addresses API and DATABASE."""
    ends = f"hw{os.getpid()}a", f"hw{os.getpid()}b"
    try:
        ip("netns", "add", NAME)
    except (OSError, subprocess.CalledProcessError):
        raise unittest.SkipTest("no network namespace can be made here: NOTHING IS CUT OFF") from None
    try:
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1], "netns", NAME)
        for address in (API, DATABASE):
            ip("address", "add", f"{address}/24", "dev", ends[0])
        ip("link", "set", ends[0], "up")
        ip("-n", NAME, "address", "add", f"{THERE}/24", "dev", ends[1])
        ip("-n", NAME, "link", "set", ends[1], "up")
        yield
    finally:
        ip("netns", "delete", NAME)


class CutOff(unittest.TestCase):
    def test_four_of_eight(self):
        with (
            another_network(),
            postgres.postgres(listen_addresses=f"127.0.0.1,{DATABASE}") as server,
            servers.nginx("limit_req zone=all burst=20 nodelay;", f"limit_req_zone $server_port zone=all:1m rate={RATE}r/s;",
                          (20, 80), host=API) as api,
            contextlib.ExitStack() as stack,
        ):  # fmt: skip
            url = server.url_of(server.name, host=DATABASE, sslmode="disable")
            for i in range(8):
                work = stack.enter_context(Work(gets(api, 20_000)))
                where = ("ip", "netns", "exec", NAME) if i < 4 else ()
                host = work.start("--limit-at", url, prlimit=where, XDG_RUNTIME_DIR=str(work.path))
                stack.callback(host.wait)
                stack.callback(host.kill)

            def limit():
                (found,) = json.loads(fleet("status", "--json", "--fleet", server.url).stdout)["limits"] or [None]
                return found

            def sent(begin, end):
                return sum(begin <= entry.end < end for entry in api.log()) / (end - begin)

            wait_for(lambda: (found := limit()) and len(found["hosts"]) == 8 and found["cuts"] > 0, seconds=40)
            time.sleep(SECONDS / 2)
            cut = time.time()
            before = sent(cut - SECONDS / 2, cut)
            ip("-n", NAME, "route", "add", "blackhole", f"{DATABASE}/32")
            time.sleep(SECONDS)
            status = limit()
            end = time.time()
            self.assertEqual(status["unheard"], 4)
            self.assertEqual(status["excess"], 0.5)
            while_cut = sent(cut, end)
            ip("-n", NAME, "route", "delete", "blackhole", f"{DATABASE}/32")
            wait_for(lambda: limit()["unheard"] == 0, seconds=40)  # they are back
            measured(f"{before:.0f}/s were sent before, {while_cut:.0f}/s while four of eight were cut off; "
                     f"said: at most {100 * status['excess']:.0f} % more")  # fmt: skip
            self.assertLessEqual(while_cut, RATE * (1 + status["excess"]) * 1.05)
            self.assertGreaterEqual(while_cut, RATE * 0.5)  # those that are left go on


if __name__ == "__main__":
    unittest.main()
