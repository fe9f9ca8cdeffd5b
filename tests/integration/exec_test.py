"""headway exec: what becomes of commands, beside GNU parallel.

HEADWAY_LONG=1 takes whole sizes: 1,000 jobs that hide, a gigabyte of output, a million lines.
"""
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from work import BINARY, Work, measured, wait_for

LONG = bool(os.environ.get("HEADWAY_LONG"))
SEED = os.environ.get("HEADWAY_SEED") or random.randrange(10**6)

SLEEP = f"sleep 300.{os.getpid()}"  # no other process of the machine has these words

NASTY = [
    "a b", "  two  ", "\ttab", "tail ", "c\"d", "e'f", "''", "\"\"", "`id`", "$(id)", "$HOME", "${HOME}", "; rm x", "a;b",
    "a|b", "a&b", "&&", "||", ">x", "<x", ">>x", "2>&1", "*", "?", "[a]", "~", "~root", "!", "!!", "#", "# x", "a#b",
    "\\", "\\\\", "\\n", "a\\", "%", "%s", "%%", "%n", "=", "a=b", "-", "--", "-n", "-e", "--help", "-rf", "+", "@", "^", "a^b",
    "(", ")", "()", "{", "}", "{}", "{.}", "{#}", "{1}", "{{}}", "{a,b}", "{1..3}", "[", "]", "[[", "]]", ":", "::", ":::",
    "ä", "日本語", "🙂", "e\u0301", "\u200b", "\ufeff", "a\u00a0b", "\x01", "\x1b[31m", "\x7f", "a\rb", "a\r", "\x0b", "\x0c",
    "\u2028", ".", "..", "/", "//", "./a", "../a", "/etc/passwd", "a/", "a/b.c/d.e", ".hidden", "a.", "a..b", "-.-", "0", "00",
    "-1", "1e9", "NaN", "null", "true", "None", "nil", "undefined", "\"a\":1", "{\"a\": 1}", "[1,2]", "a,b", "a;b;c", "'a','b'",
    "<a>", "&amp;", "http://x/?a=b&c=d#e", "C:\\x", "\\\\x\\y", "IFS= ", "x" * 3000, "ü" * 1000, "\\0", "\\x00", "$'\\n'",
    "$IFS", "$@", "$*", "$#", "$?", "$$", "$!", "$-", "$0", "$1", "${1}", "$((1+1))", "`", "``", "'", "\"", "'\"'\"'", "\\'",
    "\\\"", "a\\ b", "\\$x", "a'b\"c", "--version", "-x y", "--a=b c", "a\tb\tc", "\t", " ", "  ", "a ", " a",
]
NASTY += [f"{a}{b}" for a in ("x", "'", "\"", "$", "\\", ";") for b in ("'", "\"", "\\", "$(id)", "`id`", " & ", "|cat", "\t;")]


class Case(unittest.TestCase):
    def setUp(self):
        self.work = Work()
        self.addCleanup(self.work.__exit__)

    def exec(self, *arguments, code=0, **how):
        found = self.work.exec(*arguments, **how)
        self.assertEqual(found, code, self.work.stderr())
        return self.work.stdout()

    def parallel(self, *arguments, values=b"", code=0):
        run = subprocess.run(
            ["parallel", "--will-cite", *arguments], input=values, capture_output=True, cwd=self.work.path,
            env={**os.environ, "HOME": str(self.work.path)},
        )
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout

    def fed(self, values, *arguments, **how):
        with tempfile.TemporaryFile() as file:
            file.write(values)
            file.seek(0)
            return self.exec(*arguments, stdin=file, **how)


