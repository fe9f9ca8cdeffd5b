"""A local server that throttles as Amazon EMR does: what the laws of the guide make of a scan of all clusters.

HEADWAY_LONG=1 describes all 1,000 clusters at 4/s, as the guide has it; otherwise 60, ten times as fast.
"""
import contextlib
import json
import os
import re
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from work import BINARY, Work, measured

LONG = bool(os.environ.get("HEADWAY_LONG"))
CLUSTERS, FASTER = (1000, 1) if LONG else (60, 10)


@contextlib.contextmanager
def emr(*options):
    """(URL, log, last words) of headway mock --style emr at 4/s, or ten times that."""
    with tempfile.TemporaryDirectory() as folder:
        log, said = Path(folder, "log"), []
        process = subprocess.Popen(
            [BINARY, "mock", "--style", "emr", "--listen", "127.0.0.1:0", "--log", log,
             "--limit", f"rate={4 * FASTER}/s,burst=4", "--latency", f"{100 // FASTER}ms", *options],
            stdout=subprocess.PIPE, text=True,
        )
        try:
            url = re.search(r"http://\S+", process.stdout.readline()).group()
            yield url, lambda: [int(line.split()[3]) for line in log.read_text().splitlines()], said
        finally:
            process.terminate()
            said.append(process.communicate()[0])


def describe(url, count=CLUSTERS):
    headers = {"X-Amz-Target": "ElasticMapReduce.DescribeCluster", "Content-Type": "application/x-amz-json-1.1"}
    for i in range(count):
        yield json.dumps({"id": str(i), "url": url, "headers": headers, "body": {"ClusterId": f"j-{i:06}"}})


class Throttling(unittest.TestCase):
    def scan(self, name, law, *options):
        with emr(*options) as (url, log, said), Work(describe(url)) as work:
            self.assertEqual(
                work.run("--cold", "--alone", "--profile", "aws", "--law", law, timeout=3000), 0, work.stderr()
            )
            results = work.results()
            self.assertEqual(sorted(int(r["id"]) for r in results), list(range(CLUSTERS)))
            for r in results:
                self.assertEqual(r["body"]["Cluster"]["Id"], f"j-{int(r['id']):06}")
            statuses = log()
            took = float(re.search(r"in ([\d.]+) s \(|$", work.stderr()).group(1) or 0)
        self.assertEqual(statuses.count(200), CLUSTERS)
        refused = statuses.count(400) / len(statuses)
        measured(f"{name}: {len(statuses)} attempts, {100 * refused:.1f} % refused, {took} s")
        others = re.search(r"(\d+) requests of others: (\d+) throttled", said[0])
        return refused, int(others[2]) / int(others[1]) if others else None

    def test_the_laws_of_the_guide(self):
        rate = f"{10 * FASTER}/s"
        laws = {
            "naive": f"fixed(rate={rate})+backoff(constant,wait=0s)",
            "fixed": f"fixed(rate={4 * FASTER}/s)",
            "exponential, never reset": f"backoff(exponential,first={10 // FASTER}ms,cap={10240 // FASTER}ms,never)",
            "adaptive": f"adaptive-rate(start={rate},no-backoff)",
            "both": f"adaptive-rate(start={rate})",
            "default": "seek",
        }
        with ThreadPoolExecutor(len(laws)) as pool:  # each has a server of its own, and mostly waits
            naive, fixed, never, adaptive, both, default = (
                refused for refused, _ in pool.map(self.scan, laws.keys(), laws.values()))
        self.assertGreater(naive, 0.4)
        self.assertEqual(fixed, 0)
        for calm in (adaptive, both, default):
            self.assertLess(calm, naive / 2)
        self.assertGreater(never, default)

    def test_among_others_that_hammer(self):
        _, naive = self.scan("naive among others", f"fixed(rate={10 * FASTER}/s)+backoff(constant,wait=0s)", "--others", f"{2.5 * FASTER}/s")
        _, default = self.scan("default among others", "seek", "--others", f"{2.5 * FASTER}/s")
        measured(f"the others: {100 * naive:.0f} % refused beside naive, {100 * default:.0f} % beside the default law")
        self.assertLess(default, naive)

    def test_what_is_no_describe_cluster_is_told_so(self):
        with emr() as (url, _, _), Work(
            [json.dumps({"url": url, "body": {}}),
             json.dumps({"url": url, "headers": {"X-Amz-Target": "ElasticMapReduce.DescribeCluster"}, "body": {"ClusterId": "x"}})]
        ) as work:
            self.assertEqual(work.run("--cold", "--profile", "aws"), 1, work.stderr())
            said = [r["body"]["__type"] for r in work.results()]
            self.assertEqual(sorted(said), ["InvalidRequestException", "UnknownOperationException"])


if __name__ == "__main__":
    unittest.main()
