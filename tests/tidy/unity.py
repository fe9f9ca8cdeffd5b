#!/usr/bin/env python3
"""unity.py BUILD BUILT: each room compiles as the one file that preset demo makes of it: no two of its sources have a name alike.

Only what the compiler reads, and no code: a tenth of that preset's build. What BUILT has compiled of the same sources, with the
same definitions, is not read again.
"""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

build, built = map(Path, sys.argv[1:])


def rooms(build):
    """Room -> its command: where it is compiled, of what, with which definitions; those that are one file."""
    commands = [c for c in json.loads((build / "compile_commands.json").read_text()) if "/Unity/" in c["file"]]
    return {(output(c), Path(c["file"]).read_text(), *re.findall(r" -D\S+", c["command"])): c for c in commands}


def output(command):
    return command["command"].split(" -o ")[1].split()[0]


def wrong(command):
    done = subprocess.run(f"{command['command']} -fsyntax-only", shell=True, cwd=command["directory"], capture_output=True, text=True)
    return done.stderr


needed = subprocess.run(["ninja", "-C", build, "-t", "inputs", "headway"], capture_output=True, text=True, check=True).stdout
demo = {room: c for room, c in rooms(build).items() if output(c) in needed}
if len(demo) < 10:
    sys.exit(f"{build}: {len(demo)} rooms as one file; want all of preset demo")
compiled = {room for room, c in rooms(built).items() if (built / output(c)).exists()}
with ThreadPoolExecutor(os.cpu_count()) as pool:
    said = "".join(pool.map(wrong, (c for room, c in demo.items() if room not in compiled)))
sys.exit(said or None)
