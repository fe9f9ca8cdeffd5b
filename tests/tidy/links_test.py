#!/usr/bin/env python3
"""Each rule of links.py, broken once: it must be found, and nothing else."""
import tempfile
import unittest
from pathlib import Path

import links

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


class Links(unittest.TestCase):
    def breaches(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            for name, content in {**HOUSE, path: text}.items():
                file = Path(root, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            return [what for _, _, what in links.breaches(Path(root))]

    def test_finds_each_breach(self):
        for path, text, word in BROKEN:
            with self.subTest(path=path, text=text):
                found = self.breaches(path, text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(word, found[0])

    def test_lets_sound_documents_pass(self):
        for path, text in SOUND:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.breaches(path, text), [])


if __name__ == "__main__":
    unittest.main()
