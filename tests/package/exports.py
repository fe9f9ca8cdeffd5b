#!/usr/bin/env python3
"""What a shared library of ours shows of itself: its soname, what is public in it, and nothing else. Exits 1 for a fault.

usage: exports.py SOVERSION LIBRARY...
"""
import re
import subprocess
import sys
from pathlib import Path

INLINE = re.compile(r"headway::[\w:~]+(\(.*)?")  # of no template
OURS = re.compile(r"((typeinfo|typeinfo name|vtable) for )?headway::")  # users derive from some


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def faults(library, soversion):
    name = re.search(r"\(SONAME\).*\[(.*)\]", said("readelf", "-dW", library))
    if not name or name[1] != f"{library.stem}.so.{soversion}":
        yield f"its soname is {name and name[1]}"
    exported = re.findall(r"^\S+ (\w) (.*)", said("nm", "-DC", "--defined-only", library), re.MULTILINE)
    if not any(symbol.startswith("headway::") for _, symbol in exported):
        yield "nothing is exported"
    for kind, symbol in exported:
        weak = kind in "WVu"  # what headers define: the standard library's, and the instantiations that we ship
        if INLINE.fullmatch(symbol) if weak else not OURS.match(symbol):
            yield f"{symbol} is exported"


def main():
    soversion, *libraries = sys.argv[1:]
    found = [f"{library}: {fault}" for library in libraries for fault in faults(Path(library), soversion)]
    print(*found, f"{len(libraries)} libraries", sep="\n")
    return bool(found) or not libraries


if __name__ == "__main__":
    sys.exit(main())
