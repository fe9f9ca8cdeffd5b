"""The judge itself: a log with each fault, and what it says of it."""
import tempfile
import unittest
from pathlib import Path

import log
import servers
from limits_test import hammer


def read(*lines, unit=1.0):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "access.log").write_text("".join(line + "\n" for line in lines))
        return log.read(Path(folder, "access.log"), unit)


class Judge(unittest.TestCase):
    def test_reads(self):
        self.assertEqual(
            read("12.500 0.250 200 GET /a Bearer x y"),
            [(12.25, 12.5, 200, "GET", "/a", "Bearer x y")],
        )
        self.assertEqual(
            read("12500 250 200 GET /a", unit=0.001), [(12.25, 12.5, 200, "GET", "/a", "")]
        )

    def test_answered_twice(self):
        self.assertEqual(read("1 0 200 GET /a", "2 0 429 GET /a", "3 0 200 GET /b").twice(), [])
        self.assertEqual(read("1 0 200 GET /a", "2 0 200 GET /b", "3 0 200 GET /a").twice(), ["/a"])

    def test_share_of_the_limit(self):
        half = read(*[f"{i} 0 200 GET /{i}" for i in range(0, 21)])  # 21 in 20 s
        self.assertAlmostEqual(half.share(2, 1), 21 / 41)
        self.assertEqual(half.throttled_share(), 0)
        hammered = read(*[f"{i} 0 {503 if i % 4 else 200} GET /{i}" for i in range(0, 21)])
        self.assertAlmostEqual(hammered.share(1, 0), 6 / 20)
        self.assertAlmostEqual(hammered.throttled_share(), 15 / 21)

    def test_in_flight(self):
        self.assertEqual(
            read("1 1 200 GET /a", "2 1 200 GET /b").peak_in_flight(), 1
        )  # one after the other
        self.assertEqual(
            read("2 2 200 GET /a", "1.5 1 200 GET /b", "1 0 429 GET /c").peak_in_flight(), 3
        )

    def test_busiest(self):
        even = read(*[f"{i * 0.05:.3f} 0 200 GET /{i}" for i in range(100)])
        self.assertEqual(even.busiest(1), 20)
        crowded = read(
            *[f"{i * 0.05:.3f} 0 200 GET /{i}" for i in range(100)],
            "2.01 0 200 GET /x",
            "2.02 0 200 GET /y",
        )
        self.assertEqual(crowded.busiest(1), 22)

    def test_p95(self):
        self.assertEqual(read(*[f"100 {i} 200 GET /{i}" for i in range(1, 101)]).p95(), 95)

    def test_a_client_that_ignores_the_limit_is_seen(self):
        with servers.limit_req(37, "burst=10 nodelay") as server:
            self.assertTrue(hammer(server, 100, seconds=10))
            self.assertGreater(server.log().throttled_share(), 0.3)
            self.assertGreater(server.log().share(37, 10), 0.9)

    def test_a_server_that_complains_is_seen(self):
        with self.assertRaisesRegex(AssertionError, "invalid sleep duration"):
            with servers.nginx("echo_sleep nonsense;") as server:
                hammer(server, 1, seconds=0.1)


if __name__ == "__main__":
    unittest.main()
