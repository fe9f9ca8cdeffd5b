#!/usr/bin/env python3
"""Makes of what `headway … --help` says the man pages and the completions of bash: it is said once.

usage: manual.py PROGRAM VERSION FOLDER
"""
import gzip
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ENTRY = re.compile(r"  (\S.*?)(?:  +(.*))?")
CHOICES = re.compile(r"\{([^}]+)\}")


class Help(NamedTuple):
    about: list  # lines
    usage: str
    sections: dict  # title: [(term, text)]


def helped(program, *command):
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    before, _, after = done.stdout.partition("\nUsage: ")
    usage, *lines = after.splitlines()
    sections, entries = {}, None
    for line, following in zip(lines, lines[1:] + [""]):
        if re.fullmatch(r"[A-Z]\w+:", line):
            entries = sections.setdefault(line[:-1], [])
        elif match := ENTRY.fullmatch(line):
            term, text = match.groups()
            if text is None and not following.startswith(" " * 30):
                term, text = line[:30].strip(), line[30:]
            entries.append((term, text or ""))
        elif line.strip():
            term, text = entries[-1]
            entries[-1] = (term, f"{text} {line.strip()}".strip())
    return Help(before.rstrip().splitlines(), usage, sections)


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def prose(lines):
    """Paragraphs; those that are indented are examples."""
    for paragraph in "\n".join(lines).split("\n\n"):
        example = paragraph.startswith(" ")
        yield ".PP"
        yield f".EX\n{escaped(paragraph)}\n.EE" if example else escaped(paragraph.strip())


def page(name, told, version, others):
    first = re.split(r"(?<=[^.])[.;](?:\s|$)", " ".join(told.about))[0]
    yield f'.TH {name.upper()} 1 "" "headway {version}"'
    yield f".SH NAME\n{escaped(name)} \\- {escaped(re.sub('^headway ', '', first))}"
    yield f".SH SYNOPSIS\n{escaped(told.usage)}"
    yield ".SH DESCRIPTION"
    yield from prose(told.about)
    for title, entries in told.sections.items():
        if title == "Subcommands":
            continue
        yield f".SH {title.upper()}"
        for term, text in entries:
            yield f".TP\n.B {escaped(term)}\n{escaped(text)}"
    yield ".SH SEE ALSO\n" + ",\n".join(rf"\fB{escaped(other)}\fR(1)" for other in others if other != name)


def completions(commands):
    yield "# bash completion for headway; made by packaging/manual.py"
    yield "_headway() {"
    yield '  local word=$2 before=$3 words=""'
    yield '  case ${COMP_WORDS[1]}:$before in'
    plain = []
    for command, told in commands.items():
        flags = []
        for term, _ in told.sections["Options"]:
            names = re.match(r"(-[\w-]+,?)+", term)[0].split(",")
            flags += [flag for flag in names if flag.startswith("--")]
            if choices := CHOICES.search(term):
                for flag in names:
                    yield f'    {command}:{flag}) words="{choices[1].replace(",", " ")}" ;;'
        plain.append((command, flags))
    for command, flags in plain:
        yield f'    {command}:*) [[ $word == -* ]] && words="{" ".join(flags)}" ;;'
    yield "  esac"
    yield f'  ((COMP_CWORD > 1)) || words="{" ".join([*commands, "--help", "--version"])}"'
    yield '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")'
    yield "}"
    yield "complete -o default -F _headway headway"


def main():
    program, version, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    every = helped(program)
    subcommands = [term for term, _ in every.sections["Subcommands"] if re.fullmatch(r"[a-z]+", term)]
    commands = {command: helped(program, command) for command in subcommands}
    pages = {"headway": every} | {f"headway-{command}": told for command, told in commands.items()}
    (folder / "man").mkdir(parents=True, exist_ok=True)
    for name, told in pages.items():
        text = "\n".join(page(name, told, version, pages)) + "\n"
        (folder / "man" / f"{name}.1.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    (folder / "headway.bash").write_text("\n".join(completions(commands)) + "\n")


if __name__ == "__main__":
    main()
