"""The man page and the completions offer what the program's --help does, and what reads them finds no fault."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from work import BINARY

COMMANDS = ("run", "exec", "proxy", "mock", "replay", "simulate", "report", "ctl", "limits", "fleet")


def output(*command, **how):
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


def options(command):
    """Of --help: the names that stand at the beginning of a line, and what follows them by a comma."""
    text = output(BINARY, *command, "--help")
    found = set()
    for line in re.findall(r"^  (-.*)$", text, re.M):
        found.update(re.match(r"-[\w-]+(,-[\w-]+)*", line)[0].split(","))
    return found


class Surface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = Path(folder.name)
        output(BINARY, "generate", folder.name)
        cls.bash = cls.share / "bash-completion/completions/headway"

    def complete(self, *words):
        script = f"""
            source {self.bash}
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _headway
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return set(output("bash", "-uc", script, "bash", "headway", *words).split())

    def test_help_has_options_at_all(self):
        self.assertGreater(len(options(["run"])), 40)
        self.assertIn("-H", options(["run"]))
        self.assertNotIn("generate", output(BINARY, "--help"))

    def test_help_has_one_line_a_command(self):
        text = output(BINARY, "--help")
        listed = text.partition("Subcommands:\n")[2].partition("\n\n")[0].splitlines()
        self.assertEqual([line.split()[0] for line in listed], list(COMMANDS))
        self.assertLess(text.count("\n"), 25)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100)

    def test_each_option_says_what_it_does(self):
        fish = (self.share / "fish/vendor_completions.d/headway.fish").read_text()
        texts = re.findall(r"_from \w+' .*-l (\S+) .*-d '(.*)'$", fish, re.M)
        self.assertGreater(len(texts), 60)
        for name, text in texts:
            with self.subTest(name):  # a verb or a noun first
                self.assertRegex(text, r"^[A-Z][a-z]+ ")
                self.assertNotRegex(text, r"^(A|An|The|Of|For|By|In|With|Wh\w+|How|So|Also|Never)\b")

    def test_bash_offers_them(self):
        self.assertEqual(self.complete("r"), {c for c in COMMANDS if c.startswith("r")})
        self.assertEqual(self.complete(""), set(COMMANDS))
        for command in COMMANDS:
            with self.subTest(command):
                self.assertEqual(self.complete(command, "-"), options([command]))
        self.assertEqual(self.complete("run", "jobs.txt", "--durab"), {"--durability"})
        both = {"power", "process"}
        self.assertEqual(self.complete("run", "--durability", ""), both)
        self.assertEqual(self.complete("run", "--durability", "=", "po"), {"power"})
        self.assertEqual(self.complete("run", "--durability", "="), both)
        self.assertEqual(self.complete("run", "--out", "-"), set())  # a file
        self.assertEqual(self.complete("run", "--law", "se"), {"seek"})
        self.assertEqual(self.complete("run", "--profile", "open"), {"openai"})
        self.assertEqual(self.complete("replay", "--law", "ren"), {"reno", "reno-0.9"})
        self.assertIn("seed-003", self.complete("simulate", "seed-00"))
        self.assertEqual(self.complete("simulate", "--law", "tol"), {"told"})

    def test_the_man_page_has_them(self):
        page = self.share / "man/man1/headway.1"
        man = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", page],
            env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
        )
        self.assertEqual((man.returncode, man.stderr), (0, ""))
        text = re.sub(".\b", "", man.stdout)
        self.assertIn("headway - calls a rate-limited API", text)
        for command in COMMANDS:
            part = re.search(rf"^HEADWAY {command}$(.*?)(^\w|\Z)", text, re.M | re.S)[1]
            listed = set()
            for line in re.findall(r"^ {7}(-.*)$", part, re.M):
                listed.update(re.findall(r"(?:^|, )(--?[\w-]+)", line))
            self.assertEqual(listed, options([command]))
        self.assertIn(
            "headway run jobs.jsonl --header 'Authorization: Bearer ${env:API_KEY}'", text
        )

    def test_zsh_and_fish_read_theirs(self):
        zsh = self.share / "zsh/site-functions/_headway"
        fish = self.share / "fish/vendor_completions.d/headway.fish"
        for name in options(["run"]):
            with self.subTest(name):
                self.assertRegex(zsh.read_text(), rf"'\*?{name}\[")
                flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                self.assertRegex(fish.read_text(), rf"_from run'.* {flag} ")
        for shell, file in (("zsh", zsh), ("fish", fish)):
            if shutil.which(shell):
                subprocess.run([shell, "-n", file], check=True)

    def test_a_folder_that_cannot_be_written(self):
        wrong = subprocess.run([BINARY, "generate", "/dev/null"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 74)
        self.assertEqual(wrong.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
