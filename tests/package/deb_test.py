#!/usr/bin/env python3
"""The Debian packages that ./dev package made, unpacked into a folder of their own.

usage: deb_test.py FOLDER
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

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
                    else "headway" if re.search(r"/bin/|/man1/|/completions/|/scenarios/", file)
                    else "libheadway-dev"
                )
                self.assertEqual(owner, package, file)
            self.assertTrue(files, package)

    def test_dependencies(self):
        version = output("dpkg-deb", "-f", self.debs["headway"], "Version").strip()
        for package in ("headway", "libheadway-dev"):
            self.assertEqual(self.depends(package)["libheadway0.1"], f"libheadway0.1 (= {version})")
        self.assertLessEqual({"libc6", "libstdc++6", "libcurl4", "libsqlite3-0"}, set(self.depends("headway")))
        self.assertLessEqual(set(self.depends("libheadway0.1")), {"libc6", "libstdc++6", "libgcc-s1"})

    def test_shared_libraries(self):
        for library in self.libraries.glob("libheadway-*.so"):
            soname = re.search(r"SONAME +(\S+)", output("objdump", "-p", library))[1]
            self.assertEqual(soname, f"{library.name}.0.1")
            exported = re.findall(r" T (.*)", output("nm", "-DC", "--defined-only", library))
            self.assertTrue(exported, library)
            self.assertEqual([name for name in exported if not name.startswith("headway::")], [])
            self.assertNotIn("RUNPATH", output("objdump", "-p", library))
            self.assertIn(f"{library.stem} 0.1 libheadway0.1 ", output("dpkg-deb", "-I", self.debs["libheadway0.1"], "shlibs"))

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
        subcommands = re.findall(r"^  ([a-z]+) ", self.headway("--help").partition("Subcommands:")[2], re.MULTILINE)
        self.assertLessEqual({"run", "mock", "simulate", "replay"}, set(subcommands))
        for command in subcommands:
            page = self.root / f"usr/share/man/man1/headway-{command}.1.gz"
            text = gzip.decompress(page.read_bytes()).decode().replace("\\-", "-")
            if shutil.which("groff"):
                warnings = subprocess.run(
                    ["groff", "-man", "-ww", "-Tutf8"], input=gzip.decompress(page.read_bytes()), capture_output=True, check=True
                ).stderr
                self.assertEqual(warnings, b"", page)
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", self.headway(command, "--help"), re.MULTILINE)
            self.assertTrue(options)
            for option in options:
                self.assertRegex(text, rf"(?m)^\.B (-\w,)?{option}\b")

    def completed(self, *words):
        file = self.root / "usr/share/bash-completion/completions/headway"
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_headway headway "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; echo "${COMPREPLY[*]}"'
        )
        return output("bash", "-c", script, "bash", str(file), *words).split()

    def test_completions(self):
        self.assertIn("run", self.completed("headway", ""))
        self.assertEqual(self.completed("headway", "run", "--jour"), ["--journal"])
        self.assertEqual(self.completed("headway", "run", "--durability", "p"), ["power", "process"])
        self.assertEqual(self.completed("headway", "run", ""), [])

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
