"""What a line says goes out, what comes back is in the results, nothing unsafe goes out twice."""
import contextlib
import json
import socket
import unittest
from collections import Counter

import sockets
from work import Work, post


def close_kept_connection(request, before):
    """Answers the first request of a connection; reads the next one and closes."""
    return sockets.ok() if before == 0 else None


class Requests(unittest.TestCase):
    def test_a_server_that_does_not_take_connections(self):
        """Its queue is full: connecting hangs until it times out."""
        with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
            with contextlib.ExitStack() as held, Work() as work:
                for _ in range(4):
                    waiting = held.enter_context(socket.socket())
                    waiting.setblocking(False)
                    waiting.connect_ex(server.getsockname())
                url = f"http://127.0.0.1:{server.getsockname()[1]}"
                work.write([f"{url}/{i}" for i in range(1, 21)])
                options = ["--law", "reno", "--attempts-max", "2", "--connect-timeout", "300ms", "--no-canary"]
                self.assertEqual(work.run(*options), 1, work.stderr())
                self.assertEqual(set(work.outcomes().values()), {"failed"})
                self.assertEqual(len(work.outcomes()), 20)

    def test_an_attempt_takes_no_longer_than_timeout(self):
        """Before: a plain URL had no timeout, and for a minute nothing was said of what it waited for."""
        with socket.create_server(("127.0.0.1", 0)) as silent, Work() as work:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            work.write([f"{url}/1", json.dumps({"id": "2", "url": f"{url}/2", "timeout": 9})])
            options = ["--timeout", "7s", "--attempts-max", "1", "--no-canary", "--progress", "json"]
            self.assertEqual(work.run(*options), 1, work.stderr())
            reasons = {result["id"]: result["reason"] for result in work.results()}
            said = work.stderr()
        self.assertRegex(reasons["1"], "Operation timed out after 70")
        self.assertRegex(reasons["2"], "Operation timed out after 90")
        self.assertRegex(said, r'"waiting_for":"2 unanswered for \d\.\d s, given up in \d\.\d s"')

    def test_what_is_found_of_many_credentials_alike_is_one_line(self):
        quota = {"x-ratelimit-limit-tokens": "6000", "x-ratelimit-remaining-tokens": "5900", "x-ratelimit-reset-tokens": "1s"}
        with sockets.Scripted(lambda *_: (200, quota, b"")) as server, Work() as work:
            work.write(json.dumps({"url": f"{server.url}/{i}", "headers": {"Authorization": f"Bearer {i % 3}"}}) for i in range(30))
            self.assertEqual(work.run("--alone", "--rate", "50/s"), 0, work.stderr())
            self.assertRegex(work.stderr(), r"(?m)^127.0.0.1:\d+: quotas told: .* \(each of 3 credentials\)$")
            self.assertEqual(work.stderr().count("quotas told"), 1)

    def test_refusals_between_successes_may_be_a_throttle(self):
        """Before: nothing told what to do about a server that throttles by 403, or by 400."""
        for status in (400, 403):
            with self.subTest(status), sockets.Scripted(lambda n, _: (status if n % 2 else 200, {}, b"")) as server, Work() as work:
                work.write([f"{server.url}/{i}" for i in range(1, 101)])
                self.assertEqual(work.run("--alone"), 1, work.stderr())
                self.assertRegex(work.stderr(), rf"127.0.0.1:\d+: \d\d times {status} came between successes; ")
                lines = [line.strip() for line in work.stderr().splitlines() if line.startswith("  ")]
                (work.path / "mine.toml").write_text("\n".join(lines))
                server.script = lambda n, _: (status if n % 8 == 0 else 200, {}, b"")
                self.assertEqual(work.run("--alone", "--profile", "./mine.toml", "--again", "failed"), 0, work.stderr())

    def test_a_run_that_parks_says_by_which_field_and_in_which_unit(self):
        """Before: 5 h, and not a word of why, where something was left and flew."""
        fields = {"X-RateLimit-Limit": "9", "X-RateLimit-Reset": "19072"}
        with sockets.Scripted(lambda n, _: (200, fields | {"X-RateLimit-Remaining": str(max(8 - n, 0))}, b"")) as server, Work() as work:
            work.write([f"{server.url}/{i}" for i in range(20)])
            self.assertEqual(work.run("--alone"), 75, work.stderr())
            self.assertRegex(work.stderr(), r"(?m)^127.0.0.1:\d+ said: .*X-RateLimit-Reset: 19072 \(taken for seconds\)")
            self.assertIn("parked: the server asks to wait 5 h 17 min", work.stderr())

    def test_successes_with_an_error_as_their_body_are_counted(self):
        """Before: nothing told of them."""
        with sockets.Scripted(lambda n, r: (200, {}, {"error": {"code": "bad"}} if r.path == "/3" else {"ok": 1})) as server, Work() as work:
            work.write([f"{server.url}/{i}" for i in range(1, 6)])
            self.assertEqual(work.run("--alone"), 0, work.stderr())
            self.assertIn("\n1 succeeded, but have an error as their body, as line 3; if that is a failure, ", work.stderr())
            lines = [line.strip() for line in work.stderr().splitlines() if line.startswith("  ")]
            (work.path / "mine.toml").write_text("\n".join(lines))
            self.assertEqual(work.run("--alone", "--profile", "./mine.toml", "--out", "new", "--journal", "j"), 1, work.stderr())
            self.assertNotIn("succeeded, but", work.stderr())
            self.assertIn("failed: 1 × status 200 (line 3: ", work.stderr())

    def test_successes_that_say_that_there_were_too_many_are_throttles_by_the_rule_that_is_told(self):
        """Before: `ok: false` or a text as an error was not told of, and a throttle was told to be permanent."""
        for refusal in ({"ok": False, "error": "ratelimited"}, {"data": None, "errors": [{"extensions": {"code": "THROTTLED"}}]}, {"error": "Rate limit exceeded"}, {"code": 429}):
            with self.subTest(refusal), sockets.Scripted(lambda n, r: (200, {}, refusal if n % 5 == 2 else {"ok": True})) as server, Work() as work:
                work.write([f"{server.url}/{i}" for i in range(20)])
                self.assertEqual(work.run("--alone"), 0, work.stderr())
                self.assertRegex(work.stderr(), r"\n\d succeeded, but have an error as their body, as line \d+; if that is a throttle, ")
                lines = [line.strip() for line in work.stderr().splitlines() if line.startswith("  ")]
                (work.path / "mine.toml").write_text("\n".join(lines))
                self.assertEqual(work.run("--alone", "--profile", "./mine.toml", "--out", "new", "--journal", "j"), 0, work.stderr())
                self.assertNotIn("succeeded, but", work.stderr())
                self.assertRegex(work.stderr(), r"20 succeeded")
                self.assertRegex(work.stderr(), r"\d throttled")

    def test_a_line_is_sent_as_it_is_written(self):
        json_answer = sockets.ok(b'{"sum": 3}', "application/json")
        with sockets.Server(lambda request, before: json_answer) as server, Work() as work:
            form = {"Content-Type": "application/x-www-form-urlencoded", "X-Own": "1"}
            work.write(
                [
                    "# a comment, and a blank line",
                    "",
                    f"{server.url}/plain",
                    post(server, "text", method="PUT", body="a=b&c", headers=form),
                    post(
                        server, "json", body={"b": [1, "ü"]}, meta={"row": 7}, idempotency_key="k-1"
                    ),
                ]
            )
            self.assertEqual(work.run(), 0, work.stderr())
            heard = {request.path: request for request in server.heard}
            results = {result["id"]: result for result in work.results()}
        self.assertEqual((heard["/plain"].method, heard["/plain"].body), ("GET", b""))
        self.assertEqual((heard["/text"].method, heard["/text"].body), ("PUT", b"a=b&c"))
        self.assertEqual(
            heard["/text"].headers["content-type"], "application/x-www-form-urlencoded"
        )
        self.assertEqual(heard["/text"].headers["x-own"], "1")
        self.assertEqual(heard["/json"].method, "POST")
        self.assertEqual(json.loads(heard["/json"].body), {"b": [1, "ü"]})
        self.assertEqual(heard["/json"].headers["content-type"], "application/json")
        self.assertEqual(heard["/json"].headers["idempotency-key"], "k-1")
        self.assertEqual(set(results), {"3", "text", "json"})
        self.assertEqual(results["json"]["line"], 5)
        self.assertEqual(results["json"]["status"], 200)
        self.assertEqual(results["json"]["attempts"], 1)
        self.assertEqual(results["json"]["body"], {"sum": 3})
        self.assertEqual(results["json"]["meta"], {"row": 7})

    def test_a_connection_that_dies_after_a_post(self):
        with sockets.Server(close_kept_connection) as server, Work(
            [f"{server.url}/first"]
            + [post(server, f"post{i}") for i in range(10)]
            + [f"{server.url}/get{i}" for i in range(10)]
        ) as work:
            exit_code = work.run("--concurrency", "1")
            heard = Counter(request.path[1:] for request in server.heard)
            outcomes, results = work.outcomes(), work.results()
        posts = {f"post{i}": heard[f"post{i}"] for i in range(10)}
        self.assertEqual(set(posts.values()), {1}, posts)
        unknown = {id for id, outcome in outcomes.items() if outcome == "unknown"}
        self.assertTrue(unknown and unknown <= set(posts), unknown)
        self.assertEqual(
            {outcome for id, outcome in outcomes.items() if id not in unknown}, {"success"}
        )
        self.assertIn(2, [heard[f"get{i}"] for i in range(10)], "no GET met a dying connection")
        self.assertEqual(sum(heard.values()), sum(result["attempts"] for result in results))
        self.assertEqual(len(outcomes), 21)
        self.assertEqual(exit_code, 1)

    def test_a_dying_connection_and_a_post_without_a_body(self):
        with sockets.Server(close_kept_connection) as server, Work(
            [f"{server.url}/first"]
            + [json.dumps({"url": f"{server.url}/post{i}", "method": "POST"}) for i in range(10)]
        ) as work:
            work.run("--concurrency", "1")
            heard = Counter(request.path[1:] for request in server.heard)
        self.assertEqual(
            {f"post{i}": heard[f"post{i}"] for i in range(10)}, {f"post{i}": 1 for i in range(10)}
        )

    def test_a_post_with_a_key_goes_again(self):
        with sockets.Server(close_kept_connection) as server, Work(
            [f"{server.url}/first"]
            + [post(server, f"post{i}", idempotency_key=f"k{i}") for i in range(10)]
        ) as work:
            options = "--concurrency", "1", "--attempts-max", "20"
            self.assertEqual(work.run(*options), 0, work.stderr())
            keys = {
                (request.path, request.headers.get("idempotency-key")) for request in server.heard
            }
            self.assertEqual(set(work.outcomes().values()), {"success"})
        self.assertEqual(keys, {("/first", None)} | {(f"/post{i}", f"k{i}") for i in range(10)})


if __name__ == "__main__":
    unittest.main()
