#!/usr/bin/env python3
"""Each rule of links.py, broken once: it must be found, and nothing else."""
import unittest

import links
from rules import Rules

HOUSE = {
    "dev": "test() { ## everything\n",
    "docs/other.md": "# Some words, `code` & more\n",
    "apps/headway/main.cpp": 'add("--rate");\n',
    "examples/one.cpp": "int main() {\n  call();  // now\n}\n",
}
BROKEN = [  # path, text, word of the complaint
    ("README.md", "[a](docs/none.md)", "dead link"),
    ("README.md", "[a](docs/other.md#other-words)", "dead anchor"),
    ("README.md", "# One\n[a](#two)", "dead anchor"),
    ("docs/a.md", "[a](docs/other.md)", "dead link"),
    ("docs/a.md", "[a](../../outside.md)", "dead link"),
    ("README.md", "./dev tset", "no verb"),
    ("README.md", "```sh\nheadway run jobs --rite 5/s\n```", "no option --rite"),
    ("README.md", "```cpp\ncall(1);\n```", "no example"),
    ("docs/guide.md", "```cpp\ncall(1);\n```", "no example"),
    ("docs/guide.md", "```cpp\ncall();\nint main() {\n```", "no example"),
    ("README.md", "```sh\nheadway run jobs --rat 5/s\n```", "no option --rat"),
]
SOUND = [
    ("README.md", "[a](docs/other.md#some-words-code--more) [b](https://x.example/y) [c](docs)"),
    ("README.md", "```sh\n./dev test\nbuild/headway run jobs --rate 5/s\n```"),
    ("docs/library.md", "```cpp\nauto x = [](int a)(b);\n```"),
    ("docs/guide.md", "```cpp\ncall();\n```"),
]


class Links(Rules, unittest.TestCase):
    breaches = staticmethod(links.breaches)
    HOUSE = HOUSE
    BROKEN = BROKEN
    SOUND = SOUND


if __name__ == "__main__":
    unittest.main()
