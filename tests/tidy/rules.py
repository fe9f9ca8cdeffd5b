"""A test of rules, each broken once: it must be found, and nothing else."""
import tempfile
from pathlib import Path


class Rules:
    """breaches(root): (path, line, what); HOUSE: what stands beside a text; BROKEN: path, text, word of the
    complaint; SOUND: path, text."""

    HOUSE = {}

    def found(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            for name, content in {**self.HOUSE, path: text}.items():
                file = Path(root, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            return [what for _, _, what in self.breaches(Path(root))]

    def test_each_breach_is_found(self):
        for path, text, word in self.BROKEN:
            with self.subTest(path=path, text=text):
                found = self.found(path, text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(word, found[0])

    def test_what_is_sound_passes(self):
        for path, text in self.SOUND:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.found(path, text), [])
