"""What servers say beyond a status: obeyed, by the log of the server that said it."""
import json
import math
import time
import unittest

import servers
from sockets import Scripted
from work import Work, gets, measured


class Signals(unittest.TestCase):
    def gap_after(self, log, number):
        return log[number + 1][0] - log[number][0]

    def test_every_way_to_ask_for_a_pause_is_obeyed(self):
        ways = {
            "retry-after-ms": ({"retry-after-ms": "1200"}, b""),
            "decimal": ({"Retry-After": "1.2"}, b""),
            "azure": ({"x-ms-retry-after-ms": "1200"}, b""),
            "aws": ({"x-amz-retry-after": "1200"}, b""),
            "text": ({}, {"error": {"message": "Please try again in 1.2s."}}),
            "google": (
                {},
                {"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "1.2s"}]}},
            ),
            "quota": ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1.2"}, b""),
            "ietf": ({"RateLimit": '"default";r=0;t=2'}, b""),
        }
        for name, (headers, body) in ways.items():
            with self.subTest(name):
                refuse = lambda n, _: (429, headers, body) if n == 3 else (200, {}, b"ok")
                with Scripted(refuse) as server, Work(gets(server, 8)) as work:
                    self.assertEqual(work.run("--cold", "--concurrency", "1"), 0, work.stderr())
                    self.assertGreaterEqual(self.gap_after(server.log, 3), 1.15)
                    self.assertEqual(len(server.log), 9)

    def test_what_remains_is_counted(self):
        """Ten a period of two seconds, told on every answer: none is refused."""
        began = time.monotonic()

        def ten_in_two_seconds(n, _):
            period, at = divmod(time.monotonic() - began, 2)
            used[period] = used.get(period, 0) + 1
            left = 10 - used[period]
            reset = math.ceil((2 - at) * 1000) / 1000  # rounded down, it would be back too early
            told = {"X-RateLimit-Remaining": str(max(left, 0)), "X-RateLimit-Reset": f"{reset:.3f}"}
            return (429 if left < 0 else 200, told, b"")

        used = {}
        with Scripted(ten_in_two_seconds) as server, Work(gets(server, 35)) as work:
            self.assertEqual(work.run("--cold"), 0, work.stderr())
            refused = sum(status == 429 for _, _, status in server.log)
            measured(f"10 in 2 s, told: {refused} of {len(server.log)} refused")
            self.assertLessEqual(refused, 1)

    def test_money_stops_the_scope_and_a_later_run_goes_on(self):
        poor = (429, {}, {"error": {"code": "insufficient_quota"}})
        answers = lambda n, _: poor if 5 <= n < 100 and not paid else (200, {}, b"ok")
        paid = []
        with Scripted(answers) as server, Work(gets(server, 40)) as work:
            self.assertEqual(work.run("--profile", "openai"), 77, work.stderr())
            self.assertIn("insufficient_quota", work.stderr())
            self.assertLess(len(server.log), 12)
            self.assertTrue(all(o == "success" for o in work.outcomes().values()))
            paid.append(True)
            self.assertEqual(work.run("--profile", "openai"), 0, work.stderr())
            self.assertEqual(len(work.outcomes()), 40)

    def test_a_stopped_scope_is_not_forgotten(self):
        """More scopes than are kept at once, between two requests of one that was stopped."""
        bad = """} location = /bad { return 401 '{"error":{"code":"invalid_api_key"}}'; } location /good { """
        with servers.nginx(bad) as server, Work() as work:
            scoped = lambda path, scope, id: json.dumps({"url": server.url + path, "scope": scope, "id": id})
            others = [scoped("/good", f"s{i}", f"{i}") for i in range(1500)]
            work.write([scoped("/bad", "bad", "first"), *others, scoped("/bad", "bad", "second")])
            self.assertEqual(work.run("--profile", "openai", "--cold"), 77, work.stderr())
            self.assertEqual(len(work.outcomes()), 1500)
            self.assertEqual(sum(request.path == "/bad" for request in server.log()), 1)

    def test_a_401_after_its_scope_was_stopped_is_left_for_a_later_run(self):
        """A new token would be of no use: nothing may be queued where nothing more goes."""

        def answers(n, _):
            time.sleep(0.6)
            return poor if n == 0 else (401, {}, b"")

        poor = (429, {}, {"error": {"code": "insufficient_quota"}})
        token = ("--header-cmd", "Authorization: Bearer $(echo token)")
        with Scripted(answers) as server, Work(gets(server, 3)) as work:
            self.assertEqual(work.run("--profile", "openai", *token), 77, work.stderr())
            self.assertEqual(work.outcomes(), {})
            self.assertIn(len(server.log), (2, 3), "each once, and one with the first")

    def test_a_limit_that_only_refusals_name_is_kept(self):
        """A bucket as OpenAI's without its fields: ten requests at once, ten a second."""
        bucket = {"level": 10.0, "at": time.monotonic()}

        def answer(_, request):
            now = time.monotonic()
            bucket.update(level=min(10.0, bucket["level"] + 10 * (now - bucket["at"])), at=now)
            if bucket["level"] < 1:
                wait = (1 - bucket["level"]) / 10
                used = math.ceil(10 - bucket["level"])
                text = f"on requests per sec (RPS): Limit 10, Used {used}, Requested 1. Please try again in {wait:.3f}s."
                return 429, {}, {"error": {"code": "rate_limit_exceeded", "message": f"Rate limit reached for m {text}"}}
            bucket["level"] -= 1
            return 200, {}, b"ok"

        with Scripted(answer) as server, Work(gets(server, 100)) as work:
            self.assertEqual(work.run("--profile", "openai", "--cold"), 0, work.stderr())
            refused = sum(status == 429 for _, _, status in server.log)
            measured(f"10/s, named by refusals only: {refused} of {len(server.log)} refused")
            self.assertIn("quotas told: requests 10 (10/s)", work.stderr())
            self.assertLessEqual(refused, 5)

    def chats(self, server, models):
        bodies = [{"model": model, "messages": []} for model in models]
        return [json.dumps({"url": server.url + "/v1/chat/completions", "body": body}) for body in bodies]

    def test_each_model_has_a_limit_of_its_own(self):
        models = []

        def answer(_, request):
            models.append(json.loads(request.body)["model"])
            return (429, {"Retry-After": "2"}, b"") if models[-1] == "a" and models.count("a") == 1 else (200, {}, b"")

        with Scripted(answer) as server, Work() as work:
            work.write(self.chats(server, ["a", "b"] * 5))
            self.assertEqual(work.run("--profile", "openai", "--cold"), 0, work.stderr())
            self.assertEqual(models[-5:], ["a"] * 5, "b waited for a's limit")
            a = [at for (at, _, _), model in zip(server.log, models) if model == "a"]
            self.assertGreaterEqual(a[1] - a[0], 1.95)

    def test_money_is_not_a_matter_of_the_model(self):
        poor = (429, {}, {"error": {"code": "insufficient_quota"}})
        with Scripted(lambda n, _: poor if n == 5 else (200, {}, b"")) as server, Work() as work:
            work.write(self.chats(server, [m for m in "abcdefgh" for _ in range(30)]))
            self.assertEqual(work.run("--profile", "openai", "--cold", "--concurrency", "1"), 77, work.stderr())
            self.assertLess(len(server.log), 30)

    def test_what_a_run_may_spend_is_not_passed(self):
        answer = lambda n, _: (200, {}, {"usage": {"total_tokens": 100}})
        with Scripted(answer) as server, Work(gets(server, 50)) as work:
            options = "--profile", "openai", "--cold", "--spend-max", "tokens=1k"
            self.assertEqual(work.run(*options), 77, work.stderr())
            self.assertIn("--spend-max tokens=1000", work.stderr())
            self.assertEqual(len(server.log), 10)
            self.assertEqual(len(work.outcomes()), 10)
            self.assertEqual(work.run(*options[:3]), 0, work.stderr())
            self.assertEqual(len(server.log), 50)

    def test_a_cost_that_is_not_stated_cannot_be_bounded(self):
        with Scripted(lambda n, _: (200, {}, {})) as server, Work(gets(server, 50)) as work:
            self.assertEqual(work.run("--spend-max", "tokens=1k"), 77, work.stderr())
            self.assertIn("no answer says what it costs in tokens", work.stderr())
            self.assertLessEqual(len(server.log), 3)

    def test_a_day_s_quota_parks(self):
        used_up = {
            "error": {
                "status": "RESOURCE_EXHAUSTED",
                "details": [{"violations": [{"quotaId": "RequestsPerDay"}]}, {"retryDelay": "1s"}],
            }
        }
        with Scripted(lambda n, _: (429, {}, used_up)) as server, Work(gets(server, 5)) as work:
            self.assertEqual(work.run("--profile", "google"), 75, work.stderr())
            self.assertEqual(len(server.log), 1)

    def test_a_plain_401_fails_its_request_only(self):
        answers = lambda n, _: (401, {}, b"") if n == 2 else (200, {}, b"")
        with Scripted(answers) as server, Work(gets(server, 6)) as work:
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(sorted(work.outcomes().values()).count("success"), 5)

    def test_what_was_not_processed_goes_again(self):
        """DynamoDB's BatchWriteItem: half of the items each time."""
        written = []

        def half(_, request):
            items = json.loads(request.body)["RequestItems"]["t"]
            now, later = items[: (len(items) + 1) // 2], items[(len(items) + 1) // 2 :]
            written.extend(now)
            return 200, {}, {"UnprocessedItems": {"t": later} if later else {}}

        with Scripted(half) as server, Work() as work:
            lines = [
                {"url": server.url, "id": str(i), "body": {"RequestItems": {"t": [f"{i}.{k}" for k in range(25)]}}}
                for i in range(8)
            ]
            work.write([json.dumps(line) for line in lines])
            self.assertEqual(work.run("--profile", "aws"), 0, work.stderr())
            self.assertEqual(sorted(written), sorted(f"{i}.{k}" for i in range(8) for k in range(25)))

    @staticmethod
    def bulk(url, id, documents):
        lines = [json.dumps(line) for d in documents for line in ({"index": {"_id": d}}, {"d": d})]
        body = "".join(f"{line}\n" for line in [*lines, '{"delete":{"_id":"old"}}'])
        headers = {"Content-Type": "application/x-ndjson"}
        return json.dumps({"url": f"{url}/_bulk", "id": id, "headers": headers, "body": body})

    def bulk_server(self, done, bad=()):
        """Elasticsearch's bulk: has room for half of the operations of a request, or for two."""

        def answer(_, request):
            lines = [json.loads(line) for line in request.body.decode().splitlines()]
            items, taken, room = [], 0, max(2, len(lines) // 4)
            while lines:
                ((kind, where),) = lines.pop(0).items()
                if kind == "index":
                    self.assertEqual(lines.pop(0), {"d": where["_id"]})
                taken += 1
                if where["_id"] in bad:
                    item = {"status": 400, "error": {"type": "mapper_parsing_exception"}}
                elif taken > room:
                    item = {"status": 429, "error": {"type": "es_rejected_execution_exception"}}
                else:
                    item = {"status": 201}
                    done.append(where["_id"])
                items.append({kind: {"_id": where["_id"], **item}})
            return 200, {"Content-Type": "application/json"}, {
                "errors": any("error" in i for item in items for i in item.values()), "items": items
            }

        return Scripted(answer)

    def test_of_a_bulk_only_refused_operations_go_again(self):
        done = []
        documents = {str(i): [f"{i}.{k}" for k in range(20)] for i in range(5)}
        with self.bulk_server(done) as server, Work() as work:
            work.write([self.bulk(server.url, id, all) for id, all in documents.items()])
            self.assertEqual(work.run("--profile", "elasticsearch", "--cold"), 0, work.stderr())
            self.assertEqual(sorted(done), sorted(sum(documents.values(), ["old"] * 5)), "each once")
            for result in work.results():
                items = result["body"]["items"]
                ids = [i["_id"] for item in items for i in item.values()]
                self.assertEqual(ids, [*documents[result["id"]], "old"], "the answer is whole, and in order")
                self.assertEqual({i["status"] for item in items for i in item.values()}, {201})
                self.assertFalse(result["body"]["errors"])

    def test_of_a_bulk_what_is_refused_for_another_reason_fails(self):
        done = []
        with self.bulk_server(done, bad=["b"]) as server, Work() as work:
            work.write([self.bulk(server.url, "x", list("abcde")), self.bulk(server.url, "y", list("fg"))])
            self.assertEqual(work.run("--profile", "elasticsearch", "--cold"), 1, work.stderr())
            self.assertEqual(work.outcomes(), {"x": "failed", "y": "success"})
            (x,) = (r for r in work.results() if r["id"] == "x")
            self.assertIn("mapper_parsing_exception", x["reason"])
            items = x["body"]["items"]
            self.assertEqual([i["status"] for item in items for i in item.values()], [201, 400, 201, 201, 201, 201])
            self.assertTrue(x["body"]["errors"])
            self.assertEqual(sorted(done), sorted([*"acdefg", "old", "old"]))

    def test_what_was_done_in_part_is_not_done_again_after_a_stop(self):
        """A second part that is throttled for ever: the run is out of time, and the next one knows."""
        done = []
        with self.bulk_server(done) as real, Work() as work:
            script = real.script
            real.script = lambda n, r: script(n, r) if n == 0 else (429, {}, b"")
            work.write([self.bulk(real.url, "x", list("abc"))])
            options = "--profile", "elasticsearch", "--cold"
            self.assertEqual(work.run(*options, "--time-max", "2s"), 75, work.stderr())
            real.script = script
            self.assertEqual(work.run(*options), 1, work.stderr())
            self.assertEqual(work.outcomes(), {"x": "unknown"})
            self.assertEqual(done, ["a", "b"])

    def test_a_request_that_can_never_fit_fails_at_once(self):
        text = {"error": {"code": "rate_limit_exceeded", "message": "Limit 10, Requested 11."}}
        with Scripted(lambda n, _: (429, {}, text)) as server, Work(gets(server, 1)) as work:
            self.assertEqual(work.run("--profile", "openai"), 1, work.stderr())
            self.assertEqual(len(server.log), 1)

    def test_an_error_within_a_stream_goes_again(self):
        stream = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
        first = lambda n, _: (200, {"Content-Type": "text/event-stream"}, stream if n < 2 else b"data: 1\n\n")
        with Scripted(first) as server, Work(gets(server, 1)) as work:
            self.assertEqual(work.run("--profile", "anthropic"), 0, work.stderr())
            self.assertEqual(len(server.log), 3)

    def test_a_quota_that_excuses_every_refusal_is_not_believed(self):
        """It says that a quota is used up and back at once, and refuses for ever."""
        told = {f"x-ratelimit-{k}-requests": v for k, v in (("limit", "100"), ("remaining", "0"), ("reset", "0s"))}
        with Scripted(lambda n, _: (429, told, b"")) as server, Work(gets(server, 50)) as work:
            self.assertEqual(work.run("--cold", "--time-max", "15s"), 75, work.stderr())
            measured(f"refused for ever, at once: {len(server.log)} attempts in 15 s")
            self.assertLess(len(server.log), 40)

    def test_junk_never_makes_it_faster_nor_stop(self):
        """As many attempts, and no sooner, as with the same refusals and no hint at all."""
        junk = ["0", "-1", "1" * 40, "", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "1e-9", "\x00"]
        fields = ["Retry-After", "retry-after-ms", "X-RateLimit-Reset", "X-RateLimit-Remaining", "RateLimit"]
        hints = [{f: v} for f in fields for v in junk if v != "1" * 40 or f == "X-RateLimit-Reset"]

        def refuses_one_of_five(with_hints):
            def script(n, _):
                told = hints[n % len(hints)] if with_hints else {}
                told = {k: v.replace("\x00", "?") for k, v in told.items()}
                return (429 if n % 5 == 4 else 200, told, b"")

            return script

        took = {}
        for with_hints in (False, True):
            with Scripted(refuses_one_of_five(with_hints)) as server, Work(gets(server, 30)) as work:
                self.assertEqual(work.run("--cold", timeout=100), 0, work.stderr())
                took[with_hints] = server.log[-1][0] - server.log[0][0]
                self.assertEqual(len(work.outcomes()), 30)
        measured(f"30 requests, every fifth answer refuses: {took[False]:.1f} s, with junk {took[True]:.1f} s")
        self.assertGreaterEqual(took[True], 0.5 * took[False])


if __name__ == "__main__":
    unittest.main()