class BesideParallel(Case):
    """The same input to both, and the same output."""

    def test_replacement_strings_and_sources(self):
        for words in (
            ["echo", "{}", ":::", "a", "b/c.d", "/x/y.tar.gz", "z/", "."],
            ["echo", "{.}", "{/}", "{//}", "{/.}", "{#}", ":::", "a", "b/c.d", "/x/y.tar.gz", "x.d/e", ".rc", "a."],
            ["echo", "{1}", "{2}", ":::", "a", "b", ":::", "c", "d", "e"],
            ["echo", "{2.}", "{1/}", ":::", "p/a", "b", ":::", "c.x", "d.y"],
            ["echo", "{1}{2}", ":::", "a", "b", ":::+", "c", "d"],
            ["echo", "{-1}", "{-2}", ":::", "a", ":::", "b", "c"],
            ["echo", ":::", "a", ":::", "b", "c"],
            ["echo", "x{}y{}", ":::", "1", "2"],
        ):
            with self.subTest(words):
                self.assertEqual(self.exec("-k", "--", *words), self.parallel("-k", *words))

    def test_lines_files_columns_and_zero_bytes(self):
        Path(self.work.path, "a").write_bytes(b"1,2\n3,4\nlast,line")
        Path(self.work.path, "b").write_bytes(b"x\ny\n")
        for options, words in (
            (["-k", "-a", "a"], ["echo", "{}"]),
            (["-k", "-a", "a", "-a", "b"], ["echo", "{1}", "{2}"]),
            (["-k", "-a", "a", "--colsep", ","], ["echo", "{2}", "{1}"]),
            (["-k"], ["echo", "::::", "a", "b"]),
        ):
            with self.subTest(words):
                self.assertEqual(self.exec(*options, "--", *words), self.parallel(*options, *words))
                for left in Path(self.work.path).glob("a.*"):
                    left.unlink()
        values = b"a\nb\0c\0\0d"
        self.assertEqual(
            self.fed(values, "-0", "-k", "--keep-empty", "--", "printf", "<%s>"),
            self.parallel("-0", "-k", "printf", "\\<%s\\>", values=values),
        )

    def test_200_nasty_strings_are_literal(self):
        self.assertGreaterEqual(len(set(NASTY)), 200)
        lines = "".join(f"{s}\n" for s in NASTY).encode()
        ours = self.fed(lines, "-k", "--", "printf", "<%s>\\n", "{}")
        self.assertEqual(ours, "".join(f"<{s}>\n" for s in NASTY).encode())
        self.assertEqual(ours, self.parallel("-k", "printf", "'<%s>\\n'", "{}", values=lines))
        zeros = b"".join(f"{s}\n{s}\0".encode() for s in NASTY)
        self.assertEqual(
            self.fed(zeros, "-0", "-k", "--", "printf", "<%s>\\n", "{}"),
            "".join(f"<{s}\n{s}>\n" for s in NASTY).encode(),
        )
        script = "printf '<%s>' {} ; printf '[%s]' \"x{}\" '{}'; echo"
        self.assertEqual(
            self.fed(lines, "-k", "--shell", "--", script),
            "".join(f"<{s}>[x{s}][{s}]\n" for s in NASTY).encode(),
        )

    def test_tag_order_and_errors(self):
        script = "sleep 0.{}; echo {}; echo e{} >&2"
        for options in (["-k"], ["-k", "--tag"]):
            words = [script, ":::", "3", "1", "2"]
            self.assertEqual(
                self.exec(*options, "--shell", "-j3", "--", *words), self.parallel(*options, "-j3", *words)
            )
        self.assertEqual(self.work.stderr(), "3\te3\n1\te1\n2\te2\n")

    def test_job_log(self):
        words = ["sh", "-c", "exit {}", ":::", "0", "3", "7"]
        self.exec("-j1", "--joblog", "ours", "--", *words, code=1)
        self.parallel("-j1", "--joblog", "theirs", "sh -c 'exit {}'", *words[3:], code=2)
        ours, theirs = ([line.split("\t") for line in Path(self.work.path, f).read_text().splitlines()]
                        for f in ("ours", "theirs"))
        self.assertEqual(ours[0], theirs[0])
        columns = [i for i, name in enumerate(ours[0]) if name not in ("Starttime", "JobRuntime", "Command")]
        self.assertEqual([[row[i] for i in columns] for row in ours], [[row[i] for i in columns] for row in theirs])

    def test_halt_timeout_and_failures(self):
        words = ["sh", "-c", "sleep 0.1; exit {}", ":::", "1", "0", "0", "0"]
        self.exec("-j1", "--halt", "soon,fail=1", "--joblog", "log", "--", *words, code=77)
        self.assertEqual(len(Path(self.work.path, "log").read_text().splitlines()), 2)
        self.exec("-j2", "--halt", "now,success=1", "--", "sleep", "{}", ":::", "0.1", "60")
        self.exec("--timeout", "0.3", "--", "sleep", "{}", ":::", "60", code=1)
        self.exec("--exit-failures", "--", "sh", "-c", "exit {}", ":::", "1", "0", "2", code=2)
        self.parallel("sh -c 'exit {}'", ":::", "1", "0", "2", code=2)

    def test_twenty_everyday_invocations(self):
        """As the man page of parallel has them, `--` put in: the same output, files and exit code."""
        folder = Path(self.work.path)
        (folder / "list").write_text("a.html\nb.html\nsub/c d.html\n")
        (folder / "table").write_text("x\t1\ny\t2\n")
        shell = lambda script: (["--shell", "--", script], [script])
        same = lambda *words: (["--", *words], [*words])
        for options, (ours, theirs), values in (
            (["-k"], same("echo"), b"1\n2\n3\n"),
            (["-k"], same("echo", ":::", "A", "B"), b""),
            (["-k", "-j0"], same("echo", "{}", ":::", "A", "B"), b""),
            (["-k", "-j+0"], same("echo", ":::", "A", "B"), b""),
            (["-k", "-j50%"], same("echo", ":::", "A", "B"), b""),
            (["-k", "-P", "2"], same("echo", ":::", "A", "B"), b""),
            (["-k", "-a", "list"], same("echo", "{.}.txt", "{/}", "{//}", "{/.}"), b""),
            (["-k"], same("echo", "{#}", "{}", "::::", "list"), b""),
            (["-k"], same("echo", "::::", "-"), b"u\nv\n"),
            (["-k"], same("echo", "{1}-{2}", ":::", "a", "b", ":::", "1", "2"), b""),
            (["-k"], same("echo", "{1}-{2}", ":::", "a", "b", ":::+", "1", "2"), b""),
            (["-k", "--colsep", "\\t", "-a", "table"], same("echo", "{2}", "{1}"), b""),
            (["-k", "--tag"], same("echo", "x", "{}", ":::", "1", "2"), b""),
            (["-k", "-0"], same("echo"), b"a b\0c\n\0"),
            (["-k"], shell("echo {} | tr a-z A-Z"), b"one\ntwo\n"),
            (["-k"], shell("echo {} > {}.dir; cat {}.dir"), b"m\nn\n"),
            (["-k", "--dry-run"], same("echo", "x", ":::", "1", "2"), b""),
            (["-j1", "--joblog", "log"], same("false", ":::", "1"), b""),
            (["--retries", "3", "-j1"], same("ls", "no such", ":::", "1"), b""),
            (["-j1", "--timeout", "10"], same("sleep", ":::", "0.1"), b""),
            (["-j1", "--halt", "soon,fail=1"], same("true", ":::", "1", "2"), b""),
        ):
            with self.subTest(theirs=theirs, options=options):
                run = subprocess.run(["parallel", "--will-cite", *options, *theirs], input=values, capture_output=True,
                                     cwd=folder, env={**os.environ, "HOME": str(folder)})
                for file in folder.glob("*.dir"):
                    file.unlink()
                with tempfile.TemporaryFile() as file:
                    file.write(values)
                    file.seek(0)
                    code = self.work.exec("--exit-failures", "--no-canary", *options, *ours, stdin=file)
                self.assertEqual((code, self.work.stdout()), (run.returncode, run.stdout), self.work.stderr())
                for file in folder.glob("*.headway*"):
                    file.unlink()
                for file in folder.glob("*.results.jsonl"):
                    file.unlink()

    def test_where_habits_differ_one_line_says_what_to_write(self):
        before = sorted(os.listdir(self.work.path))
        for arguments, instead in (
            (["echo", "{}", ":::", "a", "b"], "want -- before the command"),
            (["gzip", "-9", ":::", "a"], "want -- before the command"),
            (["--", "echo {} | wc", ":::", "a"], "want --shell"),
            (["--", ":::", "echo a"], "sh -c {}"),
            (["--", "echo", "{= s/a/b/ =}", ":::", "a"], "--shell"),
            (["-N2", "--", "echo", ":::", "a"], "paste - -"),
            (["-n", "2", "--", "echo", ":::", "a"], "paste - -"),
            (["-m", "--", "echo", ":::", "a"], "xargs"),
            (["-X", "--", "echo", ":::", "a"], "xargs"),
            (["--results", "d", "--", "echo", ":::", "a"], "--out-dir"),
            (["--pipe", "--", "wc"], "split it into files"),
            (["--resume", "--joblog", "l", "--", "echo", ":::", "a"], "goes on by itself"),
            (["--delay", "1", "--", "echo", ":::", "a"], "--rate"),
            (["--bar", "--", "echo", ":::", "a"], "progress"),
            (["--header", ":", "--", "echo", "{f}", ":::", "f", "a"], "{name}"),
            (["--line-buffer", "--", "echo", ":::", "a"], "printed whole"),
            (["-I", ",,", "--", "echo", ",,", ":::", "a"], "the value is {}"),
            (["--link", "--", "echo", ":::", "a"], ":::+"),
            (["-S", "host", "--", "echo", ":::", "a"], "this machine"),
            (["-d", ",", "--", "echo"], "-0"),
            (["--nice", "9", "--", "echo", ":::", "a"], "nice headway"),
        ):
            with self.subTest(arguments):
                self.exec(*arguments, code=2)
                self.assertIn(instead, self.work.stderr())
                self.assertEqual(self.work.stderr().count("\n"), 1)
                self.assertEqual(set(os.listdir(self.work.path)) - {"stdout", "stderr"}, set(before) - {"stdout", "stderr"})

    def test_csv_and_json(self):
        Path(self.work.path, "v.csv").write_text('owner,repo,id\no1,"r ""1""",x\n"o\n2",r2,y\n')
        self.assertEqual(self.exec("v.csv", "-k", "--", "echo", "{owner}/{repo}"), b'o1/r "1"\no\n2/r2\n')
        ids = [json.loads(line)["id"] for line in Path(self.work.path, "v.results.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(ids), ["x", "y"])
        Path(self.work.path, "p.jsonl").write_text('{"prompt": "a\\nb", "n": 1.10}\n{"n": [1, 2], "prompt": "c"}\n')
        self.assertEqual(
            self.exec("p.jsonl", "-k", "--stdin-field", "{prompt}", "--env", "N={n}", "--", "sh", "-c", "cat; echo \" $N$1\"", "sh"),
            b"a\nb 1.10\nc [1,2]\n",
        )

    def test_a_value_that_goes_elsewhere_is_not_in_the_command_line(self):
        Path(self.work.path, "v.csv").write_text("token,n\nTOKEN,7\n")
        shows = "--", "sh", "-c", 'tr "\\0" " " < /proc/self/cmdline', "sh"
        self.assertIn(b"TOKEN", self.exec("v.csv", *shows))
        for there in (["--env", "T={token}"], ["--stdin-field", "{token}"], ["--env", "T={token}", "--shell"]):
            with self.subTest(there):
                os.remove(Path(self.work.path, "v.csv.headway"))
                os.remove(Path(self.work.path, "v.results.jsonl"))
                command = ["--", "cat /proc/$$/cmdline"] if "--shell" in there else shows
                self.assertNotIn(b"TOKEN", self.exec("v.csv", *there, *command))

    def test_exit_codes_are_told_apart(self):
        self.exec("-q", "--", "sh", "-c", "exit {}", ":::", "1", "2", "2", code=1)
        self.assertIn("2 × exit 2 (line 2), 1 × exit 1 (line 1)", self.work.stderr())


class Throttles(Case):
    def counting(self, script):
        """A program that counts its runs in the file `runs`."""
        path = Path(self.work.path, "program")
        path.write_text(f"#!/bin/sh\necho $1 >> runs\n{script}\n")
        path.chmod(0o755)
        for name in ("runs", "times"):
            Path(self.work.path, name).unlink(missing_ok=True)

    def runs(self):
        return Path(self.work.path, "runs").read_text().split()

    def test_a_throttled_command_runs_again_and_has_not_failed(self):
        for options, first in (
            ([], "exit 75"),
            (["--throttle-exit", "9"], "exit 9"),
            (["--throttle-text", "too ?busy"], "echo TOO BUSY >&2; exit 1"),
            (["--throttle-text", "busy", "--throttle-anyway"], "echo busy; exit 0"),
            ([], "echo '{\"throttle\":true}' >&$HEADWAY_FD; exit 1"),
            ([], "echo '{\"status\":429,\"header\":{\"retry-after\":\"0\"}}' >&$HEADWAY_FD; exit 0"),
            ([], "echo 'error: 429 Too Many Requests' >&2; exit 1"),
        ):
            with self.subTest(first):
                self.counting(f'[ $(grep -cx "$1" runs) -gt 1 ] || {{ {first}; exit; }}')
                self.exec(*options, "--cold", "--", "./program", "{}", ":::", "a", "b")
                self.assertEqual(sorted(self.runs()), ["a", "a", "b", "b"])

    def test_successes_that_tell_of_a_throttle_are_counted(self):
        """Before: nothing was said of a curl in a pipe that was refused."""
        script = "[ {} = c ] || echo 'curl: (22) The requested URL returned error: 429' >&2"
        self.exec("--shell", "-q", "--cold", "--alone", "--", script, ":::", *"abc")
        self.assertIn("\n2 succeeded, but printed what tells of a throttle; --throttle-anyway runs such again\n", self.work.stderr())

    def test_what_j_alone_holds_back_is_no_quota(self):
        """Before: held back by "quota"."""
        self.exec("-q", "--cold", "--alone", "-j2", "--", "sleep", "{}", ":::", *["0.2"] * 8)
        self.assertRegex(self.work.stderr(), r"(?m)^held back by: own ceiling \d+ %")

    def test_an_exit_of_zero_wins_over_a_text(self):
        self.counting("echo 429 too many requests >&2; exit 0")
        self.exec("--", "./program", "{}", ":::", "a", "b")
        self.assertEqual(self.runs(), ["a", "b"])

    def test_retry_after_in_an_output_holds_the_whole_scope(self):
        for said in ("echo 'Retry-After: 2'; echo 429 too many requests >&2; exit 1",
                     "echo 'rate limit exceeded, try again in 2s' >&2; exit 1",
                     "echo '{\"throttle\":true,\"retry_after\":2}' >&3; exit 1"):
            with self.subTest(said):
                self.counting(f"date +%s.%N >> times; [ $(wc -l < runs) -gt 1 ] || {{ {said}; }}")
                self.exec("--cold", "--", "./program", "{}", ":::", *"abcdef")
                times = [float(t) for t in Path(self.work.path, "times").read_text().split()]
                self.assertEqual(len(times), 7)
                self.assertGreaterEqual(times[1] - times[0], 1.99)

    def test_behind_wrappers_the_program_that_they_start_has_limit_and_profile(self):
        """Before: the limit was that of `timeout`, for all that it starts, and a profile was never found."""
        for name in ("gh", "mine.py"):
            Path(self.work.path, name).write_text("#!/bin/sh\nexit 4\n")
            Path(self.work.path, name).chmod(0o755)
        for by, command, limit, code in (
            ("env", ["env", "A={}", "./gh", "api"], "gh", 77),  # a refused key, to gh's profile alone
            ("timeout", ["timeout", "10", "nice", "-n", "5", "./gh", "{}"], "gh", 77),
            ("sh", ["sh", "-c", './gh "$1" | exit 4', "sh"], "gh", 77),
            ("bash", ["bash", "mine.py", "{}"], "mine.py", 1),
            ("", ["./gh", "{}"], "gh", 77),
        ):
            with self.subTest(command):
                self.exec("-q", "--cold", "--metrics", "m.prom", "--", *command, ":::", "a", code=code)
                self.assertIn(f'scope="exec {limit}"', Path(self.work.path, "m.prom").read_text())
                said = f"the limit of {limit}, which {by} starts (--name: another); profile " if by else "headway: profile gh,"
                self.assertIn(said, self.work.stderr())
        self.exec("-q", "--cold", "--name", "x", "--", "timeout", "9", "./gh", ":::", "a", code=77)
        self.assertIn("headway: profile gh,", self.work.stderr())

    def test_a_longer_wait_than_we_have_patience_for_parks(self):
        self.counting("echo Retry-After: 7200; exit 75")
        Path(self.work.path, "v").write_text("a\nb\n")
        self.exec("v", "--cold", "-j1", "--", "./program", "{}", code=75)
        self.assertIn("asks to wait", self.work.stderr())
        self.assertEqual(len(self.runs()), 1)
        self.counting("exit 0")
        self.exec("v", "--cold", "--", "./program", "{}")

    def test_a_refused_key_stops_and_leaves_the_rest(self):
        gh = Path(self.work.path, "gh")
        gh.write_text("#!/bin/sh\necho $1 >> runs\nexit 4\n")
        gh.chmod(0o755)
        Path(self.work.path, "v").write_text("".join(f"{i}\n" for i in range(50)))
        self.exec("v", "--cold", "-j1", "--", "./gh", "{}", code=77)
        self.assertEqual(len(self.runs()), 1)
        gh.write_text("#!/bin/sh\nexit 0\n")
        self.exec("v", "--cold", "--", "./gh", "{}")

    def test_hidden_attempts_of_aws_are_switched_off(self):
        aws = Path(self.work.path, "aws")
        aws.write_text("#!/bin/sh\necho $AWS_MAX_ATTEMPTS\n")
        aws.chmod(0o755)
        self.assertEqual(self.exec("--", "./aws", ":::", "a"), b"1\n")
        self.assertEqual(self.exec("--", "./aws", ":::", "a", AWS_MAX_ATTEMPTS="4"), b"4\n")


class Processes(Case):
    def tearDown(self):
        for pid in our_sleeps():
            os.kill(pid, signal.SIGKILL)

    def living(self, mark):
        return [p for p in Path("/proc").glob("[0-9]*") if mark in environment_of(p)]

    def test_no_descendant_outlives_its_job(self):
        count = 1000 if LONG else 120
        hide = (f"trap '' TERM HUP; {SLEEP} & setsid {SLEEP} & (setsid sh -c 'trap \"\" TERM; {SLEEP} & {SLEEP}' &) ; "
                f"env -i setsid sh -c '{SLEEP} & {SLEEP}' & exit 0")
        mark = f"HIDE={SEED}-{os.getpid()}"
        Path(self.work.path, "v").write_text("".join(f"{i}\n" for i in range(count)))
        self.exec("v", "--env", mark, "--safe", "--", "sh", "-c", hide)
        left = set(our_sleeps())
        measured(f"{count} jobs that fork, setsid and ignore TERM: {len(left)} processes left")
        self.assertEqual(left, set())
        self.assertEqual(self.living(mark), [])

    def test_a_timeout_ends_what_ignores_it_and_what_hides(self):
        began = time.monotonic()
        self.exec("--timeout", "0.3", "--", "sh", "-c", f"trap '' TERM; setsid {SLEEP} & {SLEEP}; {SLEEP}", ":::", "a", code=1)
        self.assertGreater(time.monotonic() - began, 5)
        self.assertEqual(set(our_sleeps()), set())

    def test_a_kill_of_exec_ends_its_commands(self):
        process = self.work.launch("exec", "--", "sh", "-c", f"setsid {SLEEP} & {SLEEP}", ":::", "a")
        wait_for(lambda: len(set(our_sleeps())) == 2)
        process.kill()
        process.wait()
        wait_for(lambda: not set(our_sleeps()))

    def test_what_outlives_even_the_guards_is_found_and_said(self):
        Path(self.work.path, "v").write_text("a\n")
        process = self.work.launch("exec", "v", "--", "sh", "-c", f"setsid {SLEEP} & {SLEEP}")
        wait_for(lambda: len(our_sleeps()) == 2)
        guards = children(process.pid)
        for pid in (process.pid, *guards):
            os.kill(pid, signal.SIGSTOP)
        for pid in (process.pid, *guards):
            os.kill(pid, signal.SIGKILL)
        process.wait()
        self.assertTrue(our_sleeps())
        script = f"setsid {SLEEP} & {SLEEP}"
        self.exec("v", "--again", "unknown", "--no-canary", "--timeout", "1", "--", "sh", "-c", script, code=1)
        self.assertIn("of an earlier run still live", self.work.stderr())

    def test_a_command_has_no_input_terminal_or_descriptor_of_ours(self):
        script = "cat; readlink /proc/self/fd/0; ls /proc/self/fd | tr '\\n' ' '; tty; ps -o tty= -p $$"
        shown = self.fed(b"a\nb\n", "-k", "--", "sh", "-c", script)
        self.assertEqual(shown, b"/dev/null\n0 1 2 3 4 not a tty\n?\n" * 2)

    def test_an_endless_output_of_what_lives_on_is_cut(self):
        """Of `yes` what the pipe holds is kept, the other command ends, and nothing grows."""
        mark = f"endless.{os.getpid()}"
        Path(self.work.path, "v").write_text("a\nb\n")
        script = f'if [ $1 = a ]; then for i in 1 2 3 4 5 6; do yes {mark} & done; sleep 0.3; else sleep 1; echo b; fi'
        self.exec("v", "-k", "--detach-ok", "--no-print", "--", "sh", "-c", script, "sh", "{}", timeout=20)
        a, b = sorted((json.loads(line) for line in Path(self.work.path, "v.results.jsonl").read_text().splitlines()),
                      key=lambda r: r["line"])
        self.assertTrue(a["truncated"])
        self.assertEqual((b["stdout"], "truncated" in b), ("b\n", False))
        wait_for(lambda: not [p for p in Path("/proc").glob("[0-9]*") if mark.encode() in command_of(p)])

    def test_a_value_of_env_is_not_in_the_list_of_processes(self):
        Path(self.work.path, "key").write_text("of-a-file\n")
        process = self.work.launch("exec", "--env", "A=of-the-line", "--env=B=of-the-line", "--env", "C=@key", "--",
                                   "sh", "-c", "echo $A $B $C; sleep 1", ":::", "a")
        wait_for(lambda: children(process.pid))
        self.assertNotIn(b"of-the-line", command_of(Path(f"/proc/{process.pid}")))
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.work.stdout(), b"of-the-line of-the-line of-a-file\n")

    def test_an_output_that_is_held_open_holds_nothing_up(self):
        began = time.monotonic()
        self.assertEqual(self.exec("--detach-ok", "--", "sh", "-c", "echo a; sleep 5 & exit 0", ":::", "x"), b"a\n")
        self.assertLess(time.monotonic() - began, 4)

    def test_signals(self):
        for times in (1, 2):
            with self.subTest(times=times):
                process = self.work.launch("exec", "-j2", "--", "sh", "-c", "echo $$ >> pids; sleep 2; echo done", ":::", *"abcdefgh")
                pids = Path(self.work.path, "pids")
                wait_for(lambda: pids.exists() and pids.read_text().count("\n") >= 1)
                for _ in range(times):
                    process.send_signal(signal.SIGTERM)
                    time.sleep(0.3)
                self.assertEqual(process.wait(20), 143)
                done = self.work.stdout().count(b"done")
                self.assertEqual(done > 0, times == 1)
                pids.unlink()


def environment_of(process):
    try:
        return (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def command_of(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def our_sleeps():
    """The sleeps that this test has started and that still live."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == SLEEP.replace(" ", "\0").encode() + b"\0":
                found.append(int(process.name))
        except OSError:
            pass
    return found


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Pipes(Case):
    def test_values_come_from_a_pipe_too(self):
        """Before: exit 74, since there is no journal beside /dev/fd/63."""
        for option in ("", "-a"):
            script = f'exec "{BINARY}" exec {option} <(printf "a\\r\\nb\\n") -- echo {{}}'
            done = subprocess.run(["bash", "-c", script], cwd=self.work.path, env=self.work.environment(), capture_output=True, timeout=30)
            self.assertEqual((done.returncode, sorted(done.stdout.splitlines(True))), (0, [b"a\n", b"b\n"]), done.stderr)

    def test_where_the_job_log_is_full_and_nothing_reads_the_outputs_the_exit_code_is_the_first_of_both(self):
        """Before: 74 instead of 141. Without SIGXFSZ, as where a disk is full."""
        words = ("--progress", "none", "--cold", "--alone", "--joblog", "log", "--", "echo", ":::", "x" * 200)
        read, unread = os.pipe()
        os.close(read)
        for out, code, said in ((subprocess.DEVNULL, 74, b"headway: cannot write log: File too large\n"), (unread, 141, b"")):
            done = subprocess.run(["prlimit", "--fsize=100", BINARY, "exec", *words], cwd=self.work.path, env=self.work.environment(),
                                  stdout=out, stderr=subprocess.PIPE, timeout=30, restore_signals=False)
            self.assertEqual((done.returncode, done.stderr), (code, said))
        os.close(unread)

    def test_what_ends_when_standard_output_is_full_has_its_result(self):
        """Before: one line of results, and `unknown` in the next run for 39 commands that had ended."""
        self.work.write(map(str, range(1, 41)))
        script = "sleep 0.5; head -c 3000 /dev/zero; sleep 1; echo {} >> ended"
        order = f"exec '{BINARY}' exec jobs.txt --cold -q -- sh -c '{script}' > /dev/full"
        done = subprocess.run(["bash", "-c", order], cwd=self.work.path, env=self.work.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertTrue(done.stderr.endswith("headway: cannot write standard output: No space left on device\n"), done.stderr)
        ended = Path(self.work.path, "ended").read_text().split()
        self.assertEqual(self.work.outcomes(), dict.fromkeys(ended, "success"))


class Sizes(Case):
    def test_an_output_of_any_size_arrives_whole(self):
        size = (1 << 30) if LONG else (40 << 20)
        Path(self.work.path, "v").write_text("a\n")
        process = self.work.launch("exec", "v", "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x")
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident_kib(process.pid))
            time.sleep(0.02)
        self.assertEqual(process.returncode, 0, self.work.stderr())
        measured(f"{size >> 20} MiB of one job: {peak >> 10} MiB resident at most")
        self.assertLess(peak, 60 << 10)
        self.assertEqual((self.work.path / "stdout").stat().st_size, size)
        (result,) = (json.loads(line) for line in Path(self.work.path, "v.results.jsonl").read_text().splitlines())
        self.assertEqual(Path(self.work.path, result["stdout_file"]).stat().st_size, size)

    def test_memory_does_not_grow_with_the_input(self):
        peaks = []
        for lines in (10_000, 1_000_000 if LONG else 200_000):
            Path(self.work.path, "v").write_text("".join(f"{i}\n" for i in range(lines)))
            process = self.work.launch(
                "exec", "v", "--safe", "--journal", f"j{lines}", "--out", f"r{lines}", "--halt", "soon,done=300", "--", "true"
            )
            peak = 0
            while process.poll() is None:
                peak = max(peak, resident_kib(process.pid))
                time.sleep(0.01)
            peaks.append(peak)
        measured(f"resident at most: {peaks} KiB for 10,000 and {lines} lines")
        self.assertLess(peaks[1] - peaks[0], 6 << 10)

    def test_outputs_in_a_folder(self):
        self.exec("--out-dir", "o", "--", "sh", "-c", "echo $1; echo e >&2", "sh", "{}", ":::", "a", "b")
        folder = Path(self.work.path, "o")
        self.assertEqual({p.name: p.read_text() for p in folder.iterdir()},
                         {"00000001.out": "a\n", "00000001.err": "e\n", "00000002.out": "b\n", "00000002.err": "e\n"})
        self.exec("--out-dir", "o", "--", "echo", ":::", "a", code=2)


    def test_outputs_of_all_attempts(self):
        script = "echo out $1; echo err >&2; echo >> runs.$1; exit $(( $(wc -l < runs.$1) < $1 ))"
        Path(self.work.path, "v").write_text("1\n3\n")
        for again in ([], ["--again", "all"]):
            self.exec("v", "--retries", "2", "--no-canary", "--keep-attempts", "k", "--safe", *again, "--", "sh", "-c", script,
                      "sh", "{}", code=1 - len(again) // 2)
        folder = Path(self.work.path, "k")
        names = ["00000001.1", "00000002.1", "00000002.2", "00000002.3"]
        self.assertEqual({p.name for p in folder.iterdir()},
                         {f"{name}.{kind}" for name in names for kind in ("out", "err")} | {"attempts.jsonl"})
        self.assertEqual({p.read_text() for p in folder.glob("*.out")}, {"out 1\n", "out 3\n"})
        self.assertEqual({p.read_text() for p in folder.glob("*.err")}, {"err\n"})
        kept = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
        self.assertEqual(sorted((k["line"], k["attempt"], k["verdict"], k["exit"]) for k in kept),
                         [(1, "00000001.1", "success", 0), (2, "00000002.1", "failure", 1), (2, "00000002.2", "failure", 1),
                          (2, "00000002.3", "success", 0)])


def resident_kib(pid):
    try:
        return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    except (OSError, TypeError):
        return 0


class Wrong(Case):
    def test_one_line_and_nothing_started(self):
        Path(self.work.path, "v").write_text("a\nb\n")
        Path(self.work.path, "v.csv").write_text("a,b\n1,2\n")
        for arguments, what in (
            (["v"], "want -- before the command"),
            (["v", "--"], "want -- before the command"),
            (["v", "--", ""], "there is no command"),
            (["v", "--", "no-such-program"], "there is no such program in PATH"),
            (["v", "--", "./v"], "it is not executable"),
            (["v", "--", "./w"], "there is no such program"),
            (["v", "--", "/"], "it is a folder"),
            (["v.csv", "--", "touch", "{c}"], "c"),
            (["--", "touch", "{c}", ":::", "a"], "have no names"),
            (["v", "--throttled", "awz", "--", "touch"], 'did you mean "aws"'),
            (["v", "--throttle-text", "(", "--", "touch"], "no regular expression"),
            (["v", "--throttle-exit", "0", "--", "touch"], "from 1 to 255"),
            (["v", "--halt", "now", "--", "touch"], "soon,fail=1"),
            (["v", "--timeout", "0", "--", "touch"], "want"),
            (["none", "--", "touch"], "cannot open it"),
            (["v", "--out", "v", "--", "touch"], "would overwrite JOBS"),
            (["v", "--failed", "f", "--out", "f.new", "--", "touch"], "would overwrite what --out writes"),
            (["v", "--state", "s", "--trace", "s.lock", "--", "touch"], "would overwrite"),
            (["v", "--out-dir", "o", "--joblog", "o/00000001.out", "--", "touch"], "a file that --out-dir writes"),
            (["v", "--keep-attempts", "k", "--trace", "k/00000001.2.err", "--", "touch"], "--keep-attempts writes"),
            (["v", "--env", "A=@v.csv", "--out", "v.csv", "--", "touch"], "would overwrite the file of --env"),
            (["v", "--env", "A=@none", "--", "touch"], 'cannot read "none"'),
            (["v", "--env", "x", "--", "touch"], "NAME=VALUE"),
            (["v", "--concurrency", "50000", "--", "touch"], "ulimit -n"),
            (["v", "v", "--", "touch"], "exec"),
        ):
            with self.subTest(arguments):
                before = sorted(os.listdir(self.work.path))
                self.exec(*arguments, code=2)
                said = self.work.stderr()
                self.assertIn(what, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertEqual(sorted(set(os.listdir(self.work.path)) | {"stdout", "stderr"}), sorted(set(before) | {"stdout", "stderr"}))

    def test_an_argument_list_that_is_too_long_fails_its_line_alone(self):
        Path(self.work.path, "v").write_text("a\n" + "x" * 200_000 + "\nb\n")
        self.assertEqual(self.exec("v", "-k", "--", "echo", code=1), b"a\nb\n")
        self.assertEqual(
            [r["outcome"] for r in sorted(self.work_results(), key=lambda r: r["line"])], ["success", "failed", "success"]
        )
        self.assertIn("its arguments are too long: 200006 bytes", str(self.work_results()))

    def work_results(self):
        return [json.loads(line) for line in Path(self.work.path, "v.results.jsonl").read_text().splitlines()]

    def test_an_edited_input_or_command_is_refused(self):
        v = Path(self.work.path, "v")
        v.write_text("1\n2\n3\n")
        self.exec("v", "--halt", "soon,done=1", "-j1", "--", "echo", code=77)
        v.write_text("0\n1\n2\n3\n")
        self.exec("v", "--", "echo", code=2)
        self.assertIn("v:1: this line was edited", self.work.stderr())
        v.write_text("1\n2\n3\n")
        self.exec("v", "--", "echo", "x", code=2)
        self.assertIn("the command changed", self.work.stderr())
        self.assertEqual(sorted(self.exec("v", "-k", "--", "echo").split()), [b"2", b"3"])

    def test_failed_and_again(self):
        v = Path(self.work.path, "v")
        v.write_text("0\n1\n2\n")
        self.exec("v", "--failed", "lost", "--", "sh", "-c", "[ $1 -eq 0 ] || [ -e good ]", "sh", code=1)
        self.assertEqual(Path(self.work.path, "lost").read_text(), "1\n2\n")
        Path(self.work.path, "good").touch()
        self.exec("v", "--again", "failed", "--", "sh", "-c", "[ $1 -eq 0 ] || [ -e good ]", "sh")
        self.assertEqual(len(self.work_results()), 5)


if __name__ == "__main__":
    measured(f"seed {SEED}")
    unittest.main()
