#!/usr/bin/env python3
"""The rules of the house that no compiler knows. Prints file:line for each breach; exits 1 if there is one.

usage: tidy.py [ROOT]
"""
import re
import sys
from pathlib import Path

TREES = ("include", "src", "apps", "tests", "bench", "demo", "examples", "profiles", "scenarios", "docs", "cmake")
TEXT = {".hpp", ".cpp", ".txt", ".cmake", ".md", ".py", ".sh", ".sql", ".toml", ""}

OUTER = ("driver", "fleet", "http", "postgres", "shared", "sim", "text")  # folders of include/headway and src that are not core
MAY_INCLUDE = {  # layer: headway layers, and whether headers of others
    "core": ({"core"}, False),
    "text": ({"core", "text"}, False),
    "sim": ({"core", "fleet", "shared", "sim", "text"}, False),
    "http": ({"core", "http"}, True),
    "shared": ({"core", "shared"}, False),
    "fleet": ({"core", "fleet", "shared"}, False),
    "driver": ({"core", "driver", "shared"}, True),
    "postgres": ({"core", "driver", "fleet", "postgres", "shared"}, True),
}
ROOMS = {  # folder of apps/headway: the others that it may include
    "base": set(),
    "os": {"base"},
    "provider": {"base"},
    "client": {"base", "os"},
    "pacing": {"base", "os", "provider"},
    "hosts": {"base", "os", "provider", "pacing"},
    "jobs": {"base", "os", "provider", "client"},
    "journal": {"base", "os"},
    "queue": {"base", "os", "provider", "jobs", "journal"},
    "status": {"base"},
    "watch": {"base", "os", "provider", "pacing", "status"},
    "scenario": {"base"},
    "page": {"base", "scenario"},
    "whatif": {"base", "os", "provider", "pacing", "scenario"},
}
SURFACES = ("run", "exec", "mock", "proxy", "simulate", "replay", "report", "ctl", "limits", "fleets")  # may include any room, and none of each other
MAY_KNOW = ROOMS | dict.fromkeys(SURFACES, set(ROOMS))
ROOM_ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| [^|]* \| ([^|]*) \|$", re.MULTILINE)  # of ARCHITECTURE.md
STANDARD = re.compile(r"<[a-z_]+>")  # <vector>, not <curl/curl.h>
SYSTEM = re.compile(r"<(atomic|condition_variable|fstream|future|iostream|mutex|random|thread)>")
CLOCK = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock|sleep_for|sleep_until)\b")
CHANCE = re.compile(r"\b(random_device|mt19937(_64)?|default_random_engine|\w+_distribution)\b")
MATHS = re.compile(r"\bstd::(pow|exp|exp2|log|log2|log10|cbrt|sin|cos|tan|fma|hypot)\b")
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|TB" r"D)\b")
TYPEDEF = re.compile(r"^\s*typedef\b")  # clang-tidy's check for it takes a seventh of its time
INCLUDE = re.compile(r'\s*#\s*include\s+("([^"]+)"|<[^>]+>)')
CORE_LINES_MAX = 4700  # of code: an hour for a first reader
EXAMPLE_LINES_MAX = 60
HIDDEN = re.compile(  # a function that a header declares and a source defines, without HEADWAY_EXPORT
    r"(?<!>\n)^(?!using|extern|static_assert|constexpr|inline|template|concept|requires|return|namespace|struct|class|enum)"
    r"[a-z][^;{}=#/]*\([^;{}]*\)[^;{}]*;", re.MULTILINE)
