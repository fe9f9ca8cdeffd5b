"""What cannot be done is said in one line, with the right exit code, and nothing is sent."""
import os
import subprocess
import unittest
from pathlib import Path

import servers
from work import BINARY, Work, gets, post, succeeded, wait_for


class Input(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(servers.nginx(latency_ms=(20, 80)))
        self.work = self.enterContext(Work(gets(self.server, 20)))

    def refused(self, exit_code, says, *options, sent=0, **how):
        """One line that contains each of `says`; `sent` requests in the server's log."""
        with self.work.start(*options, **how) as process:
            code = process.wait(20)
        line = self.work.stderr()
        self.assertEqual(code, exit_code, line)
        self.assertRegex(line, r"\Aheadway: [^\n]+\n\Z")
        for text in says:
            self.assertIn(text, line)
        self.assertEqual(len(self.server.log()), sent)

    def test_malformed_line(self):
        self.work.write([f"{self.server.url}/1", f'{{"url": "{self.server.url}/2", "method": }}'])
        self.refused(2, ["jobs.txt:2"])

    def test_not_a_url(self):
        self.work.write([f"{self.server.url}/1", "no url at all"])
        self.refused(2, ["jobs.txt:2"])

    def test_duplicate_id(self):
        self.work.write([post(self.server, "a")] * 2)
        self.refused(2, ["jobs.txt:2", '"a"', "line 1"])

    def test_no_such_file(self):
        self.refused(2, ["missing.txt"], jobs="missing.txt")

    def test_a_folder_for_jobs(self):
        Path(self.work.path, "folder").mkdir()
        self.refused(2, ["folder"], jobs="folder")

    def test_unreadable_file(self):
        Path(self.work.path, "jobs.txt").chmod(0)
        if os.access(self.work.path / "jobs.txt", os.R_OK):
            self.skipTest("root reads everything")
        self.refused(2, ["jobs.txt"])

    def test_unwritable_journal(self):
        self.refused(74, ["no/such/folder"], "--journal", "no/such/folder/journal")

    def test_unwritable_results(self):
        self.refused(2, ["no/such/folder"], "--out", "no/such/folder/results")

    def test_unknown_option(self):
        self.refused(2, ["--ratte"], "--ratte", "5/s")

    def test_values_out_of_range(self):
        for option, value in (
            ("--rate", "0/s"),
            ("--rate", "fast"),
            ("--concurrency", "0"),
            ("--concurrency", "many"),
            ("--attempts-max", "0"),
            ("--durability", "hope"),
            ("--law", "none-such"),
            ("--wait-max", "-1s"),
            ("--progress", "loud"),
            ("--header", "no colon"),
        ):
            with self.subTest(option, value=value):
                self.refused(2, [option], option, value)

    def test_missing_variable(self):
        self.refused(
            2, ["HEADWAY_NOT_SET"], "--header", "Authorization: Bearer ${env:HEADWAY_NOT_SET}"
        )

    def test_a_header_for_two_origins(self):
        self.work.write(
            [f"{self.server.url}/1", self.server.url.replace("127.0.0.1", "localhost") + "/2"]
        )
        self.refused(2, ["--header", "localhost"], "--header", "Authorization: secret")

    def test_edited_line(self):
        lines = gets(self.server, 20)
        self.assertEqual(self.work.run(), 0, self.work.stderr())
        self.work.write(lines[:6] + [lines[6] + "?edited"] + lines[7:])
        self.refused(2, ["jobs.txt", "7"], sent=20)
        self.assertEqual(len(self.work.outcomes()), 20)

    def test_lines_that_are_edited_while_it_runs(self):
        """Beyond what is read ahead: nothing of the edited lines is sent."""
        lines = [f"{self.server.url}/{i:07}" for i in range(24_000)]
        with Work(lines) as work:
            jobs = work.path / "jobs.txt"
            whole = jobs.read_bytes()
            with work.start("--law", "fixed", "--concurrency", "64", "--failed", "failed") as process:
                wait_for(lambda: len(self.server.log()) > 200)
                with open(jobs, "r+b") as file:
                    file.write(whole.replace(b"/0", b"/9"))
                self.assertEqual(process.wait(60), 2, work.stderr())
            self.assertIn("jobs.txt: was edited in place", work.stderr())
            heard = self.server.log()
            self.assertEqual([r.path for r in heard if not r.path.startswith("/0")], [])
            self.assertEqual(len(work.outcomes()), len(heard), "what was in flight is lost")
            self.assertEqual((work.path / "failed").read_bytes(), b"")
            jobs.write_bytes(whole)
            self.assertEqual(work.run("--only", str(len(heard)), "--law", "fixed"), 0, work.stderr())

    def test_files_that_are_one(self):
        """None of them is written to, whatever name it is given by."""
        self.assertEqual(self.work.run("--only", "5"), 0, self.work.stderr())
        folder = self.work.path
        (folder / "symbolic").symlink_to("jobs.txt")
        os.link(folder / "jobs.txt", folder / "hard")
        os.link(folder / "jobs.txt.headway", folder / "journal")
        (folder / "secret").write_text("X: y\n")
        (folder / "state/headway").mkdir(parents=True, exist_ok=True)
        (folder / "body").write_text("b")
        kept = {f: f.read_bytes() for f in folder.iterdir() if f.is_file() and f.name not in ("stdout", "stderr")}
        taken = ("jobs.txt", "symbolic", "hard", "jobs.results.jsonl", "jobs.txt.headway", "journal", "secret",
                 "jobs.txt.headway-wal", "jobs.txt.headway-shm", "state/headway/limits.json")  # fmt: skip
        for option in ("--trace", "--out", "--failed", "--journal", "--state"):
            for name in taken:
                if (option, name) in (("--out", "jobs.results.jsonl"), ("--journal", "jobs.txt.headway")):
                    continue
                if option == "--journal" and name.startswith(("journal", "jobs.txt.headway-")):
                    continue  # the same file, or beside a journal that this run does not have
                if option == "--state" and name.startswith("state"):
                    continue
                with self.subTest(option, name=name):
                    says = ["would overwrite"]
                    self.refused(2, says, option, name, "--header", "@secret", sent=5)
        for option in ("--trace", "--out"):
            self.work.write([*gets(self.server, 20), f'{{"url": "{self.server.url}/21", "body_file": "body"}}'])
            kept[folder / "jobs.txt"] = (folder / "jobs.txt").read_bytes()
            kept[folder / "hard"] = kept[folder / "symbolic"] = kept[folder / "jobs.txt"]
            self.refused(2, ["jobs.txt:21", option], option, "body", sent=5)
        self.assertEqual({f: f.read_bytes() for f in kept}, kept)
        self.assertEqual(self.work.run("--trace", "/dev/null"), 0, self.work.stderr())

    def test_lines_where_an_output_is_put_together(self):
        """What is written beside its place, under a name that no option says."""
        (self.work.path / "elsewhere").mkdir()
        (self.work.path / "ordered").symlink_to("elsewhere/ordered")
        (self.work.path / "elsewhere/ordered").touch()
        for option, output in ("--failed", "failed"), ("--state", "state"), ("--out", "ordered"):
            with self.subTest(option):
                lines = (self.work.path / output).resolve().with_name(output + ".new")
                lines.write_text("\n".join(gets(self.server, 20)))
                kept = lines.read_bytes()
                options = option, output, "--keep-order"
                self.assertEqual(self.work.run(*options, jobs=lines), 2, self.work.stderr())
                self.assertIn("would overwrite", self.work.stderr())
                self.assertEqual(lines.read_bytes(), kept)

    def test_missing_standard_streams(self):
        """Their numbers are no other file's: a run ends, and does nothing to what it has open."""
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed), Work(gets(self.server, 20)) as work:
                run = f'exec "{BINARY}" run jobs.txt {closed}'
                code = subprocess.run(["sh", "-c", run], cwd=work.path, timeout=30, env=work.environment(), stderr=subprocess.DEVNULL).returncode
                self.assertEqual(code, 0)
                self.assertEqual(work.outcomes(), succeeded(20))
        run = f'exec "{BINARY}" run - --journal j --out o 0<&-'
        with Work() as work:
            ended = subprocess.run(["sh", "-c", run], cwd=work.path, timeout=10, env=work.environment(), stderr=subprocess.DEVNULL)
            self.assertEqual(ended.returncode, 2)

    def test_appended_lines_are_welcome(self):
        self.assertEqual(self.work.run(), 0, self.work.stderr())
        self.work.write(gets(self.server, 25))
        self.assertEqual(self.work.run(), 0, self.work.stderr())
        self.assertEqual(self.work.outcomes(), succeeded(25))
        self.assertEqual(len(self.server.log()), 25)

    def test_dry_run_sends_nothing(self):
        self.assertEqual(self.work.run("--dry-run"), 0, self.work.stderr())
        self.assertEqual(len(self.server.log()), 0)
        self.assertEqual(sorted(os.listdir(self.work.path)), ["jobs.txt", "stderr", "stdout"])

    def test_second_run_of_one_journal(self):
        with self.work.start("--rate", "5/s") as first:
            wait_for(lambda: self.server.log())
            self.assertEqual(self.work.run(), 75)
            self.assertIn("jobs.txt.headway", self.work.stderr())
            self.assertIsNone(first.poll())
            first.terminate()


