"""headway mock and the simulator are one server: the same law on both, by the mock's log.

HEADWAY_LONG=1 compares all limits; otherwise four of them.
"""
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from work import BINARY, Work, measured

PACED = "fixed(rate=120/s)"
WINDOW = "tahoe(cut=0.5,cwnd=10)"
CASES = {  # limit: law, requests
    "rate=100/s,burst=10": (PACED, 300),
    "concurrent=8": (WINDOW, 400),
    "table=80/s,level=1%,saved=10s": (PACED, 300),
    "queue=4,waiting=5": (WINDOW, 300),
    "rate=60/s,burst=1": (PACED, 200),
    "rate=200/s,burst=50": ("fixed(rate=300/s)", 600),
    "rate=20/s,burst=5": ("adaptive-rate(start=40/s,no-backoff)", 100),
    "concurrent=3": (WINDOW, 200),
    "concurrent=20,error-holds=20ms": (WINDOW, 500),
    "window=100/s": (PACED, 300),
    "window=30/500ms": (PACED, 200),
    "window=100/s,aligned": (PACED, 300),
    "sliding=80/s": (PACED, 240),
    "sliding=20/250ms": (PACED, 240),
    "sliding=140/s,counts-rejects": (PACED, 300),
    "queue=2,waiting=20": (WINDOW, 120),
    "ban=5/10s,for=2s": ("fixed(rate=20/s)", 60),
    "table=50/s,level=1%,saved=5s": (PACED, 150),
    "slope=50%/1s,from=50/s,burst=5": (PACED, 300),
    "slope=20%/2s,from=80/s": (PACED, 300),
}
ALONE = {"ban=5/10s,for=2s": ["rate=15/s,burst=2"]}  # what a ban is for
LATENCY = "40ms"
SHORT = 4


def simulated(limits, law, requests, folder):
    """(seconds, refused share), medians of nine seeds."""
    text = f"limit = {json.dumps(limits)}\nlatency = \"{LATENCY}\"\nclients = {{ requests = {requests} }}\n"
    Path(folder, "s.toml").write_text(text)
    done = subprocess.run([BINARY, "simulate", "s.toml", "--law", law, "--json", "-"], cwd=folder,
                          capture_output=True, text=True, timeout=120, check=True)
    median = json.loads(done.stdout)["scenarios"][0]["laws"][0]["median"]
    return median["completion_s"], median["throttled_share"]


def served(limits, law, requests, folder):
    """(seconds, refused share), by the mock's log."""
    log = Path(folder, "log")
    options = [word for limit in limits for word in ("--limit", limit)]
    mock = subprocess.Popen(
        [BINARY, "mock", "--listen", "127.0.0.1:0", "--log", log, "--latency", LATENCY, *options],
        stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", mock.stdout.readline()).group()
        with Work([f"{url}/{i}" for i in range(requests)]) as work:
            assert work.run("--cold", "--alone", "--law", law) == 0, work.stderr()
    finally:
        mock.terminate()
        mock.communicate()
    lines = [line.split() for line in log.read_text().splitlines()]
    starts = [float(f[0]) for f in lines]
    ends = [float(f[0]) + float(f[5]) / 1000 for f in lines if f[3] == "200"]
    assert len(ends) == requests
    return max(ends) - min(starts), sum(f[3] == "429" for f in lines) / len(lines)


class MockAndSimulator(unittest.TestCase):
    def test_agree(self):
        apart = []
        with tempfile.TemporaryDirectory() as folder:
            for limit, (law, requests) in list(CASES.items())[: None if os.environ.get("HEADWAY_LONG") else SHORT]:
                limits = ALONE.get(limit, []) + [limit]
                seconds, refused = simulated(limits, law, requests, folder)
                took, throttled = served(limits, law, requests, folder)
                measured(f"{', '.join(limits)}, {law}: simulated {seconds:.2f} s, {100 * refused:.1f} %; "
                         f"served {took:.2f} s, {100 * throttled:.1f} %")
                if abs(took - seconds) > 0.05 * seconds or abs(throttled - refused) > 0.01:
                    apart.append(limit)
        self.assertEqual(apart, [])

    def test_an_outage_is_silent_and_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            mock = subprocess.Popen(
                [BINARY, "mock", "--listen", "127.0.0.1:0", "--schedule", "0s:outage; 2s:unlimited"],
                stdout=subprocess.PIPE, text=True)
            try:
                url = re.search(r"http://\S+", mock.stdout.readline()).group()
                with Work([json.dumps({"url": f"{url}/1", "timeout": "1s"})]) as work:
                    code = work.run("--cold", "--alone")
                    self.assertEqual(code, 0, work.stderr())
            finally:
                mock.terminate()
                said = mock.communicate()[0]
            self.assertRegex(said, r"\n[1-9]\d* were never answered")


if __name__ == "__main__":
    unittest.main()
