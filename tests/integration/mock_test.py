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

RATE = "adaptive-rate(start=150/s,cut=0.8,rise=0.2/s,no-backoff)"
CASES = {  # limit: law, requests
    "rate=100/s,burst=10": (RATE, 300),
    "concurrent=8": ("seek", 500),
    "table=80/s,level=1%,saved=10s": (RATE, 300),
    "slope=50%/1s,from=50/s,burst=5": ("seek", 300),
    "queue=4,waiting=5": ("seek", 400),
    "rate=60/s,burst=1": ("seek", 300),
    "rate=200/s,burst=50": (RATE, 600),
    "rate=20/s,burst=5": ("seek", 120),
    "concurrent=3": ("seek", 300),
    "concurrent=20,error-holds=20ms": ("seek", 900),
    "window=100/s": ("seek", 300),
    "window=30/500ms": ("seek", 300),
    "window=100/s,aligned": ("seek", 300),
    "sliding=80/s": ("seek", 300),
    "sliding=20/250ms": ("seek", 300),
    "sliding=140/s,counts-rejects": ("seek", 500),
    "queue=2,waiting=20": ("seek", 200),
    "ban=5/10s,for=2s": ("seek", 100),
    "table=50/s,level=1%,saved=5s": ("seek", 200),
    "slope=20%/2s,from=80/s": ("seek", 300),
}
ALONE = {"ban=5/10s,for=2s": ["rate=15/s,burst=2"]}  # what a ban is for
LATENCY, ERROR_LATENCY = "40ms", "20ms"
SHORT = 4
TRIES = 3  # a busy machine wakes the client and the mock late


def simulated(limits, law, requests, folder):
    """(seconds, refused share), medians of nine seeds."""
    text = (f'limit = {json.dumps(limits)}\nlatency = "{LATENCY}"\nerror-latency = "{ERROR_LATENCY}"\n'
            f"clients = {{ requests = {requests} }}\n")
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
        [BINARY, "mock", "--listen", "127.0.0.1:0", "--log", log, "--latency", LATENCY,
         "--error-latency", ERROR_LATENCY, *options],
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
                for _ in range(TRIES):
                    took, throttled = served(limits, law, requests, folder)
                    measured(f"{', '.join(limits)}, {law}: simulated {seconds:.2f} s, {100 * refused:.1f} %; "
                             f"served {took:.2f} s, {100 * throttled:.1f} %")
                    if abs(took - seconds) <= 0.05 * seconds and abs(throttled - refused) <= 0.01:
                        break
                else:
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
