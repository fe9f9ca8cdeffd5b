"""A token that a command prints (--header-cmd): asked for again when it is old or refused."""
import contextlib
import tempfile
import unittest
from pathlib import Path

import servers
from work import Work, gets, post, succeeded, wait_for

HEADER = "Authorization: Bearer $(./token)"


class Tokens:
    """A server that takes the tokens of which there is a file, and the command's own state."""

    def __init__(self, server, folder, work):
        self.server, self.folder, self.work = server, folder, work
        (work.path / "asked").write_text("")
        self.prints('n=$(wc -l < asked); echo "secret-$n"')

    def prints(self, script):
        command = self.work.path / "token.new"
        command.write_text(f"#!/bin/sh\necho >> asked\n{script}\n")
        command.chmod(0o755)
        command.rename(self.work.path / "token")

    def accept(self, *tokens):
        for token in tokens:
            (self.folder / f"Bearer {token}").touch()

    def expire(self, token):
        (self.folder / f"Bearer {token}").unlink()

    def asked(self):
        return len((self.work.path / "asked").read_text())

    def statuses(self, path):
        return [r.status for r in self.server.log() if r.path == path]

    def leaks(self):
        files = [f for f in self.work.path.rglob("*") if f.is_file() and f.name != "token"]
        return [f.name for f in files if b"secret-" in f.read_bytes()]


@contextlib.contextmanager
def tokens(lines, latency_ms=(0, 0)):
    with tempfile.TemporaryDirectory() as folder:
        check = f'if (!-f "{folder}/$http_authorization") {{ return 401; }}'
        with servers.nginx(check, latency_ms=latency_ms) as server, Work(lines(server)) as work:
            yield Tokens(server, Path(folder), work)


