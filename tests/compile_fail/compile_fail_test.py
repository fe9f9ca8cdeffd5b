#!/usr/bin/env python3
"""Each program beside this one must not compile, and for the reason in its first line; with -DCONTROL it must.

usage: compile_fail_test.py INCLUDE COMPILER...
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def compiled(compiler, include, program, *options):
    """(whether it compiled, what was said)."""
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", f"-I{include}", *options, program],
        capture_output=True,
        text=True,
        errors="replace",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )
    return done.returncode == 0, done.stderr


def breaches(compiler, include, program):
    expected = re.match(r"// expect: (.+)", program.read_text())[1]
    passed, said = compiled(compiler, include, program, "-DCONTROL")
    if not passed:
        yield f"its control does not compile:\n{said}"
    passed, said = compiled(compiler, include, program)
    if passed:
        yield "it compiles"
    elif not any(re.search(expected, line) for line in said.splitlines() if "error:" in line):
        yield f"no error says «{expected}»:\n{said}"


def main():
    include, *compilers = sys.argv[1:]
    programs = sorted(HERE.glob("*.cpp"))
    assert programs and compilers
    found = [
        f"{program.name}: {Path(compiler).name}: {what}"
        for compiler in compilers
        for program in programs
        for what in breaches(compiler, include, program)
    ]
    print(*found, f"{len(programs)} programs, {len(compilers)} compilers", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