class Peers(unittest.TestCase):
    """Peers that cannot be reached or trusted: the reason is in the results."""

    def test_unreachable(self):
        with servers.closed_port() as port, Work(
            [f"http://127.0.0.1:{port}/{i}" for i in range(2)]
        ) as work:
            self.assertEqual(work.run("--attempts-max", "2", "--no-canary", timeout=30), 1, work.stderr())
            results = work.results()
        self.assertEqual([r["outcome"] for r in results], ["failed"] * 2)
        self.assertEqual([r["attempts"] for r in results], [2] * 2)
        for result in results:
            self.assertRegex(result["reason"], "(?i)connect")

    def test_expired_certificate(self):
        with Work() as work:
            certificate = servers.certificate(work.path, ends="20010101000000Z")
            with servers.nginx(certificate=certificate) as server:
                work.write([f"{server.url}/1", post(server, "post")])
                options = "--attempts-max", "2", "--no-canary", "--cacert", certificate
                self.assertEqual(work.run(*options, timeout=30), 1, work.stderr())
                self.assertEqual(server.log(), [])
            self.assertEqual(work.outcomes(), {"1": "failed", "post": "failed"})
            for result in work.results():
                self.assertRegex(result["reason"], "certificate has expired")


if __name__ == "__main__":
    unittest.main()
