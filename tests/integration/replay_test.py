"""A run's trace replays bit for bit; a number that was changed is named by its line."""
import contextlib
import json
import re
import subprocess
import tempfile
import unittest

import servers
from work import BINARY, Work, gets, measured, wait_for


def replay(work, *options):
    """(exit code, all that it said)."""
    done = subprocess.run(
        [BINARY, "replay", "trace", *options],
        cwd=work.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


class Replay(unittest.TestCase):
    def test_limit_req(self):
        with servers.limit_req(
            50, "burst=10 nodelay; limit_req_status 429", retry_after=1
        ) as server, Work(gets(server, 150)) as work:
            self.assertEqual(work.run("--trace", "trace"), 0, work.stderr())
            self.assertTrue(server.log().throttled(), "never throttled")
            lines = (work.path / "trace").read_text().splitlines()

            code, said = replay(work)
            self.assertEqual((code, said), (0, f"{len(lines) - 2} decisions replayed, all the same\n"))
            measured(said.strip())

            code, said = replay(work, "--law", "reno")
            self.assertEqual(code, 0, said)
            attempts = re.search(r"^attempts +(\d+) +(\d+)$", said, re.M)
            self.assertEqual(attempts.groups(), (str(len(server.log())),) * 2)

            for call, key in (("finish", "until"), ("wakeup", "at"), ("submit", "ticket")):
                with self.subTest(call):
                    number = self.plant(work, lines, call, key)
                    code, said = replay(work)
                    self.assertEqual(code, 1, said)
                    self.assertTrue(said.startswith(f"trace:{number}: the first difference"), said)

            broken = lines[:6] + ["{"] + lines[6:]
            (work.path / "trace").write_text("\n".join(broken))
            self.assertEqual(
                replay(work), (2, "headway: trace:7: not a line of a trace, a JSON object\n")
            )

    def plant(self, work, lines, call, key):
        """One number is one more; returns its line."""
        changed = list(lines)
        for i, line in enumerate(lines):
            fields = json.loads(line)
            if fields.get("call") == call and fields.get(key):
                changed[i] = line.replace(f'"{key}":{fields[key]}', f'"{key}":{fields[key] + 1}')
                (work.path / "trace").write_text("".join(line + "\n" for line in changed))
                return i + 1
        self.fail(f"no {call} with {key} in the trace")

    def test_runs_that_share_a_pace(self):
        """Each trace replays by itself; one run is killed meanwhile."""
        with servers.limit_req(100, "burst=20 nodelay; limit_req_status 429") as server, contextlib.ExitStack() as stack, \
                tempfile.TemporaryDirectory() as runtime:
            works = [stack.enter_context(Work(gets(server, 300))) for _ in range(4)]
            runs = [w.start("--trace", "trace", "--cold", XDG_RUNTIME_DIR=runtime) for w in works]
            for r in runs:
                stack.callback(r.kill)
            wait_for(lambda: (server.folder / "access.log").read_bytes().count(b"\n") > 300, 60)
            runs[3].kill()
            for w, r in zip(works[:3], runs):
                self.assertEqual(r.wait(100), 0, w.stderr())
                self.assertRegex(w.stderr(), "one pace with [23] other runs here")
            for w, r in zip(works, runs):
                code, said = replay(w)
                self.assertEqual(code, 0, said)
                self.assertIn('"page":"', (w.path / "trace").read_text())
                measured(said.split("\n")[0])
            text = (works[0].path / "trace").read_text()
            changed = re.sub(r'("page":"[^"]*r\d+=)[^,"\s]+', r"\g<1>9e99", text)  # all: some decide nothing
            self.assertNotEqual(changed, text)
            (works[0].path / "trace").write_text(changed)
            self.assertIn(replay(works[0])[0], (1, 2))

    def test_exec_shares_its_pace_though_it_is_traced(self):
        with tempfile.TemporaryDirectory() as runtime, contextlib.ExitStack() as stack:
            works = [stack.enter_context(Work(str(i) for i in range(40))) for _ in range(2)]
            runs = [w.launch("exec", "jobs.txt", "--trace", "trace", "--cold", "--rate", "20/s", "--quiet", "--",
                             "true", XDG_RUNTIME_DIR=runtime) for w in works]
            for w, r in zip(works, runs):
                self.assertEqual(w.wait(r, 60), 0, w.stderr())
                self.assertIn('"page":"', (w.path / "trace").read_text())
                self.assertEqual(replay(w)[0], 0)
            self.assertRegex(works[0].stderr() + works[1].stderr(), "one pace with 1 other run here")

    def test_scopes_that_were_evicted(self):
        with servers.nginx() as server, Work() as work:
            names = [str(i % 1100) for i in range(3300)]
            work.write(json.dumps({"url": server.url, "scope": name}) for name in names)
            self.assertEqual(work.run("--trace", "trace"), 0, work.stderr())
            lines = [json.loads(s) for s in (work.path / "trace").read_text().splitlines()]
            made = sum("name" in line for line in lines)
            measured(f"1100 scopes, room for 1000: {made} made")
            self.assertGreater(made, 1100)
            self.assertEqual(sum(line.get("call") == "end" for line in lines), made)
            code, said = replay(work)
            self.assertEqual(code, 0, said)

    def test_a_trace_that_cannot_be_written(self):
        with servers.nginx() as server, Work(gets(server, 20)) as work:
            self.assertEqual(work.run("--trace", "/dev/full"), 74)
            self.assertEqual(
                work.stderr().splitlines()[-1],
                "headway: cannot write /dev/full: No space left on device",
            )
            self.assertEqual(work.run(), 0, work.stderr())

    def test_a_killed_run_replays_as_far_as_it_went(self):
        with servers.nginx(latency_ms=(1, 1)) as server, Work(gets(server, 20000)) as work:
            with work.start("--trace", "trace") as process:
                while not (work.path / "trace").exists() or (
                    (work.path / "trace").stat().st_size < 1_000_000 and process.poll() is None
                ):
                    pass
                process.kill()
            code, said = replay(work)
            self.assertEqual(code, 0, said)
            self.assertIn("the trace stops before its run ended", said)


if __name__ == "__main__":
    unittest.main()