class HeaderCommand(unittest.TestCase):
    def test_its_value_is_sent(self):
        with tokens(lambda server: gets(server, 30)) as t:
            t.accept("secret-1")
            run = t.work.run("--header-cmd", HEADER, "--trace", "trace")
            self.assertEqual(run, 0, t.work.stderr())
            self.assertEqual({r.credential for r in t.server.log()}, {"Bearer secret-1"})
            self.assertEqual((len(t.server.log()), t.asked()), (30, 1))
            self.assertEqual(t.leaks(), [])

    def test_a_refused_one_is_asked_for_again_and_the_request_is_sent_again(self):
        """Also what must not be sent twice: a server that refuses it has not carried it out."""
        both = lambda server: gets(server, 150) + [post(server, f"p{i}") for i in range(50)]
        with tokens(both, latency_ms=(5, 5)) as t:
            t.accept("secret-1", "secret-2")
            with t.work.start("--header-cmd", HEADER, "--concurrency", "4") as process:
                wait_for(lambda: len(t.server.log()) > 20)
                t.expire("secret-1")
                self.assertEqual(process.wait(60), 0, t.work.stderr())
            self.assertEqual(set(t.work.outcomes().values()), {"success"})
            log = t.server.log()
            refused = [r for r in log if r.status == 401]
            self.assertEqual(t.asked(), 2)
            self.assertEqual({r.credential for r in refused}, {"Bearer secret-1"})
            self.assertIn(len(refused), range(1, 5))  # what was in flight, and nothing since
            self.assertEqual((len(log.accepted()), log.twice()), (200, []))
            self.assertEqual(t.leaks(), [])

    def test_a_request_that_is_refused_twice_has_failed(self):
        with tokens(lambda server: gets(server, 2)) as t:
            self.assertEqual(t.work.run("--header-cmd", HEADER), 1, t.work.stderr())
            self.assertEqual([t.statuses("/1"), t.statuses("/2")], [[401, 401]] * 2)
            self.assertEqual([r["reason"] for r in t.work.results()], ["status 401"] * 2)
            self.assertEqual({r["attempts"] for r in t.work.results()}, {2})

    def test_an_old_one_is_asked_for_again_before_it_is_refused(self):
        with tokens(lambda server: gets(server, 60)) as t:
            t.accept(*(f"secret-{i}" for i in range(1, 9)))
            options = "--header-cmd", HEADER, "--header-ttl", "1s", "--rate", "20/s"
            self.assertEqual(t.work.run(*options), 0, t.work.stderr())
            used = [r.credential for r in sorted(t.server.log())]
            self.assertEqual({r.status for r in t.server.log()}, {200})
            self.assertGreaterEqual(len(set(used)), 2)
            self.assertEqual(used, sorted(used))

    def test_others_go_on_while_it_runs(self):
        with tokens(lambda server: gets(server, 100)) as t:
            t.accept(*(f"secret-{i}" for i in range(1, 9)))
            t.prints(
                'n=$(wc -l < asked); [ $n = 1 ] || until [ -e go ]; do sleep 0.01; done; echo "secret-$n"'
            )
            options = "--header-cmd", HEADER, "--header-ttl", "1s", "--rate", "50/s"
            with t.work.start(*options) as process:
                wait_for(lambda: t.asked() == 2)
                sent = len(t.server.log())
                wait_for(lambda: len(t.server.log()) > sent + 10)
                (t.work.path / "go").touch()
                self.assertEqual(process.wait(60), 0, t.work.stderr())
            self.assertEqual(len(t.server.log().accepted()), 100)

    def test_a_command_that_fails_at_the_start_stops(self):
        with tokens(lambda server: gets(server, 2)) as t:
            for script, why in (
                ("echo secret-1; exit 3", "failed with exit code 3"),
                ("kill -9 $PPID", "was ended by signal 9"),
                (":", "printed nothing"),
                ("echo secret-1; echo secret-2", "printed more than one line"),
                (r"printf 'secret-\033[2J'", "printed a control character"),
                ("yes secret-1", "printed more than 16 KiB"),
            ):
                with self.subTest(why):
                    t.prints(script)
                    self.assertEqual(t.work.run("--header-cmd", HEADER), 2)
                    self.assertEqual(
                        t.work.stderr(),
                        f"headway: --header-cmd: the command for Authorization {why}\n",
                    )
                    self.assertFalse((t.work.path / "jobs.txt.headway").exists())
            self.assertEqual(t.server.log(), [])

    def test_one_that_fails_later_is_tried_again(self):
        with tokens(lambda server: gets(server, 100)) as t:
            t.accept("secret-1", "secret-3")
            t.prints('n=$(wc -l < asked); [ $n != 2 ] || exit 1; echo "secret-$n"')
            with t.work.start("--header-cmd", HEADER, "--rate", "100/s") as process:
                wait_for(lambda: len(t.server.log()) > 5)
                t.expire("secret-1")
                self.assertEqual(process.wait(60), 0, t.work.stderr())
            self.assertEqual(t.asked(), 3)
            self.assertIn("failed with exit code 1; it is tried again", t.work.stderr())
            self.assertEqual(len(t.server.log().accepted()), 100)

    def test_without_a_new_one_nothing_more_is_sent(self):
        with tokens(lambda server: gets(server, 100)) as t:
            t.accept("secret-1", "secret-7")
            t.prints('n=$(wc -l < asked); [ $n = 1 -o $n = 7 ] || exit 1; echo "secret-$n"')
            options = "--header-cmd", HEADER, "--rate", "100/s", "--concurrency", "3"
            with t.work.start(*options) as process:
                wait_for(lambda: len(t.server.log()) > 5)
                t.expire("secret-1")
                self.assertEqual(process.wait(60), 77, t.work.stderr())
            self.assertLessEqual(len([r for r in t.server.log() if r.status == 401]), 3)
            self.assertIn("5 times, and the value before was refused (401)", t.work.stderr())
            self.assertEqual(set(t.work.outcomes().values()), {"success"})
            self.assertEqual(t.work.run(*options), 0, t.work.stderr())
            self.assertEqual(t.work.outcomes(), succeeded(100))

    def test_another_origin_does_not_get_it(self):
        with tokens(lambda server: gets(server, 2)) as t, servers.nginx() as other:
            t.accept("secret-1")
            t.work.write(gets(t.server, 2) + gets(other, 2))
            self.assertEqual(t.work.run("--header-cmd", HEADER), 2)
            self.assertIn("JOBS has several origins", t.work.stderr())
            ours = "--header-for", f"127.0.0.1:{t.server.port}"
            self.assertEqual(t.work.run("--header-cmd", HEADER, *ours), 0, t.work.stderr())
            self.assertEqual({r.credential for r in other.log()}, {"-"})

    def test_neither_does_a_line_of_jobs_that_looks_like_it(self):
        with servers.nginx() as server, Work() as work:
            work.write([f'{{"url": "{server.url}/1", "headers": {{"Authorization": "\\u00010"}}}}'])
            self.assertEqual(work.run("--header-cmd", "Authorization: $(echo secret-1)"), 2)
            self.assertEqual(server.log(), [])

    def test_proc_does_not_show_it(self):
        with tokens(lambda server: gets(server, 100)) as t:
            t.accept("secret-1")
            with t.work.start("--header-cmd", HEADER, "--rate", "50/s") as process:
                wait_for(lambda: len(t.server.log()) > 5)
                for name in ("cmdline", "environ"):
                    content = Path(f"/proc/{process.pid}/{name}").read_bytes()
                    self.assertTrue(content)
                    self.assertNotIn(b"secret-", content)
                process.terminate()

    def test_interrupted_before_the_first_value(self):
        with tokens(lambda server: gets(server, 2)) as t:
            t.prints("echo $$ > child; exec sleep 100")
            with t.work.start("--header-cmd", HEADER) as process:
                child = t.work.path / "child"
                wait_for(lambda: child.exists() and child.read_text().endswith("\n"))
                process.terminate()
                self.assertEqual(process.wait(10), 143)
            stat = Path(f"/proc/{child.read_text().strip()}/stat")
            wait_for(lambda: not stat.exists() or ") Z " in stat.read_text())

    def test_what_is_not_an_option(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            for option in (
                "Authorization: secret-1",
                "$(echo secret-1)",
                "Bad Name: $(x)",
                "A: $()",
            ):
                with self.subTest(option):
                    self.assertEqual(work.run("--header-cmd", option), 2)
                    self.assertEqual(work.stderr().count("\n"), 1)
                    self.assertNotIn("secret", work.stderr())
            self.assertEqual(work.run("--header-cmd", "A: $(echo)", "--header-ttl", "0s"), 2)
            self.assertEqual(work.run("--header-ttl", "5s"), 2)


if __name__ == "__main__":
    unittest.main()
