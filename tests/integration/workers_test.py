"""Workers that come and go write to dynalite through a front whose capacity grows under load, after a delay.

HAProxy is the front: it counts what comes in a second, and a loop of ours raises what it admits, as autoscaling does.
"""
import contextlib
import json
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path

import npm
from dynamodb_test import KEYS, TABLE, THROTTLED, client, put, scan
from servers import closed_port, running
from work import Work, measured

HAPROXY = """
global
  stats socket {folder}/admin level admin
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option http-ignore-probes
  log stdout format raw local0
frontend limited
  bind 127.0.0.1:{port}
  log-format "%[date(0,ms)] %Ta %ST %HM %HP"
  stick-table type ip size 1k expire 10s store http_req_rate(1s)
  http-request track-sc0 src
  http-request set-var(txn.admits) str(table),map_str_int({folder}/admits)
  acl over sc_http_req_rate(0),sub(txn.admits) gt 0
  http-request return status 400 content-type application/x-amz-json-1.0 string '{throttled}' if over
  default_backend table
backend table
  server dynalite 127.0.0.1:{behind}
"""
AT_FIRST, AT_MOST, DELAY = 15, 120, 1.0  # writes a second; seconds of load before there is more


class Front:
    """HAProxy, and what it admits by now."""

    def __init__(self, port, folder):
        self.port, self.folder = port, folder
        self.admits = AT_FIRST
        self.grew = 0

    def statuses(self):
        return [int(line.split()[2]) for line in Path(self.folder, "access.log").read_text().splitlines()]

    def grow(self, over):
        """Doubles what is admitted, again and again, each time there were refusals for so long."""
        seen, hot_since = 0, None
        while not over.wait(0.1):
            statuses = self.statuses()
            refused = 400 in statuses[seen:]
            seen = len(statuses)
            hot_since = (hot_since or time.monotonic()) if refused else hot_since
            if hot_since and time.monotonic() - hot_since > DELAY and self.admits < AT_MOST:
                self.admits, self.grew, hot_since = 2 * self.admits, self.grew + 1, None
                with socket.socket(socket.AF_UNIX) as admin:
                    admin.connect(f"{self.folder}/admin")
                    admin.sendall(f"set map {self.folder}/admits table {self.admits}\n".encode())
                    admin.recv(100)


@contextlib.contextmanager
def growing(behind):
    with tempfile.TemporaryDirectory() as folder, closed_port() as port:
        Path(folder, "admits").write_text(f"table {AT_FIRST}\n")
        Path(folder, "haproxy.cfg").write_text(
            HAPROXY.format(folder=folder, port=port, behind=behind, throttled=THROTTLED))
        with running(["haproxy", "-db", "-f", "haproxy.cfg"], folder, port):
            front, over = Front(port, folder), threading.Event()
            grower = threading.Thread(target=front.grow, args=(over,))
            grower.start()
            try:
                yield front
            finally:
                over.set()
                grower.join()


class Workers(unittest.TestCase):
    WORKERS, WRITES = 6, 40

    def write_all(self, law):
        with npm.dynalite() as port, growing(port) as front:
            table = client(port)
            table.create_table(
                TableName=TABLE, KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST")
            while table.describe_table(TableName=TABLE)["Table"]["TableStatus"] != "ACTIVE":
                time.sleep(0.01)
            headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0"}
            with contextlib.ExitStack() as stack:
                workers = []
                for w in range(self.WORKERS):  # they come one by one, and each goes when it is done
                    lines = [json.dumps({"url": f"http://127.0.0.1:{front.port}/", "id": f"{w}.{i:03}", "headers": headers,
                                         "idempotency_key": f"{w}.{i}",
                                         "body": {"TableName": TABLE, **put(f"{w}.{i:03}", 20)["PutRequest"]}})
                             for i in range(self.WRITES)]
                    work = stack.enter_context(Work(lines))
                    workers.append((work, stack.enter_context(work.start(
                        "--cold", "--alone", "--profile", "aws", "--aws-sigv4", "aws:amz:us-east-1:dynamodb",
                        "--law", law, **KEYS))))
                    time.sleep(0.3)
                for work, process in workers:
                    self.assertEqual(process.wait(120), 0, work.stderr())
                said = [work.stderr() for work, _ in workers]
            self.assertEqual(scan(table), sorted(f"{w}.{i:03}" for w in range(self.WORKERS) for i in range(self.WRITES)))
            statuses = front.statuses()
        measured(f"{law}: {self.WORKERS} workers, {statuses.count(400)} of {len(statuses)} refused; "
                 f"the front went from {AT_FIRST} to {front.admits} a second")
        self.assertGreater(statuses.count(400), 0, "nothing was throttled: nothing is shown")
        self.assertGreater(front.grew, 0, "the front did not grow: nothing is shown")
        return said

    def test_with_the_auto_sleeper(self):
        said = self.write_all("auto-sleeper(initial=5ms,down=0.6,threshold=5)")
        for text in said:  # TotalInvocation, TotalWentUp, TotalWentDown, TotalSlept, TotalSleepTime
            self.assertRegex(text, r"of \d+ answers \d+ raised it and \d+ lowered it, \d+ sleeps of [\d.]+ s in all")

    def test_with_the_default_law(self):
        self.write_all("seek")


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
