#!/usr/bin/env python3
"""The Debian packages that ./dev package made, unpacked into a folder of their own.

usage: deb_test.py FOLDER
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import exports  # noqa: E402

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv.pop(1)).resolve()


def output(*command, **options):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options
    )
    if done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


class Debs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.root = Path(scratch.name)
        cls.debs = {output("dpkg-deb", "-f", deb, "Package").strip(): deb for deb in FOLDER.glob("*.deb")}
        for deb in cls.debs.values():
            output("dpkg-deb", "-x", deb, cls.root)
        (core,) = cls.root.glob("usr/lib/**/libheadway-core.so")
        cls.libraries = core.parent
        cls.environment = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(cls.libraries), "HOME": str(cls.root)}
        cls.program = cls.root / "usr/bin/headway"

    def headway(self, *arguments):
        return output(self.program, *arguments, env=self.environment)

    def depends(self, package):
        said = output("dpkg-deb", "-f", self.debs[package], "Depends")
        return {part.split()[0]: part for part in said.strip().split(", ")}

    def test_split(self):
        self.assertEqual(set(self.debs), {"headway", "libheadway0.1", "libheadway-dev"})
        for package, deb in self.debs.items():
            files = re.findall(r" \./(\S+)", output("dpkg-deb", "-c", deb))
            files = [file for file in files if not file.endswith("/") and "/share/doc/" not in file]
            for file in files:
                owner = (
                    "libheadway0.1" if re.search(r"\.so\.\d", file)
                    else "headway" if re.search(r"/bin/|/share/(man|bash-completion|zsh|fish|headway/scenarios)/", file)
                    else "libheadway-dev"
                )
                self.assertEqual(owner, package, file)
            self.assertTrue(files, package)

    def test_dependencies(self):
        version = output("dpkg-deb", "-f", self.debs["headway"], "Version").strip()
        for package in ("headway", "libheadway-dev"):
            self.assertEqual(self.depends(package)["libheadway0.1"], f"libheadway0.1 (= {version})")
        self.assertLessEqual({"libc6", "libstdc++6", "libcurl4", "libsqlite3-0"}, set(self.depends("headway")))
        self.assertEqual(set(self.depends("libheadway0.1")) - {"libgcc-s1"}, {"libc6", "libstdc++6", "libpq5"})

    def test_shared_libraries(self):
        libraries = sorted(self.libraries.glob("libheadway-*.so"))
        self.assertEqual([library.stem[len("libheadway-"):] for library in libraries], ["blocking", "core", "fleet", "http", "postgres", "shared", "sim"])
        shlibs = output("dpkg-deb", "-I", self.debs["libheadway0.1"], "shlibs")
        for library in libraries:
            self.assertEqual(list(exports.faults(library, "0.1")), [])
            self.assertNotIn("RUNPATH", output("readelf", "-d", library))
            self.assertIn(f"{library.stem} 0.1 libheadway0.1 ", shlibs)

    def test_program(self):
        self.assertRegex(self.headway("--version"), r"^headway \d+\.\d+\.\d+\n$")
        loaded = output("ldd", self.program, env=self.environment)
        self.assertIn(f"libheadway-core.so.0.1 => {self.libraries}", loaded)
        mine = self.root / "usr/share/headway/scenarios/only-here.toml"
        mine.write_text('about = "only here"\nlimit = "rate=50/s"\n')
        self.assertIn("only-here", self.headway("simulate", "--list"))
        mine.unlink()
        self.assertIn("seek", self.headway("simulate", "seed-003", "--law", "seek", "--seeds", "1"))

    def test_manual(self):
        pages = sorted(self.root.glob("usr/share/man/**/*.*"))
        self.assertEqual(pages, [self.root / "usr/share/man/man1/headway.1.gz"])
        said = output(
            "man", "-M", self.root / "usr/share/man", "--warnings", "-E", "UTF-8", "headway",
            env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
        )
        said = re.sub(".\b", "", said)
        self.assertIn("headway - calls a rate-limited API", said)
        self.assertNotIn("warning:", said)
        subcommands = re.findall(r"^  ([a-z]+) ", self.headway("--help").partition("Subcommands:")[2], re.MULTILINE)
        self.assertLessEqual({"run", "mock", "simulate", "replay"}, set(subcommands))
        for command in subcommands:
            self.assertRegex(said, rf"(?m)^HEADWAY {command}$")

    def typed(self, shell, *setup):
        """What `headway` is called with after "run --durab", tab, "pow", tab were typed to an interactive shell."""
        if not shutil.which(shell[0]):
            self.skipTest(f"NO {shell[0]} HERE: its completion is not tried")
        here, there = pty.openpty()
        process = subprocess.Popen(
            shell, stdin=there, stdout=there, stderr=there, start_new_session=True, cwd=self.root,
            env={**self.environment, "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        )
        os.close(there)
        self.addCleanup(os.close, here)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = ""

        def until(pattern):
            nonlocal said
            end = time.monotonic() + 60
            while not (found := re.search(pattern, said)):
                self.assertTrue(select.select([here], [], [], max(0, end - time.monotonic()))[0], said)
                said += os.read(here, 4096).decode(errors="replace")
            return found

        for line in (*setup, "headway() { echo got=\"$*\"; }", "echo rea''dy"):
            os.write(here, f"{line}\n".encode())
        until(r"ready")
        os.write(here, b"headway run --durab\tpow\t\n")
        return until(r"got=([a-z][^\r\n]*)")[1].strip()

    def test_bash(self):
        file = self.root / "usr/share/bash-completion/completions/headway"
        self.assertEqual(self.typed(("bash", "--norc", "-i"), f"source {file}"), "run --durability power")

    def test_zsh(self):
        folder = self.root / "usr/share/zsh/vendor-completions"  # where Debian's zsh looks
        self.assertEqual(
            self.typed(("zsh", "-f", "-i"), f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D"),
            "run --durability power",
        )

    @unittest.skipUnless(shutil.which("fish"), "NO fish HERE: its completion is not tried")
    def test_fish(self):
        file = self.root / "usr/share/fish/vendor_completions.d/headway.fish"
        offered = output("fish", "-c", f"source {file}; complete -C 'headway run --durability '", env=self.environment)
        self.assertEqual([line.split("\t")[0] for line in offered.splitlines()], ["power", "process"])

    def test_stranger(self):
        build = self.root / "stranger"
        output(
            "cmake", "-G", "Ninja", "-S", HERE / "find_package", "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.root / 'usr'}", "-DCMAKE_CXX_COMPILER=g++", env=os.environ,
        )
        output("cmake", "--build", build)
        output(build / "stranger")
        self.assertIn(f"libheadway-core.so.0.1 => {self.libraries}", output("ldd", build / "stranger"))

    @unittest.skipUnless(shutil.which("lintian"), "no lintian")
    def test_lintian(self):
        accepted = (
            "bogus-mail-host",  # there is no address yet
            "bogus-mail-host-in-debian-changelog",
            "package-name-doesnt-match-sonames",  # several libraries, one version
            "maintscript-calls-ldconfig",  # CPack's scripts
        )
        output(
            "lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ",".join(accepted),
            *self.debs.values(),
        )


if __name__ == "__main__":
    unittest.main()
