"""Seed text 002's job: DescribeCluster of many clusters, 4 a second, with what throttles as EMR does.

By headway run, which signs as AWS asks, and by headway exec with awscli as it is. HEADWAY_LONG=1 takes 1,000 clusters and
200, with botocore's adaptive mode beside them.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from work import BINARY, Work, measured

LONG = bool(os.environ.get("HEADWAY_LONG"))
RATE = 4
AWS = "/usr/bin/aws"
MOCK = os.environ.get("HEADWAY_MOCK", BINARY)
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}


def processor_seconds():
    """Of this process, and of all those that it started and that have ended."""
    of = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in of)


class Actions(BaseHTTPRequestHandler):
    """What awscli's describe-cluster asks besides: actions with limits of their own. DescribeCluster goes to the mock."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        action = self.headers["X-Amz-Target"].partition(".")[2]
        if action != "DescribeCluster":
            return self.answer(200, json.dumps({action.removeprefix("List"): []}).encode())
        request = urllib.request.Request(self.server.behind + "/", body, dict(self.headers))
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, answer.read())
        except urllib.error.HTTPError as refused:
            self.answer(refused.code, refused.read())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Emr:
    """headway mock as EMR, while the block lasts."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name, "log")
        self._process = subprocess.Popen(
            [MOCK, "mock", "--style", "emr", "--limit", f"rate={RATE}/s,burst={RATE}", "--latency", "100ms",
             "--listen", "127.0.0.1:0", "--log", self._log],
            stdout=subprocess.PIPE, text=True,
        )
        self.url = re.search(r"http://[^\s/]+", self._process.stdout.readline()).group()
        self._front = ThreadingHTTPServer(("127.0.0.1", 0), Actions)
        self._front.daemon_threads = True
        self._front.behind = self.url
        self.front = f"http://127.0.0.1:{self._front.server_port}"
        threading.Thread(target=self._front.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._front.shutdown()
        self._front.server_close()
        self._process.terminate()
        self._process.communicate()
        self._folder.cleanup()

    def judge(self, law, count):
        """Its time as a share of what is ideal, and the share of refusals, by its log."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        accepted = [float(f[0]) for f in lines if f[3] == "200"]
        refused = len(lines) - len(accepted)
        took = max(accepted) - min(accepted)
        ideal = (count - RATE) / RATE
        measured(f"{law}: {len(accepted)} of {count} clusters in {took:.1f} s ({took / ideal:.3f} of ideal), "
                 f"{refused} of {len(lines)} attempts refused")
        return len(accepted), took / ideal, refused / len(lines)


@unittest.skipUnless("emr" in subprocess.run([MOCK, "mock", "--help"], capture_output=True, text=True).stdout,
                     "headway mock has no --style emr")
class SeedText002(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pool = ThreadPoolExecutor(1)
        cls.addClassCleanup(pool.shutdown)
        cls.run_beside = pool.submit(cls.by_run)

    @staticmethod
    def by_run():
        """How many were accepted, the time as a share of what is ideal, the share of refusals; and of how many."""
        count = 1000 if LONG else 60
        target = {"X-Amz-Target": "ElasticMapReduce.DescribeCluster", "Content-Type": "application/x-amz-json-1.1"}
        with Emr() as server, Work() as work:
            work.write(json.dumps({"url": server.url + "/", "headers": target, "body": {"ClusterId": f"j-{i:013}"}})
                       for i in range(count))
            code = work.run("--aws-sigv4", "aws:amz:eu-west-1:elasticmapreduce", "--profile", "aws", "--cold", "--alone",
                            timeout=900, **KEYS)
            assert code == 0, work.stderr()
            return *server.judge("run, SigV4", count), count

    def test_run(self):
        accepted, slower, refused, count = self.run_beside.result()
        self.assertEqual(accepted, count)
        self.assertLessEqual(slower, 1.05 if LONG else 1.3)
        self.assertLessEqual(refused, 0.03 if LONG else 0.15)

    @unittest.skipUnless(os.path.exists(AWS), "there is no awscli (Debian: awscli)")
    def test_exec_with_awscli(self):
        """Two processors are hardly enough for four awscli a second: then their time is what is ideal."""
        count = 200 if LONG else 16
        before = processor_seconds()
        with Emr() as server, Work(f"j-{i:013}" for i in range(count)) as work:
            code = work.exec("jobs.txt", "--cold", "--alone", "--", AWS, "emr", "describe-cluster", "--cluster-id", "{}",
                             "--endpoint-url", server.front, timeout=900, **KEYS)
            self.assertEqual(code, 0, work.stderr())
            accepted, slower, refused = server.judge("exec, awscli", count)
            self.assertTrue(all(json.loads(r["stdout"])["Cluster"]["Id"] for r in work.results()))
        floor = (processor_seconds() - before) / os.cpu_count() / ((count - RATE) / RATE)
        measured(f"the processors alone needed {floor:.2f} of ideal")
        self.assertEqual(accepted, count)
        if LONG:
            self.assertLessEqual(slower, 1.15 * max(1, floor))
            self.assertLessEqual(refused, 0.03)

    @unittest.skipUnless(LONG, "HEADWAY_LONG=1 measures it")
    def test_botocore_adaptive_beside(self):
        count = 200
        script = (
            "import sys, botocore.session, botocore.config\n"
            "c = botocore.session.get_session().create_client('emr', endpoint_url=sys.argv[1], region_name='eu-west-1',\n"
            "    config=botocore.config.Config(retries={'mode': 'adaptive', 'max_attempts': 20}))\n"
            "for i in range(int(sys.argv[2])): c.describe_cluster(ClusterId=f'j-{i:013}')\n"
        )
        with Emr() as server:
            subprocess.run([sys.executable, "-c", script, server.url, str(count)], check=True, env={**os.environ, **KEYS})
            server.judge("botocore, adaptive, one thread", count)


if __name__ == "__main__":
    unittest.main()
