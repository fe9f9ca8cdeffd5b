"""What a journal's runs may spend in all, by the server's log, however they end."""
import json
import signal
import unittest

import servers
from sockets import Scripted
from work import Work, measured, wait_for

COST = 100  # tokens, of each answer
METERED = f"""}} location /v1 {{ default_type application/json; echo_sleep 0.02;
  echo '{{"usage": {{"total_tokens": {COST}, "prompt_tokens": 60, "completion_tokens": 40}}}}'; }} location /other {{"""
KILLS = (signal.SIGINT, signal.SIGKILL, signal.SIGKILL)


class Cap(unittest.TestCase):
    def spend(self, lines):
        """Attempts in the server's log after runs that end in all ways, with a cap of 200.5 answers."""
        options = "--spend-max", f"tokens={200 * COST + COST // 2}", "--concurrency", "4", "--law", "fixed"
        with servers.nginx(METERED) as server, Work(lines(server)) as work:
            for how in KILLS:
                with work.start(*options) as process:
                    size = len(server.log())
                    wait_for(lambda: len(server.log()) > size + 40 or process.poll() is not None)
                    process.send_signal(how)
                    process.wait()
            for _ in range(3):
                self.assertEqual(work.run(*options), 77, work.stderr())
                self.assertRegex(work.stderr(), r"--spend-max tokens=20050: \d+ spent in all runs")
            sent = server.log()
            cancelled = sum(r.status == 499 for r in sent)
            measured(f"a cap of 200 answers: {len(sent)} attempts, {cancelled} of them cut off by kills")
            # What was not yet on the wire at a kill counts as spent, too: it may have been.
            self.assertLessEqual(len(sent), 201)
            self.assertGreaterEqual(len(sent), 199 - 4 * KILLS.count(signal.SIGKILL))
            # More may be spent when the user says so, and no line is done twice.
            self.assertEqual(work.run("--law", "fixed", "--spend-max", f"tokens={210 * COST + COST // 2}"), 77, work.stderr())
            self.assertLessEqual(len(server.log()), 211)
            self.assertGreater(len(server.log()), len(sent))
            outcomes = work.outcomes()
            return server.log(), outcomes

    def test_over_stops_and_kills_of_what_may_be_repeated(self):
        log, outcomes = self.spend(lambda server: [f"{server.url}/v1/{i}" for i in range(400)])
        self.assertEqual(set(outcomes.values()), {"success"})

    def test_over_stops_and_kills_of_what_may_not(self):
        post = lambda server, i: json.dumps({"url": f"{server.url}/v1/{i}", "body": {"n": i}})
        log, outcomes = self.spend(lambda server: [post(server, i) for i in range(400)])
        paths = [r.path for r in log]
        self.assertEqual(len(paths), len(set(paths)))

    def test_runs_without_a_cap_count(self):
        with servers.nginx(METERED) as server, Work([f"{server.url}/v1/{i}" for i in range(60)]) as work:
            self.assertEqual(work.run("--only", "30"), 0, work.stderr())
            self.assertEqual(work.run("--spend-max", f"tokens={40 * COST}"), 77, work.stderr())
            self.assertEqual(len(server.log()), 40)
            self.assertEqual(work.run("--spend-max", f"tokens={40 * COST}"), 77, work.stderr())
            self.assertEqual(len(server.log()), 40)


class Estimates(unittest.TestCase):
    def test_after_the_first_ten(self):
        price = "--price", "input=0.5/k,output=2/k"
        with servers.nginx(METERED) as server, Work([f"{server.url}/v1/{i}" for i in range(1010)]) as work:
            self.assertEqual(work.run("--dry-run"), 0, work.stderr())
            self.assertIn("1010 left; --only 10 tells what they cost", (work.path / "stdout").read_text())
            self.assertEqual(work.run(*price, "--only", "10"), 0, work.stderr())
            self.assertIn("\nspent in all runs: 600 input, 400 output, 1000 tokens, 1.1 usd\n", work.stderr())
            rest = r"1000 left: about 60000 input, 40000 output, 100k tokens, 110 usd, [\d.]+ (s|min \d+ s), as those"
            self.assertRegex(work.stderr(), rest)
            self.assertEqual(work.run("--dry-run"), 0, work.stderr())
            self.assertRegex((work.path / "stdout").read_text(), rest)


class Computing(unittest.TestCase):
    """POSTs that only compute, as the profile says, are sent again; any other is not."""

    def test_a_500_is_sent_again(self):
        seen = set()

        def answer(n, request):
            first = request.path + str(request.body) not in seen
            seen.add(request.path + str(request.body))
            return (500 if first else 200), {}, {"usage": {"total_tokens": 1}}

        with Scripted(answer) as server, Work() as work:
            line = lambda path, i: json.dumps({"id": f"{path}{i}", "url": f"{server.url}/v1/{path}", "body": {"i": i}})
            work.write(line(path, i) for path in ("embeddings", "files") for i in range(3))
            self.assertEqual(work.run("--profile", "openai", "--dry-run"), 0, work.stderr())
            said = (work.path / "stdout").read_text()
            self.assertIn("3 POSTs only compute, as 'computes' of the profile says", said)
            self.assertIn("some requests are not idempotent", said)
            self.assertEqual(work.run("--profile", "openai", "--cold"), 1, work.stderr())
            attempts = {r["id"]: (r["outcome"], r["attempts"]) for r in work.results()}
            self.assertEqual(attempts, {
                **{f"embeddings{i}": ("success", 2) for i in range(3)}, **{f"files{i}": ("failed", 1) for i in range(3)}
            })  # fmt: skip

    def test_a_kill_leaves_nothing_unknown(self):
        with servers.nginx(METERED) as server, Work() as work:
            work.write(json.dumps({"url": f"{server.url}/v1/embeddings", "id": str(i), "body": {}}) for i in range(60))
            options = "--profile", "openai", "--law", "fixed", "--concurrency", "8"
            with work.start(*options) as process:
                wait_for(lambda: len(server.log()) > 20)
                process.kill()
            self.assertEqual(work.run(*options), 0, work.stderr())
            self.assertEqual(set(work.outcomes().values()), {"success"})


class Money(unittest.TestCase):
    def test_a_cap_in_a_currency(self):
        """An answer costs 60 × 0.5/k + 40 × 2/k = 0.11."""
        price = "--price", "input=0.5/k,output=2/k"
        with servers.nginx(METERED) as server, Work([f"{server.url}/v1/{i}" for i in range(60)]) as work:
            self.assertEqual(work.run(*price, "--spend-max", "usd=1.15", "--law", "fixed"), 77, work.stderr())
            self.assertEqual(len(server.log()), 10)
            self.assertIn("--spend-max usd=1.15: 1.1 spent in all runs", work.stderr())
            (work.path / "mine.toml").write_text(
                '[usage]\nin = "/usage/prompt_tokens"\n[price]\neur = { in = "1/k" }\n'
            )
            mine = "--profile", "./mine.toml", "--journal", "j", "--out", "o"
            self.assertEqual(work.run(*mine, "--spend-max", "eur=0.35", "--law", "fixed"), 77, work.stderr())
            self.assertEqual(len(server.log()), 15)
            self.assertEqual(work.run("--price", "input=5/s"), 2)
            self.assertIn("--price 'input=5/s': ", work.stderr())


if __name__ == "__main__":
    unittest.main()
