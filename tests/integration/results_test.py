"""What becomes of the answers: what succeeds, what is kept of them, what is done again."""
import threading
import unittest

import sockets
from work import Work, gets, post, succeeded, wait_for


def answer(status, body=b"ok", kind="text/plain"):
    return sockets.ok(body, kind).replace(b"200 OK", f"{status} Some".encode(), 1)


def by_path(answers, otherwise=None):
    """Answers of a server, by the request's path without its slash."""
    return lambda request, before: answers.get(request.path[1:], otherwise or sockets.ok())


def paths(server):
    return sorted(request.path[1:] for request in server.heard)


class Results(unittest.TestCase):
    def test_ok_says_which_statuses_succeed(self):
        answers = by_path({"1": answer(404), "2": answer(410), "3": answer(200)})
        with sockets.Server(answers) as server, Work(gets(server, 3)) as work:
            self.assertEqual(work.run("--ok", "404"), 1, work.stderr())
            self.assertEqual(work.outcomes(), {"1": "success", "2": "failed", "3": "failed"})
            self.assertEqual(work.results()[0].get("reason"), None)
            self.assertEqual(work.run("--ok", "2xx"), 2)
            self.assertIn("--ok '2xx': \"2xx\" is neither a status from 200 to 599", work.stderr())

    def test_only_does_the_first_and_a_later_run_goes_on(self):
        with sockets.Server(by_path({"5": answer(404)})) as server:
            with Work(["# first", ""] + gets(server, 5)) as work:
                self.assertEqual(work.run("--only", "2"), 0, work.stderr())
                self.assertEqual(paths(server), ["1", "2"])
                self.assertEqual(work.run("--only", "2"), 0, work.stderr())
                self.assertIn(
                    "0 succeeded, 0 failed, 0 unknown, 2 were done before in", work.stderr()
                )
                self.assertEqual(work.run(), 1, work.stderr())
                self.assertEqual(paths(server), ["1", "2", "3", "4", "5"])
                self.assertEqual(work.run("--only", "4"), 0, work.stderr())
                self.assertEqual(work.run("--only", "5"), 1, work.stderr())

    def test_only_reads_no_more_of_standard_input(self):
        with sockets.Server(by_path({})) as server, Work(gets(server, 5)) as work:
            with open(work.path / "jobs.txt") as jobs:
                self.assertEqual(work.run("--only", "2", jobs="-", stdin=jobs), 0, work.stderr())
            self.assertEqual(paths(server), ["1", "2"])

    def test_failed_lines_are_written_as_they_were_given(self):
        answers = by_path({"2": answer(404), "4": answer(400)})
        with sockets.Server(answers) as server, Work() as work:
            lines = [f"{server.url}/{i}".encode() for i in range(1, 5)]
            given = lines[1] + b" \r\n", lines[3]
            (work.path / "jobs.txt").write_bytes(
                lines[0] + b"\n# a comment\n" + given[0] + lines[2] + b"\n" + given[1]
            )
            failed = work.path / "failed.txt"
            self.assertEqual(work.run("--failed", "failed.txt"), 1, work.stderr())
            self.assertEqual(failed.read_bytes(), b"".join(given))
            self.assertEqual(failed.stat().st_mode & 0o777, 0o600)
            server.answer = by_path({})
            self.assertEqual(work.run("--failed", "again.txt", jobs="failed.txt"), 0, work.stderr())
            self.assertEqual((work.path / "again.txt").read_bytes(), b"")
            # The states of earlier runs count, too.
            failed.unlink()
            self.assertEqual(work.run("--failed", "failed.txt"), 1, work.stderr())
            self.assertEqual(failed.read_bytes(), b"".join(given))

    def test_failed_lines_go_nowhere_else(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            for file in ("jobs.txt", "jobs.txt.headway", "./jobs.results.jsonl", "no/x", "."):
                with self.subTest(file):
                    self.assertEqual(work.run("--failed", file), 2)
            self.assertEqual(work.run("--failed", "failed.txt", jobs="-"), 2)
            self.assertIn("standard input cannot be read a second time", work.stderr())
            self.assertEqual(
                [file.name for file in work.path.iterdir() if "jobs" in file.name], ["jobs.txt"]
            )

    def test_again_reopens_what_has_ended(self):
        answers = by_path({"b": answer(404), "c": None})
        with sockets.Server(answers) as server, Work() as work:
            work.write([f"{server.url}/a", f"{server.url}/b", post(server, "c"), f"{server.url}/d"])
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(
                [r["outcome"] for r in sorted(work.results(), key=lambda r: r["line"])],
                ["success", "failed", "unknown", "success"],
            )
            server.heard.clear()
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(paths(server), [])
            self.assertEqual(work.run("--again", "failed", "--dry-run"), 0, work.stderr())
            self.assertEqual(work.run("--again", "failed"), 1, work.stderr())
            self.assertEqual(paths(server), ["b"])
            server.answer = by_path({})
            self.assertEqual(work.run("--again", "unknown"), 1, work.stderr())
            self.assertEqual(paths(server), ["b", "c"])
            self.assertEqual(work.run("--again", "all"), 0, work.stderr())
            self.assertEqual(paths(server), ["b", "b", "c"])
            self.assertEqual(work.run("--again", "all"), 0, work.stderr())
            self.assertEqual(paths(server), ["b", "b", "c"])
            # Every result is still there, and the later one of an id wins.
            self.assertEqual(len(work.results()), 4 + 1 + 1 + 1)
            last = {r["id"]: r["outcome"] for r in work.results()}
            self.assertEqual(set(last.values()), {"success"})

    def test_again_reopens_of_the_first_only(self):
        with sockets.Server(by_path({}, answer(404))) as server, Work(gets(server, 4)) as work:
            self.assertEqual(work.run(), 1, work.stderr())
            server.answer = by_path({})
            self.assertEqual(work.run("--only", "2", "--again", "all"), 0, work.stderr())
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(paths(server), ["1", "1", "2", "2", "3", "4"])

    def test_a_run_that_is_killed_after_reopening_loses_nothing(self):
        with sockets.Server(by_path({}, answer(404))) as server, Work(gets(server, 30)) as work:
            self.assertEqual(work.run("--no-canary"), 1, work.stderr())
            go = threading.Event()
            served = by_path({})
            server.answer = lambda request, before: go.wait(10) and served(request, before)
            server.heard.clear()
            with work.start("--again", "failed") as process:
                wait_for(lambda: server.heard)
                process.kill()
            go.set()
            server.answer = served
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertEqual(
                {r["id"] for r in work.results() if r["outcome"] == "success"}, set(succeeded(30))
            )
            self.assertEqual(len(work.results()), 60)

    def test_canary_stops_a_run_that_cannot_succeed(self):
        refused = answer(401, b'{"error": "no such key"}', "application/json")
        with sockets.Server(by_path({}, refused)) as server, Work(gets(server, 1000)) as work:
            self.assertEqual(work.run("--concurrency", "5"), 77, work.stderr())
            self.assertIn("the first 20 requests all failed with status 401", work.stderr())
            self.assertIn('{"error": "no such key"}', work.stderr())
            self.assertLessEqual(len(server.heard), 25)
            server.answer = by_path({})
            self.assertEqual(work.run("--again", "failed"), 0, work.stderr())
        with sockets.Server(by_path({}, refused)) as server, Work(gets(server, 30)) as work:
            self.assertEqual(work.run("--no-canary"), 1, work.stderr())
        answers = by_path({"7": answer(404)}, refused)
        with sockets.Server(answers) as server, Work(gets(server, 30)) as work:
            self.assertEqual(work.run(), 1, work.stderr())

    def test_stop_if(self):
        answers = by_path({str(i): sockets.ok() for i in range(1, 91)}, answer(404))
        for limit in ("failed>5", "failed>5%"):
            with self.subTest(limit), sockets.Server(answers) as server:
                with Work(gets(server, 1000)) as work:
                    options = "--concurrency", "2", "--stop-if", "unknown>0", "--stop-if", limit
                    self.assertEqual(work.run(*options), 77, work.stderr())
                    self.assertIn(f"stopped: {limit} (", work.stderr())
                    self.assertLess(len(server.heard), 110)
        with sockets.Server(answers) as server, Work(gets(server, 93)) as work:
            self.assertEqual(work.run("--stop-if", "failed>3"), 1, work.stderr())

    def test_a_share_of_few_does_not_stop(self):
        answers = by_path({"1": answer(404)})
        with sockets.Server(answers) as server, Work(gets(server, 100)) as work:
            self.assertEqual(work.run("--stop-if", "failed>30%"), 1, work.stderr())

    def test_fail_if(self):
        answers = by_path({"1": answer(404)})
        with sockets.Server(answers) as server, Work(gets(server, 100)) as work:
            fail = "--fail-if", "failed>0.5%"
            self.assertEqual(work.run(*fail, "--fail-if", "throttled>1%"), 3, work.stderr())
            self.assertEqual(len(server.heard), 100)
            self.assertIn("--fail-if failed>0.5%: 1 of 100 requests failed", work.stderr())
            self.assertEqual(work.run(*fail), 1, work.stderr())
            self.assertEqual(work.run("--fail-if", "failed>x"), 2)
            self.assertIn("--fail-if 'failed>x': ", work.stderr())

    def test_throttles_can_stop_it_too(self):
        refused = answer(429)
        with sockets.Server(by_path({}, refused)) as server, Work(gets(server, 100)) as work:
            options = "--stop-if", "throttled>3"
            self.assertEqual(work.run(*options, timeout=60), 77, work.stderr())
            self.assertIn("attempts were throttled", work.stderr())

    def test_select_keeps_a_part_of_a_success(self):
        kind = "application/json; charset=utf-8"
        answers = by_path(
            {
                "1": sockets.ok(b'{"a": [{"b": 1.50}, 2]}', kind),
                "2": sockets.ok(b'{"c": 1}', kind),
                "3": sockets.ok(b"text"),
                "4": answer(400, b'{"error": "why"}', kind),
                "5": sockets.ok(b'{"n": 123456789012345678901234, "a": [7]}', kind),
                "6": sockets.ok(b'\xef\xbb\xbf{"n": "\\ud800", "a": [1e400, 7]}', kind),
            }
        )
        with sockets.Server(answers) as server, Work(gets(server, 6)) as work:
            self.assertEqual(work.run("--select", "/a/0"), 1, work.stderr())
            results = {r["id"]: r for r in work.results()}
            bodies = [results[str(i)]["body"] for i in range(1, 7)]
            self.assertEqual(bodies, [{"b": 1.5}, None, "text", {"error": "why"}, 7, "1e400"])
            self.assertEqual(sorted(i for i in results if "reason" in results[i]), ["3", "4"])
            self.assertIn("--select: 1 body is no JSON that can be read, and is kept whole (line 3: ", work.stderr())
            self.assertEqual(work.run("--select", "a"), 2)
            self.assertIn("--select 'a': not a JSON pointer", work.stderr())

    def test_a_host_that_no_header_goes_to_is_told(self):
        with sockets.Server(by_path({})) as server, Work(gets(server, 1)) as work:
            options = "--header", "A: b", "--header-for", "nohost", "--header-for", server.url
            self.assertEqual(work.run(*options), 0, work.stderr())
            self.assertEqual(work.stderr().count("headway: --header-for nohost: no request of JOBS goes there\n"), 1)
            self.assertEqual(work.stderr().count("--header-for"), 1)
            with open(work.path / "jobs.txt") as jobs:
                self.assertEqual(work.run(*options, jobs="-", stdin=jobs), 0, work.stderr())
            self.assertIn("--header-for nohost: no request of JOBS goes there\n", work.stderr())

    def test_out_dir_keeps_bodies_as_files(self):
        answers = by_path(
            {
                "1": sockets.ok(b'{"a": 1 }', "application/json"),
                "2": sockets.ok(b"\xff\x00", "image/png"),
                "3": sockets.ok(b""),
                "4": answer(404, b"no such", "text/plain"),
            }
        )
        for level in ("power", "process"):
            with self.subTest(level), sockets.Server(answers) as server:
                with Work(gets(server, 4)) as work:
                    options = "--out-dir", "out", "--durability", level
                    self.assertEqual(work.run(*options), 1, work.stderr())
                    files = {file.name: file.read_bytes() for file in (work.path / "out").iterdir()}
                    self.assertEqual(
                        files,
                        {
                            "00000001.json": b'{"a": 1 }',
                            "00000002.bin": b"\xff\x00",
                            "00000004.txt": b"no such",
                        },
                    )
                    named = {r["id"]: r.get("body_file") for r in work.results()}
                    self.assertEqual(
                        named,
                        {
                            "1": "out/00000001.json",
                            "2": "out/00000002.bin",
                            "3": None,
                            "4": "out/00000004.txt",
                        },
                    )
                    self.assertEqual([r for r in work.results() if "body" in r], [])
                    self.assertEqual(work.run("--out-dir", "jobs.txt"), 2)
                    self.assertEqual(work.run("--out-dir", "out", "--select", "/a"), 2)

    def test_no_result_without_its_body(self):
        """Killed at any moment: what the results name is there whole."""
        body = b"x" * 100_000
        with sockets.Server(by_path({}, sockets.ok(body))) as server:
            with Work(gets(server, 500)) as work:
                for _ in range(4):
                    with work.start("--out-dir", "out") as process:
                        before = len(work.results())
                        wait_for(lambda: len(work.results()) > before + 20)
                        process.kill()
                    for result in work.results():
                        self.assertEqual((work.path / result["body_file"]).read_bytes(), body)
                self.assertEqual(work.run("--out-dir", "out"), 0, work.stderr())
                self.assertEqual(work.outcomes(), succeeded(500))
                self.assertEqual(len(list((work.path / "out").glob("*.bin"))), 0)
                self.assertEqual(len(list((work.path / "out").glob("*.txt"))), 500)


if __name__ == "__main__":
    unittest.main()
