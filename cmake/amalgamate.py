#!/usr/bin/env python3
"""Writes the core as one header: headway/headway.hpp, all that it includes, and SOURCES as inline functions.

usage: amalgamate.py VERSION OUT SOURCES...

HEADWAY_EXPORT stands on the first declaration of every function that is defined in a source; here it means `inline`.
The instantiations that the library ships are left to the file that includes the header.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = re.compile(r'#include "(headway/[^"]+)"\n')
STANDARD = re.compile(r"#include (<[a-z_]+>)\n")
DROPPED = re.compile(r"#pragma once\n|(extern )?template class [^;]*;\n")
EXPORT = "headway/export.hpp"


def expand(path, seen, standard):
    """The lines of a file after those of the headers that it includes, each header once."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if ours := OURS.fullmatch(line):
            if ours[1] != EXPORT and ours[1] not in seen:
                seen.add(ours[1])
                lines += expand(ROOT / "include" / ours[1], seen, standard)
        elif found := STANDARD.fullmatch(line):
            standard.add(found[1])
        elif line.startswith("#include"):
            sys.exit(f"amalgamate.py: {path}: {line.strip()}: the core includes itself and the standard library only")
        elif not DROPPED.fullmatch(line):
            lines.append(line)
    return lines


def main():
    version, out, sources = sys.argv[1], Path(sys.argv[2]), sorted(map(Path, sys.argv[3:]))
    seen, standard = set(), set()
    body = expand(ROOT / "include/headway/headway.hpp", seen, standard)
    for source in sources:
        body += expand(source, seen, standard)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
    text = [f"// headway {version}, the core as a single header, made by cmake/amalgamate.py.\n",
            "// Use it instead of the library headway::core, not beside it.\n//\n",
            *(f"// {line}".rstrip() + "\n" for line in licence),
            "#pragma once\n\n",
            *(f"#include {header}\n" for header in sorted(standard)),
            "\n#define HEADWAY_EXPORT inline\n\n",
            *body]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(re.sub(r"\n{3,}", "\n\n", "".join(text)), encoding="utf-8")


if __name__ == "__main__":
    main()
