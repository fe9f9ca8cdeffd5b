"""headway limits: what was learned, forgotten and set, while runs live and processes are killed."""
import json
import os
import re
import subprocess
import time
import unittest

import servers
from work import BINARY, Work, gets, measured, wait_for

BUCKET = "burst=10 nodelay; limit_req_status 429"


def limits(work, *arguments, wrapper=()):
    """(exit code, standard output, standard error)."""
    done = subprocess.run(
        [*wrapper, BINARY, "limits", *arguments],
        cwd=work.path,
        env=work.environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr


def kept(work):
    """The scopes of the file, which is whole or not there."""
    file = work.path / "state/headway/limits.json"
    return json.loads(file.read_text())["scopes"] if file.exists() else {}


class KnownLimits(unittest.TestCase):
    def test_what_a_run_learned_is_listed_explained_and_forgotten(self):
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 150)) as work:
            self.assertEqual(work.run(), 0, work.stderr())
            here = f"127.0.0.1:{server.port}"
            _, out, _ = limits(work, "--json")
            (scope,) = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(scope["scope"], f"http://{here}")
            self.assertAlmostEqual(scope["rate"], 50, delta=10)
            self.assertEqual(scope["processes"], 0)
            _, out, _ = limits(work)
            self.assertRegex(out, rf"(?m)^{re.escape(here)} +[0-9.]+/s ")
            _, out, _ = limits(work, "why", here)
            self.assertRegex(out, "last cut .* ago, by an answer: status 429")
            code, out, _ = limits(work, "forget", "127.*")
            self.assertEqual(code, 0)
            self.assertIn(f"forgotten: {here}", out)
            self.assertEqual(kept(work), {})
            code, out, error = limits(work, "forget", "127.*")
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(error, 'headway: no scope matches "127.*"; none is known\n')

    def test_what_was_set_is_where_a_run_begins(self):
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 200)) as work:
            code, _, error = limits(work, "set", server.url, "rate=50/s")
            self.assertEqual(code, 0, error)
            self.assertEqual(work.run("--alone"), 0, work.stderr())
            refused = len(server.log().throttled())
            measured(f"refused of 200, the limit set by hand: {refused}")
            self.assertLessEqual(refused, 2)

    def test_a_short_latency_is_said_in_milliseconds(self):
        """Before: 0.0 s."""
        with Work() as work:
            self.assertEqual(limits(work, "set", "http://a.example", "slots=8", "latency=7ms")[0], 0)
            self.assertRegex(limits(work)[1], r"(?m)^a\.example .* 7 ms ")

    def test_what_was_set_holds_where_the_server_has_no_limit(self):
        with servers.nginx() as server, Work(gets(server, 15)) as work:
            code, _, error = limits(work, "set", server.url, "rate=5/s")
            self.assertEqual(code, 0, error)
            for options, least, most in ((("--alone",), 5, 12), (("--alone", "--cold", "--again", "all"), 13, 15)):
                begin = len(server.log())
                work.run(*options)
                starts = sorted(r.start for r in server.log()[begin:])
                sent = sum(start < starts[0] + 2 for start in starts)
                measured(f"{options}: {sent} in the first two seconds, 5/s set by hand")
                self.assertGreaterEqual(sent, least)
                self.assertLessEqual(sent, most)
                for file in work.path.glob("jobs.*headway*"):
                    file.unlink()
                (work.path / "jobs.results.jsonl").unlink()

    def test_what_a_run_uses_for_the_first_time_is_known(self):
        """Before: `why` knew none, and the list had it."""
        with servers.nginx(latency_ms=(500, 500)) as server, Work(gets(server, 1000)) as work, work.start() as run:
            here = f"127.0.0.1:{server.port}"
            wait_for(lambda: here in limits(work)[1])
            code, out, error = limits(work, "why", here)
            self.assertEqual((code, out), (0, f"{here}: in use for the first time; what is learned of it is kept when that ends\n"), error)
            _, _, error = limits(work, "why", "other")
            self.assertEqual(error, f'headway: no scope matches "other"; known: {here}\n')
            run.terminate()

    def test_what_is_forgotten_while_runs_live_stays_forgotten(self):
        """Also what one that joined the other's pace has of it."""
        with servers.limit_req(50, BUCKET) as server, Work(gets(server, 400)) as work:
            with work.start() as first:
                wait_for(lambda: server.log().throttled())
                time.sleep(1)
                second = ["--journal", "2.headway", "--out", "2.jsonl", "--only", "150"]
                self.assertRegex(limits(work)[1], rf"(?m)^127.0.0.1:{server.port} .* 1 ")
                code, out, error = limits(work, "forget", "*")
                self.assertEqual(code, 0, error)
                self.assertIn("1 scope is in use: what the runs that live now have learned is not kept", out)
                self.assertEqual(work.run(*second), 0, work.stderr())
                self.assertEqual(first.wait(60), 0, work.stderr())
            self.assertEqual(kept(work), {})
            work.write(gets(server, 100))
            self.assertEqual(work.run("--journal", "3.headway", "--out", "3.jsonl"), 0)
            self.assertEqual(len(kept(work)), 1)

    def test_killed_at_each_call_the_file_is_whole_and_the_forgotten_stays_forgotten(self):
        """strace kills it at its n-th call that changes a file, for each n."""
        calls = "trace=openat,write,fdatasync,fsync,rename,unlink,flock"
        with Work() as work:
            for url in ("https://a.example", "https://b.example"):
                self.assertEqual(limits(work, "set", url, "rate=40/s")[0], 0)
            known = work.path / "state/headway/limits.json"
            whole = known.read_text()
            for verb in ("forget", "set"):
                done = False
                for n in range(1, 400, 1 if verb == "forget" else 4):
                    known.write_text(whole)
                    arguments = [verb, "a.example"] + ["rate=50/s"] * (verb == "set")
                    inject = f"inject=openat,write,fdatasync,fsync,rename,unlink,flock:signal=KILL:when={n}"
                    strace = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", calls, "-e", inject)
                    code, _, error = limits(work, *arguments, wrapper=strace)
                    after = kept(work)
                    self.assertIn("https://b.example:443", after)
                    if code == 0:
                        done = True
                        break
                    a = "https://a.example:443"
                    if verb == "set":
                        self.assertIn(after[a]["rate"], (40, 50))
                    else:
                        self.assertLessEqual(set(after), {a, "https://b.example:443"})
                    self.assertEqual(limits(work, *arguments)[0], 0 if a in after else 2)
                self.assertTrue(done, error)
                measured(f"{verb}: killed at calls up to {n - 1}")

    def test_bad_input_is_one_line(self):
        with Work() as work:
            for arguments, said in {
                ("set", "https://a.example", "rate=0/s"): "rate",
                ("set", "https://a.example", "slots=x"): "want a whole number from 1 to 1000000",
                ("set", "ftp://a.example", "rate=1/s"): "ftp",
                ("set", "not a url", "rate=1/s"): "want http://",
                ("set", "foo", "rate=1/s"): 'limits set: url "foo": want http://… or https://…\n',
                ("set", "https://a.example"): "want headway limits set URL rate=40/s",
                ("forget",): "want headway limits forget SCOPE",
                ("why", "a"): 'no scope matches "a"; none is known',
            }.items():
                with self.subTest(arguments):
                    code, out, error = limits(work, *arguments)
                    self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
                    self.assertIn(said, error)
            (work.path / "state").write_text("")
            (work.path / "diary").write_text("dear diary")
            code, _, error = limits(work, "--state", "diary")
            self.assertEqual((code, error.count("\n")), (2, 1))
            self.assertEqual((work.path / "diary").read_text(), "dear diary")


if __name__ == "__main__":
    unittest.main()
