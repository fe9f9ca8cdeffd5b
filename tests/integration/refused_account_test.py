"""An account that is refused for good: nothing more goes to it, whatever comes back later."""
import json
import threading
import time
import unittest

from sockets import Server, ok
from work import Work, measured

QUICK = 0.02


def refusal(code):
    body = json.dumps({"error": {"code": code}}).encode()
    return (
        f"HTTP/1.1 429 No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


class Account:
    """/warm is served, /money is the end of the credit after half a second; the rest is `late`'s."""

    def __init__(self, late):
        self.late = late
        self.lock = threading.Lock()
        self.sent = []  # (time, path)
        self.ended = None  # when the answer to /money left

    def answer(self, request, _):
        with self.lock:
            nth = sum(path == request.path for _, path in self.sent)
            self.sent.append((time.monotonic(), request.path))
        if request.path == "/warm":
            return ok()
        if request.path == "/money":
            time.sleep(0.5)
            self.ended = time.monotonic()
            return refusal("insufficient_quota")
        return self.late(request.path, nth)

    def after_the_end(self):
        return [path for at, path in self.sent if at > self.ended + 0.2]


class Refused(unittest.TestCase):
    def run_to_the_end(self, late, paths, *options):
        account = Account(late)
        with Server(account.answer) as server:
            with Work([f"{server.url}/{path}" for path in ("warm", "money", *paths)]) as work:
                begun = time.monotonic()
                code = work.run(
                    "--cold", "--alone", "--profile", "openai", "--progress", "none", *options, timeout=30
                )
                took = time.monotonic() - begun
                self.assertEqual(code, 77, work.stderr())
                self.assertEqual(account.after_the_end(), [], "sent after the account was refused")
                self.assertEqual(work.outcomes(), {"1": "success"}, "the others are left open")
        return took

    def test_what_was_in_flight_is_not_sent_again(self):
        def late(path, nth):
            if nth > 0:
                return ok()
            time.sleep(1)
            broken = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
            return broken if path == "/late500" else refusal("rate_limit_exceeded")

        paths = ("late500", "late429")
        self.run_to_the_end(late, paths, "--law", "fixed", "--concurrency", "8")

    def test_it_ends_once_what_was_in_flight_is_answered(self):
        def late(_, nth):
            time.sleep(QUICK if nth > 0 else 1)
            return refusal("rate_limit_exceeded")

        took = self.run_to_the_end(late, [f"slow{n}" for n in range(20)])
        measured(f"ended {took:.1f} s after the start, the last answer came after 1 to 2 s")


if __name__ == "__main__":
    unittest.main()