# Prose (STYLE.md): a thread is a thread, a process a process; the first sentence of a doc comment says what it is or does.
PERSON = re.compile(r"\b(who|whose|whom|whoever|nobody|somebody)\b", re.IGNORECASE)
PERSON_IN_CODE = re.compile(r"\b([Ww]ho|[Ww]hom|[Ww]hoever|[Nn]obody|[Ss]omebody)\b")  # test names included
NOT_FIRST = re.compile(r"(Of|What|Who|Whose|When|Where|Which|Whether|How|It|Its|To|As|The same)\b")
DOES = re.compile(r"[A-Z][a-z]+s\b")  # Returns, Adds
FUNCTION = re.compile(r"(?!\s*(template\s*)?(struct|class|enum|using|concept)\b)[^=;{]*\w\(")
NOT_PROSE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\s]*\)|“[^”]*”|\"[^\"\n]*\"", re.DOTALL)
TEST_NAME = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)
POLICIES = ("backoff", "pacer", "window", "law", "budget")


def layer(path):
    """The layer of a path below include/headway or src."""
    return path.parts[0] if path.parts[0] in OUTER else "core"


def breaches_of_include(path, line):
    match = INCLUDE.match(line)
    if not match:
        return
    ours, others = MAY_INCLUDE[layer(path)]
    target = match[2]
    if target is None:
        if not others and not STANDARD.fullmatch(match[1]):
            yield f"{layer(path)} includes {match[1]}: the standard library only"
        elif not others and SYSTEM.fullmatch(match[1]):
            yield f"{layer(path)} includes {match[1]}: no threads, no I/O, no generator"
    elif target.startswith("headway/"):
        other = layer(Path(target).relative_to("headway"))
        if target != "headway/headway.hpp" and other not in ours:
            yield f"{layer(path)} includes {other}: {target}"


def room(path):
    """The room of a file of the program; None elsewhere."""
    return path.parts[2] if path.parts[:2] == ("apps", "headway") and len(path.parts) == 4 else None


def breaches_of_room(here, line):
    match = INCLUDE.match(line)
    there = match and match[2] and Path(match[2]).parts[0]
    if there in MAY_KNOW and there != here and there not in MAY_KNOW[here]:
        yield f"{here} includes {there}: {match[2]}"


def rooms_told_wrong(text):
    """Which rooms the table of ARCHITECTURE.md does not have, or with others that they may know, or by a name that is none."""
    told = {}
    for names, knows in ROOM_ROW.findall(text):
        names, knows = re.findall(r"\w+", names), knows.split("; ")
        told |= zip(names, knows if len(knows) == len(names) else knows * len(names))
    rule = {room: ", ".join(known) for room, known in ROOMS.items()} | dict.fromkeys(SURFACES, "every room, no other surface")
    in_order = lambda known: sorted(known.replace("–", "").split(", "))
    return sorted(room for room in told.keys() | rule.keys() if in_order(told.get(room, "?")) != in_order(rule.get(room, "?")))


def breaches(root):
    """(file, line number, what) of every breach below root."""
    files = [*root.glob("*"), *(file for tree in TREES for file in (root / tree).rglob("*"))]
    core = 0
    for file in sorted(files):
        if file.is_file() and file.suffix in TEXT:
            path, text = file.relative_to(root), file.read_text(errors="replace")
            yield from breaches_of_file(path, text)
            library = within_library(path)
            if library and layer(library) == "core" and not is_test(path):
                core += lines_of_code(text)
    if core > CORE_LINES_MAX:
        yield "include/headway", 1, f"the core has {core} lines of code; at most {CORE_LINES_MAX}"


def blanked(text, pattern):
    """Text with spaces for what matches, so that places stay."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def breaches_of_prose(path, text):
    """(line number, what) of what is hard to read in a document or in code, above all in a public header's doc comments."""
    if path.name == "LICENSE" or path.parts[:2] == ("tests", "tidy"):
        return
    person, lines = PERSON, text.splitlines()
    if path.suffix == ".md":
        prose = blanked(text, NOT_PROSE).splitlines()
    elif path.suffix == ".hpp" and path.parts[0] == "include":
        prose = [line.partition("//")[2] for line in lines]
        yield from breaches_of_docstrings(lines)
    else:
        person, prose = PERSON_IN_CODE, text.replace("_", " ").splitlines()
    for number, line in enumerate(prose, 1):
        for found in person.findall(line):
            yield number, f"«{found}»: say which thread, process, request or user"


