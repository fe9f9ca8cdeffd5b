#!/usr/bin/env python3
"""What documents promise is there: every relative link and its anchor, every ./dev verb, every option of headway, and
the C++ in the guides, which stands in an example that ctest runs. Prints file:line for each breach; exits 1 if there is
one.

usage: links.py [ROOT]
"""
import re
import sys
from pathlib import Path

from tidy import report

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#{1,6}\s+(.*)")
FENCE = re.compile(r"\s*```(\w*)")
VERB = re.compile(r"\./dev ([a-z]+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
GUIDES = ("README.md", "docs/guide.md", "docs/testing.md")  # whose C++ is that of examples


def anchor(heading):
    """As GitHub names it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def parts(text):
    """(line number, line, language of the block it is in or None) of a document; fences are left out."""
    language = None
    for number, line in enumerate(text.splitlines(), 1):
        if fence := FENCE.match(line):
            language = fence[1] if language is None else None
        else:
            yield number, line, language


def anchors(file):
    return {anchor(found[1]) for _, line, language in parts(file.read_text())
            if language is None and (found := HEADING.match(line))}


def blocks(text):
    """(line number, text) of each block of C++."""
    return [(text[:found.start()].count("\n") + 1, found[1])
            for found in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S)]


def squeezed(code):
    """Without comments, and white space all alike."""
    return " ".join(re.sub(r"//.*", "", code).split())


def breaches(root):
    """(file, line number, what) of every breach below root."""
    documents = [file for file in sorted(root.rglob("*.md"))
                 if not file.relative_to(root).parts[0].startswith(("build", ".")) and "node_modules" not in file.parts]
    verbs = set(re.findall(r"^(\w+)\(\) \{ ##", (root / "dev").read_text(), re.M)) if (root / "dev").exists() else set()
    options = {option for file in (root / "apps").rglob("*.?pp") for option in OPTION.findall(file.read_text())}
    examples = [squeezed(file.read_text()) for file in sorted((root / "examples").glob("*.cpp"))]
    for file in documents:
        name = file.relative_to(root)
        for number, line, language in parts(file.read_text()):
            if language is None:
                for target in LINK.findall(line):
                    if breach := dead(root, file, target):
                        yield name, number, breach
            if language in (None, "sh"):
                for verb in VERB.findall(line):
                    if verb not in verbs:
                        yield name, number, f"./dev has no verb {verb}"
            if language == "sh" and re.search(r"\bheadway (run|mock|simulate|replay)\b", line):
                for option in OPTION.findall(line.split("headway ", 1)[1]):
                    if option not in options:
                        yield name, number, f"headway has no option {option}"
        if str(name) in GUIDES:
            for number, block in blocks(file.read_text()):
                if not any(squeezed(block) in example for example in examples):
                    yield name, number, "no example has these lines"


def dead(root, file, target):
    """What is wrong with a link, if anything."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, fragment = target.partition("#")
    there = (file.parent / path).resolve() if path else file
    if not there.exists() or root.resolve() not in (there, *there.parents):
        return f"dead link: {target}"
    if fragment and there.suffix == ".md" and fragment not in anchors(there):
        return f"dead anchor: {target}"
    return None


if __name__ == "__main__":
    sys.exit(report(breaches))
