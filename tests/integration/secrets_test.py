"""A secret given by --header reaches the server it is for, and nothing else."""
import unittest

import servers
from work import Work, gets, wait_for

SECRET = "canary-7f3a9c51d2"
FROM_ENV = "Authorization: ${env:KEY}"


class Secrets(unittest.TestCase):
    def leaks(self, work):
        files = [file for file in work.path.rglob("*") if file.is_file() and file.name != "header"]
        return [file.name for file in files if SECRET.encode() in file.read_bytes()]

    def test_nothing_shows_it(self):
        with servers.limit_req(20, "burst=5 nodelay") as server, Work(gets(server, 40)) as work:
            (work.path / "header").write_text(f"Authorization: Bearer {SECRET}\n")
            name = "Authorization: Bearer "
            for i, option in enumerate((name + "${env:KEY}", name + SECRET, "@header")):
                with self.subTest(option):
                    files = (
                        "--journal",
                        f"journal{i}",
                        "--out",
                        f"results{i}",
                        "--trace",
                        f"trace{i}",
                    )
                    sent = len(server.log())
                    self.assertEqual(
                        work.run("--header", option, *files, KEY=SECRET), 0, work.stderr()
                    )
                    self.assertEqual(
                        {r.credential for r in server.log()[sent:]}, {f"Bearer {SECRET}"}
                    )
                    for file in files[1::2]:
                        self.assertTrue((work.path / file).stat().st_size)
                    self.assertEqual(self.leaks(work), [])

    def test_a_killed_run_leaves_none(self):
        with servers.nginx(latency_ms=(50, 50)) as server, Work(gets(server, 100)) as work:
            with work.start("--header", FROM_ENV, "--trace", "trace", KEY=SECRET) as process:
                wait_for(lambda: len(server.log()) > 10)
                process.kill()
            self.assertEqual(self.leaks(work), [])

    def test_another_origin_does_not_get_it(self):
        with servers.nginx() as ours, servers.nginx() as other, Work() as work:
            work.write(gets(ours, 5) + gets(other, 5))
            options = "--header", FROM_ENV, "--header-for", f"127.0.0.1:{ours.port}"
            self.assertEqual(work.run(*options, KEY=SECRET), 0, work.stderr())
            self.assertEqual({r.credential for r in ours.log()}, {SECRET})
            self.assertEqual({r.credential for r in other.log()}, {"-"})

    def test_errors_do_not_quote_it(self):
        with servers.closed_port() as port, Work([f"http://127.0.0.1:{port}/1"]) as work:
            for option in (SECRET, f"Authorization {SECRET}", f"Bad Name: {SECRET}"):
                with self.subTest(option):
                    self.assertEqual(work.run("--header", option), 2)
                    self.assertNotIn(SECRET, work.stderr())
            self.assertEqual(
                work.run("--header", f"Authorization: {SECRET}", "--attempts-max", "1"), 1
            )
            self.assertEqual(self.leaks(work), [])


if __name__ == "__main__":
    unittest.main()
