#!/usr/bin/env python3
"""The share of the core's branches that its tests have taken, both ways; prints each that was not. Exits 1 below the floor.

usage: coverage.py BUILD    where tests/core_tests has left core.profdata

A branch of a template counts as taken where any instantiation takes it. Not counted: defaulted comparisons, and the
failing side of HEADWAY_REQUIRE, which aborts.
"""
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/tidy"))
import tidy  # noqa: E402

FLOOR = 0.95


def core():
    for file in sorted([*ROOT.glob("include/headway/**/*.hpp"), *ROOT.glob("src/**/*.cpp")]):
        path = file.relative_to(ROOT)
        if tidy.layer(tidy.within_library(path)) == "core" and not tidy.is_test(path):
            yield file


def main():
    build = Path(sys.argv[1])
    exported = subprocess.run(
        ["llvm-cov-14", "export", "-skip-functions", f"-instr-profile={build}/core.profdata", f"{build}/tests/core_tests",
         *map(str, core())], check=True, stdout=subprocess.PIPE).stdout
    taken = defaultdict(lambda: [0, 0])  # by place: how often it was true, and false
    for file in json.loads(exported)["data"][0]["files"]:
        for line, column, _, _, yes, no, *_ in file["branches"]:
            counts = taken[file["filename"], line, column]
            counts[0] += yes
            counts[1] += no
    lines = {name: Path(name).read_text().splitlines() for name, _, _ in taken}
    ways = missed = 0
    for (name, line, column), counts in sorted(taken.items()):
        text = lines[name][line - 1].strip()
        if text.endswith("= default;"):
            continue
        ways += 2
        for way, count in zip(("true", "false"), counts):
            if count == 0:
                missed += 1
                print(f"{Path(name).relative_to(ROOT)}:{line}:{column}: never {way}: {text}")
    share = 1 - missed / ways
    print(f"branches of the core: {ways - missed} of {ways} taken, {100 * share:.1f} % (at least {100 * FLOOR:.0f} %)")
    return share < FLOOR


if __name__ == "__main__":
    sys.exit(main())
