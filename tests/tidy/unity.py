#!/usr/bin/env python3
"""unity.py BUILD: each room compiles as the one file that preset demo makes of it: no two of its sources have a name alike.

Only what the compiler reads, and no code: a tenth of that preset's build.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

needed = subprocess.run(["ninja", "-C", sys.argv[1], "-t", "inputs", "headway"], capture_output=True, text=True, check=True).stdout
commands = [c for c in json.loads(Path(sys.argv[1], "compile_commands.json").read_text())
            if "/Unity/" in c["file"] and c["command"].split(" -o ")[1].split()[0] in needed]
if len(commands) < 10:
    sys.exit(f"{sys.argv[1]}: {len(commands)} rooms as one file; want all of preset demo")


def wrong(command):
    done = subprocess.run(f"{command['command']} -fsyntax-only", shell=True, cwd=command["directory"], capture_output=True, text=True)
    return done.stderr


with ThreadPoolExecutor(os.cpu_count()) as pool:
    said = "".join(pool.map(wrong, commands))
sys.exit(said or None)