def breaches_of_docstrings(lines):
    first = None
    for number, line in enumerate(lines):
        comment = re.match(r"\s*/// ?(?!<)(.*)", line)
        if comment and first is None:
            first = number, comment[1]
        elif not comment and first is not None:
            begin, sentence = first
            first = None
            declared = " ".join(lines[number:number + 8])
            while "<" in declared and declared != (outside := re.sub(r"<[^<>]*>", "", declared)):
                declared = outside
            if found := NOT_FIRST.match(sentence):
                yield begin + 1, f"begins with «{found[0]}»: say what it is or does"
            elif FUNCTION.match(declared) and not DOES.match(sentence):
                yield begin + 1, "a function's first word is a verb: Returns, Adds, …"


def lines_of_code(text):
    return sum(bool(line.split("//")[0].strip()) for line in text.splitlines())


def within_library(path):
    """Where in the library; None elsewhere."""
    if path.suffix in (".hpp", ".cpp") and path.parts[0] == "src":
        return path.relative_to("src")
    if path.suffix == ".hpp" and path.parts[:2] == ("include", "headway"):
        return path.relative_to("include/headway")
    return None


def is_test(path):
    return path.name.endswith("_test.cpp")


def breaches_of_file(path, text):
    library = within_library(path)
    test = is_test(path)
    if room(path) and room(path) not in MAY_KNOW:
        yield path, 1, f"a room that tests/tidy does not know: {', '.join(MAY_KNOW)}"
    if path.parts[0] == "examples" and path.suffix == ".cpp" and len(text.splitlines()) > EXAMPLE_LINES_MAX:
        yield path, EXAMPLE_LINES_MAX + 1, f"an example has at most {EXAMPLE_LINES_MAX} lines"
    for number, what in breaches_of_prose(path, text):
        yield path, number, what
    if path.name == "ARCHITECTURE.md" and (rooms := rooms_told_wrong(text)):
        yield path, 1, f"rooms that are not as in tests/tidy: {', '.join(rooms)}"
    if path.suffix == ".cpp":
        for found in TEST_NAME.finditer(text):
            if found[1].lower() + found[2].lower() != found[1] + found[2]:
                yield path, text.count("\n", 0, found.start(1)) + 1, f"{found[1]}.{found[2]}: a test's name is snake_case"
    for number, line in enumerate(text.splitlines(), 1):
        if LEFTOVER.search(line):
            yield path, number, f"leftover work: {line.strip()}"
        if path.suffix in (".cpp", ".hpp") and TYPEDEF.search(line):
            yield path, number, "typedef: write using"
        if room(path) in MAY_KNOW:
            for what in breaches_of_room(room(path), line):
                yield path, number, what
        if library is None:
            continue
        if not test:
            for what in breaches_of_include(library, line):
                yield path, number, what
        code = line.split("//")[0]
        drives = layer(library) in ("driver", "http")
        for rule, what, may in ((CLOCK, "reads a clock", drives or layer(library) == "postgres"),
                                (CHANCE, "draws its own chance", drives),
                                (MATHS, "differs between compilers", drives or layer(library) == "postgres" or test)):
            if not may and (found := rule.search(code)):
                yield path, number, f"{found[0]}: {what}"
    if library is not None and path.parts[0] == "include":
        for found in HIDDEN.finditer(text):
            yield path, text.count("\n", 0, found.start()) + 1, "not HEADWAY_EXPORT: shared libraries would hide it"
    policy = library and path.parts[0] == "include" and library.parts[0] in POLICIES and path.name != "any.hpp"
    if policy and "Source:" not in text:
        yield path, 1, "a policy cites its source: no line with «Source:»"


def report(breaches):
    """Prints what breaches(ROOT) finds; true if there was anything."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = list(breaches(root))
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(report(breaches))
