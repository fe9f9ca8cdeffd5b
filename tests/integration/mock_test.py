"""headway mock and the simulator are one server: the same law on both, by the mock's log.

HEADWAY_LONG=1 compares all limits; otherwise four of them.
"""
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from work import BINARY, Work, measured

RATE = "adaptive-rate(start=150/s,cut=0.8,rise=0.2/s,no-backoff)"
CASES = {  # limits, or a schedule; law, requests
    "rate=100/s,burst=10": (RATE, 300),
    "concurrent=8": ("seek", 500),
    "table=80/s,level=1%,saved=10s": (RATE, 300),
    "slope=50%/1s,from=50/s,burst=5": ("seek", 300),
    "queue=4,waiting=5": ("seek", 400),
    "shared=2,at-work=9": ("seek", 400),
    "rate=60/s,burst=1": ("seek", 300),
    "rate=200/s,burst=50": (RATE, 600),
    "concurrent=20,error-holds=20ms": ("seek", 900),
    "window=100/s": ("seek", 300),
    "window=30/500ms": ("seek", 300),
    "window=100/s,aligned": ("seek", 300),
    "sliding=80/s": ("seek", 300),
    "sliding=20/250ms": ("seek", 300),
    "sliding=140/s,counts-rejects": ("seek", 500),
    "queue=2,waiting=20": ("seek", 200),
    "ban=5/10s,for=2s rate=15/s,burst=2": ("seek", 100),
    "table=50/s,level=1%,saved=5s": ("seek", 200),
    "slope=20%/2s,from=80/s": ("seek", 300),
    "0s:rate=100/s,burst=10; 2s:rate=40/s,burst=10": ("seek", 300),
    "0s:rate=80/s,burst=10; 1s:outage,shows=failure; 2s:rate=80/s,burst=10": ("seek", 300),
}
LATENCY, ERROR_LATENCY = "40ms", "20ms"
SHORT = 4
TRIES = 3


class Metronome:
    """How late this machine wakes what sleeps, while the block lasts: what a request's arrival is late by."""

    def __enter__(self):
        self._late, self._over = [], threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _tick(self):
        while not self._over.is_set():
            due = time.monotonic() + 0.002
            time.sleep(0.002)
            self._late.append(time.monotonic() - due)

    def jitter(self):
        """As the simulator says it: the most; the latest hundredth is let out."""
        return max(200e-6, sorted(self._late)[99 * len(self._late) // 100])


def simulated(limits, law, requests, begins, jitter, folder):
    """[(seconds, refused share)] of nine seeds."""
    said = f"schedule = {json.dumps(limits)}" if ":" in limits else f"limit = {json.dumps(limits.split())}"
    Path(folder, "s.toml").write_text(
        f'{said}\nlatency = "{LATENCY}"\nerror-latency = "{ERROR_LATENCY}"\n'
        f'jitter = "{1e6 * jitter:.0f}us"\nwakes-late = "{1e6 * jitter:.0f}us"\n'
        f'clients = {{ requests = {requests}, joins = "{1000 * begins:.0f}ms" }}\n')
    done = subprocess.run([BINARY, "simulate", "s.toml", "--law", law, "--json", "-"], cwd=folder,
                          capture_output=True, text=True, timeout=120, check=True)
    return [(run["completion_s"], run["throttled_share"])
            for run in json.loads(done.stdout)["scenarios"][0]["laws"][0]["runs"]]


def served(limits, law, requests, folder):
    """(seconds, refused share, when the first came), by the mock's log."""
    log = Path(folder, "log")
    options = ["--schedule", limits] if ":" in limits else [w for one in limits.split() for w in ("--limit", one)]
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
    return max(ends) - min(starts), sum(f[3] == "429" for f in lines) / len(lines), min(starts)


class MockAndSimulator(unittest.TestCase):
    def test_agree(self):
        """Within 5 % and 1 point of what the simulator has with timers as punctual as its own, or as late as here."""
        apart = []
        with tempfile.TemporaryDirectory() as folder:
            for limits, (law, requests) in list(CASES.items())[: None if os.environ.get("HEADWAY_LONG") else SHORT]:
                for _ in range(TRIES):
                    with Metronome() as machine:
                        took, refused, begins = served(limits, law, requests, folder)
                    late = machine.jitter()
                    runs = [run for jitter in (200e-6, late / 2, late)
                            for run in simulated(limits, law, requests, begins, jitter, folder)]
                    times, shares = zip(*runs)
                    agree = (0.95 * min(times) <= took <= 1.05 * max(times)
                             and min(shares) - 0.01 <= refused <= max(shares) + 0.01)
                    measured(f"{limits}, {law}: simulated {min(times):.2f} to {max(times):.2f} s, {100 * min(shares):.1f} to "
                             f"{100 * max(shares):.1f} %; served {took:.2f} s, {100 * refused:.1f} %, timers {1000 * late:.1f} ms "
                             f"late{'' if agree else ': APART'}")
                    if agree:
                        break
                else:
                    apart.append(limits)
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
