"""What a journal's runs may spend in all, by the server's log, however they end."""
import json
import signal
import unittest

import servers
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


if __name__ == "__main__":
    unittest.main()
